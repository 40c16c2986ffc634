-- Subsidiary accounts of a segregated balance: what each customer, and the partner itself, has of it. The balance is their control account.
-- Why: in a segregated balance no payout for a customer uses the money of another one, or the partner's own (issue 28; decision 0095).
-- Processes of the version before may run: they write no party accounts, so balances are segregated once none of them runs.
-- Locks: exclusive, for an instant, on ledger.accounts. No row is written.
-- null: pooled.
alter table ledger.accounts add column segregated boolean;

-- Rows exist for segregated balances only. They change under the lock of the balance, by the transfers that change it.
create table ledger.party_accounts (
  partner_id uuid not null references access.partners (id),
  -- the balance.
  account_id uuid not null,
  -- a customer, or the partner's own id.
  party_id uuid not null,
  posted bigint not null,
  reserved bigint not null,
  primary key (partner_id, account_id, party_id),
  constraint party_accounts_never_negative check (posted >= reserved and reserved >= 0)
);
select public.shard('ledger.party_accounts');
