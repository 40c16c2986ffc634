-- The sandbox bank's own books: what it was told, and what it will tell, each at its time.
-- Locks: none on existing data; everything here is new.

create table rails.sandbox_instructions (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  end_to_end_id text not null,
  amount bigint not null,
  currency text not null,
  creditor_name text not null,
  creditor_account text not null,
  -- how often it was handed over: more than once is a fault of the sender, and the bank remembers it.
  times_received integer not null,
  -- what the bank answered.
  accepted boolean not null,
  error_key text,
  error_details text,
  received_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.sandbox_instructions');

create table rails.sandbox_notices (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  -- an instruction's id, or a deposit's.
  subject_id uuid not null,
  kind text not null,
  payload text not null,
  due_at timestamptz not null,
  acknowledged_at timestamptz,
  primary key (partner_id, id)
);
create index sandbox_notices_due on rails.sandbox_notices (due_at) where acknowledged_at is null;
create index sandbox_notices_due_by_partner on rails.sandbox_notices (partner_id, due_at, id) where acknowledged_at is null;
select public.shard('rails.sandbox_notices');
