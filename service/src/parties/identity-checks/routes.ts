/** Operation id -> verb -> shape, for identity verifications. */
import { identity as wire } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../../kernel/api/index.ts'
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
  listIdentityVerifications: async ({ caller, params, query }) =>
    pageOf(await checks.list(caller.partnerId, params.id, query), toVerification),
  getIdentityVerification: async ({ caller, params }) => ({
    body: toVerification(await checks.get(caller.partnerId, params.id, params.verificationId)),
  }),
})

const writeVerification = writerOf(wire.IdentityVerification)
export const toVerification = (row: IdentityVerification) => writeVerification({ ...row, customerGuid: row.customerId })
