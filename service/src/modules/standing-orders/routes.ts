/** Operation id -> verb -> shape, for standing orders. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import { timeText } from './schedule.ts'
import type { StandingOrders } from './service.ts'
import type { ExecutionRow, OrderRow } from './store.ts'

export function standingOrdersRoutes(orders: StandingOrders, idempotency: Idempotency): Handlers<'standingOrders'> {
  const withDates = (order: OrderRow): ResponseOf<'getStandingOrder'> => ({
    ...toWire(order),
    nextDates: orders.datesAhead(order).map(({ date, executesAt }) => ({ date, executesAt: executesAt.toISOString() })),
  })
  return {
    createStandingOrder: idempotency.handler('createStandingOrder', async ({ caller, body, ip }, tx) => {
      const order = await orders.create(caller, body, ip, tx)
      const { id, customerId } = order
      return { body: withDates(order), created: `the standing order ${id}`, customerId }
    }),
    listStandingOrders: async ({ caller, query }) => {
      const page = await orders.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getStandingOrder: async ({ caller, params }) => ({
      body: withDates(await orders.get(caller.partnerId, params.orderId)),
    }),
    pauseStandingOrder: async ({ caller, params }) => ({
      body: withDates(await orders.pause(caller.partnerId, params.orderId)),
    }),
    resumeStandingOrder: async ({ caller, params }) => ({
      body: withDates(await orders.resume(caller.partnerId, params.orderId)),
    }),
    cancelStandingOrder: async ({ caller, params }) => ({
      body: withDates(await orders.cancel(caller.partnerId, params.orderId)),
    }),
    listStandingOrderExecutions: async ({ caller, params, query }) => {
      const page = await orders.executions(caller.partnerId, params.orderId, query)
      return { body: { ...page, data: page.data.map(toExecution) } }
    },
  }
}

function toWire(order: OrderRow): ResponseOf<'getStandingOrder'> {
  const { id, status, endReason, beneficiaryId, amount, currency, reference, payoutsMade, dueAt, endedAt } = order
  return {
    id,
    status,
    ...(endReason === null ? {} : { endReason }),
    beneficiaryId,
    amount: writeAmount(amount, currency),
    currency,
    ...(reference === null ? {} : { reference }),
    schedule: toSchedule(order),
    payoutsMade,
    ...(dueAt === null ? {} : { nextAttemptAt: dueAt.toISOString() }),
    createdAt: order.createdAt.toISOString(),
    updatedAt: order.updatedAt.toISOString(),
    ...(endedAt === null ? {} : { endedAt: endedAt.toISOString() }),
  }
}

const toSchedule = ({ frequency, startsOn, secondOfDay, dayOfMonth, endsOn, dates, businessDays }: OrderRow) => ({
  frequency,
  startsOn,
  time: timeText(secondOfDay),
  ...(dayOfMonth === null ? {} : { dayOfMonth }),
  ...(endsOn === null ? {} : { endsOn }),
  ...(dates === null ? {} : { count: dates }),
  businessDays,
})

function toExecution(row: ExecutionRow): ResponseOf<'listStandingOrderExecutions'>['data'][number] {
  const { id, occursOn: date, status, attempts, payoutId, transactionReference, problemCode, problemDetail } = row
  return {
    id,
    date,
    executesAt: row.executesAt.toISOString(),
    status,
    attempts,
    ...(payoutId === null ? {} : { payoutId }),
    ...(transactionReference === null ? {} : { reference: transactionReference }),
    ...(problemCode === null ? {} : { problem: { code: problemCode, detail: problemDetail ?? '' } }),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
