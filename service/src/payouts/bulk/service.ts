/** The operations of bulks: a bulk is accepted as a whole, and workers create its payouts. */
import type { FactQueue } from '../../inbox/index.ts'
import { createHash } from 'node:crypto'
import type { BodyOf, QueryOf } from '@partner-payments/wire'
import {
  type Caller,
  type Cursors,
  notFound,
  type Page,
  parseAmount,
  parseCurrency,
  Refusal,
  refuseField,
  refuseFields,
  refuseInvalid,
} from '../../kernel/api/index.ts'
import { after, type Clock, type Log, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import { type Database, KeyTaken, oncePerKey, sqlState, sqlStateOf } from '../../postgres/index.ts'
import type { Audit } from '../../audit/index.ts'
import { isSepaReference } from '../../iso20022/index.ts'
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import {
  type BulkAwaitingApproval,
  type BulkDecision,
  payoutFingerprint,
  type BatchData,
  type PayoutCall,
  type PayoutRow,
  type Payouts,
  toProblem,
  requireSupportedCurrency,
} from '../index.ts'
import { endToEndIdForm, readPayouts, pointerInFile } from './from-file.ts'
import { type BulkCheck, createBulkCheck } from './check.ts'
import { lineDigest } from './digest.ts'
import * as store from './store.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'

export type Bulk = store.BulkRow & { readonly accepted: number; readonly refused: number }

/** Item with its payee and the present status of its payout. Null: the payee was erased, or there is no payout. */
export type BulkItem = store.ItemRow &
  Readonly<Record<'beneficiaryName' | 'beneficiaryAccount', string | null>> & {
    readonly payoutStatus: PayoutRow['status'] | null
  }

export type BulkPayouts = {
  /**
   * Accepts a bulk, whose payouts workers create. Refuses: validation_failed and currency_not_supported with a pointer
   * to each wrong field, idempotency_key_reused, request_in_progress, rate_limited.
   */
  readonly create: (
    caller: Caller,
    body: BodyOf<'createBulkPayout'>,
    ip: string,
  ) => Promise<{ readonly bulk: Bulk; readonly replayed: boolean }>
  /** Accepts the payments of a pain.001 as a bulk. Refuses as `create` does, and not_found (customerId). */
  readonly createFromFile: (
    caller: Caller,
    body: BodyOf<'createBulkPayoutFromFile'>,
    ip: string,
  ) => Promise<{ readonly bulk: Bulk; readonly replayed: boolean }>
  /** Reads a bulk. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<Bulk>
  /** Lists bulks, newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listBulkPayouts'>) => Promise<Page<Bulk>>
  /** Lists the items in the order of the request. Refuses: not_found. */
  readonly items: (partnerId: string, id: string, status: store.ItemStatus | undefined) => Promise<readonly BulkItem[]>
  /** Reads the payouts pending approval. Undefined: there are none. Refuses: not_found. */
  readonly waiting: (partnerId: string, id: string) => Promise<BulkAwaitingApproval | undefined>
  /** Returns the text for an approver to sign, with its data. Refuses: not_found, and like `approve`. */
  readonly snapshot: Payouts['snapshotOfBulk']
  /**
   * Approves all pending payouts, if there are as many as the caller expects. Refuses: not_found, approver_is_creator,
   * approver_limit_exceeded, payout_not_awaiting_approval (also while workers create payouts), permission_denied.
   */
  readonly approve: (caller: Caller, id: string, payouts: number) => Promise<BulkDecision>
  /** Cancels all pending payouts. Refusals as for `approve`. */
  readonly reject: (caller: Caller, id: string, payouts: number, reason: string) => Promise<BulkDecision>
  /** Ends the leases of dead workers. Only for a database without another live worker. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
  /** Finds the id of the bulk with a key. Undefined: none. */
  readonly idByKey: (partnerId: string, key: string) => Promise<string | undefined>
  /** Reads the names of these bulks, by id. A bulk without a name is absent. */
  readonly names: (partnerId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Checks lines of a file against the present state. Writes nothing. */
  readonly check: BulkCheck
  /** Creates the next payouts of one due bulk. Returns the number of bulks: 0 or 1. */
  readonly step: () => Promise<number>
}

/**
 * Maximum number of payouts in a partner's unfinished bulks. Concurrent requests may exceed it by their own payouts.
 */
const openPayoutsMax = 10_000

const refuseTooManyOpen = (open: number) =>
  new Refusal('rate_limited', `Your bulks have ${open} outstanding payouts; at most ${openPayoutsMax} are accepted.`, {
    headers: { 'retry-after': '5' },
  })

export type BulkPayoutsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly cursors: Cursors
  readonly audit: Pick<Audit, 'made'>
  readonly facts: FactQueue
  readonly beneficiaries: Pick<
    Beneficiaries,
    'answersAbout' | 'assess' | 'byAccounts' | 'byTexts' | 'update' | 'withIds'
  >
  readonly customers: Pick<Customers, 'find'>
  readonly payouts: Pick<
    Payouts,
    | 'acceptance'
    | 'approveBulk'
    | 'byIds'
    | 'duplicatesOf'
    | 'judgeAll'
    | 'bulksThatWait'
    | 'rejectBulk'
    | 'snapshotOfBulk'
    | 'submit'
    | 'waitingOfBulk'
  >
}

export function createBulkPayouts(deps: BulkPayoutsDeps): BulkPayouts {
  const { db, clock, log, cursors, facts, payouts } = deps
  const { submit } = payouts
  const withCounts = async (partnerId: string, rows: readonly store.BulkRow[]): Promise<readonly Bulk[]> => {
    const ids = rows.map(({ id }) => id)
    const counts = new Map((await store.countItems(db, partnerId, ids)).map((row) => [row.bulkId, row]))
    return rows.map((row) => {
      const { accepted = 0n, refused = 0n } = counts.get(row.id) ?? {}
      return { ...row, accepted: Number(accepted), refused: Number(refused) }
    })
  }
  const get = async (partnerId: string, id: string): Promise<Bulk> => {
    const row = await store.bulkById(db, partnerId, id)
    if (row === undefined) throw notFound('bulk')
    const [bulk = { ...row, accepted: 0, refused: 0 }] = await withCounts(partnerId, [row])
    return bulk
  }
  const create = async (
    caller: Caller,
    operation: 'createBulkPayout' | 'createBulkPayoutFromFile',
    { mode, idempotencyKey, name: bulkName }: Pick<BodyOf<'createBulkPayout'>, 'mode' | 'idempotencyKey' | 'name'>,
    items: readonly Item[],
    ip: string,
  ) => {
    const { partnerId, serviceAccountId, name } = caller
    const requestFingerprint = fingerprint(mode, items)
    const now = clock.now()
    const { row, replayed } = await oncePerKey({
      requestFingerprint,
      find: async () => named(await store.bulkByKey(db, partnerId, idempotencyKey)),
      make: () =>
        db.transaction(async (tx) => {
          const open = await store.countOpenPayouts(tx, partnerId)
          if (open > 0 && open + items.length > openPayoutsMax) throw refuseTooManyOpen(open)
          const id = newId()
          const asked = { accountId: serviceAccountId, accountName: name, ipAddress: ip, createdAt: now }
          const key = { idempotencyKey, requestFingerprint, name: bulkName ?? null }
          const bulk = { partnerId, id, ...key, mode, payouts: items.length, ...asked }
          if ((await store.insertBulk(tx, bulk)) === 0) throw new KeyTaken()
          store.insertItems(
            tx,
            items.map((item) => ({ partnerId, bulkId: id, ...item, lineDigest: lineDigest(item) })),
          )
          deps.audit.made(tx, { caller, operation, ids: [id], ip })
          return { ...bulk, status: 'Processing' as const, leaseId: null, endedAt: null, reference: id }
        }),
    })
    // A replay gets the first answer, regardless of later progress.
    const bulk: Bulk = { ...row, status: 'Processing', endedAt: null, accepted: 0, refused: 0 }
    return { bulk, replayed }
  }
  return {
    create: async (caller, body, ip) => create(caller, 'createBulkPayout', body, readItems(body.payouts), ip),
    createFromFile: async (caller, body, ip) =>
      create(
        caller,
        'createBulkPayoutFromFile',
        body,
        readItems(await readPayouts(deps, caller, body), pointerInFile),
        ip,
      ),
    get,
    list: async (partnerId, query) => {
      const list = `bulks:${partnerId}:${query.approval ?? ''}`
      const request = cursors.read(list, query)
      const only = query.approval === undefined ? null : await payouts.bulksThatWait(partnerId)
      const page = cursors.page(list, request, await store.listBulks(db, partnerId, request, only))
      return { ...page, data: await withCounts(partnerId, page.data) }
    },
    items: async (partnerId, id, status) => {
      await get(partnerId, id)
      return withPayees(deps, partnerId, await store.listItems(db, partnerId, id, status ?? null, store.bulkItemsMax))
    },
    ...createApprovals(payouts, get),
    step: createBulkStep({ db, clock, log, facts, submit, submitAll: createSubmitAll({ db, payouts }) }),
    idByKey: async (partnerId, key) => (await store.bulkByKey(db, partnerId, key))?.id,
    names: async (partnerId, ids) => {
      const rows = ids.length === 0 ? [] : await store.namesByIds(db, partnerId, ids)
      return new Map(rows.map(({ id, name }) => [id, name]))
    },
    check: createBulkCheck(deps),
    releaseLeases: (partnerId) => store.releaseBulks(db, partnerId, clock.now()),
  }
}

/**
 * Adds payees with two statements: for an accepted item the payee of its payout, for another item the current
 * beneficiary.
 */
async function withPayees(
  { db, beneficiaries, payouts }: Pick<BulkPayoutsDeps, 'db' | 'beneficiaries' | 'payouts'>,
  partnerId: string,
  items: readonly store.ItemRow[],
): Promise<readonly BulkItem[]> {
  const ids = (column: 'payoutId' | 'beneficiaryId', from: readonly store.ItemRow[]) => [
    ...new Set(from.flatMap((item) => item[column] ?? [])),
  ]
  const [made, known] = await Promise.all([
    payouts.byIds(db, partnerId, ids('payoutId', items)),
    beneficiaries.withIds(
      partnerId,
      ids(
        'beneficiaryId',
        items.filter(({ payoutId }) => payoutId === null),
      ),
    ),
  ])
  const payoutOf = new Map(made.map((payout) => [payout.id, payout]))
  const payeeOf = new Map(known.map((payee) => [payee.id, payee]))
  return items.map((item) => {
    const payout = payoutOf.get(item.payoutId ?? '')
    const payee = payeeOf.get(item.beneficiaryId)
    return {
      ...item,
      beneficiaryName: payout?.creditorName ?? payee?.name ?? null,
      beneficiaryAccount: payout?.creditorAccount ?? payee?.iban ?? payee?.domesticAccount ?? null,
      payoutStatus: payout?.status ?? null,
    }
  })
}

const createApprovals = (
  payouts: BulkPayoutsDeps['payouts'],
  get: BulkPayouts['get'],
): Pick<BulkPayouts, 'approve' | 'reject' | 'snapshot' | 'waiting'> => ({
  waiting: async (partnerId, id) => {
    await get(partnerId, id)
    return payouts.waitingOfBulk(partnerId, id)
  },
  snapshot: async (caller, id, asked) => {
    await get(caller.partnerId, id)
    return payouts.snapshotOfBulk(caller, id, asked)
  },
  approve: async (caller, id, count) => {
    requireEnded(await get(caller.partnerId, id))
    return payouts.approveBulk(caller, id, count)
  },
  reject: async (caller, id, count, reason) => {
    requireEnded(await get(caller.partnerId, id))
    return payouts.rejectBulk(caller, id, count, reason)
  },
})

/** Refuses while workers create payouts: an approval is for all of them, and no payout may be added later. */
function requireEnded({ status }: Bulk): void {
  if (status === 'Processing')
    throw new Refusal(
      'payout_not_awaiting_approval',
      'Payouts of the bulk are still being created. Wait until it is Completed.',
    )
}

const named = (row: store.BulkRow | undefined) => row && { ...row, reference: row.id }

type Item = Omit<Parameters<typeof store.insertItems>[1][number], 'partnerId' | 'bulkId' | 'lineDigest'>

/** Reads the items. Refuses all wrong fields in one response, each with its pointer. */
function readItems(
  payouts: BodyOf<'createBulkPayout'>['payouts'],
  pointerOf = (position: number, field: string) => `/payouts/${position}/${field}`,
): readonly Item[] {
  const problems: Refusal[] = []
  const seen = new Map<string, number>()
  const items = payouts.flatMap(({ amount, currency: code, idempotencyKey, reference = null, ...payout }, position) => {
    try {
      const currency = parseCurrency(code, pointerOf(position, 'currency'))
      requireSupportedCurrency('createFiatPayout', currency, pointerOf(position, 'currency'))
      const minor = parseAmount(amount, currency, pointerOf(position, 'amount'))
      const earlier = seen.get(idempotencyKey)
      if (earlier !== undefined) throw refuseRepeatedKey(pointerOf(position, 'idempotencyKey'), earlier)
      seen.set(idempotencyKey, position)
      const beneficiaryId = payout.beneficiaryId.toLowerCase()
      const { endToEndId = null } = payout
      if (endToEndId !== null && !isSepaReference(endToEndId))
        throw refuseInvalid(pointerOf(position, 'endToEndId'), `must have ${endToEndIdForm}`)
      const refusesDuplicates = 'onDuplicate' in payout && payout.onDuplicate === 'Refuse'
      const paid = { amount: minor, currency, beneficiaryId, reference, endToEndId }
      return [{ position, idempotencyKey, ...paid, refusesDuplicates }]
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      problems.push(error)
      return []
    }
  })
  const [first] = problems
  if (first === undefined) return items
  const errors = problems.flatMap((problem) => problem.errors).slice(0, errorsMax)
  if (problems.every(({ code }) => code === 'validation_failed')) refuseFields(errors)
  const told = problems.find(({ code }) => code !== 'validation_failed') ?? first
  throw new Refusal(told.code, told.detail, { errors })
}

/** Number of errors that the gateway reports for a body. */
const errorsMax = 50

const refuseRepeatedKey = (pointer: string, earlier: number) =>
  refuseField({
    pointer,
    code: 'exists',
    message: `repeats the key of /payouts/${earlier}; each payout needs its own key`,
  })

const fingerprint = (mode: store.BulkMode, items: readonly Item[]): string =>
  createHash('sha256')
    .update(JSON.stringify([mode, ...items.map((item) => [item.idempotencyKey, payoutFingerprint(item)])]))
    .digest('hex')

// Accepts many payouts in one transaction, or none of them.

/** Rolls the transaction back. */
class BulkRefused extends Error {
  override readonly name = 'BulkRefused'
  readonly refusals: ReadonlyMap<PayoutCall, Refusal>
  constructor(refusals: ReadonlyMap<PayoutCall, Refusal>) {
    super('a payout of the bulk is refused')
    this.refusals = refusals
  }
}

/** Rolls the transaction back, so that it reads again. */
class BulkOvertaken extends Error {
  override readonly name = 'BulkOvertaken'
}

/** Reports whether another transaction took a key or an amount that this one had read. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof BulkOvertaken ||
  [sqlState.uniqueViolation, sqlState.checkViolation].some((state) => state === sqlStateOf(error))
const attemptsMax = 5

type Deps = { readonly db: Database; readonly payouts: Pick<Payouts, 'acceptance'> }

function createSubmitAll({ db, payouts: accepting }: Deps): SubmitAll {
  const { read, work } = accepting.acceptance()
  const attempt: SubmitAll = async (calls, made) => {
    try {
      await db.transaction<void, BatchData>(
        async (tx, found) => {
          const outcomes = await work(tx, calls, found, undefined)
          const refusals = new Map<PayoutCall, Refusal>()
          const payouts = outcomes.flatMap((outcome, index) => {
            const call = calls[index]
            if (outcome instanceof Refusal && call !== undefined) refusals.set(call, outcome)
            return outcome instanceof Refusal || outcome === 'resubmit' ? [] : [outcome.payout]
          })
          if (refusals.size > 0) throw new BulkRefused(refusals)
          // Another process accepted the key of a call while this one waited for the counter of a limit.
          if (outcomes.includes('resubmit')) throw new BulkOvertaken('a key was accepted meanwhile')
          await made(tx, payouts)
        },
        { before: (tx) => read(tx, calls) },
      )
      return undefined
    } catch (error) {
      if (error instanceof BulkRefused) return error.refusals
      throw error
    }
  }
  return async (calls, made) => {
    for (let attempts = 1; ; attempts += 1)
      try {
        return await attempt(calls, made)
      } catch (error) {
        if (!isOvertaken(error) || attempts === attemptsMax) throw error
      }
  }
}

// Creates the payouts of bulks. A claim creates some payouts of one bulk, and puts the bulk behind the others of its
// partner. Partners take turns, so that large or many bulks do not delay others. If a worker dies, its payouts are
// submitted again under their keys, which cannot create a second payout.

type BulkWorkDeps = {
  readonly db: Database
  readonly facts: FactQueue
  readonly clock: Clock
  readonly log: Log
  readonly submit: (call: PayoutCall) => Promise<{ readonly payout: PayoutRow }>
  /**
   * Creates all payouts in one transaction, which also runs `made`. If one is refused, creates none and returns the
   * refusals by call.
   */
  readonly submitAll: SubmitAll
}
type SubmitAll = (
  calls: readonly PayoutCall[],
  made: (tx: Parameters<typeof store.recordResults>[0], payouts: readonly PayoutRow[]) => Promise<void>,
) => Promise<ReadonlyMap<PayoutCall, Refusal> | undefined>

