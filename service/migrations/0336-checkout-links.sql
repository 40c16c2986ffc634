-- Payment links, and the choice of a partner about money that did not fit its session. The columns of sessions say which link opened one, and who the
-- payer of a link is; they are empty in the sessions that exist.
-- Locks: checkout.sessions for a moment each (nullable columns without defaults); its new index is empty, but building it reads the table.

-- A link that is made once and paid many times. Each opening makes a session.
create table checkout.links (
  partner_id uuid not null references access.partners (id), id uuid not null,
  customer_id uuid not null, -- whose account the payers pay to.
  token_hash bytea not null constraint links_token_hash check (length(token_hash) = 32), -- SHA-256 of the token in the link, and the token itself, sealed.
  token_sealed bytea not null,
  currency text not null,
  amount bigint constraint links_amount check (amount > 0), -- null: the payer enters it, within the two bounds.
  amount_min bigint, amount_max bigint,
  description text constraint links_description check (length(description) <= 255), -- null: none, or the customer was erased.
  line_items jsonb,
  website_reference text,
  custom_fields text,
  return_url text,
  session_seconds integer not null constraint links_session_seconds check (session_seconds between 300 and 2592000),
  ends_at timestamptz, -- null: it does not end by itself.
  payments_max integer constraint links_payments_max check (payments_max > 0), -- null: any number.
  is_active boolean not null,
  -- the payments of the sessions that are no longer counted as open (checkout.sessions.link_open).
  paid_count integer not null constraint links_paid_count check (paid_count >= 0),
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint links_token unique (partner_id, token_hash),
  constraint links_open_amount check (amount is null or (amount_min is null and amount_max is null and amount > 0)),
  constraint links_amount_bounds check (amount_min > 0 and amount_max >= amount_min)
);
select public.shard('checkout.links');

alter table checkout.sessions add column link_id uuid;
alter table checkout.sessions add column payer_name text; -- as the payer of a link typed it. Null: no link, or erased.
alter table checkout.sessions add column payer_email text;
alter table checkout.sessions add column opened_by bytea; -- SHA-256 of the link's token and the payer's address. Null once it no longer bounds the address.
alter table checkout.sessions add column link_open boolean; -- true until the link has counted how the session ended.
alter table checkout.sessions add constraint sessions_link_open check (link_open is null or link_id is not null);
create index sessions_by_link on checkout.sessions (partner_id, link_id, id) where link_id is not null;
create index sessions_open_of_link on checkout.sessions (partner_id, link_id) where link_open;

-- Money that the partner may accept for its session, or return to the payer: one row for each case of such money, with the id of the case.
create table checkout.late_payments (
  partner_id uuid not null, id uuid not null,
  session_id uuid not null,
  reason text not null constraint late_payments_reason
    check (reason in ('AfterEnd', 'SecondPayment', 'OtherAmount', 'Surplus', 'Incomplete')),
  currency text not null, amount bigint not null constraint late_payments_amount check (amount > 0),
  received_at timestamptz not null,
  choose_by timestamptz not null, -- then the operator alone decides.
  choice text constraint late_payments_choice check (choice in ('Accept', 'Return')),
  chosen_at timestamptz,
  deposit_id uuid, -- the deposit that accepted money became.
  primary key (partner_id, id),
  foreign key (partner_id, session_id) references checkout.sessions (partner_id, id),
  constraint late_payments_chosen check ((choice is null) = (chosen_at is null)),
  constraint late_payments_deposit check (deposit_id is null or choice = 'Accept')
);
select public.shard('checkout.late_payments');
create index late_payments_of_session on checkout.late_payments (partner_id, session_id, id);
