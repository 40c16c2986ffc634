-- Foundation: the schemas of the rooms, the helpers that shard a table, partners and their credentials.
-- Why: every later migration creates its tables in the schema of its room and calls shard() on them.
-- Locks: none on existing data; everything here is new.

create schema access;
create schema ledger;
create schema outbox;
create schema customers;
create schema accounts;
create schema beneficiaries;
create schema transactions;
create schema payouts;
create schema deposits;
create schema users;
create schema webhooks;
create schema rails;

-- Sharded by partner where the database can (Citus); nothing on plain PostgreSQL.
create function public.shard(tables regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_extension where extname = 'citus') then
    execute format('select create_distributed_table(%L, %L, colocate_with => %L)', tables, 'partner_id',
      case when tables = 'access.service_accounts'::regclass then 'default' else 'access.service_accounts' end);
  end if;
end $$;

-- The same small table on every node.
create function public.replicate(tables regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_extension where extname = 'citus') then
    execute format('select create_reference_table(%L)', tables);
  end if;
end $$;

create table access.partners (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 140),
  created_at timestamptz not null
);
select public.replicate('access.partners');

-- A credential: of a service account, or of a staff member's impersonation session (impersonated_by, expires_at).
create table access.service_accounts (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  name text not null,
  api_key text not null,
  api_secret_sealed bytea not null,
  public_key_pem text not null,
  permissions text[] not null,
  impersonated_by text,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, id),
  unique (partner_id, api_key),
  check ((impersonated_by is null) or (expires_at is not null))
);
select public.shard('access.service_accounts');

-- A nonce is spent once per service account; kept until no timestamp could make it acceptable again.
create table access.nonces (
  partner_id uuid not null,
  service_account_id uuid not null,
  nonce uuid not null,
  expires_at timestamptz not null,
  primary key (partner_id, service_account_id, nonce)
);
create index nonces_expiry on access.nonces (partner_id, expires_at);
select public.shard('access.nonces');
