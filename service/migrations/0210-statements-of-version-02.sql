-- Statements as camt.053.001.02.
-- Why: many programs for accounts read version 02 of a bank's statement and not yet version 08.
-- Processes of the version before may run: they take no such report, unless one is requested before all of them have ended.
-- Locks: reports and schedules, for an instant; the new checks are validated by reading the rows, of which there are few.
alter table reports.reports drop constraint reports_format_check;
alter table reports.reports add constraint reports_format_check
  check (format in ('csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02'));
alter table reports.schedules drop constraint schedules_format_check;
alter table reports.schedules add constraint schedules_format_check
  check (format in ('csv', 'jsonl', 'pdf', 'camt.053', 'camt.053.001.02'));
