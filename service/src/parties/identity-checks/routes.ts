/** Handlers of identity verifications, and the webhooks of the provider. */
import { identity as wire } from '@partner-payments/wire'
import {
  type Handlers,
  notFound,
  writePage,
  type PublicAnswer,
  type PublicSite,
  Refusal,
  createRecordWriter,
} from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import type { IdentityChecks, IdentityVerification } from './service.ts'
import type { IdentityProvider } from '../identity-port/index.ts'
import type { Clock } from '../../kernel/index.ts'

export const identityRoutes = (checks: IdentityChecks, idempotency: Idempotency): Handlers<'identity'> => ({
  createIdentityVerification: idempotency.handler(
    'createIdentityVerification',
    async ({ caller, params, body }, tx) => {
      const row = await checks.create(caller.partnerId, params.id, body, tx)
      return { body: toVerification(row), created: `the identity verification ${row.id}`, customerId: row.customerId }
    },
  ),
  listIdentityVerifications: async ({ caller, params, query }) =>
    writePage(await checks.list(caller.partnerId, params.id, query), toVerification),
  getIdentityVerification: async ({ caller, params }) => ({
    body: toVerification(await checks.get(caller.partnerId, params.id, params.verificationId)),
  }),
})

const writeVerification = createRecordWriter(wire.IdentityVerification)
export const toVerification = (row: IdentityVerification) => writeVerification({ ...row, customerGuid: row.customerId })

/** Maximum size of a webhook, which has only a few fields. */
const bodyBytesMax = 65_536

const answer = (status: number, body: object): PublicAnswer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: JSON.stringify(body),
})

/**
 * Creates the site to which the identity provider posts webhooks. Its responses do not reveal whether a verification
 * exists.
 */
export function createIdentityWebhookSite({
  checks,
  provider,
  clock,
}: {
  readonly checks: Pick<IdentityChecks, 'hint'>
  readonly provider: IdentityProvider | null
  readonly clock: Clock
}): PublicSite {
  return {
    routes: [
      {
        method: 'POST',
        path: '/identity/webhooks/{provider}',
        bodyBytesMax,
        handle: async ({ params, headers, body }) => {
          if (provider === null || params['provider'] !== provider.id) throw notFound('identity provider')
          const hint = provider.readWebhook({ headers, body, now: clock.now() })
          if (hint === undefined) throw new Refusal('signature_invalid', 'The webhook signature is invalid or too old.')
          await checks.hint(provider.id, hint)
          return answer(200, { received: true })
        },
      },
    ],
    refused: (_request, { status, code }) => answer(status, { status, code }),
  }
}
