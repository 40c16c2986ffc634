/** Maps API operations to module operations and response shapes. */
import { checkout as wire, type ResponseOf } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter, writeSums } from '../kernel/api/index.ts'
import type { Idempotency } from '../idempotency/index.ts'
import { type Currency, type Minor, toJsonAmount } from '../kernel/index.ts'
import { readBritishAccount } from '../rails/index.ts'
import type { PaymentLink } from './links.ts'
import type { RefundResult, Refund } from './refunds.ts'
import type { Checkout } from './service.ts'
import type { LatePayment, Session, SessionPart } from './session.ts'
import type { Branding } from './store.ts'

export function checkoutRoutes(checkout: Checkout, idempotency: Idempotency): Handlers<'checkout'> {
  return {
    createCheckoutSession: async ({ caller, body }) => {
      const { session, replayed } = await checkout.create(caller, body)
      return {
        body: toSession(session),
        headers: {
          location: `/v1/checkout/sessions/${session.id}`,
          ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
        },
      }
    },
    getCheckoutSession: async ({ caller, params }) => ({
      body: toSession(await checkout.get(caller.partnerId, params.sessionId)),
    }),
    createCheckoutRefund: async ({ caller, params, body, ip }) => {
      const made = await checkout.refund(caller, params.sessionId, body, ip)
      return { body: toFirstAnswer(made), headers: refundHeaders(made) }
    },
    listCheckoutRefunds: async ({ caller, params, query }) =>
      writePage(await checkout.listRefunds(caller.partnerId, params.sessionId, query), toRefund),
    getCheckoutRefund: async ({ caller, params }) => ({
      body: toRefund(await checkout.getRefund(caller.partnerId, params.sessionId, params.refundId)),
    }),
    getCheckoutBranding: async ({ caller }) => ({ body: toBranding(await checkout.branding(caller.partnerId)) }),
    setCheckoutBranding: async ({ caller, body }) => ({
      body: toBranding(await checkout.setBranding(caller.partnerId, body)),
    }),
    acceptLatePayment: idempotency.handler('acceptLatePayment', async ({ caller, params }, tx) => {
      const late = await checkout.acceptLate(caller.partnerId, params.sessionId, params.latePaymentId, tx)
      return {
        body: toLatePayment(late),
        created: `the acceptance of the late payment ${late.id}`,
        customerId: late.customerId,
      }
    }),
    returnLatePayment: idempotency.handler('returnLatePayment', async ({ caller, params }, tx) => {
      const late = await checkout.returnLate(caller.partnerId, params.sessionId, params.latePaymentId, tx)
      return {
        body: toLatePayment(late),
        created: `the return of the late payment ${late.id}`,
        customerId: late.customerId,
      }
    }),
    createPaymentLink: idempotency.handler('createPaymentLink', async ({ caller, body }, tx) => {
      const link = await checkout.createLink(caller.partnerId, body, tx)
      const headers = { location: `/v1/checkout/links/${link.id}` }
      return { body: toLink(link), headers, created: `the payment link ${link.id}`, customerId: link.customerId }
    }),
    listPaymentLinks: async ({ caller, query }) => writePage(await checkout.listLinks(caller.partnerId, query), toLink),
    getPaymentLink: async ({ caller, params }) => ({
      body: toLink(await checkout.getLink(caller.partnerId, params.linkId)),
    }),
    updatePaymentLink: async ({ caller, params, body }) => ({
      body: toLink(await checkout.updateLink(caller.partnerId, params.linkId, body)),
    }),
    sumCheckoutSessions: async ({ caller, query }) => ({
      body: writeSums(await checkout.sums(caller.partnerId, query)),
    }),
    listCheckoutSessions: async ({ caller, query }) =>
      writePage(await checkout.list(caller.partnerId, query), toSession),
    expireCheckoutSession: idempotency.handler('expireCheckoutSession', async ({ caller, params }, tx) => {
      const session = await checkout.expire(caller.partnerId, params.sessionId, tx)
      const { id, customerId } = session
      return { body: toSession(session), created: `the end of the checkout session ${id}`, customerId }
    }),
  }
}

