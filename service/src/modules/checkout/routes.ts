/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { writeAmount } from '../../kernel/index.ts'
import { britishAccountOf } from '../../rails/index.ts'
import type { Checkout } from './service.ts'
import type { Session } from './session.ts'

export function checkoutRoutes(checkout: Checkout, idempotency: Idempotency): Handlers<'checkout'> {
  return {
    createCheckoutSession: async ({ caller, body }) => {
      const { session, replayed } = await checkout.create(caller, body)
      return {
        // A replay repeats the first answer: the status is Open, whatever the session is now.
        body: { ...sessionOf(session), status: 'Open' },
        headers: {
          location: `/v1/checkout/sessions/${session.id}`,
          ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
        },
      }
    },
    getCheckoutSession: async ({ caller, params }) => ({
      body: sessionOf(await checkout.get(caller.partnerId, params.sessionId)),
    }),
    listCheckoutSessions: async ({ caller, query }) => {
      const page = await checkout.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(sessionOf) } }
    },
    expireCheckoutSession: idempotency.handler('expireCheckoutSession', async ({ caller, params }, tx) => {
      const session = await checkout.expire(caller.partnerId, params.sessionId, tx)
      const { id, customerId } = session
      return { body: sessionOf(session), created: `the end of the checkout session ${id}`, customerId }
    }),
  }
}

export function sessionOf({
  id,
  bic,
  amount,
  expiresAt,
  createdAt,
  residenceCountry: _residence,
  returnUrl: _returnUrl,
  ...session
}: Session): ResponseOf<'getCheckoutSession'> {
  return {
    ...session,
    sessionId: id,
    amount: writeAmount(amount, session.currency),
    ...(bic === null ? {} : { bic }),
    ...(session.currency === 'GBP' ? britishAccountOf(session.iban) : {}),
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
  }
}
