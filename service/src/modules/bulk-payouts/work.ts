/**
 * Makes the payouts of bulks. A claim works on a part of one bulk and puts it back after the others of its partner. The
 * partners take turns, so that a large bulk delays no other and many bulks delay no other partner. A worker that dies
 * leaves payouts without a result: they are submitted again under their keys, which makes no second one.
 */
import { Refusal } from '../../api/index.ts'
import { after, type Clock, type Log, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { fingerprintOf, type PayoutCall, type PayoutRow, problemOf } from '../payouts/index.ts'
import * as store from './store.ts'

type BulkWorkDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly submit: (call: PayoutCall) => Promise<{ readonly payout: PayoutRow }>
  /** Makes all payouts in one transaction, in which `made` runs, or none: then it answers the refusals by call. */
  readonly submitAll: SubmitAll
}
export type SubmitAll = (
  calls: readonly PayoutCall[],
  made: (tx: Parameters<typeof store.recordResults>[0], payouts: readonly PayoutRow[]) => Promise<void>,
) => Promise<ReadonlyMap<PayoutCall, Refusal> | undefined>

/** Payouts of a bulk that are made by one claim. */
const itemsPerClaim = 256
const bulksPerLookMax = 20
/** Longer than the payouts of a claim take when the database is slow. */
const leaseMs = 60 * secondMs
const retryMs = 5 * secondMs

class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** Works on a part of one bulk. Returns how many bulks it has worked on: 0 or 1. */
export function createBulkStep(deps: BulkWorkDeps): () => Promise<number> {
  const { db, clock, log } = deps
  let lastPartner = nilId
  return async () => {
    const claimed = (await claim(deps, lastPartner)) ?? (await claim(deps, nilId))
    if (claimed === undefined) return 0
    lastPartner = claimed.partnerId
    const { partnerId, id } = claimed
    try {
      await (claimed.mode === 'AllOrNothing' ? makeAll(deps, claimed) : makeSome(deps, claimed))
    } catch (error) {
      if (error instanceof LeaseLost) return 1
      log.error({ err: error, partnerId, bulkId: id }, 'bulk payouts not made; will retry')
      await store.putBack(db, claimed, after(clock.now(), retryMs))
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

async function makeSome(deps: BulkWorkDeps, bulk: store.BulkRow): Promise<void> {
  const { db, clock, submit } = deps
  const items = await store.itemsOf(db, bulk.partnerId, bulk.id, 'Processing', itemsPerClaim)
  const sums = await store.sumsOf(db, bulk.partnerId, bulk.id)
  const settled = await Promise.allSettled(items.map((item) => submit(toCall(bulk, item, sums))))
  const failures: unknown[] = []
  const results = items.flatMap((item, index): readonly store.Result[] => {
    const outcome = present(settled[index], 'each payout has an outcome')
    if (outcome.status === 'fulfilled') return [accepted(item, outcome.value.payout)]
    const reason: unknown = outcome.reason
    if (reason instanceof Refusal && !isForLater(reason)) return [refused(item, reason)]
    failures.push(reason)
    return []
  })
  await db.transaction(async (tx) => {
    if ((await store.lockHeld(tx, bulk)) === undefined) throw new LeaseLost()
    if (results.length > 0) store.recordResults(tx, bulk, results)
    const now = clock.now()
    if (failures.length > 0) await store.putBack(tx, bulk, after(now, retryMs))
    else if (items.length === itemsPerClaim) await store.putBack(tx, bulk, now)
    else await store.endBulk(tx, bulk, 'Completed', now)
  })
  const [failure] = failures
  if (failure !== undefined)
    deps.log.warn({ err: failure, partnerId: bulk.partnerId, bulkId: bulk.id }, 'bulk payouts will be retried')
}

async function makeAll(deps: BulkWorkDeps, bulk: store.BulkRow): Promise<void> {
  const { db, clock, submitAll } = deps
  const items = await store.itemsOf(db, bulk.partnerId, bulk.id, 'Processing', store.itemsMax)
  const sums = await store.sumsOf(db, bulk.partnerId, bulk.id)
  const calls = items.map((item) => toCall(bulk, item, sums))
  const end = async (
    tx: Parameters<typeof store.recordResults>[0],
    results: readonly store.Result[],
    status: store.BulkStatus,
  ) => {
    if ((await store.lockHeld(tx, bulk)) === undefined) throw new LeaseLost()
    store.recordResults(tx, bulk, results)
    await store.endBulk(tx, bulk, status, clock.now())
  }
  const refusals = await submitAll(calls, (tx, payouts) =>
    end(
      tx,
      items.map((item, index) => accepted(item, present(payouts[index], 'each payout is made'))),
      'Completed',
    ),
  )
  if (refusals === undefined) return
  const later = [...refusals.values()].find(isForLater)
  if (later !== undefined) throw later
  const results = items.map((item, index): store.Result => {
    const refusal = refusals.get(present(calls[index], 'each item has a call'))
    return refusal === undefined ? { ...nothing, position: item.position, status: 'NotMade' } : refused(item, refusal)
  })
  await db.transaction((tx) => end(tx, results, 'Refused'))
}

/** Reports whether a refusal says nothing about the payout. */
const isForLater = ({ code }: Refusal): boolean => code === 'request_in_progress' || code === 'overloaded'

const nothing = { payoutId: null, transactionReference: null, problemCode: null, problemDetail: null } as const
const accepted = ({ position }: store.ItemRow, { id, reference }: PayoutRow): store.Result => ({
  ...nothing,
  position,
  status: 'Accepted',
  payoutId: id,
  transactionReference: reference,
})
const refused = ({ position }: store.ItemRow, refusal: Refusal): store.Result => ({
  ...nothing,
  position,
  status: 'Refused',
  ...problemOf(refusal),
})

function toCall(
  { partnerId, id, accountId, accountName, ipAddress }: store.BulkRow,
  { idempotencyKey, amount, currency, beneficiaryId, reference, endToEndId }: store.ItemRow,
  sums: Awaited<ReturnType<typeof store.sumsOf>>,
): PayoutCall {
  const sum = present(
    sums.find((each) => each.currency === currency),
    'the payout is in a sum',
  ).amount
  return {
    caller: { partnerId, serviceAccountId: accountId, name: accountName, permissions: [] },
    nonce: undefined,
    operation: 'createFiatPayout',
    idempotencyKey,
    requestFingerprint: fingerprintOf({ amount, currency, beneficiaryId, reference, endToEndId }),
    amount,
    currency,
    reference,
    endToEndId: endToEndId ?? undefined,
    ip: ipAddress,
    bulk: { id, sum, sums },
    payee: { beneficiaryId },
  }
}
