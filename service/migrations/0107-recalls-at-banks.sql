-- What banks have of recalls: the text that travels with a request, a second request behind a refused one, and the sandbox bank's own record.
-- Why: a partner says what has happened, and may ask again for another reason; and a test shows that the bank got a request once.
-- Processes of the version before may run: they write no text, and find a payment's recall by the constraint that 0108 drops.
-- Locks: exclusive, for an instant, on iso_recalls; writes to partners wait for an instant while the foreign key is added.
alter table rails.iso_recalls add column details text;
-- At most one request for a payment waits for the bank's answer.
create unique index iso_recalls_open on rails.iso_recalls (partner_id, instruction_id)
  where status in ('Queued', 'Sent', 'Pending');

create table rails.sandbox_recalls (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  instruction_id uuid not null,
  reason text not null,
  times_received integer not null check (times_received > 0),
  received_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('rails.sandbox_recalls');
