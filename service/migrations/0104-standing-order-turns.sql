-- Whose turn it is to make a standing order active.
-- Why: a partner has a bound of active standing orders (STANDING_ORDERS_MAX). Two requests that count them at the same time must not both
-- take the last place. The row is of one partner, and only requests that make an order active lock it: workers do not.
-- Processes of the version before may run: they do not know the bound.
-- Locks: writes to partners wait for an instant while the foreign key is added. The index is built while no order is written; there are
-- few orders.

create table payouts.standing_order_turns (
  partner_id uuid not null references access.partners (id),
  primary key (partner_id)
);
select public.shard('payouts.standing_order_turns');

-- How many are active, whatever the number of those that have ended.
create index standing_orders_active on payouts.standing_orders (partner_id) where status = 'Active';
