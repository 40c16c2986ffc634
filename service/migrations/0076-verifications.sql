-- Evidence of verification of payee: who asked for which name and IBAN, when, and what was answered.
-- Why: instant payments regulation (EU) 2024/886, article 5c: a payer is told before the payment whether name and IBAN belong
-- together. The evidence of a payout is the newest answer for its name and IBAN before it, so that a payout writes nothing.
-- Locks: writes to partners wait for an instant while the foreign key is added; the table is new.

create table beneficiaries.verifications (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- as they were asked; the IBAN without spaces.
  name text not null check (length(name) between 1 and 140),
  iban text not null check (length(iban) between 15 and 34),
  result text not null check (result in ('Match', 'CloseMatch', 'NoMatch', 'NotPossible')),
  -- the name of the account.
  matched_name text check (length(matched_name) between 1 and 140),
  reason text,
  -- `own`: the service, for an IBAN that it has issued; else the scheme that was asked.
  source text not null,
  scheme_reference text,
  -- the service account that asked.
  requested_by uuid not null,
  requested_by_name text not null,
  requested_at timestamptz not null,
  answered_at timestamptz not null,
  primary key (partner_id, id),
  constraint verifications_name_of_close_match check ((matched_name is not null) = (result = 'CloseMatch')),
  constraint verifications_reason check ((reason is not null) = (result = 'NotPossible')),
  constraint verifications_answered_after check (answered_at >= requested_at)
);
create index verifications_by_payee on beneficiaries.verifications (partner_id, iban, name, id);
select public.shard('beneficiaries.verifications');
