-- An index of the beginnings of payees' names.
-- Why: a search by name would read every payee of the partner. The names themselves are text in their rows, because screening and
-- verifications compare them; a keyed hash would hide nothing (docs/decisions/0123-payees-by-the-beginnings-of-their-names.md).
-- Processes of the version before may run: they write names and removals without the index. A worker finds these payees, and those from
-- before, by indexed_name. They delete payees of erased customers, which deletes their prefixes.
-- Locks: exclusive, for an instant, on beneficiaries; its writes wait while the index is built, about a second for each million rows.
alter table beneficiaries.beneficiaries add column indexed_name text;
comment on column beneficiaries.beneficiaries.indexed_name is
  'The name that name_prefixes has. Null: none. A live payee has its name, a removed one null; every other value is due.';
create index beneficiaries_names_due on beneficiaries.beneficiaries (partner_id, id)
  where indexed_name is distinct from case when removed_at is null then name end;

create table beneficiaries.name_prefixes (
  partner_id uuid not null,
  prefix text collate "C" not null,
  beneficiary_id uuid not null,
  primary key (partner_id, prefix, beneficiary_id),
  foreign key (partner_id, beneficiary_id) references beneficiaries.beneficiaries (partner_id, id) on delete cascade
);
create index name_prefixes_of_payee on beneficiaries.name_prefixes (partner_id, beneficiary_id);
select public.shard('beneficiaries.name_prefixes');
