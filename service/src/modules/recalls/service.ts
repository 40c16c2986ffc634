/** The verbs of recalls: those of the API, those of the worker that gives them to a bank, and what a bank answers. */
import type { BodyOf } from '@partner-payments/wire'
import { type Caller, notFound } from '../../api/index.ts'
import { after, type Clock, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import type { PayoutsDeps } from '../payouts/deps.ts'
import { instructionIdOf, retryDelayAfter } from '../payouts/rules.ts'
import { lockPayouts, type PayoutRow } from '../payouts/store.ts'
import { type AdvanceRecalls, createAdvanceRecalls, type RecallTrigger } from './advance.ts'
import { recallUpdated } from './events.ts'
import { requireRecallable } from './rules.ts'
import * as store from './store.ts'

export type RecallClaim = store.RecallRow & { readonly leaseId: string }

/** `recallId`: of the recall, or of a request that others have made. `instructionId`: of the payment that is asked back. */
type RecallAnswered = {
  readonly partnerId: string
  readonly recallId: string
  readonly instructionId: string
  readonly accepted: boolean
  readonly reasonCode: string | null
}

export type Recalls = {
  /**
   * Requests the recall of a completed payout. Refuses: not_found, recall_not_supported, payout_not_recallable, recall_exists,
   * recall_deadline_passed. `customerId`: of the payout.
   */
  readonly createRecall: (
    caller: Caller,
    payoutId: string,
    body: BodyOf<'createPayoutRecall'>,
    tx?: Tx,
  ) => Promise<store.RecallRow & { readonly customerId: string | null }>
  /** Newest first. Refuses: not_found. */
  readonly listRecalls: (partnerId: string, payoutId: string) => Promise<readonly store.RecallRow[]>
  /** Refuses: not_found. */
  readonly getRecall: (partnerId: string, payoutId: string, recallId: string) => Promise<store.RecallRow>
  /** Takes due recalls of a connector for an attempt each, under leases. */
  readonly claimRecalls: (connector: string, recallsMax: number) => Promise<readonly RecallClaim[]>
  /** The bank has the request. Changes nothing when the lease is lost. */
  readonly recallTaken: (claim: RecallClaim) => Promise<void>
  /** The connector does not take the request. Changes nothing when the lease is lost. */
  readonly recallDeclined: (claim: RecallClaim, reasonCode: string | null) => Promise<void>
  /** The outcome is unknown, or the connector keeps the request until a time: it is asked again then. */
  readonly recallPostponed: (claim: RecallClaim, until?: Date) => Promise<void>
  /** False: the answer repeats what is known, or is about no recall of a partner. */
  readonly recallAnswered: (answer: RecallAnswered) => Promise<boolean>
  /** Expires recalls whose answer is overdue. Returns how many. */
  readonly expireRecallsStep: () => Promise<number>
  /** Since when the oldest recall waits for its bank. */
  readonly oldestUnsentRecall: (connector: string) => Promise<Date | null>
  /** Since when the oldest overdue answer has not expired its recall. */
  readonly oldestOverdueRecall: (now: Date) => Promise<Date | null>
}

type RecallsDeps = PayoutsDeps & {
  /** Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<PayoutRow>
}

/** Longer than a call to a bank. */
const leaseMs = 15 * secondMs

export function createRecalls(deps: RecallsDeps): Recalls {
  const { db, get } = deps
  const advance = createAdvanceRecalls(deps)
  const listRecalls = async (partnerId: string, payoutId: string) => {
    await get(partnerId, payoutId)
    return store.recallsOfPayout(db, partnerId, payoutId.toLowerCase())
  }
  return {
    createRecall: createRequest(deps),
    listRecalls,
    getRecall: async (partnerId, payoutId, recallId) => {
      const rows = await listRecalls(partnerId, payoutId)
      const row = rows.find(({ id }) => id === recallId.toLowerCase())
      if (row === undefined) throw notFound('recall')
      return row
    },
    ...createSending(deps, advance),
    recallAnswered: async ({ partnerId, recallId, instructionId, accepted, reasonCode }) => {
      const key = await store.recallOfAnswer(db, { partnerId, id: recallId, instructionId })
      if (key === undefined) return false
      return move(db, advance, key, { kind: accepted ? 'accepted' : 'refused', reasonCode })
    },
    expireRecallsStep: createExpire(deps, advance),
    oldestUnsentRecall: (connector) => store.oldestUnsentRecall(db, connector),
    oldestOverdueRecall: (now) => store.oldestOverdueRecall(db, now),
  }
}

/** One recall a transaction: they are few, and each locks the transaction of its payout. */
async function move(
  db: Database,
  advance: AdvanceRecalls,
  { partnerId, id }: store.RecallKey,
  trigger: RecallTrigger,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    // Deferred: the answer implies that the bank has the request, which was recorded.
    for (;;) {
      const [advanced] = await advance(tx, [{ key: { partnerId, id }, trigger }])
      if (advanced !== 'deferred') return advanced === true
    }
  })
}

