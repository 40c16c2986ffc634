-- Webhook delivery: subscriptions, the feed of events, the queue of what is undelivered, and the history in weekly partitions. What is pending is not
-- searched for among all that was ever delivered, and old history is dropped as a whole. A worker that has leased the queue of an endpoint claims its
-- deliveries without a write. Order of row locks: partner, endpoint queue, subscription, delivery.
-- Locks: none, everything is new.

create schema delivery;

-- Its lock serialises fan-out, so that `sequence` is the order of the events, and the limit of subscriptions is exact.
create table delivery.partners (
  partner_id uuid not null references access.partners (id),
  subscriptions integer not null check (subscriptions between 0 and 20),
  last_sequence bigint not null,
  primary key (partner_id)
);
select public.shard('delivery.partners');

create table delivery.subscriptions (
  partner_id uuid not null references access.partners (id), id uuid not null,
  url text not null,
  events text[] not null,
  description text,
  status text not null check (status in ('Enabled', 'Disabled')), -- of a disabled one the deliveries are held.
  created_at timestamptz not null, updated_at timestamptz not null,
  deleted_at timestamptz, -- hidden from the partner; its deliveries are dropped in batches, then the row.
  signature text not null default 'v1' check (signature in ('v1', 'v1a')),
  ordered boolean not null default false,
  api_version integer not null default 2 check (api_version = 2),
  disabled_reason text check (disabled_reason in ('Partner', 'Gone', 'Failing')), disabled_at timestamptz,
  order_pending uuid, -- the switch to strict order whose earlier rows are still to be marked: until then nothing is attempted.
  extension_events text[] not null default '{}', -- event types outside the interface document.
  primary key (partner_id, id),
  constraint subscriptions_disabled check ((status = 'Disabled') = (disabled_at is not null) and (disabled_at is null) = (disabled_reason is null))
);
select public.shard('delivery.subscriptions');
create index subscriptions_deleted on delivery.subscriptions (deleted_at) where deleted_at is not null;

-- Events of a partner in the order of their fan-out, numbered from 1 without a gap, under the lock of the partner's row.
create table delivery.feed (
  partner_id uuid not null,
  sequence bigint not null,
  event_id uuid not null,
  primary key (partner_id, sequence, event_id)
) partition by range (event_id);
select public.shard('delivery.feed');
select public.partition_by_week('delivery.feed');

-- The newest has no end, those before have the end of the overlap. v1: `whsec_...`; v1a: the private key, `whsk_...`.
create table delivery.secrets (
  partner_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  signature text not null check (signature in ('v1', 'v1a')),
  secret_sealed bytea not null,
  created_at timestamptz not null, expires_at timestamptz,
  primary key (partner_id, subscription_id, id),
  foreign key (partner_id, subscription_id) references delivery.subscriptions (partner_id, id)
);
select public.shard('delivery.secrets');
create index secrets_expiring on delivery.secrets (expires_at) where expires_at is not null;

