-- Payouts and items of bulks: the end-to-end id that the partner gave in a pain.001.
-- Why: the payee's bank and the partner's books know a payment by the EndToEndId of the partner. `end_to_end_id` stays the id of the
-- instruction, which is ours and unique; the partner's may repeat.
-- Processes of the version before may run: they read and write the columns that they know, and their payouts have no id of the partner.
-- Locks: payouts and bulk_items, each exclusively and briefly: no row is read for the constraints. Writes to payouts wait while the index is
-- built, about a second for each million rows.

alter table payouts.payouts add column partner_end_to_end_id text;
alter table payouts.payouts add constraint payouts_partner_end_to_end
  check (partner_end_to_end_id ~ '^[A-Za-z0-9/?:().,''+ -]{1,35}$') not valid;
alter table payouts.bulk_items add column end_to_end_id text;
alter table payouts.bulk_items add constraint bulk_items_end_to_end
  check (end_to_end_id ~ '^[A-Za-z0-9/?:().,''+ -]{1,35}$') not valid;

-- A payout by the end-to-end id of its transaction, and its reference.
create index payouts_by_partner_end_to_end on payouts.payouts (partner_id, partner_end_to_end_id, reference)
  where partner_end_to_end_id is not null;
