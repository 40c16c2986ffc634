-- Keeps which matches of common names a second datum has excluded, and why.
-- Why: a name that was found and is no hit is not lost: an operator counts the exclusions, lists them, and shows them to its regulator.
-- Locks: none.
create table screening.exclusions (
  partner_id uuid not null references access.partners (id),
  subject_kind text not null,
  subject_id uuid not null,
  role text not null,
  source text not null,
  entry_id text not null,
  -- 0 to 100.
  score integer not null check (score between 0 and 100),
  reason text not null check (reason in ('birth', 'country')),
  -- the lists that the name was compared with.
  generation integer not null,
  excluded_at timestamptz not null,
  primary key (partner_id, subject_kind, subject_id, role, source, entry_id)
);
select public.shard('screening.exclusions');
