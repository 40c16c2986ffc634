-- Entries of several transfers, and balances at any past time without reading the whole history of a partner.
-- Why: a payout with a fee or a conversion is several transfers that take effect together. An entry of one transfer has no
-- entry_id. The ids of the others follow the id of their entry, so that the primary key finds them and no index is needed.
-- A checkpoint holds what an account stood at behind a stretch of a thousand transfers of its partner.
-- Locks: exclusive on ledger.transfers for a moment, to add a column without a default; the tables are new.

alter table ledger.transfers add column entry_id uuid;

-- How far the checkpoints of a partner reach. One process at a time continues them: it locks this row.
create table ledger.checkpoint_progress (
  partner_id uuid not null references access.partners (id),
  -- the last transfer that they cover.
  position uuid not null,
  -- the checkpoints and the transfers behind them did not add up to the accounts, and the checkpoints are made again.
  differs boolean not null,
  primary key (partner_id)
);
select public.shard('ledger.checkpoint_progress');

create table ledger.checkpoints (
  partner_id uuid not null,
  -- the last transfer of the stretch, and the one before its first.
  position uuid not null,
  account_id uuid not null,
  stretch_after uuid not null,
  -- how many transfers of the stretch changed the posted sum of the account.
  lines integer not null check (lines >= 0),
  posted bigint not null,
  reserved bigint not null,
  primary key (partner_id, position, account_id)
);
create index checkpoints_by_account on ledger.checkpoints (partner_id, account_id, position);
select public.shard('ledger.checkpoints');
