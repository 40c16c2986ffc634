-- Reports: jobs that write files, the files in parts, and schedules. Workers of several processes write them and other processes read them, so that
-- neither job nor file is in one process or on its disk.
-- Locks: none, everything is new.

create schema reports;

create table reports.reports (
  partner_id uuid not null references access.partners (id), id uuid not null,
  kind text not null check (kind in ('statement', 'transactions', 'fees', 'reconciliation')),
  format text not null check (format in ('csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02')),
  period_from timestamptz not null, period_to timestamptz not null,
  currency text,
  customer_id uuid, schedule_id uuid,
  -- Deleted: hidden from every request, until its parts are gone as well.
  status text not null check (status in ('Queued', 'Running', 'Ready', 'Failed', 'Deleted')),
  progress integer not null check (progress between 0 and 100), -- percent of the period that is written.
  attempts integer not null check (attempts >= 0), -- counted at the claim: each attempt writes parts of its own.
  due_at timestamptz not null, -- a claim moves it to the end of the lease.
  lease_id uuid,
  rows bigint, bytes bigint,
  sha256 text,
  content_attempt integer, -- its parts are the content.
  failure text,
  created_at timestamptz not null, expires_at timestamptz not null,
  primary key (partner_id, id),
  check (period_from < period_to),
  check ((status = 'Running') = (lease_id is not null)),
  check (status not in ('Queued', 'Running', 'Failed') or content_attempt is null),
  check (status <> 'Ready' or (rows is not null and bytes is not null and sha256 is not null and content_attempt is not null)),
  check ((failure is not null) = (status = 'Failed') or status = 'Deleted')
);
select public.shard('reports.reports');
create index reports_due on reports.reports (partner_id, due_at) where status in ('Queued', 'Running');
create index reports_expiring on reports.reports (expires_at, partner_id);
-- A schedule creates one report for each end of a period.
create unique index reports_of_schedule on reports.reports (partner_id, schedule_id, period_to) where schedule_id is not null and status <> 'Deleted';

-- Parts of files, each compressed by itself (zstd). All but the last have one length before that, so that a range is read alone.
create table reports.chunks (
  partner_id uuid not null,
  report_id uuid not null,
  attempt integer not null,
  number integer not null check (number >= 0),
  bytes bytea not null,
  primary key (partner_id, report_id, attempt, number),
  foreign key (partner_id, report_id) references reports.reports (partner_id, id)
);
alter table reports.chunks alter column bytes set storage external;
select public.shard('reports.chunks');

-- When a report of the partner was last claimed: the partner that waits longest is next. A request or a claim locks the row.
create table reports.turns (
  partner_id uuid not null references access.partners (id),
  served_at timestamptz not null,
  primary key (partner_id)
);
select public.shard('reports.turns');

create table reports.schedules (
  partner_id uuid not null references access.partners (id), id uuid not null,
  kind text not null check (kind in ('statement', 'transactions', 'fees', 'reconciliation')),
  format text not null check (format in ('csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02')),
  currency text,
  customer_id uuid,
  frequency text not null check (frequency in ('daily', 'weekly', 'monthly')),
  emails jsonb not null check (jsonb_typeof(emails) = 'array'), -- addresses.
  time_zone text not null,
  next_at timestamptz not null, -- the end of the period of the next report.
  created_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('reports.schedules');
create index schedules_due on reports.schedules (next_at, partner_id);

-- A link reads one report without a signature. The token is in the mail only.
create table reports.links (
  partner_id uuid not null,
  token_hash bytea not null,
  report_id uuid not null,
  expires_at timestamptz not null,
  primary key (partner_id, token_hash),
  foreign key (partner_id, report_id) references reports.reports (partner_id, id)
);
select public.shard('reports.links');
create index links_by_report on reports.links (partner_id, report_id);
