-- Webhooks: subscriptions, and what each of them is owed.
-- Why lanes: a subscription that is idle, at its cap or paused leaves the index of due work and costs nothing, so that
-- a slow endpoint with a long queue does not stand before the others.
-- Locks: none on existing data; everything here is new. Order of row locks, everywhere: partner, lane, subscription,
-- delivery.

-- One row a partner. Its lock makes fan-out one after another, so that `sequence` is the order of the events, and the
-- limit on subscriptions exact.
create table webhooks.partners (
  partner_id uuid not null references access.partners (id),
  subscriptions integer not null check (subscriptions between 0 and 20),
  last_sequence bigint not null,
  primary key (partner_id)
);
select public.shard('webhooks.partners');

create table webhooks.subscriptions (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  url text not null,
  events text[] not null,
  description text,
  -- Disabled: by the partner, or by an endpoint that answered 410. What it is owed is held until it is enabled again.
  status text not null check (status in ('Enabled', 'Disabled')),
  secret_sealed bytea not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- gone for the partner; what it was owed is dropped in batches, then the row.
  deleted_at timestamptz,
  primary key (partner_id, id)
);
create index subscriptions_deleted on webhooks.subscriptions (deleted_at) where deleted_at is not null;
select public.shard('webhooks.subscriptions');

create table webhooks.lanes (
  partner_id uuid not null,
  subscription_id uuid not null,
  -- not later than the first moment at which something may be claimed; null when there is nothing to wait for.
  due_at timestamptz,
  -- the endpoint asked for a rest (Retry-After).
  paused_until timestamptz,
  -- deliveries ever made for it: what the rows must add up to.
  owed bigint not null,
  primary key (partner_id, subscription_id),
  foreign key (partner_id, subscription_id) references webhooks.subscriptions (partner_id, id)
);
create index lanes_due on webhooks.lanes (due_at) where due_at is not null;
select public.shard('webhooks.lanes');

-- The payload, once, however many subscriptions take it. data is text: the exact bytes that every delivery carries.
create table webhooks.messages (
  partner_id uuid not null,
  event_id uuid not null,
  type text not null,
  data text not null,
  primary key (partner_id, event_id)
);
select public.shard('webhooks.messages');

create table webhooks.deliveries (
  partner_id uuid not null,
  id uuid not null,
  subscription_id uuid not null,
  event_id uuid not null,
  -- eventId on the wire: derived from event and subscription, the same at every attempt.
  wire_event_id uuid not null,
  sequence bigint not null,
  reference text not null,
  status text not null check (status in ('Pending', 'Delivered', 'Held')),
  attempt_count integer not null check (attempt_count >= 0),
  -- failed attempts since it was last made due by hand: the step of the retry schedule.
  failures integer not null check (failures between 0 and attempt_count),
  next_attempt_at timestamptz,
  -- the fence: only the holder of this lease records an attempt.
  lease_id uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  primary key (partner_id, id),
  -- an event reaches a subscription as one delivery, however often it is fanned out.
  unique (partner_id, event_id, subscription_id),
  foreign key (partner_id, subscription_id) references webhooks.subscriptions (partner_id, id),
  foreign key (partner_id, event_id) references webhooks.messages (partner_id, event_id),
  check ((status = 'Pending') = (next_attempt_at is not null)),
  check ((lease_id is null) = (lease_until is null)),
  check (lease_id is null or status = 'Pending')
);
-- in the order of the claim, so that it ends at its limit: thousands come due at one moment when all are enabled again.
create index deliveries_due on webhooks.deliveries (partner_id, subscription_id, next_attempt_at, sequence)
  where status = 'Pending';
create index deliveries_in_order on webhooks.deliveries (partner_id, subscription_id, reference, sequence)
  where status = 'Pending';
create index deliveries_leased on webhooks.deliveries (partner_id, subscription_id) where lease_id is not null;
create index deliveries_owed on webhooks.deliveries (partner_id, subscription_id, sequence)
  where status <> 'Delivered';
create index deliveries_by_subscription on webhooks.deliveries (partner_id, subscription_id, id);
select public.shard('webhooks.deliveries');

create table webhooks.attempts (
  partner_id uuid not null,
  delivery_id uuid not null,
  attempt integer not null check (attempt > 0),
  started_at timestamptz not null,
  duration_ms integer not null check (duration_ms >= 0),
  status integer,
  error text,
  response_body text,
  -- the vetted address that answered; for operators, never shown to the partner.
  address text,
  primary key (partner_id, delivery_id, attempt),
  foreign key (partner_id, delivery_id) references webhooks.deliveries (partner_id, id)
);
select public.shard('webhooks.attempts');
