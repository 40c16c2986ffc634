-- Names that customers and beneficiaries had before, and the account behind a hit.
-- Why: a new name ended the hit about the earlier one, and freed the payments that waited for its decision. From here on a subject is
-- screened under every name that it had, so that a name and an entry have hits of their own; and the account of a listed payee is held,
-- whatever the beneficiary is called that has it.
-- Processes of the version before may run: a name that they replace is not kept, and they end its hit. So load lists once none of them runs.
-- Locks: writes to hits, of which there are few, wait while their indexes are built.

create table screening.earlier_names (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  subject_kind text not null check (subject_kind in ('customer', 'beneficiary')),
  subject_id uuid not null,
  -- which name of the subject, as in hits.
  role text not null,
  -- sealed, because names are personal data.
  name_sealed bytea not null,
  replaced_at timestamptz not null,
  primary key (partner_id, id)
);
create index earlier_names_by_subject on screening.earlier_names (partner_id, subject_id);
select public.shard('screening.earlier_names');

alter table screening.hits
  -- which one of the names that a role had: two names can match one entry at a time.
  add column name_number integer not null default 0,
  -- the IBAN or wallet of a beneficiary, the account of a payer. Null: a customer, or the bank does not say.
  add column account text;
create unique index hits_standing on screening.hits
  (partner_id, subject_kind, subject_id, role, source, entry_id, name_number) where ended_at is null;
drop index screening.hits_current;
create index hits_by_account on screening.hits (partner_id, account) where account is not null and ended_at is null;

update screening.hits set account = upper(coalesce(payee.iban, payee.wallet_address))
from beneficiaries.beneficiaries payee
where payee.partner_id = hits.partner_id and payee.id = hits.subject_id and hits.subject_kind = 'beneficiary';

-- What a new name has ended is decided about by persons, unless a hit about the new name took its place.
update screening.hits set status = case when hits.decided_at is null then 'open' else hits.status end,
  ended_at = null, end_reason = null, ended_generation = null, name_number = earlier.number
from (
  select partner_id, id,
    row_number() over (partition by partner_id, subject_kind, subject_id, role, source, entry_id order by id)::integer as number
  from screening.hits
  where end_reason = 'name_changed' and (status = 'confirmed' or (status = 'gone' and not exists (
    select from screening.hits later where later.partner_id = hits.partner_id and later.replaces = hits.id)))
) as earlier
where earlier.partner_id = hits.partner_id and earlier.id = hits.id;
