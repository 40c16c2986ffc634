/** Maps API operations to module operations and response shapes, for standing orders. */
import { type ResponseOf, standingOrders as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter, writeSums } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
import { formatTimeOfDay } from './schedule.ts'
import type { StandingOrders } from './service.ts'
import type { ExecutionRow, OrderRow } from './store.ts'

export function standingOrdersRoutes(orders: StandingOrders, idempotency: Idempotency): Handlers<'standingOrders'> {
  const withDates = (order: OrderRow): ResponseOf<'getStandingOrder'> => ({
    ...toWire(order),
    nextDates: orders.datesAhead(order).map(({ date, executesAt }) => ({ date, executesAt: executesAt.toISOString() })),
  })
  const changed = (order: Awaited<ReturnType<StandingOrders['pause']>>) => ({
    body: withDates(order),
    customerId: order.customerId,
  })
  return {
    createStandingOrder: idempotency.handler('createStandingOrder', async ({ caller, body, ip }, tx) => {
      const order = await orders.create(caller, body, ip, tx)
      const { id, customerId } = order
      return { body: withDates(order), created: `the standing order ${id}`, customerId }
    }),
    listStandingOrders: async ({ caller, query }) => writePage(await orders.list(caller.partnerId, query), toWire),
    sumStandingOrders: async ({ caller, query }) => ({ body: writeSums(await orders.sums(caller.partnerId, query)) }),
    getStandingOrder: async ({ caller, params }) => ({
      body: withDates(await orders.get(caller.partnerId, params.orderId)),
    }),
    pauseStandingOrder: async ({ caller, params }) => changed(await orders.pause(caller.partnerId, params.orderId)),
    resumeStandingOrder: async ({ caller, params }) => changed(await orders.resume(caller.partnerId, params.orderId)),
    cancelStandingOrder: async ({ caller, params }) => changed(await orders.cancel(caller.partnerId, params.orderId)),
    listStandingOrderExecutions: async ({ caller, params, query }) =>
      writePage(await orders.executions(caller.partnerId, params.orderId, query), toExecution),
  }
}

const writeOrder = createRecordWriter(wire.StandingOrder)
const toWire = (order: OrderRow) =>
  writeOrder({
    ...order,
    amount: toJsonAmount(order.amount, order.currency),
    onDuplicate: order.refusesDuplicates ? 'Refuse' : 'Allow',
    schedule: { ...order, time: formatTimeOfDay(order.secondOfDay), count: order.dates },
    nextAttemptAt: order.dueAt,
  })

const writeExecution = createRecordWriter(wire.StandingOrderExecution)
const toExecution = ({
  occursOn: date,
  transactionReference: reference,
  problemCode,
  problemDetail,
  ...row
}: ExecutionRow) =>
  writeExecution({
    ...row,
    date,
    reference,
    problem: problemCode === null ? null : { code: problemCode, detail: problemDetail ?? '' },
  })
