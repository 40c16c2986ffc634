/**
 * The only code that advances a recall: the lifecycle engine with the transitions of recalls. A transition writes the
 * recall, a step in the timeline of the payout's transaction, and an event. Lock order: the payout, if the caller locks
 * it, then recalls, then transactions.
 */
import type { EventOutbox, EventPayload, NewEvent } from '../../events/index.ts'
import type { FactQueue } from '../../inbox/index.ts'
import { type Clock, type Minor, partnerKey, present, toJsonAmount } from '../../kernel/index.ts'
import { type Actor, type TriggerOutcome, createEngine, type PaymentTransition } from '../../lifecycle/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { outgoingAmount, payoutById, type PayoutRow, type RecallReturns } from '../index.ts'
import type { Transactions } from '../../transactions/index.ts'
import { recallLifecycle } from './lifecycle.ts'
import { answerDeadline } from './rules.ts'
import * as store from './store.ts'

/** `reasonCode`: the bank's ISO 20022 code; `bankText`: its own text. */
type BankAnswer = { readonly reasonCode: string | null; readonly bankText?: string | null }
export type RecallTrigger =
  | { readonly kind: 'taken'; readonly leaseId: string }
  | ({ readonly kind: 'declined'; readonly leaseId: string } & BankAnswer)
  | ({ readonly kind: 'accepted' | 'refused' } & BankAnswer)
  | { readonly kind: 'overdue' }
  /** The recalled money was credited by the transaction with this reference. */
  | { readonly kind: 'returned'; readonly amount: Minor; readonly reference: string }

export type AdvanceRecalls = (
  tx: Tx,
  batch: readonly { readonly key: store.RecallKey; readonly trigger: RecallTrigger }[],
) => Promise<readonly TriggerOutcome[]>

export type AdvanceDeps = {
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly facts: FactQueue
  readonly transactions: Pick<Transactions, 'addStepAfterEnd'>
}

export function createAdvanceRecalls(deps: AdvanceDeps): AdvanceRecalls {
  return createEngine({
    clock: deps.clock,
    lifecycle: recallLifecycle,
    lock: store.lockRecalls,
    actorOf,
    holds,
    write: (tx, moves, now) => write(deps, tx, moves, now),
  })
}

function actorOf(trigger: RecallTrigger): Actor {
  if ('leaseId' in trigger) return 'worker'
  return trigger.kind === 'overdue' ? 'time' : 'bank'
}

function holds({ leaseId, answerDueAt }: store.RecallRow, trigger: RecallTrigger, now: Date): boolean {
  if ('leaseId' in trigger) return leaseId === trigger.leaseId
  return trigger.kind !== 'overdue' || (answerDueAt !== null && answerDueAt <= now)
}

type RecallMove = PaymentTransition<store.RecallRow, RecallTrigger, never>

async function write(
  { eventOutbox, facts, transactions }: AdvanceDeps,
  tx: Tx,
  moves: readonly RecallMove[],
  now: Date,
): Promise<void> {
  const written = moves.map((move) => ({ move, row: changedRecall(move, now) }))
  for (const { move, row } of written) store.updateRecall(tx, row, move.row.status)
  for (const { move, row } of written) {
    const { partnerId, transactionId: id, id: recallId } = row
    const { reasonCode: reason = null, bankText = null } =
      'reasonCode' in move.trigger && !move.implied ? move.trigger : {}
    const cause = { actor: move.actor, reason, bankText, recallId }
    for (const step of move.transition.steps) await transactions.addStepAfterEnd(tx, { partnerId, id }, step, cause)
  }
  const events = written.map(async ({ row }) => {
    const payout = await payoutById(tx, row.partnerId, row.payoutId)
    return recallUpdatedEvent(row, present(payout, `no payout ${row.payoutId} for recall ${row.id}`), now)
  })
  eventOutbox.appendMany(tx, await Promise.all(events))
  facts.append(tx, written.flatMap(answerNotification))
}

const answers = { Accepted: 'recall.accepted', Refused: 'recall.refused', Expired: 'recall.expired' } as const

/** Returns the notification of the bank's answer. Money that is returned after an answer does not notify again. */
function answerNotification({ move, row }: { readonly move: RecallMove; readonly row: store.RecallRow }) {
  const { partnerId, id: subject, payoutId, status } = row
  if (status === move.row.status || !(status in answers)) return []
  const type = answers[status as keyof typeof answers]
  return [{ partnerId, type, subject, occasion: `${subject} ${status}`, facts: { payoutId } }]
}

/**
 * Returns the recall after a transition. An implied transition records that the bank received the request, whatever the
 * trigger reports.
 */
function changedRecall({ row, trigger, transition, implied }: RecallMove, now: Date): store.RecallRow {
  const moved = { ...row, status: transition.to, dueAt: null, leaseId: null, updatedAt: now }
  const kind = implied ? 'taken' : trigger.kind
  if (kind === 'taken') {
    const { on, at } = answerDeadline(now)
    return { ...moved, sentAt: now, answerDueOn: on, answerDueAt: at }
  }
  if (kind === 'overdue') return { ...moved, expiredAt: now }
  if (trigger.kind === 'returned') {
    const money = { settledAmount: trigger.amount, returnReference: trigger.reference, returnedAt: now }
    const isAnswered = row.status === 'Accepted'
    const answerText = isAnswered ? row.answerText : null
    return { ...moved, ...money, answeredAt: isAnswered ? row.answeredAt : now, answerCode: null, answerText }
  }
  const { reasonCode: answerCode = null, bankText: answerText = null } = 'reasonCode' in trigger ? trigger : {}
  return { ...moved, answeredAt: now, answerCode, answerText }
}

export function createRecallReturns(deps: AdvanceDeps): RecallReturns {
  const advance = createAdvanceRecalls(deps)
  return {
    /** Locks the accepted recall, otherwise the newest. Without a recall, the bank returned the money on its own. */
    lock: async (tx, payouts) => {
      if (payouts.length === 0) return new Map()
      const found = new Map<string, store.RecallRow>()
      for (const row of await store.lockRecallsOf(tx, payouts)) {
        const key = partnerKey(row.partnerId, row.payoutId)
        if (found.get(key)?.status !== 'Accepted') found.set(key, row)
      }
      return found
    },
    settle: async (tx, returns) =>
      void (await advance(
        tx,
        returns.map(({ partnerId, recallId: id, amount, reference }) => ({
          key: { partnerId, id },
          trigger: { kind: 'returned', amount, reference },
        })),
      )),
  }
}

const toEventData = (recall: store.RecallRow, payout: PayoutRow): EventPayload<'payout.recall.updated'> => ({
  ...outgoingAmount(payout),
  customFields: null,
  idempotencyKey: null,
  reference: recall.payoutReference,
  websiteReference: null,
  payoutId: recall.payoutId,
  recallId: recall.id,
  reason: recall.reason,
  status: recall.status,
  answerCode: recall.answerCode,
  answerDueOn: recall.answerDueOn,
  settledAmount: recall.settledAmount === null ? null : toJsonAmount(recall.settledAmount, recall.currency),
  settledCurrency: recall.currency,
  returnReference: recall.returnReference,
})

export const recallUpdatedEvent = (
  recall: store.RecallRow,
  payout: PayoutRow,
  now: Date,
): NewEvent<'payout.recall.updated'> => ({
  partnerId: recall.partnerId,
  type: 'payout.recall.updated',
  occurredAt: now,
  data: toEventData(recall, payout),
})