/** Number of payouts of a bulk that are created under one claim. */
const itemsPerClaim = 256
const bulksPerLookMax = 20
/** Longer than a claim takes on a slow database. */
const leaseMs = 60 * secondMs
const retryMs = 5 * secondMs

class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** Creates the next payouts of one due bulk. Returns the number of bulks: 0 or 1. */
function createBulkStep(deps: BulkWorkDeps): () => Promise<number> {
  const { db, clock, log } = deps
  let lastPartner = nilId
  return async () => {
    const claimed = (await claim(deps, lastPartner)) ?? (await claim(deps, nilId))
    if (claimed === undefined) return 0
    lastPartner = claimed.partnerId
    const { partnerId, id } = claimed
    try {
      await (claimed.mode === 'AllOrNothing' ? createAllPayouts(deps, claimed) : createSomePayouts(deps, claimed))
    } catch (error) {
      if (error instanceof LeaseLost) return 1
      log.error({ err: error, partnerId, bulkId: id }, 'could not create payouts of a bulk; will retry')
      await store.putBackBulk(db, claimed, after(clock.now(), retryMs))
    }
    return 1
  }
}

async function claim({ db, clock }: BulkWorkDeps, afterPartner: string): Promise<store.BulkRow | undefined> {
  const now = clock.now()
  const lease = { id: newId(), until: after(now, leaseMs) }
  for (const { partnerId, id } of await store.dueBulks(db, now, afterPartner, bulksPerLookMax)) {
    const claimed = await store.claimBulk(db, partnerId, id, lease, now)
    if (claimed !== undefined) return claimed
  }
  return undefined
}

