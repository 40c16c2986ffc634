/** Stores the state of each customer's verification next to the sealed KYC, so that lists can filter by it. */
import type { VerificationState } from '@partner-payments/wire'
import { createPartnerTurns } from '../../postgres/jobs/index.ts'
import { after, type Clock, dayMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { IdentityRecord, Proofs } from './identity.ts'
import type { CustomerType, KycFields } from './rules.ts'
import { stateOrIncomplete } from './gate-rules.ts'
import * as store from './store.ts'
import { verifyKyc } from './verification.ts'

/** Years to look ahead for a change of the state: more than from birth to full age, and less than from full age to an impossible age. */
const yearsAhead = 20

/**
 * Computes the current state. A minor, a very old person and a person with a date in the future are due again every
 * day, because the exact day of a change would reveal a date of the sealed KYC.
 */
export function computeState(
  kyc: KycFields,
  customerType: CustomerType,
  now: Date,
  proofs: Proofs,
): store.StoredVerification {
  const { state: verificationState, checkedOn } = verifyKyc(kyc, customerType, now, proofs)
  const later = new Date(now)
  later.setUTCFullYear(now.getUTCFullYear() + yearsAhead)
  // An expiring proof does not need a daily check, because its verification has its own due time.
  const lasting = { ...proofs, records: proofs.records.map((record) => ({ ...record, validUntil: null })) }
  const isLasting = verifyKyc(kyc, customerType, later, lasting).state === verificationState
  return { verificationState, verificationDueAt: isLasting ? null : after(new Date(checkedOn), dayMs) }
}

/** Reads the proofs of customers, by the id of the customer. */
export type ReadProofs = (tx: Tx, partnerId: string, customerIds: readonly string[]) => Promise<(id: string) => Proofs>

/** Reads the records in force, by the id of the customer. Customers without records are absent. */
export type ReadIdentities = (
  tx: Tx,
  partnerId: string,
  customerIds: readonly string[],
) => Promise<ReadonlyMap<string, readonly IdentityRecord[]>>

export const createProofReader =
  (identitiesOf: ReadIdentities, required: boolean): ReadProofs =>
  async (tx, partnerId, customerIds) => {
    const found = customerIds.length === 0 ? undefined : await identitiesOf(tx, partnerId, customerIds)
    return (id) => ({ records: found?.get(id) ?? [], required })
  }

/** See `Customers`. */
export type VerificationRefresh = (tx: Tx, partnerId: string, id: string) => Promise<VerificationState | undefined>

/** Lock order: the customer, then its verifications, like an erasure. */
export function createVerificationRefresh(deps: {
  readonly clock: Clock
  readonly kycOf: (partnerId: string, row: store.UnverifiedRow) => KycFields | undefined
  readonly proofsOf: ReadProofs
}): VerificationRefresh {
  const { clock, kycOf, proofsOf } = deps
  return async (tx, partnerId, id) => {
    const row = await store.lockByRef(tx, partnerId, { kind: 'guid', value: id })
    if (row === undefined) return undefined
    const kyc = kycOf(partnerId, row)
    if (kyc === undefined) return 'Incomplete'
    const proofs = (await proofsOf(tx, partnerId, [id]))(id)
    const judged = computeState(kyc, row.customerType, clock.now(), proofs)
    await store.storeVerifications(tx, partnerId, [{ id, ...judged }])
    return stateOrIncomplete(judged.verificationState)
  }
}

const idsOf = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id)

const customersPerStepMax = 100

/**
 * Creates the step that computes the state of customers for whom a date may have changed it, and of those that a
 * process of an earlier version wrote. It returns how many. `kycOf` returns undefined for KYC that cannot be read;
 * filters do not find that customer.
 */
export function createVerificationStep(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly kycOf: (partnerId: string, row: store.UnverifiedRow) => KycFields | undefined
  readonly proofsOf: ReadProofs
}): () => Promise<number> {
  const { db, clock, kycOf, proofsOf } = deps

  const judge = (partnerId: string, claim: (tx: Tx, now: Date) => Promise<readonly store.UnverifiedRow[]>) =>
    db.transaction(async (tx) => {
      const now = clock.now()
      const rows = await claim(tx, now)
      const proofs = await proofsOf(tx, partnerId, idsOf(rows))
      const kept = rows.map((row) => {
        const kyc = kycOf(partnerId, row)
        const unread = { verificationState: null, verificationDueAt: null }
        return {
          id: row.id,
          ...(kyc === undefined ? unread : computeState(kyc, row.customerType, now, proofs(row.id))),
        }
      })
      if (kept.length > 0) await store.storeVerifications(tx, partnerId, kept)
      return kept.length
    })

  const judgeUnverified = createPartnerTurns(
    (afterId) => store.partnerWithUnverified(db, afterId),
    (partnerId) => judge(partnerId, (tx) => store.claimUnverified(tx, partnerId, customersPerStepMax)),
  )

  return async () => {
    const due = await store.partnerWithVerificationDue(db, clock.now())
    const judged =
      due === undefined
        ? 0
        : await judge(due, (tx, now) => store.claimVerificationDue(tx, due, now, customersPerStepMax))
    return judged + (await judgeUnverified())
  }
}
