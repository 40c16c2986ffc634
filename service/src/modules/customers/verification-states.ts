/** Keeps the state of each customer's verification beside its sealed KYC, so that the list can be filtered by it. */
import { after, type Clock, dayMs, nilId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { CustomerType, KycFields } from './rules.ts'
import * as store from './store-verifications.ts'
import { verify } from './verification.ts'

/** Longer than from birth to full age, and shorter than from full age to an impossible one. */
const yearsAhead = 20

/**
 * The state now. A minor, a very old person and one with a date in the future are judged again each day: the day on
 * which the state changes would reveal a date of the sealed KYC.
 */
export function judgeState(kyc: KycFields, customerType: CustomerType, now: Date): store.KeptVerification {
  const { state: verificationState, checkedOn } = verify(kyc, customerType, now)
  const later = new Date(now)
  later.setUTCFullYear(now.getUTCFullYear() + yearsAhead)
  const isLasting = verify(kyc, customerType, later).state === verificationState
  return { verificationState, verificationDueAt: isLasting ? null : after(new Date(checkedOn), dayMs) }
}

const customersPerStepMax = 100

/**
 * Judges customers whose state a date may have changed, and those that a process of an earlier version created or changed.
 * Returns how many. `kycOf` returns undefined for KYC that cannot be read: no filter finds that customer.
 */
export function createVerificationStep(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly kycOf: (partnerId: string, row: store.UnverifiedRow) => KycFields | undefined
}): () => Promise<number> {
  const { db, clock, kycOf } = deps
  let verifiedUpTo = nilId

  const judge = (partnerId: string, claim: (tx: Tx, now: Date) => Promise<readonly store.UnverifiedRow[]>) =>
    db.transaction(async (tx) => {
      const now = clock.now()
      const rows = await claim(tx, now)
      const kept = rows.map((row) => {
        const kyc = kycOf(partnerId, row)
        const unread = { verificationState: null, verificationDueAt: null }
        return { id: row.id, ...(kyc === undefined ? unread : judgeState(kyc, row.customerType, now)) }
      })
      if (kept.length > 0) await store.keepVerifications(tx, partnerId, kept)
      return kept.length
    })

  return async () => {
    const due = await store.partnerWithVerificationDue(db, clock.now())
    const judged =
      due === undefined
        ? 0
        : await judge(due, (tx, now) => store.claimVerificationDue(tx, due, now, customersPerStepMax))
    // Each step takes the next partner: otherwise the first busy partner would take every step.
    const partnerId =
      (await store.partnerWithUnverified(db, verifiedUpTo)) ??
      (verifiedUpTo === nilId ? undefined : await store.partnerWithUnverified(db, nilId))
    verifiedUpTo = partnerId ?? nilId
    if (partnerId === undefined) return judged
    return judged + (await judge(partnerId, (tx) => store.claimUnverified(tx, partnerId, customersPerStepMax)))
  }
}
