-- Refunds of checkout sessions. A refund is a payout to the account that paid, and has its id; amount and status are those of the payout.
-- Why: issue 28. A shop sends the money of a paid session back, in whole or in parts.
-- Processes of the version before may run: they do not use the table.
-- Locks: writes to checkout.sessions wait for an instant while the foreign key is added.
create table checkout.refunds (
  partner_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  -- what the partner says of it. Null: nothing, or the customer was erased.
  reason text check (char_length(reason) <= 255),
  created_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, session_id) references checkout.sessions (partner_id, id)
);
-- The refunds of a session, newest first, and their sum.
create index refunds_of_session on checkout.refunds (partner_id, session_id, id);
select public.shard('checkout.refunds');
