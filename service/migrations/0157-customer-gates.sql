-- Gates: what a customer may do in each state of its verification. A state without a row has the default of the installation (KYC_GATES).
-- Why: a customer with an e-mail address only opened accounts, received and paid (issue 28).
-- Processes of the version before may run: they let every customer do everything.
-- Locks: writes to partners wait for an instant while the foreign key is added.
create table customers.gates (
  partner_id uuid not null references access.partners (id),
  verification_state text not null check (verification_state in ('Complete', 'Incomplete', 'Invalid')),
  opens_accounts boolean not null,
  receives boolean not null,
  pays boolean not null,
  updated_at timestamptz not null,
  primary key (partner_id, verification_state)
);
select public.shard('customers.gates');
