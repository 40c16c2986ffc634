/**
 * Checkout: sessions with a payment page. A session is a deposit that awaits payment, with a link for the payer. It has
 * no status of its own: its status is read from the deposit. In the sandbox the module is also the bank of the payer,
 * who approves or rejects on a page.
 *
 * A refund is a payout to the account that paid; amount and status are those of the payout (0106).
 *
 * Tables: checkout.sessions, checkout.payer_emails, checkout.sandbox_visits, checkout.branding, checkout.refunds,
 * checkout.links, checkout.late_payments. Invariants: a session and its deposit are opened in one transaction. A
 * creditor reference and a link belong to one session. An email in a session request has one customer, even if requests
 * race. A payer of the sandbox decides once. Unmatched money has a case, and one choice of its partner or one decision
 * of the operator. A link never has more payments, completed and under way, than it allows. Refunds that did not fail
 * never exceed the payment, or the part that they name: the lock of the deposit serialises them.
 */
export type { PaymentPage, PaymentReceipt } from './hosted.ts'
export { createLateOffers } from './late.ts'
export { createRefundEvents, createPaymentRefunds } from './refunds.ts'

export { checkoutRoutes, toSession } from './routes.ts'
export { epcText } from './rules.ts'
export { type Checkout, createCheckout } from './service.ts'
export { type Session, sealedLinkTokens } from './session.ts'
export {
  amountLeast,
  amountMost,
  type LinkClosedReason,
  sealedPaymentLinkTokens,
  type PayerPaymentLink,
} from './links.ts'
