-- Accounts: IBANs, states of accounts, and monitors of balances. An IBAN is given once, also over all partners, and a unique constraint cannot span
-- partners on different nodes. So partners take blocks of 1,000 numbers from a replicated pool under a row lock; in a block, a constraint of the
-- partner suffices. An IBAN leads to its partner by its block.
-- Locks: none, everything is new.

create schema accounts;

-- The numbers of a bank code: blocks below next_block belong to partners.
create table accounts.iban_pools (
  country text not null, bank_code text not null,
  next_block integer not null check (next_block >= 0),
  primary key (country, bank_code)
);
select public.replicate('accounts.iban_pools');

create table accounts.iban_blocks (
  partner_id uuid not null references access.partners (id),
  country text not null, bank_code text not null,
  block integer not null check (block >= 0),
  next_number integer not null check (next_number between 0 and 1000), -- lower numbers are given.
  created_at timestamptz not null,
  primary key (partner_id, country, bank_code, block)
);
select public.shard('accounts.iban_blocks');
create index iban_blocks_owner on accounts.iban_blocks (country, bank_code, block); -- From an IBAN to its partner.

-- A customer with IBANs. Its lock serialises concurrent calls for one customer.
create table accounts.customer_accounts (
  partner_id uuid not null,
  customer_id uuid not null,
  created_at timestamptz not null,
  primary key (partner_id, customer_id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id)
);
select public.shard('accounts.customer_accounts');

create table accounts.ibans (
  partner_id uuid not null,
  iban text not null,
  customer_id uuid not null,
  country text not null check (iban like country || '%'),
  created_at timestamptz not null,
  closed_at timestamptz, -- since then it takes no credit.
  bic text, -- of the bank's file. Null: that of the issuer, if it is configured.
  primary key (partner_id, iban),
  constraint ibans_one_per_country unique (partner_id, customer_id, country),
  foreign key (partner_id, customer_id) references accounts.customer_accounts (partner_id, customer_id)
);
select public.shard('accounts.ibans');
create index ibans_by_iban on accounts.ibans (iban);

-- Who changed the state of which account, when and why. Rows are only added.
create table accounts.state_changes (
  partner_id uuid not null references access.partners (id), id uuid not null,
  customer_id uuid, -- null: the state of a balance.
  currency text, -- null: the state of the account of a customer.
  from_state text not null check (from_state in ('Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked')),
  to_state text not null check (to_state in ('Active', 'BlockedInbound', 'BlockedOutbound', 'Blocked', 'Closed')),
  reason text not null check (reason in ('Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other')),
  note text not null,
  staff text not null, -- who changed it. Partners see neither the name nor the note.
  changed_at timestamptz not null,
  cause text constraint state_changes_cause check (cause = 'screening'),
  primary key (partner_id, id),
  check ((customer_id is null) <> (currency is null)),
  check (from_state <> to_state)
);
comment on column accounts.state_changes.cause is 'screening: by a confirmed hit. Null: by a command.';
select public.shard('accounts.state_changes');
create index state_changes_of_account on accounts.state_changes (partner_id, currency, customer_id, id);

-- How far a balance was read: `posted` and `reserved` are the sums of its transfers up to `position`. A worker locks the row.
create table accounts.monitored_balances (
  partner_id uuid not null references access.partners (id),
  account_id uuid not null, -- of ledger.accounts.
  currency text not null,
  position uuid not null,
  posted bigint not null, reserved bigint not null,
  starts_until uuid not null, -- the greatest `starts_after` of its monitors.
  monitors integer not null constraint monitored_balances_limit check (monitors between 0 and 20), -- that have not ended.
  primary key (partner_id, account_id)
);
select public.shard('accounts.monitored_balances');
create index monitored_balances_in_use on accounts.monitored_balances (partner_id, account_id) where monitors > 0;

