-- Who made a thing, and what a person did: the audit log is filtered by person, act and thing, and acts stand apart from reads of lists.
-- Steps of payments that programs and workers make have no rows here: they are the most records by far, and the payment shows them. Every other
-- record has one row, with four index entries, and one for each thing that it names; a payment by a key writes none.
-- Records of versions before are added once. Those that such a version writes while it still runs are in the log, and no filter but the time finds them.
-- Locks: none that a request waits for: it reads audit.records.

create table audit.acts (
  partner_id uuid not null, record_id uuid not null,
  kind text not null check (kind in ('Act', 'Read', 'Request')), -- a request to make something is no act; what it made is one.
  action text not null,
  actor_id text, -- of a member of the team, or of a service account. Null: staff of the operator, or the service itself.
  primary key (partner_id, record_id)
);
select public.shard('audit.acts');

-- The things that an act is about, by their ids in lower case. Reads of a customer are in audit.subjects.
create table audit.things (
  partner_id uuid not null,
  thing text not null,
  record_id uuid not null,
  primary key (partner_id, thing, record_id)
);
select public.shard('audit.things');

insert into audit.acts (partner_id, record_id, kind, action, actor_id)
  select partner_id, id, case when content::jsonb ->> 'action' ~ '^(get|list|export)[A-Z]' then 'Read' else 'Act' end, content::jsonb ->> 'action',
    content::jsonb #>> '{actor,id}'
  from audit.records where content::jsonb ->> 'action' <> 'transaction.steps';
insert into audit.things (partner_id, thing, record_id)
  select record.partner_id, lower(named.value), record.id
  from audit.records as record cross join lateral jsonb_each_text(record.content::jsonb -> 'subject') as named
  where record.content::jsonb ->> 'action' <> 'transaction.steps' and record.content::jsonb ->> 'action' !~ '^(get|list|export)[A-Z]'
  on conflict do nothing;

create index acts_by_kind on audit.acts (partner_id, kind, record_id);
create index acts_by_action on audit.acts (partner_id, action, record_id);
create index acts_by_actor on audit.acts (partner_id, actor_id, kind, record_id) where actor_id is not null;
create index acts_by_actor_and_action on audit.acts (partner_id, actor_id, action, record_id) where actor_id is not null;
