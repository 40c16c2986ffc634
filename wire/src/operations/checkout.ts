/** The operations of the group `checkout`. */
import * as checkout from '../checkout.ts'
import { amount, resource, unique } from './example.ts'
import type { Operation } from './operation.ts'
import { sessionId } from './params.ts'

export const checkoutOperations = {
  createCheckoutSession: {
    tag: 'checkout',
    method: 'POST',
    path: '/v1/checkout/sessions',
    body: checkout.CheckoutSessionCreate,
    response: checkout.CheckoutSession,
    idempotency: 'body',
    permission: 'checkout:write',
    source: 'extension',
    summary: 'Create a checkout session',
    description:
      'Opens a deposit that awaits payment, and a payment page for the payer at `url`. The payer pays to the IBAN of the ' +
      'customer, which is issued if there is none, and states `creditorReference`. Only the exact amount in one payment ' +
      'completes the session; other money goes to suspense. A customer whose account takes no money gets no session. Idempotent by `idempotencyKey`: the same key with the same ' +
      'body returns the first answer with `Idempotent-Replayed: true`; with another body it is refused with 422 ' +
      '`idempotency_key_reused`.',
    refusals: [
      'validation_failed',
      'not_found',
      'request_in_progress',
      'idempotency_key_reused',
      'account_blocked',
      'customer_not_verified',
      'currency_not_supported',
      'iban_issuer_not_configured',
      'iban_pool_exhausted',
    ],
    example: {
      body: {
        amount: amount('10.00'),
        currency: 'EUR',
        idempotencyKey: unique(),
        customer: { email: 'ada@example.com', fullName: 'Ada Lovelace', residenceCountryCode: 'DE' },
        paymentCountryCode: 'DE',
        paymentMethod: 'SepaCreditTransfer',
        returnUrl: 'https://shop.example.com/orders/42',
        websiteReference: unique(),
        customFields: { order: 'A-1' },
        expiresInSeconds: 3600,
      },
    },
  },
  listCheckoutSessions: {
    tag: 'checkout',
    method: 'GET',
    path: '/v1/checkout/sessions',
    query: checkout.CheckoutSessionQuery,
    response: checkout.CheckoutSessionPage,
    permission: 'checkout:read',
    source: 'extension',
    summary: 'List checkout sessions',
    description: "Returns the partner's checkout sessions, newest first.",
    refusals: ['validation_failed'],
    example: {},
  },
  getCheckoutSession: {
    tag: 'checkout',
    method: 'GET',
    path: '/v1/checkout/sessions/{sessionId}',
    params: sessionId,
    response: checkout.CheckoutSession,
    permission: 'checkout:read',
    source: 'extension',
    summary: 'Retrieve a checkout session',
    description: 'Returns the session with its current status.',
    refusals: ['not_found'],
    example: { params: { sessionId: resource('session') } },
  },
  expireCheckoutSession: {
    tag: 'checkout',
    method: 'POST',
    path: '/v1/checkout/sessions/{sessionId}/expire',
    params: sessionId,
    response: checkout.CheckoutSession,
    idempotency: 'header',
    permission: 'checkout:write',
    source: 'extension',
    summary: 'Expire a checkout session',
    description:
      'Expires the session at once, with the event `partner.customer.deposit.expired`. Once the bank of the payer has ' +
      'the payment, or the session has ended, the request is refused with 409 `checkout_session_not_open`. Money that ' +
      'arrives later goes to suspense.',
    refusals: ['not_found', 'checkout_session_not_open', 'request_in_progress', 'idempotency_key_reused'],
    example: { params: { sessionId: resource('session') } },
  },
} as const satisfies Record<string, Operation>
