-- Renewals of verifications: the last answer about each beneficiary that was verified, and when it is asked about again.
-- Why: issue 19. An answer belongs to a name and ages. A new name makes it stale, and a payer does not think of asking again.
-- Processes of the version before may run: they rename beneficiaries and verify them without this table. Such a beneficiary is asked about
-- when it is renamed or verified the next time.
-- Locks: writes to partners and to beneficiaries wait for an instant while the foreign keys are added; the table is new.
create table beneficiaries.renewals (
  partner_id uuid not null references access.partners (id),
  beneficiary_id uuid not null,
  -- the last answer that was not `NotPossible`, if there was one; and when it was last answered.
  result text not null check (result in ('Match', 'CloseMatch', 'NoMatch', 'NotPossible')),
  answered_at timestamptz not null,
  -- when it is asked about. Null: when the answer is too old.
  due_at timestamptz,
  -- how often the scheme has not answered since.
  attempts integer not null check (attempts >= 0),
  -- a worker asks until then.
  lease_id uuid,
  leased_until timestamptz,
  primary key (partner_id, beneficiary_id),
  foreign key (partner_id, beneficiary_id) references beneficiaries.beneficiaries (partner_id, id),
  check ((lease_id is null) = (leased_until is null))
);
create index renewals_due on beneficiaries.renewals (due_at) where due_at is not null;
create index renewals_answered on beneficiaries.renewals (answered_at) where due_at is null;
select public.shard('beneficiaries.renewals');

insert into beneficiaries.renewals (partner_id, beneficiary_id, result, answered_at, attempts)
select distinct on (payee.partner_id, payee.id) payee.partner_id, payee.id, answer.result, answer.answered_at, 0
from beneficiaries.beneficiaries as payee
join beneficiaries.verifications as answer
  on answer.partner_id = payee.partner_id and answer.iban = payee.iban and answer.name = payee.name
where payee.removed_at is null
order by payee.partner_id, payee.id, answer.id desc;
