/** The operations of recalls: for the API, for the worker that sends them to a bank, and for the answers of banks. */
import type { BodyOf } from '@partner-payments/wire'
import { type Caller, notFound } from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, type Log, minuteMs, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import type { Connector } from '../../rails/index.ts'
import { instructionIdOf, lockPayouts, payoutOfInstruction, type Payouts, retryDelayAfter } from '../index.ts'
import {
  type AdvanceDeps,
  type AdvanceRecalls,
  createAdvanceRecalls,
  type RecallTrigger,
  recallUpdatedEvent,
} from './advance.ts'
import { requireRecallable } from './rules.ts'
import * as store from './store.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'

export type RecallClaim = store.RecallRow & { readonly leaseId: string }

/**
 * `recallId`: the id of the recall, or of a request by another party. `instructionId`: the id of the recalled payment.
 */
type RecallAnswer = {
  readonly partnerId: string
  readonly recallId: string
  readonly instructionId: string
  readonly accepted: boolean
  readonly reasonCode: string | null
  readonly bankText?: string | null
}

/** API key of the partner, or the operator on its behalf. */
type Requester = Pick<Caller, 'partnerId' | 'serviceAccountId' | 'name'>
/** Returns the requester for the operator, who acts in the name of the partner. The partner sees the recall as its own. */
export const operatorRequester = (partnerId: string): Requester => ({
  partnerId,
  serviceAccountId: nilId,
  name: 'operator',
})

export type Recalls = {
  /**
   * Requests the recall of a completed payout. `customerId`: the customer of the payout. Refuses: not_found,
   * recall_not_supported, payout_not_recallable, recall_exists, recall_deadline_passed.
   */
  readonly create: (
    caller: Requester,
    payoutId: string,
    body: BodyOf<'createPayoutRecall'>,
    tx?: Tx,
  ) => Promise<store.RecallRow & { readonly customerId: string | null }>
  /** Lists the recalls of a payout, newest first. Refuses: not_found. */
  readonly list: (partnerId: string, payoutId: string) => Promise<readonly store.RecallRow[]>
  /** Reads a recall. Refuses: not_found. */
  readonly get: (partnerId: string, payoutId: string, recallId: string) => Promise<store.RecallRow>
  /** Lists due recalls of a connector, the longest wait first. */
  readonly due: (connector: string, recallsMax: number) => Promise<readonly store.RecallKey[]>
  /** Claims a recall under a lease, for one attempt. Undefined: it is no longer due. */
  readonly claim: (key: store.RecallKey) => Promise<RecallClaim | undefined>
  /** Records that the bank has the request. Changes nothing if the lease is lost. */
  readonly taken: (claim: RecallClaim) => Promise<void>
  /** Records that the connector refuses the request. Changes nothing if the lease is lost. */
  readonly declined: (claim: RecallClaim, reasonCode: string | null) => Promise<void>
  /** Postpones a recall: the outcome is unknown, or the connector keeps the request until a time. */
  readonly postponed: (claim: RecallClaim, until?: Date) => Promise<void>
  /** Records an answer. Returns false if it is already recorded, or is not about a recall of a partner. */
  readonly answered: (answer: RecallAnswer) => Promise<boolean>
  /** Expires recalls whose answer is overdue. Returns their number. */
  readonly expireStep: () => Promise<number>
  /** Reads recalls by id, in no particular order. */
  readonly byIds: typeof store.recallsByIds
  /** Returns when the oldest recall that its bank has not received was requested. */
  readonly oldestUnsent: (connector: string) => Promise<Date | null>
  /** Lists recalls that need attention from staff, at most `rowsMax` of each kind, the longest wait first. */
  readonly waiting: (rowsMax: number) => Promise<readonly store.WaitingRecall[]>
  /** Lists the recalls of these payouts that need attention from staff. */
  readonly waitingOf: (partnerId: string, payoutIds: readonly string[]) => Promise<readonly store.WaitingRecall[]>
}

export type RecallsDeps = AdvanceDeps & {
  readonly db: Database
  readonly log: Log
  readonly payouts: Pick<Payouts, 'get' | 'named'>
  /** Finds a connector by its id. Undefined: this process does not have it. */
  readonly connectorOf: (id: string) => Pick<Connector, 'recall'> | undefined
}

/** Longer than a call to a bank. */
const leaseMs = 15 * secondMs

export function createRecalls(deps: RecallsDeps): Recalls {
  const { db, payouts } = deps
  const advance = createAdvanceRecalls(deps)
  const list = async (partnerId: string, payoutId: string) => {
    const { id } = await payouts.get(partnerId, payoutId)
    return store.recallsOfPayout(db, partnerId, id)
  }
  return {
    create: createRequest(deps),
    list,
    get: async (partnerId, payoutId, recallId) => {
      const rows = await list(partnerId, payoutId)
      const row = rows.find(({ id }) => id === recallId.toLowerCase())
      if (row === undefined) throw notFound('recall')
      return row
    },
    ...createSending(deps, advance),
    answered: async ({ partnerId, recallId, instructionId, accepted, reasonCode, bankText = null }) => {
      const payoutId = (await payoutOfInstruction(db, { partnerId, instructionId })) ?? null
      const key = await store.findRecallForAnswer(db, { partnerId, id: recallId, payoutId })
      if (key === undefined) return false
      return advanceOne(db, advance, key, { kind: accepted ? 'accepted' : 'refused', reasonCode, bankText })
    },
    expireStep: createExpire(deps, advance),
    byIds: store.recallsByIds,
    oldestUnsent: (connector) => store.oldestUnsentRecall(db, connector),
    ...createWaiting(deps),
  }
}

