-- Deposits of money that arrives unannounced: the bank's credit that made one, the creditor reference (ISO 11649) by which a
-- payer names one, the hash on a blockchain, and that a credit was taken back.
-- Why: a transfer to an IBAN, a token sent to a wallet, and a checkout session that is paid from another bank come as credits.
-- A deposit of the partner itself has no customer.
-- Processes of the version before may run: they make and read deposits of simulations only, which leave these columns null.
-- Locks: exclusive, for an instant, on deposits; writes to it wait while the indexes are built, which are empty. Writes to
-- IBANs wait while their index is built, and writes to cases while its rows are checked.
alter table deposits.deposits
  alter column customer_id drop not null,
  add column creditor_reference text,
  add column connector text,
  -- the connector's id of the credit.
  add column credit_id text,
  add column transaction_hash text,
  add column reversed_at timestamptz;
create unique index deposits_credit on deposits.deposits (partner_id, connector, credit_id) where credit_id is not null;
create index deposits_by_credit on deposits.deposits (credit_id, connector) where credit_id is not null;
create unique index deposits_reference_named on deposits.deposits (partner_id, creditor_reference)
  where creditor_reference is not null;
create index deposits_by_creditor_reference on deposits.deposits (creditor_reference) where creditor_reference is not null;
create index ibans_by_iban on accounts.ibans (iban);
alter table cases.cases drop constraint cases_kind_check;
alter table cases.cases add constraint cases_kind_check
  check (kind in ('unknown_payment', 'contradiction', 'amount_differs', 'credit_reversed'));
