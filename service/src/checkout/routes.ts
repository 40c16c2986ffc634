/** Operation id -> verb -> shape. */
import { checkout as wire, type ResponseOf } from '@partner-payments/wire'
import { type Handlers, pageOf, writerOf } from '../kernel/api/index.ts'
import type { Idempotency } from '../idempotency/index.ts'
import { type Currency, writeAmount } from '../kernel/index.ts'
import { britishAccountOf } from '../rails/index.ts'
import type { MadeRefund, Refund } from './refunds.ts'
import type { Checkout } from './service.ts'
import type { Session, SessionPart } from './session.ts'
import type { Branding } from './store.ts'

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
    listCheckoutRefunds: async ({ caller, params, query }) =>
      pageOf(await checkout.listRefunds(caller.partnerId, params.sessionId, query), refundOf),
    getCheckoutRefund: async ({ caller, params }) => ({
      body: refundOf(await checkout.getRefund(caller.partnerId, params.sessionId, params.refundId)),
    }),
    getCheckoutBranding: async ({ caller }) => ({ body: brandingView(await checkout.branding(caller.partnerId)) }),
    setCheckoutBranding: async ({ caller, body }) => ({
      body: brandingView(await checkout.setBranding(caller.partnerId, body)),
    }),
    listCheckoutSessions: async ({ caller, query }) => pageOf(await checkout.list(caller.partnerId, query), sessionOf),
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

const writeRefund = writerOf(wire.CheckoutRefund)
export const refundOf = ({ row, payout }: Refund) =>
  writeRefund({
    ...payout,
    ...row,
    refundId: row.id,
    amount: writeAmount(payout.amount, payout.currency),
    userReference: payout.remittance,
    status: payout.status,
    updatedAt: payout.updatedAt,
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
  'payout-id': id,
  ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
})

const writeBranding = writerOf(wire.CheckoutBranding)
const brandingView = ({ name, colour, colourDark, logo, logoType }: Branding) =>
  writeBranding({
    name,
    accentColour: colour,
    accentColourDark: colourDark,
    logo: logo && logoType && { type: logoType, data: Buffer.from(logo).toString('base64') },
  })
