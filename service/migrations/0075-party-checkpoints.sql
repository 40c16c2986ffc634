-- What moved for one customer, and its total at any time, without reading the whole history of a partner.
-- Why: transfers have no index by party, because the hot path would maintain it. The loop that writes checkpoints of accounts
-- therefore also writes those of each party that moved money on a balance in the stretch.
-- Locks: exclusive on ledger.checkpoint_progress for a moment, to add a column without a default; the table is new.
-- Runs while the version before serves: that version leaves party_position behind, and this one catches up.

-- How far the checkpoints of parties reach: the end of a stretch. Null: there are none yet.
alter table ledger.checkpoint_progress add column party_position uuid;

create table ledger.party_checkpoints (
  partner_id uuid not null,
  -- a customer, or the partner itself.
  party_id uuid not null,
  -- an account `balance`.
  account_id uuid not null,
  -- the last transfer of the stretch, and the one before its first.
  position uuid not null,
  stretch_after uuid not null,
  -- how many transfers of the stretch moved posted money of the account for the party.
  lines integer not null check (lines >= 0),
  -- the sums of all transfers of the party up to the position.
  posted bigint not null,
  reserved bigint not null,
  primary key (partner_id, party_id, account_id, position)
);
select public.shard('ledger.party_checkpoints');
