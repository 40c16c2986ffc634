-- Reports: durable jobs that write a file, and the files in parts.
-- Why: statements and other reports are written by workers of several processes and read by others, so that neither the job
-- nor the file may live in one process or on its disk.
-- Processes of the version before may run: they do not use the tables.
-- Earlier text: 71a1e19fda1a4c6a9dc7aa23c87359a9659b4bd6578bb3c9cacd76d655d14ccf
-- It said `storage external` within `create table`, which PostgreSQL 15 refuses.
-- Locks: writes to partners wait for an instant while the foreign keys are added.

create schema reports;

create table reports.reports (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('statement', 'transactions', 'fees', 'reconciliation')),
  format text not null check (format in ('csv', 'jsonl', 'pdf', 'camt.053')),
  period_from timestamptz not null,
  period_to timestamptz not null,
  currency text,
  customer_id uuid,
  schedule_id uuid,
  -- Deleted: hidden from every request, until its parts are gone as well.
  status text not null check (status in ('Queued', 'Running', 'Ready', 'Failed', 'Deleted')),
  -- percent of the period that is written.
  progress integer not null check (progress between 0 and 100),
  -- counted at the claim: each attempt writes parts of its own.
  attempts integer not null check (attempts >= 0),
  -- when a worker may claim the report; while one writes it, the end of its lease.
  due_at timestamptz not null,
  lease_id uuid,
  rows bigint,
  bytes bigint,
  sha256 text,
  -- whose parts are the content.
  content_attempt integer,
  failure text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (partner_id, id),
  check (period_from < period_to),
  check ((status = 'Running') = (lease_id is not null)),
  check (status not in ('Queued', 'Running', 'Failed') or content_attempt is null),
  check (status <> 'Ready' or (rows is not null and bytes is not null and sha256 is not null and content_attempt is not null)),
  check ((failure is not null) = (status = 'Failed') or status = 'Deleted')
);
create index reports_due on reports.reports (partner_id, due_at) where status in ('Queued', 'Running');
create index reports_expiring on reports.reports (expires_at, partner_id);
select public.shard('reports.reports');

-- The parts of the files, each compressed by itself (zstd). All but the last of a file have one length before that, so that a
-- range is read without the parts before it.
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

-- When a report of the partner was last claimed: the partner that waits longest is next. A request or a claim of a
-- report of the partner locks the row.
create table reports.turns (
  partner_id uuid not null references access.partners (id),
  served_at timestamptz not null,
  primary key (partner_id)
);
select public.shard('reports.turns');
