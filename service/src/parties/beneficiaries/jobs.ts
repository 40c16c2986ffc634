/** The jobs of beneficiaries: renewal of verifications, and indexing of names that are not in the index. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { after, type Clock, dayMs, type Log, minuteMs, newId, nilId, toJsonAmount } from '../../kernel/index.ts'
import type { Beneficiaries } from './service.ts'
import * as verifications from './store-verifications.ts'
import type { EventOutbox } from '../../events/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Verification } from '../payee-check/index.ts'
import { requestVerification, isUnanswered, isWorse, recordAnswer, retryDelayAfter } from './verifications.ts'
import * as beneficiaries from './store.ts'

export const beneficiaryJobs = (
  { indexNamesStep }: Pick<Beneficiaries, 'indexNamesStep'>,
  { renewStep, releaseRenewals, oldestRenewal }: Renewals,
): readonly Job[] => [
  defineJob({ name: 'beneficiaries.names', everyMs: minuteMs, run: indexNamesStep }),
  defineJob({
    name: 'beneficiaries.renewals',
    due: verifications.renewalsDue,
    // Finds verifications that are due because of their age.
    everyMs: minuteMs,
    run: renewStep,
    releaseLeases: (partnerId) => releaseRenewals(partnerId),
    age: { queue: 'renewals', since: oldestRenewal },
  }),
]

// Renews verifications: a worker claims due beneficiaries under a lease, asks the scheme outside of any transaction, and records the answer
// under the fence. A new name or a verification by the partner ends the lease, and the worker drops its answer.

type Renewals = {
  /** Renews due verifications, and returns how many it claimed. */
  readonly renewStep: () => Promise<number>
  readonly releaseRenewals: (partnerId: string, tx?: Tx) => Promise<void>
  /** Returns when the oldest due renewal became due. */
  readonly oldestRenewal: (now: Date) => Promise<Date | null>
}

type RenewalsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly verification: Verification
  readonly eventOutbox: Pick<EventOutbox, 'append'>
  /** Age in days from which the worker renews an answer. Null: answers are not renewed by age. */
  readonly verificationDaysMax: number | null
}

/** Far above the time limit of a scheme, so that only a dead worker loses a lease. */
const leaseMs = 2 * minuteMs
const partnersPerStepMax = 20
/**
 * Number of beneficiaries that the worker verifies concurrently. The breaker ends the calls if the scheme does not
 * answer.
 */
const renewalsPerClaimMax = 20

export function createRenewals(deps: RenewalsDeps): Renewals {
  const { db, clock, log, verificationDaysMax } = deps
  const ageMsMax = verificationDaysMax === null ? null : verificationDaysMax * dayMs
  const dueAt = (now: Date): verifications.DueTimes => ({
    now,
    answeredBefore: ageMsMax === null ? null : after(now, -ageMsMax),
  })
  return {
    renewStep: async () => {
      let claimed = 0
      for (const { partnerId } of await verifications.partnersWithDueRenewals(
        db,
        dueAt(clock.now()),
        partnersPerStepMax,
      )) {
        const now = clock.now()
        const lease = { id: newId(), until: after(now, leaseMs) }
        const claims = await verifications.claimRenewals(db, partnerId, lease, dueAt(now), renewalsPerClaimMax)
        claimed += claims.length
        const renewed = await Promise.allSettled(claims.map((claim) => renew(deps, claim)))
        for (const [index, { status, ...outcome }] of renewed.entries())
          if (status === 'rejected')
            log.error(
              {
                err: (outcome as PromiseRejectedResult).reason as unknown,
                partnerId,
                beneficiaryId: claims[index]?.beneficiaryId,
              },
              'verification renewal failed; will retry',
            )
      }
      return claimed
    },
    releaseRenewals: (partnerId, tx) => verifications.releaseRenewals(tx ?? db, partnerId),
    oldestRenewal: async (now) => {
      const { dueAt: due, answeredAt } = await verifications.oldestDueRenewal(db, dueAt(now))
      const aged = answeredAt === null || ageMsMax === null ? null : after(answeredAt, ageMsMax)
      return due === null || (aged !== null && aged < due) ? aged : due
    },
  }
}

/** Requester of automatic renewals, for the evidence. */
const renewer = { serviceAccountId: nilId, name: 'renewal' }

async function renew(deps: RenewalsDeps, claim: verifications.ClaimedRenewal): Promise<void> {
  const { db, clock } = deps
  const { partnerId, beneficiaryId } = claim
  const payee = await beneficiaries.byId(db, partnerId, beneficiaryId)
  if (payee === undefined || payee.iban === null) {
    await verifications.removeRenewal(db, claim)
    return
  }
  const row = await requestVerification(deps, renewer, { name: payee.name, iban: payee.iban })
  const delayMs = isUnanswered(row) ? retryDelayAfter(claim.attempts + 1) : undefined
  if (delayMs !== undefined) {
    await verifications.postponeRenewal(db, claim, after(clock.now(), delayMs))
    return
  }
  await db.transaction(async (tx) => {
    const { answeredAt } = row
    const result = row.result === 'NotPossible' ? claim.result : row.result
    // Lock order: the beneficiary, then its renewal, like a change of the name.
    await beneficiaries.lockName(tx, partnerId, beneficiaryId)
    if ((await verifications.endRenewal(tx, claim, { result, answeredAt })) === 0) return
    await recordAnswer(tx, partnerId, [beneficiaryId], row.result)
    await verifications.insertVerification(tx, partnerId, row)
    if (isWorse(row.result, claim.result)) appendWorsened(deps, tx, claim, payee, row)
  })
}

function appendWorsened(
  { eventOutbox }: Pick<RenewalsDeps, 'eventOutbox'>,
  tx: Tx,
  { partnerId, result: previousResult }: verifications.ClaimedRenewal,
  { id, currency }: beneficiaries.Beneficiary,
  row: verifications.VerificationRow,
): void {
  eventOutbox.append(tx, partnerId, 'beneficiary.verification.worsened', row.answeredAt, {
    amount: toJsonAmount(0n, currency),
    currency,
    customFields: null,
    idempotencyKey: null,
    reference: id,
    websiteReference: null,
    beneficiaryAccount: row.iban,
    beneficiaryId: id,
    beneficiaryName: row.name,
    matchedName: row.matchedName,
    previousResult,
    result: row.result,
    verificationId: row.id,
  })
}
