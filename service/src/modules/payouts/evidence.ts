/** What a verification of payee had said before a payout was created. A payout stores nothing of it. */
import { notFound } from '../../api/index.ts'
import type { VerificationRow } from '../beneficiaries/index.ts'
import type { PayoutsDeps } from './deps.ts'
import type { PayoutRow } from './store.ts'

export type Evidence = {
  /** Refuses: not_found (the payout, or no verification before it). */
  readonly verificationOf: (partnerId: string, id: string) => Promise<VerificationRow>
}

export function createEvidence(
  { db, beneficiaries }: PayoutsDeps,
  get: (partnerId: string, id: string) => Promise<PayoutRow>,
): Evidence {
  return {
    verificationOf: async (partnerId, id) => {
      const { creditorName: name, creditorAccount: iban, createdAt } = await get(partnerId, id)
      const row = await beneficiaries.evidenceFor(db, partnerId, { name, iban }, createdAt)
      if (row === undefined) throw notFound('verification')
      return row
    },
  }
}