/**
 * Queues the notification about a bulk for approvers. Whether its payouts need an approval is read when people are
 * notified.
 */
const notifyOfBulk = (
  { facts }: BulkWorkDeps,
  tx: Parameters<typeof store.recordResults>[0],
  { partnerId, id: subject }: store.BulkRow,
): void => facts.append(tx, [{ partnerId, type: 'bulk.waits', subject }])

async function createSomePayouts(deps: BulkWorkDeps, bulk: store.BulkRow): Promise<void> {
  const { db, clock, submit } = deps
  const items = await store.listItems(db, bulk.partnerId, bulk.id, 'Processing', itemsPerClaim)
  const sums = await store.sumItems(db, bulk.partnerId, bulk.id)
  const settled = await Promise.allSettled(items.map((item) => submit(toCall(bulk, item, sums))))
  const failures: unknown[] = []
  const results = items.flatMap((item, index): readonly store.ItemResult[] => {
    const outcome = present(settled[index], `no outcome for item ${item.position} of bulk ${bulk.id}`)
    if (outcome.status === 'fulfilled') return [accepted(item, outcome.value.payout)]
    const reason: unknown = outcome.reason
    if (reason instanceof Refusal && !isRetryable(reason)) return [refused(item, reason)]
    failures.push(reason)
    return []
  })
  await db.transaction(async (tx) => {
    if ((await store.lockClaimedBulk(tx, bulk)) === undefined) throw new LeaseLost()
    if (results.length > 0) store.recordResults(tx, bulk, results)
    const now = clock.now()
    if (failures.length > 0) await store.putBackBulk(tx, bulk, after(now, retryMs))
    else if (items.length === itemsPerClaim) await store.putBackBulk(tx, bulk, now)
    else {
      await store.endBulk(tx, bulk, 'Completed', now)
      notifyOfBulk(deps, tx, bulk)
    }
  })
  const [failure] = failures
  if (failure !== undefined)
    deps.log.warn(
      { err: failure, partnerId: bulk.partnerId, bulkId: bulk.id },
      'some payouts of a bulk will be retried',
    )
}

