/** Operation id -> verb -> shape, for identity verifications. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { IdentityChecks, IdentityVerification } from './service.ts'

export const identityRoutes = (checks: IdentityChecks, idempotency: Idempotency): Handlers<'identity'> => ({
  createIdentityVerification: idempotency.handler(
    'createIdentityVerification',
    async ({ caller, params, body }, tx) => {
      const row = await checks.create(caller.partnerId, params.id, body, tx)
      return { body: toVerification(row), created: `the identity verification ${row.id}`, customerId: row.customerId }
    },
  ),
  listIdentityVerifications: async ({ caller, params, query }) => {
    const page = await checks.list(caller.partnerId, params.id, query)
    return { body: { ...page, data: page.data.map(toVerification) } }
  },
  getIdentityVerification: async ({ caller, params }) => ({
    body: toVerification(await checks.get(caller.partnerId, params.id, params.verificationId)),
  }),
})

export function toVerification(row: IdentityVerification): ResponseOf<'getIdentityVerification'> {
  const { url, evidence, reason, sessionExpiresAt, validUntil, decidedAt } = row
  return {
    id: row.id,
    customerGuid: row.customerId,
    kinds: [...row.kinds],
    status: row.status,
    ...(reason === null ? {} : { reason }),
    provider: row.provider,
    ...(url === null ? {} : { url }),
    ...(sessionExpiresAt === null ? {} : { sessionExpiresAt: sessionExpiresAt.toISOString() }),
    ...(evidence === null ? {} : { evidence: toEvidence(evidence) }),
    ...(validUntil === null ? {} : { validUntil: validUntil.toISOString() }),
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    ...(decidedAt === null ? {} : { decidedAt: decidedAt.toISOString() }),
  }
}

const toEvidence = ({ providerReference, documents, fields }: NonNullable<IdentityVerification['evidence']>) => ({
  providerReference,
  documents: documents.map(({ type, issuingCountry, expiresOn }) => ({
    type,
    ...(issuingCountry === null ? {} : { issuingCountry }),
    ...(expiresOn === null ? {} : { expiresOn }),
  })),
  fields: [...fields],
})
