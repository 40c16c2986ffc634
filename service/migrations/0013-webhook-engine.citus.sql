-- The webhook engine: one event, one number; a small hot queue; history in weekly partitions; lanes that a worker holds.
-- Why: what is pending must not be looked for among all that was ever delivered; old history is dropped as a whole; a
-- worker that holds a lane needs no write to claim each of its deliveries; the pull feed needs a number without gaps.
-- The text for Citus, which refuses checks in `add column`. A sharded database is new, so there is no data to move.
-- Locks: exclusive on the webhooks and outbox tables while their rows are copied, about ten seconds a million events.
-- API and workers of the version before must be stopped.

-- Ids are UUIDs version 7: a range of ids is a range of time, so that the primary key itself tells the partition.
create function public.first_id_of(moment timestamptz) returns uuid language sql immutable as $$
  select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Weeks begin on Mondays, 00:00 UTC: one table for all before the coming Monday, then eight weeks. Later ones are made by
-- the service ahead of time; the default partition is the net below that: no payment fails for want of a partition.
create function public.partition_by_week(parent text) returns void language plpgsql as $$
declare
  week timestamptz := (date_trunc('week', now() at time zone 'UTC') + interval '7 days') at time zone 'UTC';
begin
  execute format('create table %s_before partition of %s for values from (minvalue) to (%L)',
    parent, parent, public.first_id_of(week));
  for i in 0..7 loop
    execute format('create table %s_%s partition of %s for values from (%L) to (%L)', parent,
      to_char((week + i * interval '7 days') at time zone 'UTC', 'YYYYMMDD'), parent,
      public.first_id_of(week + i * interval '7 days'), public.first_id_of(week + (i + 1) * interval '7 days'));
  end loop;
  execute format('create table %s_default partition of %s default', parent, parent);
end $$;

-- Events. No foreign key leads to or from a partitioned table: dropping a week would read all that may point to it.
-- What still needs an event is asked before its week is dropped.
alter table outbox.pending drop constraint pending_partner_id_event_id_fkey;
alter table webhooks.deliveries drop constraint deliveries_partner_id_event_id_fkey;
alter table outbox.events rename to events_old;
alter index outbox.events_pkey rename to events_old_pkey;
create table outbox.events (
  partner_id uuid not null,
  id uuid not null,
  type text not null,
  reference text not null,
  -- text: the exact bytes that every delivery of the event carries.
  data text not null,
  occurred_at timestamptz not null,
  primary key (partner_id, id)
) partition by range (id);
select public.shard('outbox.events');
select public.partition_by_week('outbox.events');
drop table outbox.events_old;

-- The feed: every event of a partner in the order of its fan-out, numbered from 1 without a gap. A number that can be
-- read is followed by none that is smaller: numbers are given under the lock of the partner's row.
create table webhooks.feed (
  partner_id uuid not null,
  sequence bigint not null,
  event_id uuid not null,
  primary key (partner_id, sequence, event_id)
) partition by range (event_id);
select public.shard('webhooks.feed');
select public.partition_by_week('webhooks.feed');

-- Subscriptions: how they sign, whether in order, why they are disabled.
alter table webhooks.subscriptions
  add column signature text not null default 'v1',
  add column ordered boolean not null default false,
  add column api_version integer not null default 2,
  add column disabled_reason text,
  add column disabled_at timestamptz;
alter table webhooks.subscriptions add constraint subscriptions_signature_check check (signature in ('v1', 'v1a'));
alter table webhooks.subscriptions add constraint subscriptions_api_version_check check (api_version = 2);
alter table webhooks.subscriptions
  add constraint subscriptions_disabled_reason_check check (disabled_reason in ('Partner', 'Gone', 'Failing'));
alter table webhooks.subscriptions
  add constraint subscriptions_disabled check ((status = 'Disabled') = (disabled_at is not null)
    and (disabled_at is null) = (disabled_reason is null));

-- Each signs until it expires: the newest has no end, those before it have the end of the overlap. v1: `whsec_...`;
-- v1a: the private key, `whsk_...`. Sealed for the context of the subscription.
create table webhooks.secrets (
  partner_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  signature text not null check (signature in ('v1', 'v1a')),
  secret_sealed bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (partner_id, subscription_id, id),
  foreign key (partner_id, subscription_id) references webhooks.subscriptions (partner_id, id)
);
create index secrets_expiring on webhooks.secrets (expires_at) where expires_at is not null;
select public.shard('webhooks.secrets');
alter table webhooks.subscriptions drop column secret_sealed;