-- Thresholds of balances. A worker reads transfers in the order of their ids, so that it finds a crossing although the balance came back.
create table accounts.monitors (
  partner_id uuid not null, id uuid not null,
  account_id uuid not null,
  currency text not null,
  direction text not null check (direction in ('Below', 'Above')),
  measure text not null check (measure in ('Posted', 'Available')),
  threshold bigint not null check (threshold >= 0),
  rearm_at bigint check (rearm_at >= 0), -- null: the threshold.
  emails jsonb not null, -- a list of addresses.
  sends_event boolean not null,
  description text,
  state text not null check (state in ('Armed', 'Triggered', 'Ended')),
  end_reason text check (end_reason in ('Deleted', 'AccountClosed')),
  starts_after uuid not null, -- judges the balance at this id and after each later transfer. A change of the threshold sets it again.
  last_triggered_at timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  foreign key (partner_id, account_id) references accounts.monitored_balances (partner_id, account_id),
  check (direction = 'Above' or threshold > 0),
  constraint monitors_hysteresis check (case direction when 'Below' then rearm_at >= threshold else rearm_at <= threshold end),
  check ((state = 'Ended') = (end_reason is not null)),
  check ((state = 'Ended') = (ended_at is not null))
);
select public.shard('accounts.monitors');
create index monitors_of_account on accounts.monitors (partner_id, account_id, id);

-- Rows are only added. The key lets a monitor cross once at a transfer.
create table accounts.monitor_crossings (
  partner_id uuid not null,
  monitor_id uuid not null,
  position uuid not null, -- the transfer after which the balance was across, or the start of the monitor.
  kind text not null check (kind in ('Triggered', 'Rearmed')),
  balance bigint not null,
  reference text, -- of the transfer's transaction. Null: the balance was across at the start of the monitor.
  crossed_at timestamptz not null,
  primary key (partner_id, monitor_id, position),
  foreign key (partner_id, monitor_id) references accounts.monitors (partner_id, id)
);
select public.shard('accounts.monitor_crossings');

-- IBANs that the operator imports from a bank's file. All partners share a pool of the operator's own partner (decision 0061).
create table accounts.imported_pools (
  partner_id uuid not null references access.partners (id),
  name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  country text not null check (country ~ '^[A-Z]{2}$'),
  currency text not null,
  connector text, -- the bank of the IBANs. Null: the file did not say.
  created_at timestamptz not null,
  withdrawn_at timestamptz, -- what was free was withdrawn, and nothing was imported since.
  primary key (partner_id, name)
);
select public.shard('accounts.imported_pools');

-- One row for each file that was imported.
create table accounts.iban_imports (
  partner_id uuid not null, id uuid not null,
  pool text not null,
  file_hash text not null, -- SHA-256.
  imported integer not null check (imported >= 0), skipped integer not null check (skipped >= 0),
  imported_at timestamptz not null, imported_by text not null,
  primary key (partner_id, id),
  constraint iban_imports_file unique (partner_id, pool, file_hash),
  foreign key (partner_id, pool) references accounts.imported_pools (partner_id, name)
);
select public.shard('accounts.iban_imports');

-- Without a foreign key, whose check would cost more than the insert. An import locks its pool first.
create table accounts.imported_ibans (
  partner_id uuid not null,
  iban text not null, pool text not null,
  country text not null check (iban like country || '%'),
  bic text,
  import_id uuid not null,
  line integer not null check (line > 0), -- of the file, from 1.
  given_at timestamptz,
  given_to uuid, -- the partner whose customer has it, or had it.
  quarantined_at timestamptz, -- when its account was closed.
  withdrawn_at timestamptz,
  primary key (partner_id, iban),
  check ((given_at is null) = (given_to is null)),
  check (quarantined_at is null or given_at is not null),
  check (withdrawn_at is null or given_at is null)
);
select public.shard('accounts.imported_ibans');
-- The next free IBAN of a country, and how many of a pool are free.
create index imported_ibans_free on accounts.imported_ibans (partner_id, country, pool, import_id, line)
  where given_at is null and withdrawn_at is null;
-- How many a pool has given lately.
create index imported_ibans_given on accounts.imported_ibans (partner_id, pool, given_at) where given_at is not null;
create index imported_ibans_by_iban on accounts.imported_ibans (iban); -- The pool of an IBAN whose partner is unknown.

-- Blocks of accounts whose unbegun payouts are still to be cancelled. A worker finishes what the command has not.
create table accounts.cancellations (
  partner_id uuid not null references access.partners (id), id uuid not null,
  customer_id uuid, -- null: a balance is blocked.
  currency text, -- null: the account of a customer is blocked.
  blocked_at timestamptz not null,
  due_at timestamptz not null, -- until then the command or the worker that has the lease works on it.
  primary key (partner_id, id),
  unique (partner_id, currency),
  unique (partner_id, customer_id),
  check ((customer_id is null) <> (currency is null))
);
select public.shard('accounts.cancellations');
create index cancellations_due on accounts.cancellations (due_at, partner_id);
