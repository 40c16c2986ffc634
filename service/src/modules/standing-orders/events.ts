/** The data of the events of standing orders. */
import type { EventData } from '@partner-payments/wire'
import { writeAmount } from '../../kernel/index.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Executed } from './rules.ts'
import type { OrderRow } from './store.ts'

type Failed = Omit<EventData<'standing.order.failed'>, 'eventType' | 'timestamp'>
type Ended = Omit<EventData<'standing.order.ended'>, 'eventType' | 'timestamp'>

const common = ({ id, amount, currency, beneficiaryId, reference }: OrderRow) => ({
  amount: writeAmount(amount, currency),
  currency,
  customFields: null,
  idempotencyKey: null,
  reference: id,
  websiteReference: reference,
  beneficiaryId,
})

const failed = ({ order, execution }: Executed): Failed => ({
  ...common(order),
  date: execution.occursOn,
  nextAttemptAt: execution.status === 'Retrying' && order.dueAt !== null ? order.dueAt.toISOString() : null,
  problemCode: execution.problemCode,
  problemDetail: execution.problemDetail,
  status: execution.status,
})

const ended = (order: OrderRow): Ended => ({ ...common(order), endReason: order.endReason ?? 'Completed' })

/** Appends the event of each failed date: its first refused attempt and its end. A payout that is made has its own events. */
export function appendExecuted(eventOutbox: EventOutbox, tx: Tx, executed: readonly Executed[], now: Date): void {
  const told = executed.filter(
    ({ execution: { status, attempts } }) => status !== 'Made' && !(status === 'Retrying' && attempts > 1),
  )
  eventOutbox.appendMany(
    tx,
    told.map((each) => ({
      partnerId: each.order.partnerId,
      type: 'standing.order.failed' as const,
      occurredAt: now,
      data: failed(each),
    })),
  )
  appendEnded(
    eventOutbox,
    tx,
    executed.map(({ order }) => order),
    now,
  )
}

/** Appends the event of each order that has ended. */
export function appendEnded(eventOutbox: EventOutbox, tx: Tx, orders: readonly OrderRow[], now: Date): void {
  eventOutbox.appendMany(
    tx,
    orders
      .filter(({ status }) => status === 'Ended')
      .map((order) => ({
        partnerId: order.partnerId,
        type: 'standing.order.ended' as const,
        occurredAt: now,
        data: ended(order),
      })),
  )
}
