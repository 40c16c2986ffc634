-- Beneficiaries: whom payouts pay; verification of payee; the directory of BICs and the tables of the modulus check.
-- Locks: none, everything is new.

create schema beneficiaries;

-- Of a customer, or of the partner itself. Payouts name a beneficiary for ever, so that a removed one keeps its row.
create table beneficiaries.beneficiaries (
  partner_id uuid not null references access.partners (id), id uuid not null,
  customer_id uuid,
  alias text check (alias <> ''),
  name text not null check (name <> ''),
  iban text check (iban ~ '^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$'), bic text check (bic ~ '^[A-Z0-9]{8}([A-Z0-9]{3})?$'),
  wallet_address text check (wallet_address ~ '^0x[0-9a-fA-F]{40}$'),
  country text check (country ~ '^[A-Z]{2}$'),
  currency text not null,
  created_at timestamptz not null, updated_at timestamptz not null check (updated_at >= created_at),
  removed_at timestamptz,
  vasp text, -- the provider that keeps the wallet, for the travel rule; null: the beneficiary keeps its own.
  bic_completed_at timestamptz, -- the BIC is that of the directory since then. Null: the partner gave it, or there is none.
  named_at timestamptz, -- null: it has the name of its creation.
  domestic_account text, -- sort code or routing number, with the account number.
  payee_check text check (payee_check in ('match', 'close_match', 'no_match')), -- the last result for the present name and account. Null: none.
  account_type text check (account_type in ('Checking', 'Savings')), -- null: not stated, or the account is not American.
  indexed_name text,
  address jsonb check (jsonb_typeof(address) = 'object' and address ? 'city' and address ? 'country'),
  primary key (partner_id, id),
  foreign key (partner_id, customer_id) references customers.customers (partner_id, id),
  check (bic is null or iban is not null),
  constraint beneficiaries_one_account check (num_nonnulls(iban, wallet_address, domestic_account) = 1)
);
comment on column beneficiaries.beneficiaries.indexed_name is
  'The name that name_prefixes has. Null: none. A live payee has its name, a removed one null; every other value is due.';
select public.shard('beneficiaries.beneficiaries');
create index beneficiaries_live on beneficiaries.beneficiaries (partner_id, id) where removed_at is null;
create index beneficiaries_by_customer on beneficiaries.beneficiaries (partner_id, customer_id, id) where removed_at is null;
create index beneficiaries_by_iban on beneficiaries.beneficiaries (partner_id, iban) where removed_at is null;
create index beneficiaries_of_customer on beneficiaries.beneficiaries (partner_id, customer_id, id) where customer_id is not null;
create index beneficiaries_by_domestic_account on beneficiaries.beneficiaries (partner_id, domestic_account)
  where removed_at is null and domestic_account is not null;
create index beneficiaries_names_due on beneficiaries.beneficiaries (partner_id, id)
  where indexed_name is distinct from case when removed_at is null then name end;
-- Payees that lack a field on a day. A key is a kind of payment (currency, countries of account and bank) and the optional fields of the address.
create index beneficiaries_corridor on beneficiaries.beneficiaries (partner_id, (currency || '/' || coalesce(country, '') || '/'
  || coalesce(substring(bic from 5 for 2), '') || '/' || case when address is null then '' else 'a' end
  || case when address ? 'streetName' then 's' else '' end || case when address ? 'buildingNumber' then 'b' else '' end
  || case when address ? 'postalCode' then 'p' else '' end || case when address ? 'state' then 't' else '' end
  || case when account_type is null then '' else 'c' end), id) where removed_at is null and wallet_address is null;
-- Beneficiaries of every customer with one account, removed ones too.
create index beneficiaries_by_account on beneficiaries.beneficiaries (partner_id, coalesce(iban, domestic_account, lower(wallet_address)), id);