-- What is undelivered. No foreign key to subscriptions: a row is made under the lock of the partner, which a removal takes as well.
create table delivery.queue (
  partner_id uuid not null,
  subscription_id uuid not null, event_id uuid not null,
  sequence bigint not null, -- of the feed.
  wire_event_id uuid not null, -- eventId on the wire: derived from event and subscription, the same at every attempt.
  type text not null, reference text not null,
  status text not null check (status in ('Pending', 'Held')),
  due_at timestamptz, -- of the next attempt. Null: not attempted yet, ordered by sequence.
  attempt_count integer not null check (attempt_count >= 0), -- also the fence: a result names the count with which its attempt began.
  failures integer not null check (failures between 0 and attempt_count), -- since it was last made due by hand: the step of the retry schedule.
  held_at timestamptz,
  created_at timestamptz not null,
  ordered boolean not null default false, -- as its subscription, from the first row on.
  primary key (partner_id, subscription_id, event_id),
  check ((status = 'Held') = (held_at is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
select public.shard('delivery.queue');
create index queue_fresh on delivery.queue (partner_id, subscription_id, sequence) where status = 'Pending' and due_at is null;
create index queue_due on delivery.queue (partner_id, subscription_id, due_at, sequence) where status = 'Pending' and due_at is not null;
create index queue_held on delivery.queue (partner_id, subscription_id, event_id) where status = 'Held';
create index queue_held_at on delivery.queue (held_at) where status = 'Held';
-- Without partner_id, because ids of subscriptions are unique: PostgreSQL took an index with it for the primary key, and read all rows of an
-- endpoint.
create index queue_by_reference on delivery.queue (subscription_id, reference, sequence) where ordered;

-- Delivered events, each with the attempt that succeeded.
create table delivery.deliveries (
  partner_id uuid not null,
  subscription_id uuid not null, event_id uuid not null, sequence bigint not null,
  wire_event_id uuid not null, type text not null, reference text not null,
  attempt_count integer not null,
  created_at timestamptz not null, delivered_at timestamptz not null,
  started_at timestamptz, -- null: delivered before the service kept it here; the attempt is in `attempts`.
  duration_ms integer check (duration_ms >= 0),
  status integer,
  response_body text,
  address text, -- the vetted address that answered; the partner does not see it.
  primary key (partner_id, subscription_id, event_id)
) partition by range (event_id);
select public.shard('delivery.deliveries');
select public.partition_by_week('delivery.deliveries');

-- Attempts that failed.
create table delivery.attempts (
  partner_id uuid not null,
  subscription_id uuid not null, event_id uuid not null,
  attempt integer not null constraint attempts_attempt_check1 check (attempt > 0),
  started_at timestamptz not null, duration_ms integer not null constraint attempts_duration_ms_check1 check (duration_ms >= 0),
  status integer,
  error text, response_body text,
  address text, -- as in deliveries.
  primary key (partner_id, subscription_id, event_id, attempt)
) partition by range (event_id);
select public.shard('delivery.attempts');
select public.partition_by_week('delivery.attempts');

-- Recovery: makes undelivered events of a time range due again, in steps that survive the process.
create table delivery.recoveries (
  partner_id uuid not null, id uuid not null,
  subscription_id uuid not null,
  since timestamptz not null, until timestamptz not null,
  status text not null check (status in ('Running', 'Completed')),
  after_sequence bigint not null, -- it has looked at the feed up to here.
  examined bigint not null, recovered bigint not null,
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id),
  foreign key (partner_id, subscription_id) references delivery.subscriptions (partner_id, id)
);
select public.shard('delivery.recoveries');
create index recoveries_running on delivery.recoveries (created_at) where status = 'Running';
create index recoveries_by_subscription on delivery.recoveries (partner_id, subscription_id, id);

-- An idle or paused endpoint leaves the index of due work and costs nothing.
create table delivery.endpoint_queues (
  partner_id uuid not null,
  subscription_id uuid not null,
  due_at timestamptz, -- not later than the first moment at which something may be claimed; null: nothing waits.
  paused_until timestamptz, -- by Retry-After of the endpoint.
  owed bigint not null, -- deliveries ever made: the sum of the rows.
  lease_id uuid, lease_until timestamptz,
  failures integer not null default 0 check (failures >= 0), -- in a row, and since when nothing has succeeded.
  failing_since timestamptz,
  probe_ms integer, -- circuit breaker: the pause before one probe; null: closed.
  slow_start integer, -- concurrent attempts; null: no limit.
  last_alert text check (last_alert in ('Failing24h', 'Failing72h')), -- sent since failing_since.
  primary key (partner_id, subscription_id),
  foreign key (partner_id, subscription_id) references delivery.subscriptions (partner_id, id),
  constraint endpoint_queues_leased check ((lease_id is null) = (lease_until is null))
);
select public.shard('delivery.endpoint_queues');
create index endpoint_queues_due on delivery.endpoint_queues (due_at) where due_at is not null;
