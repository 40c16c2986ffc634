-- Schedules of reports, and the links of their mails.
-- Why: a partner gets its statement every day, week or month without a request.
-- Processes of the version before may run: they do not use the tables.
-- Locks: writes to partners wait for an instant while the foreign key is added.

create table reports.schedules (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  kind text not null check (kind in ('statement', 'transactions', 'fees', 'reconciliation')),
  format text not null check (format in ('csv', 'jsonl', 'pdf', 'camt.053')),
  currency text,
  customer_id uuid,
  frequency text not null check (frequency in ('daily', 'weekly', 'monthly')),
  -- a JSON array of addresses.
  emails jsonb not null check (jsonb_typeof(emails) = 'array'),
  time_zone text not null,
  -- the end of the period of the next report.
  next_at timestamptz not null,
  created_at timestamptz not null,
  primary key (partner_id, id)
);
create index schedules_due on reports.schedules (next_at, partner_id);
select public.shard('reports.schedules');

-- A schedule creates one report for each end of a period.
create unique index reports_of_schedule on reports.reports (partner_id, schedule_id, period_to)
  where schedule_id is not null and status <> 'Deleted';

-- A link reads one report without a signature. The token is only in the mail; the row has its hash.
create table reports.links (
  partner_id uuid not null,
  token_hash bytea not null,
  report_id uuid not null,
  expires_at timestamptz not null,
  primary key (partner_id, token_hash),
  foreign key (partner_id, report_id) references reports.reports (partner_id, id)
);
create index links_by_report on reports.links (partner_id, report_id);
select public.shard('reports.links');