async function createAllPayouts(deps: BulkWorkDeps, bulk: store.BulkRow): Promise<void> {
  const { db, clock, submitAll } = deps
  const items = await store.listItems(db, bulk.partnerId, bulk.id, 'Processing', store.bulkItemsMax)
  const sums = await store.sumItems(db, bulk.partnerId, bulk.id)
  const calls = items.map((item) => toCall(bulk, item, sums))
  const end = async (
    tx: Parameters<typeof store.recordResults>[0],
    results: readonly store.ItemResult[],
    status: store.BulkStatus,
  ) => {
    if ((await store.lockClaimedBulk(tx, bulk)) === undefined) throw new LeaseLost()
    store.recordResults(tx, bulk, results)
    await store.endBulk(tx, bulk, status, clock.now())
    if (status === 'Completed') notifyOfBulk(deps, tx, bulk)
  }
  const refusals = await submitAll(calls, (tx, payouts) =>
    end(
      tx,
      items.map((item, index) =>
        accepted(item, present(payouts[index], `no payout for item ${item.position} of bulk ${bulk.id}`)),
      ),
      'Completed',
    ),
  )
  if (refusals === undefined) return
  const later = [...refusals.values()].find(isRetryable)
  if (later !== undefined) throw later
  const results = items.map((item, index): store.ItemResult => {
    const refusal = refusals.get(present(calls[index], `no call for item ${item.position} of bulk ${bulk.id}`))
    return refusal === undefined ? { ...nothing, position: item.position, status: 'NotMade' } : refused(item, refusal)
  })
  await db.transaction((tx) => end(tx, results, 'Refused'))
}