/** The lock of the payout makes requests wait for each other, and for a return of the money. */
function createRequest({ db, clock, eventOutbox, transactions, canRecall }: PayoutsDeps): Recalls['createRecall'] {
  return (caller, payoutId, { reason, text }, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const { partnerId, serviceAccountId: requestedBy, name: requestedName } = caller
      const [payout] = await lockPayouts(tx, [{ partnerId, id: payoutId }])
      if (payout === undefined) throw notFound('payout')
      const before = await store.recallsOfPayout(tx, partnerId, payout.id)
      const now = clock.now()
      const judged = { canRecall: canRecall(payout.connector), now }
      const row: store.RecallRow = {
        ...opening,
        partnerId,
        id: newId(),
        payoutId: payout.id,
        transactionId: payout.transactionId,
        payoutReference: payout.reference,
        connector: payout.connector,
        instructionId: instructionIdOf(payout),
        amount: payout.amount,
        currency: payout.currency,
        reason,
        details: text ?? null,
        requestedBy,
        requestedName,
        requestedAt: now,
        requestDueOn: requireRecallable(payout, reason, before, judged),
        dueAt: now,
        updatedAt: now,
      }
      await store.insertRecall(tx, row)
      const cause = { actor: 'partner', reason, recallId: row.id } as const
      await transactions.noteAfterEnd(tx, { partnerId, id: row.transactionId }, 'RecallRequested', cause)
      eventOutbox.appendMany(tx, [recallUpdated(row, now)])
      return { ...row, customerId: payout.customerId }
    })
}

const opening = {
  status: 'Requested',
  sentAt: null,
  answerDueOn: null,
  answerDueAt: null,
  answeredAt: null,
  answerCode: null,
  expiredAt: null,
  settledAmount: null,
  returnReference: null,
  returnedAt: null,
  leaseId: null,
  attempts: 0,
} as const

type Sending = Pick<Recalls, 'claimRecalls' | 'recallTaken' | 'recallDeclined' | 'recallPostponed'>

function createSending(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  advance: AdvanceRecalls,
): Sending {
  return {
    claimRecalls: async (connector, recallsMax) => {
      const now = clock.now()
      const claims: RecallClaim[] = []
      for (const key of await store.dueRecalls(db, connector, now, recallsMax)) {
        const leaseId = newId()
        const row = await store.claimRecall(db, key, { now, leaseId, until: after(now, leaseMs) })
        if (row !== undefined) claims.push({ ...row, leaseId })
      }
      return claims
    },
    recallTaken: async (claim) => void (await move(db, advance, claim, { kind: 'taken', leaseId: claim.leaseId })),
    recallDeclined: async (claim, reasonCode) =>
      void (await move(db, advance, claim, { kind: 'declined', leaseId: claim.leaseId, reasonCode })),
    recallPostponed: async (claim, until) =>
      void (await store.postponeRecall(db, claim, until ?? after(clock.now(), retryDelayAfter(claim.attempts)))),
  }
}

/** A step ends soon, so that a stop does not wait for it. */
const overduePerStepMax = 100
const start: store.OverdueRecall = { answerDueAt: new Date(0), partnerId: nilId, id: nilId }

/** Each step continues behind the one before, so that recalls that cannot be expired hold up no others. */
function createExpire({ db, clock, log }: PayoutsDeps, advance: AdvanceRecalls): () => Promise<number> {
  let last = start
  return async () => {
    const ahead = await store.overdueRecalls(db, clock.now(), last, overduePerStepMax)
    const isEnd = ahead.length < overduePerStepMax
    const results = await Promise.allSettled(ahead.map((key) => move(db, advance, key, { kind: 'overdue' })))
    let expired = 0
    for (const [index, result] of results.entries())
      if (result.status === 'fulfilled') expired += result.value ? 1 : 0
      else {
        const { partnerId, id: recallId } = present(ahead[index], 'each recall has a result')
        log.error({ err: result.reason as unknown, partnerId, recallId }, 'recall not expired: it is tried again')
      }
    last = isEnd ? start : (ahead.at(-1) ?? start)
    return expired
  }
}
