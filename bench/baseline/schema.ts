/** The tables of the baseline: a straightforward schema with the indexes that its lookups need. */
export const schema = `
  create table accounts (
    id uuid primary key, partner_id uuid not null, name text not null, currency text not null,
    posted bigint not null, reserved bigint not null, unique (partner_id, name, currency),
    check (name <> 'balance' or posted >= reserved));
  create table partners (
    id uuid primary key, api_key text not null unique, api_secret text not null, public_key_pem text not null);
  create table customers (id uuid primary key, partner_id uuid not null, email text not null, full_name text not null);
  create table beneficiaries (
    id uuid primary key, partner_id uuid not null, customer_id uuid not null references customers (id),
    name text not null, iban text not null, currency text not null);
  create table nonces (
    partner_id uuid not null, nonce uuid not null, expires_at timestamptz not null, primary key (partner_id, nonce));
  create index nonces_expiry on nonces (expires_at);
  create table transactions (
    id uuid primary key, partner_id uuid not null, reference text not null, amount bigint not null,
    currency text not null, category text not null, status text not null, customer_id uuid, beneficiary_id uuid,
    idempotency_key text, creditor text, created_at timestamptz not null, unique (partner_id, reference));
  create index transactions_status on transactions (partner_id, status, id);
  create index transactions_customer on transactions (partner_id, customer_id, id);
  create table timeline (
    transaction_id uuid not null references transactions (id), position integer not null, step text not null,
    status text not null, created_at timestamptz not null, primary key (transaction_id, position));
  create table transfers (
    id uuid primary key, partner_id uuid not null, kind text not null, amount bigint not null, currency text not null,
    debit_account_id uuid not null references accounts (id), credit_account_id uuid not null references accounts (id),
    reference text not null, created_at timestamptz not null);
  create index transfers_reference on transfers (partner_id, reference);
  create table payouts (
    id uuid primary key, partner_id uuid not null, idempotency_key text not null, request_fingerprint text not null,
    transaction_id uuid not null, reserve_id uuid not null, beneficiary_id uuid not null, amount bigint not null,
    currency text not null, status text not null, due_at timestamptz, created_at timestamptz not null,
    unique (partner_id, idempotency_key));
  create index payouts_due on payouts (due_at) where due_at is not null;
  create table events (
    id uuid primary key, partner_id uuid not null, type text not null, reference text not null, data text not null,
    created_at timestamptz not null);
  create table pending_events (event_id uuid primary key references events (id));`

export type BaselinePartner = {
  readonly partnerId: string
  readonly apiKey: string
  readonly apiSecret: string
  readonly customerId: string
  readonly beneficiaryId: string
}

/** Statements that insert one partner with money, a customer and a beneficiary. */
export const seed = (partner: BaselinePartner, publicKeyPem: string, ids: readonly [string, string]) =>
  [
    [
      'insert into partners values ($1, $2, $3, $4)',
      partner.partnerId,
      partner.apiKey,
      partner.apiSecret,
      publicKeyPem,
    ],
    [`insert into accounts values ($1, $2, 'balance', 'EUR', 1000000000000, 0)`, ids[0], partner.partnerId],
    [`insert into accounts values ($1, $2, 'settlement', 'EUR', -1000000000000, 0)`, ids[1], partner.partnerId],
    [
      `insert into customers values ($1, $2, 'customer@example.com', 'Bench Customer')`,
      partner.customerId,
      partner.partnerId,
    ],
    [
      `insert into beneficiaries values ($1, $2, $3, 'Bench Beneficiary', 'NL91ABNA0417164300', 'EUR')`,
      partner.beneficiaryId,
      partner.partnerId,
      partner.customerId,
    ],
  ] as const
