-- Functions of migrations: they spread a table over the nodes of a sharded database (Citus), and partition it by week. On plain PostgreSQL `shard`
-- and `replicate` do nothing.
-- Locks: none, everything is new.

create function public.shard(tables regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_extension where extname = 'citus') then
    execute format('select create_distributed_table(%L, %L, colocate_with => %L)', tables, 'partner_id',
      case when tables = 'access.service_accounts'::regclass then 'default' else 'access.service_accounts' end);
  end if;
end $$;

create function public.replicate(tables regclass) returns void language plpgsql as $$
begin
  if exists (select 1 from pg_extension where extname = 'citus') then
    execute format('select create_reference_table(%L)', tables);
  end if;
end $$;

-- Ids are UUIDs version 7: a range of ids is a range of time, so that the primary key tells the partition.
create function public.first_id_of(moment timestamptz) returns uuid language sql immutable as $$
  select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

-- Weeks begin on Mondays, 00:00 UTC: one table for all before the coming Monday, then eight weeks. The service makes later ones ahead of time. A row
-- of no week goes to the default partition: no payment fails because a partition is missing.
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
