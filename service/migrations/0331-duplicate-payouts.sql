-- Payouts that may repeat an earlier one are found by the account that they pay and their amount, at any number of payouts.
-- A note for colleagues is a row of its own, so that payouts without one cost nothing.
-- Locks: payouts.payouts against writes while its index is built, payouts.standing_orders and payouts.bulk_items for an instant.

create index payouts_by_account on payouts.payouts (partner_id, lower(creditor_account), amount, id);

-- Requests that refuse to repeat a payment lock the row, so that of two at once one sees the other.
create table payouts.duplicate_turns (
  partner_id uuid not null references access.partners (id),
  primary key (partner_id)
);
select public.shard('payouts.duplicate_turns');

-- What a colleague should know of a payout. It is sent to no bank and no payee.
create table payouts.notes (
  partner_id uuid not null references access.partners (id),
  payout_id uuid not null,
  note text, -- null: it was taken away, or the customer was erased.
  written_by uuid not null, written_by_name text not null,
  updated_at timestamptz not null,
  primary key (partner_id, payout_id),
  constraint notes_chars check (char_length(note) between 1 and 500)
);
select public.shard('payouts.notes');

-- Of the payouts of an order.
alter table payouts.standing_orders add column note text;
alter table payouts.standing_orders add constraint standing_orders_note check (char_length(note) between 1 and 500);
alter table payouts.standing_orders add column refuses_duplicates boolean not null default false;

alter table payouts.bulk_items add column refuses_duplicates boolean not null default false;
