-- Find finds: payments by the account of the other side and by the reference of a shop, payees by their alias; the audit log by person, act and thing.
--
-- Price of the audit log: a record of a request has one row in audit.acts, with four index entries, and one row in audit.things for each thing that it
-- names. Steps of payments that programs and workers make have neither: they are the most records by far, and the payment shows them.
-- Records of versions before are added once. Those that such a version writes while it still runs are in the log, and no filter but the time finds them.
-- Price of transactions_by_account: one entry, and two or three readings of a JSON of a few hundred bytes, for each row version of a transaction: at
-- most 3 % of the work that PostgreSQL does for a payout. transactions_by_website_reference and beneficiaries_by_alias cost only rows that have one.
--
-- Locks: share locks on transactions.transactions and beneficiaries.beneficiaries while their indexes are built: payments wait, for about five seconds
-- a million rows. On a large database make the three indexes before, with the same names and text and `create index concurrently`: the migration
-- then finds them, and holds no lock that a request waits for.

create table audit.acts (
  partner_id uuid not null, record_id uuid not null,
  kind text not null check (kind in ('Act', 'Read', 'Request')), -- a request to make something is no act; what it made is one.
  action text not null,
  actor_id text, -- of a member of the team, or of a service account. Null: staff of the operator, or the service itself.
  primary key (partner_id, record_id)
);
select public.shard('audit.acts');

-- The things that an act is about, by their ids in lower case. Reads of a customer are in audit.subjects.
create table audit.things (
  partner_id uuid not null,
  thing text not null,
  record_id uuid not null,
  primary key (partner_id, thing, record_id)
);
select public.shard('audit.things');

insert into audit.acts (partner_id, record_id, kind, action, actor_id)
  select partner_id, id, case when content::jsonb ->> 'action' ~ '^(get|list|export)[A-Z]' then 'Read' else 'Act' end, content::jsonb ->> 'action',
    content::jsonb #>> '{actor,id}'
  from audit.records where content::jsonb ->> 'action' <> 'transaction.steps';
insert into audit.things (partner_id, thing, record_id)
  select distinct partner_id, lower((jsonb_each_text(content::jsonb -> 'subject')).value), id from audit.records
  where content::jsonb ->> 'action' <> 'transaction.steps' and content::jsonb ->> 'action' !~ '^(get|list|export)[A-Z]';

create index acts_by_kind on audit.acts (partner_id, kind, record_id);
create index acts_by_action on audit.acts (partner_id, action, record_id);
create index acts_by_actor on audit.acts (partner_id, actor_id, kind, record_id) where actor_id is not null;
create index acts_by_actor_and_action on audit.acts (partner_id, actor_id, action, record_id) where actor_id is not null;

create index if not exists transactions_by_account on transactions.transactions (partner_id,
  upper(coalesce((case direction when 'Outward' then creditor else debtor end)::json ->> 'iban',
    (case direction when 'Outward' then creditor else debtor end)::json ->> 'walletAddress',
    (case direction when 'Outward' then creditor else debtor end)::json ->> 'accountNumber')), created_at, id)
  where (case direction when 'Outward' then creditor else debtor end) is not null;
create index if not exists transactions_by_website_reference on transactions.transactions (partner_id, website_reference, id)
  where website_reference is not null;
create index if not exists beneficiaries_by_alias on beneficiaries.beneficiaries (partner_id, lower(alias), id)
  where removed_at is null and alias is not null;
