/**
 * Standing orders: payouts once or by a schedule. Workers create the payouts.
 *
 * Tables: payouts.standing_orders, payouts.standing_executions, payouts.standing_order_turns. Invariants: a date of an
 * order has one execution, which the transaction that creates its payout writes. The key of the payout names the order
 * and the date.
 */
export { createScheduledPayouts, ordersJob, createStandingOrders, type StandingOrders } from './service.ts'
export { standingOrdersRoutes } from './routes.ts'

export { retainedOrders } from './store.ts'
