-- Approvals that a person signs with a passkey.
-- Why: the signature is linked to amount and payee (Article 5 of Regulation (EU) 2018/389), and a rule can demand it.
-- Processes of the version before may run: they write false and null, and approve without a signature what no rule of theirs demands.
-- Locks: ACCESS EXCLUSIVE on payouts.approvals and payouts.approval_rules for the change of the catalogue.
alter table payouts.approval_rules add column needs_passkey boolean not null default false;
alter table payouts.approvals
  add column needs_passkey boolean not null default false,
  -- opens the digest of the payee in the signed snapshot. Null: no snapshot was made, or the payout was erased.
  add column payee_salt text;
