-- The partner itself and the people of its team as subjects of screening, and accounts that a confirmed hit holds for every partner.
-- Why: names of customers and payees were compared, and the name of the partner was not. A listed account was held for one partner only.
-- Processes of the version before may run: they cannot read the names of the new kinds, log that, and leave them for a minute; they do
-- not hold money by them, so that hits are decided once none of them runs. A payer has earlier names, too: an answer about it replaces its name.
-- Locks: exclusive, for an instant, on subjects, sweeps and earlier_names: rows from before meet the narrower check that is dropped, and
-- are not read. Confirmed hits, of which there are few, are read once; their writes wait while the index is built.
alter table screening.subjects drop constraint subjects_kind_check;
alter table screening.subjects add constraint subjects_kind_check
  check (kind in ('customer', 'beneficiary', 'payer', 'payout', 'partner', 'person')) not valid;
alter table screening.sweeps drop constraint sweeps_kind_check;
alter table screening.sweeps add constraint sweeps_kind_check
  check (kind in ('customer', 'beneficiary', 'partner', 'person')) not valid;
alter table screening.earlier_names drop constraint earlier_names_subject_kind_check;
alter table screening.earlier_names add constraint earlier_names_subject_kind_check
  check (subject_kind in ('customer', 'beneficiary', 'partner', 'person', 'payer')) not valid;

insert into screening.subjects (partner_id, kind, id, generation, changed_at)
select id, 'partner', id, 0, created_at from access.partners;
insert into screening.subjects (partner_id, kind, id, generation, changed_at)
select partner_id, 'person', id, 0, created_at from users.members where removed_at is null;

-- The legal name of a partner, if it is another one than its name here, and its owners.
create table access.partner_names (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- legalName, owner1, owner2 ...
  role text not null,
  -- sealed, because owners are persons.
  name_sealed bytea not null,
  primary key (partner_id, id),
  unique (partner_id, role)
);
select public.shard('access.partner_names');

-- IBANs and wallets of confirmed payees, and listed addresses. Any partner's payment to or from one waits.
create table screening.frozen_accounts (
  account text not null,
  by_partner_id uuid not null,
  by_hit_id uuid not null,
  primary key (account, by_partner_id, by_hit_id)
);
select public.replicate('screening.frozen_accounts');
insert into screening.frozen_accounts (account, by_partner_id, by_hit_id)
select account, partner_id, id from screening.hits
where status = 'confirmed' and account is not null and source <> 'countries' and (subject_kind = 'beneficiary' or role = 'account');

-- Earlier decisions about the same entry, for the person who decides.
create index hits_by_entry on screening.hits (partner_id, source, entry_id) where decided_at is not null;