/** Reports whether a refusal is temporary and not about the payout itself. */
const isRetryable = ({ code }: Refusal): boolean => code === 'request_in_progress' || code === 'overloaded'

const nothing = { payoutId: null, transactionReference: null, problemCode: null, problemDetail: null } as const
const accepted = ({ position }: store.ItemRow, { id, reference }: PayoutRow): store.ItemResult => ({
  ...nothing,
  position,
  status: 'Accepted',
  payoutId: id,
  transactionReference: reference,
})
const refused = ({ position }: store.ItemRow, refusal: Refusal): store.ItemResult => ({
  ...nothing,
  position,
  status: 'Refused',
  ...toProblem(refusal),
})

function toCall(
  { partnerId, id, accountId, accountName, ipAddress }: store.BulkRow,
  { idempotencyKey, amount, currency, beneficiaryId, reference, endToEndId, refusesDuplicates }: store.ItemRow,
  sums: Awaited<ReturnType<typeof store.sumItems>>,
): PayoutCall {
  const sum = present(
    sums.find((each) => each.currency === currency),
    `no sum in ${currency} for bulk ${id}`,
  ).amount
  return {
    caller: { partnerId, serviceAccountId: accountId, name: accountName, permissions: [] },
    nonce: undefined,
    operation: 'createFiatPayout',
    idempotencyKey,
    requestFingerprint: payoutFingerprint({ amount, currency, beneficiaryId, reference, endToEndId }),
    amount,
    currency,
    reference,
    endToEndId: endToEndId ?? undefined,
    ip: ipAddress,
    refusesDuplicates,
    bulk: { id, sum, sums },
    payee: { beneficiaryId },
  }
}

/** Two workers: a bulk that is created in one transaction must not delay the others. */
const bulkWorkers = 2

export const bulksJob = ({ step, releaseLeases }: Pick<BulkPayouts, 'step' | 'releaseLeases'>): Job =>
  defineJob({ name: 'payouts.bulk', due: store.bulksDue, run: step, workers: bulkWorkers, releaseLeases })
