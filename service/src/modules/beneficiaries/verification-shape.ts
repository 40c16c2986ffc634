/** The wire shape of a verification, which beneficiaries and payouts answer. */
import type { ResponseOf } from '@partner-payments/wire'
import type { VerificationRow } from './verifications.ts'

/** A field without a value is absent, not null. */
export function toVerification(row: VerificationRow): ResponseOf<'createBeneficiaryVerification'> {
  const { id, name, iban, result, matchedName, reason, source, schemeReference } = row
  return {
    id,
    name,
    iban,
    result,
    ...(matchedName === null ? {} : { matchedName }),
    ...(reason === null ? {} : { reason }),
    source,
    ...(schemeReference === null ? {} : { schemeReference }),
    requestedBy: row.requestedByName,
    requestedAt: row.requestedAt.toISOString(),
    answeredAt: row.answeredAt.toISOString(),
  }
}
