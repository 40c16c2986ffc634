-- The event outbox: the transaction that changes a state writes its events. No foreign key leads to or from a table in weekly partitions: dropping a
-- week would read all rows that may point to it.
-- Locks: none, everything is new.

create schema events;

-- Events that are not yet fanned out to subscriptions.
create table events.pending (
  partner_id uuid not null,
  event_id uuid not null,
  primary key (partner_id, event_id)
);
select public.shard('events.pending');

create table events.events (
  partner_id uuid not null, id uuid not null,
  type text not null, reference text not null,
  data text not null, -- the exact bytes that every delivery carries.
  occurred_at timestamptz not null,
  primary key (partner_id, id)
) partition by range (id);
select public.shard('events.events');
select public.partition_by_week('events.events');