-- Evidence of verification of payee (Regulation (EU) 2024/886, Art. 5c). The evidence of a payout is the newest answer before it.
create table beneficiaries.verifications (
  partner_id uuid not null references access.partners (id), id uuid not null,
  name text not null check (length(name) between 1 and 140), -- as in the request; the IBAN without spaces.
  iban text not null check (length(iban) between 15 and 34),
  result text not null check (result in ('Match', 'CloseMatch', 'NoMatch', 'NotPossible')),
  matched_name text check (length(matched_name) between 1 and 140), -- the name of the account.
  reason text,
  source text not null, -- `own`: the service, for an IBAN that it has issued; else the scheme.
  scheme_reference text,
  requested_by uuid not null, requested_by_name text not null, -- a service account.
  requested_at timestamptz not null, answered_at timestamptz not null,
  primary key (partner_id, id),
  constraint verifications_name_of_close_match check ((matched_name is not null) = (result = 'CloseMatch')),
  constraint verifications_reason check ((reason is not null) = (result = 'NotPossible')),
  constraint verifications_answered_after check (answered_at >= requested_at)
);
select public.shard('beneficiaries.verifications');
create index verifications_by_payee on beneficiaries.verifications (partner_id, iban, name, id);

-- One row for each file that was loaded. The newest one is the directory.
create table beneficiaries.bic_directories (
  version integer primary key check (version > 0),
  hash text not null, -- SHA-256 of the file.
  loaded_at timestamptz not null, loaded_by text not null,
  entries integer not null check (entries > 0),
  added integer not null, changed integer not null, removed integer not null -- against the version before it.
);
select public.replicate('beneficiaries.bic_directories');

-- An entry from one version on, until another version changed or removed it.
create table beneficiaries.bics (
  country text not null check (country ~ '^[A-Z]{2}$'), -- of the IBAN.
  bank_code text not null check (bank_code ~ '^[A-Z0-9]{1,20}$'), -- the bank identifier of the IBAN, or bank and branch identifier.
  from_version integer not null, until_version integer,
  bic text not null check (bic ~ '^[A-Z0-9]{8}([A-Z0-9]{3})?$'),
  name text not null check (name <> ''),
  primary key (country, bank_code, from_version),
  check (until_version > from_version)
);
select public.replicate('beneficiaries.bics');

-- The last answer about each verified beneficiary, and when the scheme is asked again. An answer belongs to a name, and ages.
create table beneficiaries.renewals (
  partner_id uuid not null references access.partners (id),
  beneficiary_id uuid not null,
  -- the last one that was not `NotPossible`, if there was one.
  result text not null check (result in ('Match', 'CloseMatch', 'NoMatch', 'NotPossible')),
  answered_at timestamptz not null,
  due_at timestamptz, -- null: when the answer is too old.
  attempts integer not null check (attempts >= 0), -- without an answer of the scheme since.
  lease_id uuid, leased_until timestamptz, -- a worker asks.
  primary key (partner_id, beneficiary_id),
  foreign key (partner_id, beneficiary_id) references beneficiaries.beneficiaries (partner_id, id),
  check ((lease_id is null) = (leased_until is null))
);
select public.shard('beneficiaries.renewals');
create index renewals_due on beneficiaries.renewals (due_at) where due_at is not null;
create index renewals_answered on beneficiaries.renewals (answered_at) where due_at is null;

-- The modulus check of British account numbers, as Vocalink publishes its tables.
create table beneficiaries.modulus_tables (
  version integer primary key,
  hash text not null, -- SHA-256 of both files, in hexadecimal digits.
  loaded_at timestamptz not null, loaded_by text not null,
  ranges integer not null, substitutes integer not null
);
select public.replicate('beneficiaries.modulus_tables');

create table beneficiaries.modulus_weights (
  line integer primary key,
  first text not null, last text not null,
  method text not null check (method in ('MOD10', 'MOD11', 'DBLAL')),
  weights integer[] not null check (cardinality(weights) = 14),
  exception integer
);
select public.replicate('beneficiaries.modulus_weights');
create index modulus_weights_by_range on beneficiaries.modulus_weights (last, first);

create table beneficiaries.modulus_substitutes (
  original text primary key, substitute text not null
);
select public.replicate('beneficiaries.modulus_substitutes');

-- The beginnings of payees' names (decision 0123). The names are plain text in their rows: a keyed hash would hide nothing.
create table beneficiaries.name_prefixes (
  partner_id uuid not null,
  prefix text collate "C" not null,
  beneficiary_id uuid not null,
  primary key (partner_id, prefix, beneficiary_id),
  foreign key (partner_id, beneficiary_id) references beneficiaries.beneficiaries (partner_id, id) on delete cascade
);
select public.shard('beneficiaries.name_prefixes');
create index name_prefixes_of_payee on beneficiaries.name_prefixes (partner_id, beneficiary_id);
