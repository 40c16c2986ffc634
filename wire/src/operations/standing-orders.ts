/** Operations on standing orders, in the group `payouts`. */
import * as orders from '../standing-orders.ts'
import { amount, newYear, resource } from './example.ts'
import type { Operation } from './operation.ts'
import { orderId } from './params.ts'

export const standingOrdersOperations = {
  createStandingOrder: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/standing-orders',
    body: orders.StandingOrderCreate,
    response: orders.StandingOrder,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Create a standing order',
    description:
      'Pays a beneficiary once or repeatedly by a schedule. A worker makes each payout when it is due, by the rules of ' +
      '`POST /v1/payouts/fiat`: limits, fees, approvals and screening apply. All times are UTC, so that no date moves when clocks change. ' +
      'If the funds are insufficient, the payout is retried every 15 minutes until midnight UTC. Then it fails, and the order ' +
      'continues with its next date. After an outage a payout is made up to three days late; older payouts are skipped. ' +
      'The first payout must be in the future. The service does not reserve money in advance.',
    refusals: [
      'validation_failed',
      'not_found',
      'currency_not_supported',
      'beneficiary_currency_mismatch',
      'beneficiary_not_payable',
      'country_not_supported',
      'possible_duplicate',
      'standing_order_limit_reached',
    ],
    example: {
      body: {
        amount: amount('950.00'),
        beneficiaryId: resource('beneficiary'),
        currency: 'EUR',
        reference: 'Rent',
        schedule: {
          frequency: 'Monthly',
          startsOn: newYear,
          dayOfMonth: 31,
          time: '06:00',
          count: 24,
          businessDays: 'Preceding',
        },
      },
    },
  },
  listStandingOrders: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/standing-orders',
    query: orders.StandingOrderQuery,
    response: orders.StandingOrderPage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List standing orders',
    description: "Returns the partner's standing orders, newest first, without their next dates.",
    refusals: ['validation_failed'],
    example: {},
  },
  sumStandingOrders: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/sums/standing-orders',
    query: orders.StandingOrderSumsQuery,
    response: orders.StandingOrderSums,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Sum standing orders',
    description:
      'Returns the number of standing orders with a status, and the sums of their amounts per payout, by currency. ' +
      'At most 5,000 orders are summed: if more match, `capped` is true, and the actual sums are higher.',
    refusals: [],
    example: {},
  },
  getStandingOrder: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/standing-orders/{orderId}',
    params: orderId,
    response: orders.StandingOrder,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Retrieve a standing order',
    description: 'Returns the standing order with its next 12 dates.',
    refusals: ['not_found'],
    example: { params: { orderId: resource('standingOrder') } },
  },
  pauseStandingOrder: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/standing-orders/{orderId}/pause',
    params: orderId,
    response: orders.StandingOrder,
    idempotency: 'kept',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Pause a standing order',
    description:
      'Stops payouts until the order is resumed. A payout that is being retried becomes `Skipped`. Payouts already made are unaffected. A ' +
      'paused order is returned unchanged.',
    refusals: ['not_found', 'standing_order_ended'],
    example: { params: { orderId: resource('standingOrder') } },
  },
  resumeStandingOrder: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/standing-orders/{orderId}/resume',
    params: orderId,
    response: orders.StandingOrder,
    idempotency: 'kept',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Resume a standing order',
    description:
      'Continues with the next date. Dates during the pause count for `count`, but no payouts are made for them. If no date is left, the ' +
      'order ends. An active order is returned unchanged.',
    refusals: ['not_found', 'standing_order_ended', 'standing_order_limit_reached'],
    example: { params: { orderId: resource('standingOrder') } },
  },
  cancelStandingOrder: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/standing-orders/{orderId}/cancel',
    params: orderId,
    response: orders.StandingOrder,
    idempotency: 'kept',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Cancel a standing order',
    description:
      'Ends the order. It makes no further payouts. Payouts already made are unaffected: cancel them with ' +
      '`POST /v1/payouts/{id}/cancel`. A cancelled order is returned unchanged.',
    refusals: ['not_found', 'standing_order_ended'],
    example: { params: { orderId: resource('endedOrder') } },
  },
  listStandingOrderExecutions: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/standing-orders/{orderId}/executions',
    params: orderId,
    query: orders.StandingOrderExecutionQuery,
    response: orders.StandingOrderExecutionPage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List the executions of a standing order',
    description: 'Returns the result of each past date of the order, newest first.',
    refusals: ['not_found', 'validation_failed'],
    example: { params: { orderId: resource('madeOrder') } },
  },
} as const satisfies Record<string, Operation>
