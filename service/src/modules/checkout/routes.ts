/** Operation id -> verb -> shape. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { type Currency, writeAmount } from '../../kernel/index.ts'
import { britishAccountOf } from '../../rails/index.ts'
import type { Refund } from './refund-events.ts'
import type { MadeRefund } from './refunds.ts'
import type { Checkout } from './service.ts'
import type { Session, SessionPart } from './session.ts'
import type { Branding } from './store-branding.ts'

export function checkoutRoutes(checkout: Checkout, idempotency: Idempotency): Handlers<'checkout'> {
  return {
    createCheckoutSession: async ({ caller, body }) => {
      const { session, replayed } = await checkout.create(caller, body)
      return {
        body: sessionOf(session),
        headers: {
          location: `/v1/checkout/sessions/${session.id}`,
          ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
        },
      }
    },
    getCheckoutSession: async ({ caller, params }) => ({
      body: sessionOf(await checkout.get(caller.partnerId, params.sessionId)),
    }),
    createCheckoutRefund: async ({ caller, params, body, ip }) => {
      const made = await checkout.refund(caller, params.sessionId, body, ip)
      return { body: firstAnswerOf(made), headers: headersOf(made) }
    },
    listCheckoutRefunds: async ({ caller, params, query }) => {
      const page = await checkout.listRefunds(caller.partnerId, params.sessionId, query)
      return { body: { ...page, data: page.data.map(refundOf) } }
    },
    getCheckoutRefund: async ({ caller, params }) => ({
      body: refundOf(await checkout.getRefund(caller.partnerId, params.sessionId, params.refundId)),
    }),
    getCheckoutBranding: async ({ caller }) => ({ body: brandingView(await checkout.branding(caller.partnerId)) }),
    setCheckoutBranding: async ({ caller, body }) => ({
      body: brandingView(await checkout.setBranding(caller.partnerId, body)),
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
  refundedAmount,
  paidAmount,
  remainingAmount,
  parts,
  expiresAt,
  createdAt,
  residenceCountry: _residence,
  returnUrl: _returnUrl,
  description,
  lineItems,
  ...session
}: Session): ResponseOf<'getCheckoutSession'> {
  return {
    ...session,
    sessionId: id,
    amount: writeAmount(amount, session.currency),
    refundedAmount: writeAmount(refundedAmount, session.currency),
    paidAmount: writeAmount(paidAmount, session.currency),
    remainingAmount: writeAmount(remainingAmount, session.currency),
    ...(session.partialPayments ? { parts: parts.map((part) => partOf(part, session.currency)) } : {}),
    ...(bic === null ? {} : { bic }),
    ...(session.currency === 'GBP' ? britishAccountOf(session.iban) : {}),
    ...(description === null ? {} : { description }),
    ...(lineItems === null
      ? {}
      : { lineItems: lineItems.map((item) => ({ ...item, amount: writeAmount(item.amount, session.currency) })) }),
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
  }
}

const partOf = ({ id, amount, status, debtorName, receivedAt }: SessionPart, currency: Currency) => ({
  partId: id,
  amount: writeAmount(amount, currency),
  status,
  ...(debtorName === '' ? {} : { debtorName }),
  receivedAt: receivedAt.toISOString(),
})

export const refundOf = ({ row, payout }: Refund): ResponseOf<'getCheckoutRefund'> => ({
  refundId: row.id,
  sessionId: row.sessionId,
  ...(row.partId === null ? {} : { partId: row.partId }),
  reference: payout.reference,
  amount: writeAmount(payout.amount, payout.currency),
  currency: payout.currency,
  status: payout.status,
  ...(row.reason === null ? {} : { reason: row.reason }),
  ...(payout.errorKey === null ? {} : { errorKey: payout.errorKey }),
  createdAt: row.createdAt.toISOString(),
  updatedAt: payout.updatedAt.toISOString(),
})

/** A replay repeats the first answer: the status with which the payout began. */
const firstAnswerOf = ({ row, payout }: MadeRefund) =>
  refundOf({
    row,
    payout: {
      ...payout,
      status: payout.approvalExpiresAt === null ? 'Pending' : 'PendingApproval',
      errorKey: null,
      updatedAt: row.createdAt,
    },
  })

const headersOf = ({ row: { sessionId, id }, replayed }: MadeRefund) => ({
  location: `/v1/checkout/sessions/${sessionId}/refunds/${id}`,
  ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
})

const brandingView = ({ name, colour, colourDark, logo, logoType }: Branding): ResponseOf<'getCheckoutBranding'> => ({
  ...(name === null ? {} : { name }),
  ...(colour === null ? {} : { accentColour: colour }),
  ...(colourDark === null ? {} : { accentColourDark: colourDark }),
  ...(logo === null || logoType === null
    ? {}
    : { logo: { type: logoType, data: Buffer.from(logo).toString('base64') } }),
})
