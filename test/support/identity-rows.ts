/** Identity verifications in every status, and a largest balance, for the page of a customer. */
import { rawNumber } from '@partner-payments/wire'

const statuses = ['Pending', 'Processing', 'Approved', 'Lapsed', 'Expired', 'Failed'] as const

export function verificationRows(text: string, href: string, at: Date) {
  const fields = [
    { field: text, outcome: 'Matched' as const },
    { field: 'fullName', outcome: 'Mismatched' as const },
  ]
  const proof = {
    ...{ id: 'v1', customerGuid: 'c1', kinds: ['Document' as const], provider: text },
    ...{ createdAt: at.toISOString(), updatedAt: at.toISOString(), validUntil: at.toISOString() },
    evidence: { providerReference: text, documents: [], fields },
  }
  const rows = [
    ...statuses.map((status) => ({ ...proof, status })),
    { ...proof, status: 'Open' as const, url: href },
    { ...proof, status: 'Declined' as const, reason: 'DataMismatch' as const },
  ]
  return { rows, form: { idempotencyKey: text } }
}

export const receiving = {
  ...{ name: 'Receive' as const, allowed: true, reasons: [] },
  holdUpTo: [{ currency: 'EUR', amount: rawNumber('150.00'), held: rawNumber('10.00') }],
}
