-- Named filters of the lists of the console, of one person or shared with the team.
-- Why: people open the same filters each day, and sent each other links.
-- Processes of the version before may run: they neither read nor write the table.
-- Locks: none on existing data; everything here is new.
create table users.saved_views (
  partner_id uuid not null,
  id uuid not null,
  member_id uuid not null,
  -- Path of the list below the console, such as `transactions`.
  page text not null,
  name text not null check (length(name) between 1 and 60),
  -- Query of the list without its cursor.
  query text not null check (length(query) between 1 and 1000),
  is_shared boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id)
);
select public.shard('users.saved_views');
create unique index saved_views_names on users.saved_views (partner_id, member_id, page, name);
create index saved_views_shared on users.saved_views (partner_id, page, name, id) where is_shared;
