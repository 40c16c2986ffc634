-- Changes of an account's state by screening, beside those by commands.
-- Why: a customer whose hit was confirmed is blocked, and no read said so. The state itself is derived from the hit: a change of this kind
-- says when it began and ended, and cancels no payout (docs/decisions/0136-partners-people-and-texts.md).
-- Processes of the version before may run: their list of blocked accounts shows the later one of two changes of a customer.
-- Locks: exclusive, for an instant, on state_changes (a nullable column is no rewrite).
alter table accounts.state_changes add column cause text;
alter table accounts.state_changes add constraint state_changes_cause check (cause = 'screening') not valid;
comment on column accounts.state_changes.cause is 'screening: by a confirmed hit. Null: by a command.';

insert into accounts.state_changes (partner_id, id, customer_id, from_state, to_state, reason, note, staff, changed_at, cause)
select hit.partner_id, hit.id, hit.subject_id, 'Active', 'Blocked', 'Compliance', 'Confirmed by screening.', hit.decided_by, hit.decided_at, 'screening'
from screening.hits hit
where hit.status = 'confirmed' and hit.subject_kind = 'customer' and hit.source not like 'pep:%' and not exists (
  select from screening.hits earlier
  where earlier.partner_id = hit.partner_id and earlier.subject_kind = 'customer' and earlier.subject_id = hit.subject_id
    and earlier.status = 'confirmed' and earlier.source not like 'pep:%' and earlier.id < hit.id);
