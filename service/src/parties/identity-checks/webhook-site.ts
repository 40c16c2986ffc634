/** The address to which the identity provider posts webhooks. It answers JSON, and says nothing of what it has found. */
import { notFound, type PublicAnswer, type PublicSite, Refusal } from '../../kernel/api/index.ts'
import type { IdentityProvider } from '../identity-port/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { IdentityChecks } from './service.ts'

/** A hint has a few fields. */
const bodyBytesMax = 65_536

const answer = (status: number, body: object): PublicAnswer => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body: JSON.stringify(body),
})

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
          if (hint === undefined) throw new Refusal('signature_invalid', 'The signature of the webhook does not hold.')
          await checks.hint(provider.id, hint)
          return answer(200, { received: true })
        },
      },
    ],
    refused: (_request, { status, code }) => answer(status, { status, code }),
  }
}