-- The hot queue: what is owed and not delivered, and nothing else. No foreign key to subscriptions: a row is made under
-- the lock of the partner's row, which a removal takes as well, and the remains of a removed one are dropped in batches.
create table webhooks.queue (
  partner_id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  -- of the event in the feed.
  sequence bigint not null,
  -- eventId on the wire: derived from event and subscription, the same at every attempt.
  wire_event_id uuid not null,
  type text not null,
  reference text not null,
  status text not null check (status in ('Pending', 'Held')),
  -- null: not attempted yet, in line by its sequence. Else when the next attempt is due.
  due_at timestamptz,
  -- attempts ever made. Also the fence: who records an attempt names the count that it began with.
  attempt_count integer not null check (attempt_count >= 0),
  -- failed attempts since it was last made due by hand: the step of the retry schedule.
  failures integer not null check (failures between 0 and attempt_count),
  held_at timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, subscription_id, event_id),
  check ((status = 'Held') = (held_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
create index queue_fresh on webhooks.queue (partner_id, subscription_id, sequence)
  where status = 'Pending' and due_at is null;
create index queue_due on webhooks.queue (partner_id, subscription_id, due_at, sequence)
  where status = 'Pending' and due_at is not null;
create index queue_held on webhooks.queue (partner_id, subscription_id, event_id) where status = 'Held';
create index queue_held_at on webhooks.queue (held_at) where status = 'Held';
create index queue_by_reference on webhooks.queue (partner_id, subscription_id, reference, sequence);
select public.shard('webhooks.queue');

-- What was delivered, and every attempt: kept for 30 days.
alter table webhooks.deliveries rename to deliveries_old;
alter index webhooks.deliveries_pkey rename to deliveries_old_pkey;
create table webhooks.deliveries (
  partner_id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  sequence bigint not null,
  wire_event_id uuid not null,
  type text not null,
  reference text not null,
  attempt_count integer not null,
  created_at timestamptz not null,
  delivered_at timestamptz not null,
  primary key (partner_id, subscription_id, event_id)
) partition by range (event_id);
select public.shard('webhooks.deliveries');
select public.partition_by_week('webhooks.deliveries');
alter table webhooks.attempts rename to attempts_old;
alter index webhooks.attempts_pkey rename to attempts_old_pkey;
create table webhooks.attempts (
  partner_id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  attempt integer not null check (attempt > 0),
  started_at timestamptz not null,
  duration_ms integer not null check (duration_ms >= 0),
  status integer,
  error text,
  response_body text,
  -- the vetted address that answered; for operators, never shown to the partner.
  address text,
  primary key (partner_id, subscription_id, event_id, attempt)
) partition by range (event_id);
select public.shard('webhooks.attempts');
select public.partition_by_week('webhooks.attempts');

drop table webhooks.attempts_old;
drop table webhooks.deliveries_old;
-- The payload is the event's: it was kept twice.
drop table webhooks.messages;

-- Lanes: held by one worker at a time, which attempts what the lane is owed from its memory; the row remembers what must
-- survive that worker.
alter table webhooks.lanes
  -- the worker that holds the lane, and until when unless it renews.
  add column lease_id uuid,
  add column lease_until timestamptz,
  -- failures in a row; since when nothing has succeeded.
  add column failures integer not null default 0,
  add column failing_since timestamptz,
  -- the breaker: after so long one probe; null while closed.
  add column probe_ms integer,
  -- attempts at once that a slow start allows; null: as many as ever.
  add column slow_start integer,
  -- the last step of the notices sent since failing_since.
  add column noticed text;
alter table webhooks.lanes add constraint lanes_failures_check check (failures >= 0);
alter table webhooks.lanes add constraint lanes_noticed_check check (noticed in ('Failing24h', 'Failing72h'));
alter table webhooks.lanes add constraint lanes_leased check ((lease_id is null) = (lease_until is null));

-- Recovery: makes due again, from a time on, whatever a subscription should have got and did not, in steps that survive
-- the process. `after_sequence`: the place in the feed up to which it has looked.
create table webhooks.recoveries (
  partner_id uuid not null,
  id uuid not null,
  subscription_id uuid not null,
  since timestamptz not null,
  until timestamptz not null,
  status text not null check (status in ('Running', 'Completed')),
  after_sequence bigint not null,
  examined bigint not null,
  recovered bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, subscription_id) references webhooks.subscriptions (partner_id, id)
);
create index recoveries_running on webhooks.recoveries (created_at) where status = 'Running';
create index recoveries_by_subscription on webhooks.recoveries (partner_id, subscription_id, id);
select public.shard('webhooks.recoveries');
