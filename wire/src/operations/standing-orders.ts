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
      'Pays a beneficiary at a time or again and again by a schedule. A worker makes each payout when it is due, by the rules of ' +
      '`POST /v1/payouts/fiat`: limits, fees, approvals and screening apply. All times are UTC, so that no date moves when clocks change. ' +
      'If the funds do not suffice, the payout is tried again every 15 minutes until midnight UTC. Then it has failed, and the order ' +
      'goes on with its next date. After an outage a payout is made up to three days late; an older one is skipped. ' +
      'The first payout must lie in the future. Nothing is reserved before.',
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
      'Returns how many standing orders have a status, and the sums of what each pays once, by currency. ' +
      'At most 5,000 orders are read: if more match, `capped` is true, and the sums are at least reached.',
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
      'Makes no payout until the order is resumed. A payout that is being tried again is `Skipped`. Payouts that were made go on. An order ' +
      'that is paused is returned unchanged.',
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
      'Continues with the first date that lies ahead. The dates of the pause are over: they count for `count`, and no payout is made for ' +
      'them. If no date is left, the order ends. An order that is active is returned unchanged.',
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
      'Ends the order. After the answer no payout of it is made. A payout that was made before goes on: cancel it with ' +
      '`POST /v1/payouts/{id}/cancel`. An order that was cancelled is returned unchanged.',
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
    description: 'Returns what became of each date of the order so far, newest first.',
    refusals: ['not_found', 'validation_failed'],
    example: { params: { orderId: resource('madeOrder') } },
  },
} as const satisfies Record<string, Operation>
