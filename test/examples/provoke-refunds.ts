/** Causes the problems of refunds. */
import type { ProblemCode } from '@partner-payments/wire'
import { type Answer, type Client, success, textAt } from '../support/client.ts'
import { paidSession, refundBody } from '../support/paid-session.ts'
import { createCustomer, type World } from '../support/world.ts'

type Provocation = (stage: { readonly client: Client; readonly world: World }) => Promise<Answer>

const refund = (client: Client, sessionId: string, amount: number) =>
  client.post(`/v1/checkout/sessions/${sessionId}/refunds`, refundBody(amount))

export const refundExamples = {
  checkout_session_not_paid: ({ client, world }) => refund(client, world.session, 1),
  refund_exceeds_payment: ({ client, world }) => refund(client, world.paidSession, 500.01),
  payer_account_unknown: async ({ client }) => {
    const customer = textAt(await createCustomer(client), 'guid')
    const session = await paidSession(client, customer, 1)
    success(await client.post(`/v1/customers/${customer}/erase`, { nothingOwed: true }))
    return refund(client, session, 1)
  },
} as const satisfies Partial<Record<ProblemCode, Provocation>>
