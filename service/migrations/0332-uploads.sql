-- Files of bulk payouts and imports that people of a team check and correct before they send them; bulks that were made of the same lines;
-- payees by their short name and their whole name.
-- Locks: writes to payouts.bulk_items and beneficiaries.beneficiaries wait while their indexes are made. The new columns need no rewrite.

-- A file of one person. What it holds is sealed, because it has names and accounts, and is deleted when it was sent or has expired.
create table users.uploads (
  partner_id uuid not null references access.partners (id), id uuid not null,
  member_id uuid not null, -- only this person sees it.
  kind text not null check (kind in ('Bulk', 'Payees', 'Customers')),
  content_sealed bytea, -- null: it was sent.
  revision integer not null check (revision > 0), -- counts changes, so that only what a person has seen is sent.
  lease_id uuid, leased_until timestamptz, -- while it is being sent.
  result_id uuid, -- what was made of it.
  created_at timestamptz not null, updated_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (partner_id, id),
  constraint uploads_sent check ((content_sealed is null) = (result_id is not null)),
  constraint uploads_lease check ((lease_id is null) = (leased_until is null))
);
select public.shard('users.uploads');
create index uploads_of_member on users.uploads (partner_id, member_id, kind, id);
create index uploads_ended on users.uploads (expires_at, partner_id);

-- Payee, amount, currency and reference of a line as a number: finds the bulks that have paid the same lines. Null: an earlier version wrote
-- the line, or its retention has ended.
alter table payouts.bulk_items add column line_digest bigint;
create index bulk_items_by_line on payouts.bulk_items (partner_id, line_digest, bulk_id) where line_digest is not null;

create index beneficiaries_by_name on beneficiaries.beneficiaries (partner_id, lower(name)) where removed_at is null;
