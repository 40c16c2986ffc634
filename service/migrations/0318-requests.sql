-- The request log: a row for each request of a partner, and sums of each day (decision 0097). It has no body, no query and no credential. Rows are
-- dropped by whole weeks, sums after 13 months.
-- Locks: none, everything is new.

create schema requests;

create table requests.log (
  partner_id uuid not null,
  id uuid not null, -- begins with the time of the answer.
  request_id text not null, method text not null,
  operation text not null, -- the id of an operation, or `unknown`.
  params text not null, -- JSON: the path parameters.
  status integer not null check (status between 100 and 599),
  code text,
  pointer text, -- the first field that was refused.
  duration_ms integer not null check (duration_ms >= 0),
  service_account_id uuid not null, service_account_name text not null,
  impersonated_by text,
  verified boolean not null, -- false: the signature was refused, so that the sender may be a stranger who knows the key.
  replayed boolean not null,
  ip text not null, user_agent text,
  primary key (partner_id, id)
) partition by range (id);
select public.shard('requests.log');
-- Each request pays for each index: other filters read a bounded number of rows by the primary key.
create index log_by_request on requests.log (partner_id, request_id, id);
create index log_by_code on requests.log (partner_id, code, id) where code is not null;
create index log_of_errors on requests.log (partner_id, id) where status >= 400;
select public.partition_by_week('requests.log');

create table requests.sums (
  partner_id uuid not null,
  day date not null, -- UTC.
  operation text not null,
  status integer not null,
  code text not null, -- empty: no problem.
  count bigint not null check (count > 0),
  duration_ms_sum bigint not null, duration_ms_max integer not null,
  primary key (partner_id, day, operation, status, code)
);
select public.shard('requests.sums');