export function toSession({
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
  websiteReference,
  payerName,
  payerEmail,
  linkId,
  latePayments,
  ...session
}: Session): ResponseOf<'getCheckoutSession'> {
  return {
    ...session,
    sessionId: id,
    amount: toJsonAmount(amount, session.currency),
    refundedAmount: toJsonAmount(refundedAmount, session.currency),
    paidAmount: toJsonAmount(paidAmount, session.currency),
    remainingAmount: toJsonAmount(remainingAmount, session.currency),
    ...(session.partialPayments ? { parts: parts.map((part) => toPart(part, session.currency)) } : {}),
    ...(bic === null ? {} : { bic }),
    ...(session.currency === 'GBP' ? readBritishAccount(session.iban) : {}),
    ...(description === null ? {} : { description }),
    ...(lineItems === null
      ? {}
      : { lineItems: lineItems.map((item) => ({ ...item, amount: toJsonAmount(item.amount, session.currency) })) }),
    ...(websiteReference === null ? {} : { websiteReference }),
    ...(payerName === null ? {} : { payerName }),
    ...(payerEmail === null ? {} : { payerEmail }),
    ...(linkId === null ? {} : { linkId }),
    ...(latePayments.length === 0 ? {} : { latePayments: latePayments.map(toLatePayment) }),
    expiresAt: expiresAt.toISOString(),
    createdAt: createdAt.toISOString(),
  }
}

const writeLate = createRecordWriter(wire.LatePayment)
const toLatePayment = ({ id, amount, refundedAmount, currency, ...late }: LatePayment) =>
  writeLate({
    ...late,
    currency,
    latePaymentId: id,
    amount: toJsonAmount(amount, currency),
    refundedAmount: refundedAmount === null ? null : toJsonAmount(refundedAmount, currency),
  })

const writeLink = createRecordWriter(wire.PaymentLink)
function toLink(link: PaymentLink): ResponseOf<'getPaymentLink'> {
  const { id, currency, lineItems, isActive, sessionSeconds } = link
  const money = (amount: Minor | null) => (amount === null ? null : toJsonAmount(amount, currency))
  return writeLink({
    ...link,
    ...{ linkId: id, active: isActive, sessionExpiresInSeconds: sessionSeconds },
    ...{ amount: money(link.amount), amountMin: money(link.amountMin), amountMax: money(link.amountMax) },
    lineItems: lineItems?.map((item) => ({ ...item, amount: toJsonAmount(item.amount, currency) })) ?? null,
  })
}

const toPart = ({ id, amount, status, debtorName, receivedAt }: SessionPart, currency: Currency) => ({
  partId: id,
  amount: toJsonAmount(amount, currency),
  status,
  ...(debtorName === '' ? {} : { debtorName }),
  receivedAt: receivedAt.toISOString(),
})

const writeRefund = createRecordWriter(wire.CheckoutRefund)
const toRefund = ({ row, payout }: Refund) =>
  writeRefund({
    ...payout,
    ...row,
    refundId: row.id,
    amount: toJsonAmount(payout.amount, payout.currency),
    userReference: payout.remittance,
    status: payout.status,
    updatedAt: payout.updatedAt,
  })

/** Returns the first answer of a refund for a replay: the status with which its payout began. */
const toFirstAnswer = ({ row, payout }: RefundResult) =>
  toRefund({
    row,
    payout: {
      ...payout,
      status: payout.approvalExpiresAt === null ? 'Pending' : 'PendingApproval',
      errorKey: null,
      updatedAt: row.createdAt,
    },
  })

const refundHeaders = ({ row: { sessionId, id }, replayed }: RefundResult) => ({
  location: `/v1/checkout/sessions/${sessionId}/refunds/${id}`,
  'payout-id': id,
  ...(replayed ? { 'idempotent-replayed': 'true' } : {}),
})

const writeBranding = createRecordWriter(wire.CheckoutBranding)
const toBranding = ({ name, colour, colourDark, logo, logoType }: Branding) =>
  writeBranding({
    name,
    accentColour: colour,
    accentColourDark: colourDark,
    logo: logo && logoType && { type: logoType, data: Buffer.from(logo).toString('base64') },
  })