/** The worker submits a recall to its connector within seconds. */
const unsentMsMin = 10 * minuteMs
/**
 * Expired recalls are listed for this long. After that the bank will not answer, and staff have informed the partner.
 */
const expiredShownMs = 30 * dayMs

function createWaiting({ db, clock }: Pick<RecallsDeps, 'db' | 'clock'>): Pick<Recalls, 'waiting' | 'waitingOf'> {
  const times = () => {
    const now = clock.now()
    return { askedBefore: after(now, -unsentMsMin), now, expiredAfter: after(now, -expiredShownMs) }
  }
  return {
    waiting: async (rowsMax) => {
      const now = times()
      const unsent = await store.unsentRecalls(db, now, rowsMax)
      return [
        ...unsent,
        ...(await store.expiredRecalls(db, now, rowsMax)),
        ...(await store.unansweredRecalls(db, now, rowsMax)),
      ]
    },
    waitingOf: (partnerId, payoutIds) => store.waitingRecallsOf(db, partnerId, payoutIds, times()),
  }
}

/** Advances one recall per database transaction: recalls are few, and each locks the transaction of its payout. */
async function advanceOne(
  db: Database,
  advance: AdvanceRecalls,
  { partnerId, id }: store.RecallKey,
  trigger: RecallTrigger,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    // Deferred: the implied receipt by the bank was recorded first, and the answer must be applied again.
    for (;;) {
      const [advanced] = await advance(tx, [{ key: { partnerId, id }, trigger }])
      if (advanced !== 'deferred') return advanced === true
    }
  })
}

/** Locks the payout, which serialises requests and a return of the money. */
function createRequest({ db, clock, eventOutbox, payouts, transactions, connectorOf }: RecallsDeps): Recalls['create'] {
  return (caller, payoutId, { reason, text }, outerTx) =>
    inTransaction(db, outerTx, async (tx) => {
      const { partnerId, serviceAccountId: requestedBy, name: requestedName } = caller
      const { id } = await payouts.named(tx, partnerId, payoutId)
      const [payout] = await lockPayouts(tx, [{ partnerId, id }])
      if (payout === undefined) throw notFound('payout')
      const before = await store.recallsOfPayout(tx, partnerId, payout.id)
      const now = clock.now()
      const judged = { canRecall: connectorOf(payout.connector)?.recall !== undefined, now }
      const row: store.RecallRow = {
        ...toRecall,
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
      const actor = requestedBy === nilId ? ('operator' as const) : ('partner' as const)
      const cause = { actor, reason, recallId: row.id }
      await transactions.addStepAfterEnd(tx, { partnerId, id: row.transactionId }, 'RecallRequested', cause)
      eventOutbox.appendMany(tx, [recallUpdatedEvent(row, payout, now)])
      return { ...row, customerId: payout.customerId }
    })
}

const toRecall = {
  status: 'Requested',
  sentAt: null,
  answerDueOn: null,
  answerDueAt: null,
  answeredAt: null,
  answerCode: null,
  answerText: null,
  expiredAt: null,
  settledAmount: null,
  returnReference: null,
  returnedAt: null,
  leaseId: null,
  attempts: 0,
} as const

type Sending = Pick<Recalls, 'due' | 'claim' | 'taken' | 'declined' | 'postponed'>

function createSending(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  advance: AdvanceRecalls,
): Sending {
  return {
    due: (connector, recallsMax) => store.dueRecalls(db, connector, clock.now(), recallsMax),
    claim: async (key) => {
      const leaseId = newId()
      const now = clock.now()
      const row = await store.claimRecall(db, key, { now, leaseId, until: after(now, leaseMs) })
      return row && { ...row, leaseId }
    },
    taken: async (claim) => void (await advanceOne(db, advance, claim, { kind: 'taken', leaseId: claim.leaseId })),
    declined: async (claim, reasonCode) =>
      void (await advanceOne(db, advance, claim, { kind: 'declined', leaseId: claim.leaseId, reasonCode })),
    postponed: async (claim, until) =>
      void (await store.postponeRecall(db, claim, until ?? after(clock.now(), retryDelayAfter(claim.attempts)))),
  }
}

/** Limits the recalls of a step, so that a shutdown does not wait long for it. */
const overduePerStepMax = 100
const start: store.OverdueRecall = { answerDueAt: new Date(0), partnerId: nilId, id: nilId }

/** Creates the step that expires recalls. It continues after the previous step's recalls, so failures do not delay others. */
function createExpire({ db, clock, log }: RecallsDeps, advance: AdvanceRecalls): () => Promise<number> {
  let last = start
  return async () => {
    const ahead = await store.overdueRecalls(db, clock.now(), last, overduePerStepMax)
    const isEnd = ahead.length < overduePerStepMax
    const results = await Promise.allSettled(ahead.map((key) => advanceOne(db, advance, key, { kind: 'overdue' })))
    let expired = 0
    for (const [index, result] of results.entries())
      if (result.status === 'fulfilled') expired += result.value ? 1 : 0
      else {
        const { partnerId, id: recallId } = present(ahead[index], `no recall for result ${index}`)
        log.error({ err: result.reason as unknown, partnerId, recallId }, 'could not expire recall; will retry')
      }
    last = isEnd ? start : (ahead.at(-1) ?? start)
    return expired
  }
}

// The job that expires recalls whose bank has not answered in time. Settlement sends recalls.

export const recallsJob = ({ expireStep }: Pick<Recalls, 'expireStep'>): Job =>
  defineJob({ name: 'payouts.recalls', due: store.answersDue, run: expireStep, age: { queue: 'expiring_recalls' } })
