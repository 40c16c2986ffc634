/**
 * The operations table: one entry for each operation of the API. Validation, permissions, handler types, the OpenAPI
 * document, the SDK and the contract tests derive from it. The handler is in `routes.ts` of the module named as the tag.
 */
import * as accounts from './accounts.ts'
import * as beneficiaries from './beneficiaries.ts'
import * as checkout from './checkout.ts'
import * as customers from './customers.ts'
import * as fx from './fx.ts'
import * as payouts from './payouts.ts'
import type { ProblemCode } from './problems.ts'
import * as reports from './reports.ts'
import { CustomerRef, Reference, type Static, type TSchema, Uuid, closed, described } from './shapes.ts'
import * as simulations from './simulations.ts'
import * as transactions from './transactions.ts'
import * as users from './users.ts'
import * as wallets from './wallets.ts'
import * as webhooks from './webhooks.ts'

export const tags = [
  'accounts',
  'beneficiaries',
  'checkout',
  'customers',
  'fx',
  'payouts',
  'reports',
  'simulations',
  'transactions',
  'users',
  'wallets',
  'webhooks',
] as const
export type Tag = (typeof tags)[number]
export type Permission = `${Tag}:${'read' | 'write'}`

export type Operation = {
  readonly tag: Tag
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters are written `{name}`. A value that violates its schema in `params` is 404 (interface document, Errors). */
  readonly path: string
  readonly params?: Readonly<Record<string, TSchema>>
  readonly query?: TSchema
  readonly body?: TSchema
  /** The request may omit the body. */
  readonly bodyOptional?: true
  /** Absent: the operation returns `content`, or else 204 without a body. */
  readonly response?: TSchema
  /** The media types of a streamed answer, of which a request may read a range of bytes (RFC 9110, section 14). */
  readonly content?: readonly string[]
  /**
   * The operation takes effect once per idempotency key. `header`: the key is in the header `Idempotency-Key`. `body`: it is
   * in the field `idempotencyKey` or in the header. Absent: the operation refuses the header.
   */
  readonly idempotency?: 'body' | 'header'
  readonly permission: Permission
  readonly source: 'documented' | 'extension'
  /** A verb phrase of at most eight words; test/tidy checks it. */
  readonly summary: string
  /** What the caller must know: idempotency, asynchronous effects, limits. Markdown, in full sentences. */
  readonly description: string
  /** The problem codes specific to this operation, in addition to those that all operations share. */
  readonly refusals: readonly ProblemCode[]
  /** The operation returns 404 in production. */
  readonly sandboxOnly?: true
}

const customerId = { id: CustomerRef }
const invitationId = { invitationId: described(Uuid, 'The `inviteId` of the invitation.') }
const quoteId = { quoteId: described(Uuid, 'The `id` of the quote.') }
const payoutId = { id: described(Uuid, 'The `id` of the payout.') }
const beneficiaryId = { id: described(Uuid, 'The `id` of the beneficiary.') }
const subscriptionId = { id: described(Uuid, 'The `id` of the webhook subscription.') }
const deliveryId = { ...subscriptionId, eventId: described(Uuid, 'The `eventId` of the delivery.') }
const walletId = { walletId: described(Uuid, 'The `id` of the wallet.') }
const recoveryId = { ...subscriptionId, recoveryId: described(Uuid, 'The `id` of the recovery.') }
const reportId = { id: described(Uuid, 'The `id` of the report.') }
const scheduleId = { id: described(Uuid, 'The `id` of the schedule.') }
const sessionId = { sessionId: described(Uuid, 'The `sessionId` of the checkout session.') }
const reference = {
  reference: described(Reference, 'The `reference` of the transaction, percent-encoded. 1 to 140 characters.'),
}

export const operations = {
  createInvitations: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations',
    body: users.InvitationsCreate,
    response: users.Invitations,
    idempotency: 'header',
    permission: 'users:write',
    source: 'documented',
    summary: 'Invite team members',
    description:
      'Creates one invitation per entry, or none if any entry is refused. Each invitation is emailed to its address ' +
      'in the background. An invitation expires after `expiryInDays` days, 7 by default. An address with a pending ' +
      'invitation is refused with 409 `invitation_exists` and a pointer to the entry. Idempotent by ' +
      '`Idempotency-Key`; without a key a repeated request is refused with that code.',
    refusals: ['validation_failed', 'invitation_exists'],
  },
  listInvitations: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/invitations',
    query: users.InvitationQuery,
    response: users.InvitationPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List invitations',
    description: "Returns the partner's invitations, newest first. Filter by `status`.",
    refusals: [],
  },
  getInvitation: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/invitations/{invitationId}',
    params: invitationId,
    response: users.Invitation,
    permission: 'users:read',
    source: 'documented',
    summary: 'Retrieve an invitation',
    description:
      'Returns the invitation with its current status. A pending invitation becomes `Expired` at its expiry time.',
    refusals: ['not_found'],
  },
  resendInvitation: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations/{invitationId}/resend',
    params: invitationId,
    body: users.InvitationResend,
    bodyOptional: true,
    response: users.Invitation,
    idempotency: 'header',
    permission: 'users:write',
    source: 'documented',
    summary: 'Resend an invitation',
    description:
      'Issues a new token, revokes the previous one and emails the invitation again in the background. An expired ' +
      'invitation becomes `Pending` again, unless a newer one for the address is pending. At most 5 resends per ' +
      'invitation, 60 seconds apart. Without `redirectUrl`, the earlier redirect URL stays. Idempotent by ' +
      '`Idempotency-Key`; without a key each request counts as a resend.',
    refusals: ['not_found', 'invitation_not_pending', 'resend_too_soon', 'resend_limit_reached'],
  },
  revokeInvitation: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/invitations/{invitationId}',
    params: invitationId,
    permission: 'users:write',
    source: 'extension',
    summary: 'Revoke a pending invitation',
    description:
      'Revokes the invitation and its token, and cancels its unsent emails. An invitation that is not `Pending` is ' +
      'refused with 409 `invitation_not_pending`.',
    refusals: ['not_found', 'invitation_not_pending'],
  },
  createFiatPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fiat',
    body: payouts.FiatPayoutCreate,
    response: payouts.FiatPayout,
    idempotency: 'body',
    permission: 'payouts:write',
    source: 'documented',
    summary: 'Create a fiat payout',
    description:
      'Accepts a payout and reserves its amount from the available balance. The bank transfer runs asynchronously: ' +
      'follow it by webhooks or at the `Location` of the response. Idempotent by `idempotencyKey`: the same request ' +
      'with the same key returns the first result with `Idempotent-Replayed: true`; a different request is refused ' +
      'with 422 `idempotency_key_reused`. Keys do not expire. A refused request does not use up its key. ' +
      '`reference` becomes the transaction reference if the partner has not used it before. Otherwise the service ' +
      'assigns a reference and keeps yours in `userReference`.',
    refusals: [
      'not_found',
      'insufficient_funds',
      'currency_not_supported',
      'beneficiary_currency_mismatch',
      'beneficiary_not_payable',
    ],
  },
  createTokenPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/token',
    body: payouts.TokenPayoutCreate,
    response: payouts.TokenPayout,
    idempotency: 'body',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Create a token payout',
    description:
      'Accepts a payout of tokens to the wallet of a beneficiary and reserves its amount. The service signs the transfer ' +
      'and follows it on the chain. It is settled when its block has enough confirmations. The transaction then has ' +
      '`transactionHash`. Idempotent by `idempotencyKey`, as a fiat payout is.',
    refusals: [
      'not_found',
      'insufficient_funds',
      'currency_not_supported',
      'beneficiary_currency_mismatch',
      'beneficiary_not_payable',
    ],
  },
  listPayouts: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts',
    query: payouts.PayoutQuery,
    response: payouts.PayoutPage,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'List payouts',
    description:
      "Returns the partner's payouts, newest first. Filter by status, beneficiary, customer, currency, reference, " +
      'idempotency key and creation time. `createdFrom` is included, `createdTo` is not.',
    refusals: [],
  },
  getPayout: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}',
    params: payoutId,
    response: payouts.PayoutRecord,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Retrieve a payout',
    description:
      'Returns a payout by its `id`. To look up a payment by `reference`, use `GET /v1/transactions/{reference}`.',
    refusals: ['not_found'],
  },
  getFxRates: {
    tag: 'fx',
    method: 'GET',
    path: '/v1/fx/rates',
    query: fx.RatesQuery,
    response: fx.Rates,
    permission: 'fx:read',
    source: 'extension',
    summary: 'Retrieve exchange rates',
    description:
      'Returns the newest rates between `base` and every currency that it can be exchanged for. `midRate` is the rate ' +
      'of the source, `rate` that of a firm quote. Only a quote holds: a rate here may differ a moment later. Rates ' +
      'that are too old are refused with 503 `fx_rates_unavailable`.',
    refusals: ['currency_not_supported', 'fx_rates_unavailable'],
  },
  createFxQuote: {
    tag: 'fx',
    method: 'POST',
    path: '/v1/fx/quotes',
    body: fx.FxQuoteCreate,
    response: fx.FxQuote,
    idempotency: 'header',
    permission: 'fx:write',
    source: 'extension',
    summary: 'Create an exchange quote',
    description:
      'Offers an exchange at a rate that holds until `expiresAt`. Give either `sellAmount` or `buyAmount`. For a given ' +
      '`sellAmount` the bought amount is rounded down. For a given `buyAmount` the sold amount is rounded up. The fee is ' +
      'a part of `sellAmount`. No money is reserved. Accept the quote once, by a conversion or by a payout in the ' +
      'bought currency. Idempotent by `Idempotency-Key`; without a key a repeated request makes another quote.',
    refusals: ['validation_failed', 'not_found', 'currency_not_supported', 'fx_rates_unavailable'],
  },
  getFxQuote: {
    tag: 'fx',
    method: 'GET',
    path: '/v1/fx/quotes/{quoteId}',
    params: quoteId,
    response: fx.FxQuote,
    permission: 'fx:read',
    source: 'extension',
    summary: 'Retrieve an exchange quote',
    description:
      'Returns the quote with its current status. A quote that was not accepted is `Expired` from `expiresAt` on.',
    refusals: ['not_found'],
  },
  createFxConversion: {
    tag: 'fx',
    method: 'POST',
    path: '/v1/fx/conversions',
    body: fx.FxConversionCreate,
    response: fx.FxConversion,
    idempotency: 'body',
    permission: 'fx:write',
    source: 'extension',
    summary: 'Create a conversion from a quote',
    description:
      'Accepts the quote and exchanges at once: the sold amount leaves its balance and the bought amount enters the ' +
      'other. The transaction has the category `Conversion` and is `Completed`. List conversions with ' +
      '`GET /v1/transactions?category=Conversion`. A quote is accepted once: any other attempt is refused with 422 ' +
      '`fx_quote_accepted`, which names the transaction. Idempotent by `idempotencyKey`. A refused request uses up ' +
      'neither its key nor its quote.',
    refusals: ['not_found', 'fx_quote_expired', 'fx_quote_accepted', 'insufficient_funds'],
  },
  createFxPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fx',
    body: payouts.FxPayoutCreate,
    response: payouts.FxPayout,
    idempotency: 'body',
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Create a payout in another currency',
    description:
      'Accepts a quote and pays what it buys to the beneficiary. The sold amount is reserved from its balance. If the ' +
      'payout fails, nothing is exchanged and the sold amount is available again. Money that the bank returns after the ' +
      'settlement is credited in the bought currency. A quote is accepted once, before it expires. Idempotent by ' +
      '`idempotencyKey`, as a fiat payout is. A refused request uses up neither its key nor its quote.',
    refusals: [
      'not_found',
      'fx_quote_expired',
      'fx_quote_accepted',
      'insufficient_funds',
      'currency_not_supported',
      'beneficiary_currency_mismatch',
      'beneficiary_not_payable',
    ],
  },
  cancelPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/{id}/cancel',
    params: payoutId,
    response: payouts.PayoutRecord,
    permission: 'payouts:write',
    source: 'extension',
    summary: 'Cancel a pending payout',
    description:
      'Cancels a payout that is `Pending`, and makes its amount available again. The transaction becomes `Cancelled`. A ' +
      'payout is `Pending` until a worker begins to send it, which usually takes less than a second. Afterwards the ' +
      'request is refused with 409 `payout_not_cancellable`. A payout that is `Cancelled` is returned unchanged.',
    refusals: ['not_found', 'payout_not_cancellable'],
  },
  createBeneficiary: {
    tag: 'beneficiaries',
    method: 'POST',
    path: '/v1/beneficiaries',
    body: beneficiaries.BeneficiaryCreate,
    response: beneficiaries.Beneficiary,
    idempotency: 'header',
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Create a beneficiary',
    description:
      'Registers a payee. With `customerId` the beneficiary belongs to that customer, otherwise to the partner ' +
      'itself. Fiat currencies require `iban`; tokens require `walletAddress`. A `country` that contradicts the IBAN ' +
      'is refused. A `walletAddress` with capitals needs its check sum (EIP-55). These destination fields cannot be ' +
      'changed later. Idempotent by `Idempotency-Key`; without a key ' +
      'a repeated request creates a second beneficiary.',
    refusals: [
      'validation_failed',
      'not_found',
      'currency_not_supported',
      'wallet_address_not_payable',
      'recipient_blocked',
    ],
  },
  listBeneficiaries: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries',
    query: beneficiaries.BeneficiaryQuery,
    response: beneficiaries.BeneficiaryPage,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'List beneficiaries',
    description: "Returns the partner's beneficiaries, newest first. Filter by `customerId` or `currency`.",
    refusals: [],
  },
  updateBeneficiary: {
    tag: 'beneficiaries',
    method: 'PUT',
    path: '/v1/beneficiaries',
    body: beneficiaries.BeneficiaryUpdate,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:write',
    source: 'documented',
    summary: 'Update a beneficiary',
    description:
      'Sets `alias`, `name` or both; at least one is required. Payouts already accepted keep the earlier name. The ' +
      'destination of the money cannot be changed: create another beneficiary instead.',
    refusals: ['validation_failed', 'not_found'],
  },
  getBeneficiary: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/{id}',
    params: beneficiaryId,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'Retrieve a beneficiary',
    description: 'Returns a beneficiary by its `id`. A deleted beneficiary is 404.',
    refusals: ['not_found'],
  },
  deleteBeneficiary: {
    tag: 'beneficiaries',
    method: 'DELETE',
    path: '/v1/beneficiaries/{id}',
    params: beneficiaryId,
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Delete a beneficiary',
    description: 'Deletes the beneficiary for all later requests. Payouts already accepted are still executed.',
    refusals: ['not_found'],
  },
  createCustomer: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers',
    body: customers.CustomerCreate,
    response: customers.Customer,
    idempotency: 'header',
    permission: 'customers:write',
    source: 'extension',
    summary: 'Create a customer',
    description:
      'Creates a customer with its KYC data. At least one of `email`, `partnerCustomerIdentifier` and `kyc` is ' +
      'required. Without `customerType`, the service derives the type from the KYC fields. Neither `email` nor ' +
      '`partnerCustomerIdentifier` has to be unique. Idempotent by `Idempotency-Key`; without a key a repeated request ' +
      'creates a second customer.',
    refusals: ['validation_failed'],
  },
  listCustomers: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers',
    query: customers.CustomerQuery,
    response: customers.CustomerPage,
    permission: 'customers:read',
    source: 'extension',
    summary: 'List customers',
    description:
      "Returns the partner's customers, newest first. Filter by `email`, `partnerCustomerIdentifier` or " +
      '`customerType`. The email filter ignores case.',
    refusals: [],
  },
  getCustomer: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}',
    params: customerId,
    response: customers.Customer,
    permission: 'customers:read',
    source: 'documented',
    summary: 'Retrieve a customer',
    description:
      'Returns a customer by its `guid` or its `serviceId`. The response omits `personalIdentificationNumber`.',
    refusals: ['not_found'],
  },
  updateCustomer: {
    tag: 'customers',
    method: 'PUT',
    path: '/v1/customers/{id}',
    params: customerId,
    body: customers.CustomerUpdate,
    response: customers.Customer,
    permission: 'customers:write',
    source: 'documented',
    summary: 'Update a customer',
    description:
      'Merges the request into the customer: a given field is set, `null` clears a field, and an absent field is ' +
      'unchanged. At least one field is required. Idempotent: a repeated request has no further effect.',
    refusals: ['validation_failed', 'not_found'],
  },
  createCustomerAccount: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    idempotency: 'header',
    permission: 'accounts:write',
    source: 'documented',
    summary: 'Create a customer account',
    description:
      'Issues one IBAN per configured issuing country. Idempotent: a repeated request returns the same IBANs. When ' +
      'an IBAN pool is exhausted, the request is refused with 503 and no IBAN is issued. A service without issuing ' +
      'country refuses the request with 422.',
    refusals: ['not_found', 'iban_issuer_not_configured', 'iban_pool_exhausted'],
  },
  getCustomerAccount: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'Retrieve a customer account',
    description: 'Returns the IBANs of a customer. A customer without an account is 404.',
    refusals: ['not_found'],
  },
  listAccounts: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts',
    response: accounts.BalancePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List account balances',
    description:
      "Returns the partner's balances, one per currency, all read at the instant `asOf`. `available` is `posted` " +
      'minus `reserved`.',
    refusals: [],
  },
  listTransactions: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions',
    query: transactions.TransactionQuery,
    response: transactions.TransactionPage,
    permission: 'transactions:read',
    source: 'extension',
    summary: 'List transactions',
    description:
      "Returns the partner's transactions, newest first. Filter by status, category, customer, beneficiary, " +
      'idempotency key and creation time.',
    refusals: [],
  },
  getTransaction: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}',
    params: reference,
    response: transactions.Transaction,
    permission: 'transactions:read',
    source: 'documented',
    summary: 'Retrieve a transaction',
    description:
      'Returns a transaction by its `reference`, with its timeline. `Completed`, `Unsuccessful`, `Cancelled` and ' +
      '`Expired` are final statuses.',
    refusals: ['not_found'],
  },
  listEventTypes: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/event-types',
    response: webhooks.EventTypes,
    permission: 'webhooks:read',
    source: 'documented',
    summary: 'List subscribable event types',
    description:
      'Returns each event type with the JSON Schema of its properties. Only event types with `emitted: true` are ' +
      'delivered.',
    refusals: [],
  },
  createSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks',
    body: webhooks.SubscriptionCreate,
    response: webhooks.SubscriptionCreated,
    idempotency: 'header',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Create a webhook subscription',
    description:
      'Subscribes a URL to event types. With `signature: v1` the response contains the signing secret; only a replay ' +
      'of the request shows it again. With `v1a` the response contains the public key. The URL must be `https` on a public ' +
      'address; a local sandbox also allows `http` on a loopback address. At most 20 subscriptions per partner. ' +
      'Idempotent by `Idempotency-Key`; without a key a repeated request creates a second subscription.',
    refusals: ['validation_failed', 'webhook_limit_reached'],
  },
  listSubscriptions: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks',
    query: webhooks.SubscriptionQuery,
    response: webhooks.SubscriptionPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List webhook subscriptions',
    description: "Returns the partner's webhook subscriptions, newest first, without their secrets.",
    refusals: [],
  },
  getSubscription: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    response: webhooks.Subscription,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a webhook subscription',
    description: 'Returns a webhook subscription without its secret.',
    refusals: ['not_found'],
  },
  updateSubscription: {
    tag: 'webhooks',
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    body: webhooks.SubscriptionUpdate,
    response: webhooks.Subscription,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Update a webhook subscription',
    description:
      'Sets the given fields; at least one is required. A `null` description clears it. `status: Disabled` stops ' +
      'deliveries; pending ones become `Held`. `status: Enabled` has the effect of `POST /v1/webhooks/{id}/enable`.',
    refusals: ['validation_failed', 'not_found'],
  },
  deleteSubscription: {
    tag: 'webhooks',
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Delete a webhook subscription',
    description:
      'Deletes the subscription and its secrets, and drops its undelivered events. Those events stay in `GET ' +
      '/v1/events`.',
    refusals: ['not_found'],
  },
  listDeliveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    params: subscriptionId,
    query: webhooks.DeliveryQuery,
    response: webhooks.DeliveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List deliveries of a webhook subscription',
    description:
      'Returns deliveries with their attempts, ordered by event time, newest first. Filter by status, event type, ' +
      'reference and event time. A page may hold fewer deliveries than `limit` while `hasMore` is true.',
    refusals: ['not_found'],
  },
  getDelivery: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries/{eventId}',
    params: deliveryId,
    response: webhooks.Delivery,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a delivery',
    description: 'Returns a delivery with its newest attempts, including the beginning of each response body.',
    refusals: ['not_found'],
  },
  redeliver: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{eventId}/redeliver',
    params: deliveryId,
    response: webhooks.Delivery,
    idempotency: 'header',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Redeliver an event',
    description:
      'Schedules the delivery for immediate sending, whether or not it was delivered before, and returns at once. ' +
      'The `eventId` stays the same. The retry schedule restarts at its first step. A delivery with an attempt in ' +
      'progress keeps the result of that attempt. Idempotent by `Idempotency-Key`; without a key each request sends ' +
      'the event again.',
    refusals: ['not_found'],
  },
  rotateSecret: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate-secret',
    params: subscriptionId,
    body: webhooks.SecretRotate,
    bodyOptional: true,
    response: webhooks.SecretRotated,
    idempotency: 'header',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Rotate a webhook signing secret',
    description:
      'Creates a new signing key. Deliveries carry a signature of the new key and of each earlier key until the ' +
      'overlap ends, 24 hours later by default. With `v1` the response contains the new secret; only a replay of the ' +
      'request shows it again. Set `overlapSeconds` to 0 if a secret has leaked. At most 5 keys are active at once. ' +
      'Idempotent by `Idempotency-Key`; without a key each request creates a signing key.',
    refusals: ['not_found', 'webhook_secret_limit_reached'],
  },
  testSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    params: subscriptionId,
    body: webhooks.TestSend,
    bodyOptional: true,
    response: webhooks.TestResult,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Send a test event',
    description:
      'Sends one signed sample event to the endpoint and returns the result of that single attempt. The header ' +
      '`webhook-test: true` marks the sample. The sample is neither stored nor retried. It is sent even if the ' +
      'subscription is disabled. At most 20 tests a minute per subscription.',
    refusals: ['validation_failed', 'not_found', 'webhook_test_too_soon'],
  },
  enableSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/enable',
    params: subscriptionId,
    response: webhooks.Subscription,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Re-enable a webhook subscription',
    description:
      'Enables the subscription. Pending and held deliveries resume with slow start, from the first step of the ' +
      'retry schedule. A repeated request makes the deliveries that are still undelivered due again.',
    refusals: ['not_found'],
  },
  startRecovery: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/recover',
    params: subscriptionId,
    body: webhooks.RecoveryStart,
    response: webhooks.Recovery,
    idempotency: 'header',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Start a recovery',
    description:
      'Redelivers every undelivered event in a time range that matches the subscription. The recovery runs in the ' +
      'background; follow it at `GET /v1/webhooks/{id}/recoveries/{recoveryId}`. The range begins at most 30 days ' +
      'ago and may begin before the subscription was created. One recovery runs at a time per subscription. ' +
      'Idempotent by `Idempotency-Key`.',
    refusals: ['validation_failed', 'not_found', 'recovery_in_progress'],
  },
  listRecoveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries',
    params: subscriptionId,
    query: webhooks.RecoveryQuery,
    response: webhooks.RecoveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List recoveries',
    description: 'Returns the recoveries of a webhook subscription, newest first.',
    refusals: ['not_found'],
  },
  getRecovery: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries/{recoveryId}',
    params: recoveryId,
    response: webhooks.Recovery,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a recovery',
    description: 'Returns the status and the progress of a recovery.',
    refusals: ['not_found'],
  },
  getSubscriptionStatistics: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/statistics',
    params: subscriptionId,
    response: webhooks.SubscriptionStatistics,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve delivery statistics',
    description:
      'Returns delivery counts, the state of the circuit breaker, and the success rate and latency of the endpoint ' +
      'in the last 24 hours. Rates and latencies cover at most the newest 10,000 attempts.',
    refusals: ['not_found'],
  },
  listEvents: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/events',
    query: webhooks.FeedQuery,
    response: webhooks.FeedPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List events',
    description:
      'Returns all events of the partner of the last 30 days, oldest first, whether or not a subscription matches ' +
      'them. Sequence numbers have no gaps. Store `nextCursor` and pass it as `after` to continue without missing ' +
      'an event. A cursor older than 30 days is refused with 410 `cursor_expired`.',
    refusals: ['validation_failed', 'not_found', 'cursor_expired'],
  },
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
      'completes the session; other money goes to suspense. Idempotent by `idempotencyKey`: the same key with the same ' +
      'body returns the first answer with `Idempotent-Replayed: true`; with another body it is refused with 422 ' +
      '`idempotency_key_reused`.',
    refusals: [
      'validation_failed',
      'not_found',
      'request_in_progress',
      'idempotency_key_reused',
      'currency_not_supported',
      'iban_issuer_not_configured',
      'iban_pool_exhausted',
    ],
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
  },
  createWallet: {
    tag: 'wallets',
    method: 'POST',
    path: '/v1/wallets',
    body: wallets.WalletCreate,
    response: wallets.Wallet,
    idempotency: 'header',
    permission: 'wallets:write',
    source: 'extension',
    summary: 'Create a wallet',
    description:
      'Returns the wallet of a customer, or of the partner itself, for a token. The first request makes it; later ones ' +
      'return the same wallet. An address is given once and never again to another customer. Whatever arrives there ' +
      'in a configured token becomes a deposit.',
    refusals: ['not_found', 'currency_not_supported', 'validation_failed'],
  },
  listWallets: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets',
    query: wallets.WalletQuery,
    response: wallets.WalletPage,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'List wallets',
    description: "Returns the partner's wallets, newest first. Filter by `customerId` or `currency`.",
    refusals: [],
  },
  getWallet: {
    tag: 'wallets',
    method: 'GET',
    path: '/v1/wallets/{walletId}',
    params: walletId,
    response: wallets.Wallet,
    permission: 'wallets:read',
    source: 'extension',
    summary: 'Retrieve a wallet',
    description: 'Returns a wallet by its `id`, with what it has received.',
    refusals: ['not_found'],
  },
  simulateDeposit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/deposits',
    body: simulations.SimulatedDepositCreate,
    response: simulations.Simulated,
    idempotency: 'body',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate a deposit',
    description:
      'Simulates a deposit for a customer with the chosen outcome. The sandbox bank runs its steps asynchronously. ' +
      'Idempotent by `idempotencyKey` or `Idempotency-Key`; without a key a repeated request creates a second deposit.',
    refusals: ['not_found', 'currency_not_supported'],
    sandboxOnly: true,
  },
  simulateFxRates: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/fx/rates',
    body: fx.SimulatedRate,
    response: fx.SimulatedRates,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate an exchange rate',
    description:
      'Sets the mid rate of a pair in the sandbox, until it is set again. Without `rate` the pair follows the ' +
      'simulated market again. `stale: true` stops the rates, so that quotes are refused with 503 ' +
      '`fx_rates_unavailable`. `stale: false` starts them again. The rates are shared: every partner of the sandbox sees ' +
      'the change. Quotes that were made before keep their rate.',
    refusals: ['validation_failed', 'currency_not_supported', 'fx_rates_unavailable'],
    sandboxOnly: true,
  },
  simulateWithdrawal: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/withdrawals',
    body: simulations.SimulatedWithdrawalCreate,
    response: simulations.Simulated,
    idempotency: 'body',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate a withdrawal',
    description:
      'Simulates a withdrawal of a customer with the chosen outcome and reserves its amount. The sandbox bank runs ' +
      'its steps asynchronously. Idempotent by `idempotencyKey` or `Idempotency-Key`; without a key a repeated ' +
      'request creates a second withdrawal.',
    refusals: ['not_found', 'currency_not_supported', 'insufficient_funds'],
    sandboxOnly: true,
  },
  simulateCheckoutSession: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/checkout/sessions/{sessionId}',
    params: sessionId,
    body: simulations.SimulatedCheckoutSession,
    response: checkout.CheckoutSession,
    idempotency: 'header',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate the payer of a checkout session',
    description:
      'Does what a payer and a bank would do: all steps of an `outcome`, or one `step`. The sandbox bank runs the steps ' +
      'asynchronously, and the answer has the status from before them. `settle` with another amount ' +
      'fails the session. Money for a session that has ended goes to suspense.',
    refusals: ['not_found', 'validation_failed', 'checkout_session_not_open', 'currency_not_supported'],
    sandboxOnly: true,
  },
  simulateCredit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/credits',
    body: simulations.SimulatedCreditCreate,
    response: simulations.SimulatedCredit,
    idempotency: 'header',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate a transfer to an IBAN',
    description:
      'Simulates a transfer that nothing announced. The sandbox bank credits the IBAN and reports it: the customer gets a ' +
      'completed deposit. If `remittance` contains the creditor reference of a waiting checkout session, the session is ' +
      'paid instead. Idempotent by `Idempotency-Key`; without a key a repeated request sends a second transfer.',
    refusals: ['not_found', 'currency_not_supported'],
    sandboxOnly: true,
  },
  reverseSimulatedCredit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/credits/{creditId}/reversal',
    params: { creditId: described(Uuid, 'The `creditId` of the simulated transfer.') },
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Reverse a simulated transfer',
    description:
      'The sandbox bank takes the credit back. A new, linked transaction takes the money from the balance. If the balance ' +
      'is too small, the operator bears it until a person decides. A repetition changes nothing.',
    refusals: ['not_found'],
    sandboxOnly: true,
  },
  simulateEvent: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/events',
    body: simulations.SimulatedEventCreate,
    response: simulations.SimulatedEvent,
    idempotency: 'header',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Send a sample of an event',
    description:
      'Appends a sample of the event to your feed. Every subscription that wants the event receives it like a real one: ' +
      'signed, retried and in order. Its data name no existing transaction. Idempotent by `Idempotency-Key`.',
    refusals: [],
    sandboxOnly: true,
  },
  simulateWalletDeposit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/wallets/{walletId}/deposits',
    params: walletId,
    body: simulations.SimulatedWalletDepositCreate,
    response: simulations.SimulatedWalletDeposit,
    idempotency: 'header',
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate a token deposit',
    description:
      'Sends tokens to a wallet on the simulated chain. The deposit is credited when its block has 3 confirmations. ' +
      'Only for wallets on the simulated chain. Idempotent by `Idempotency-Key`; without a key a repeated request sends ' +
      'tokens again.',
    refusals: ['not_found', 'validation_failed'],
    sandboxOnly: true,
  },
  simulateChainReorganisation: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/chain/reorganisations',
    body: simulations.SimulatedReorganisationCreate,
    response: simulations.SimulatedReorganisation,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Simulate a chain reorganisation',
    description:
      'Replaces the newest blocks of the simulated chain. The deposits that you simulated in them vanish; payouts and ' +
      'the deposits of other partners are in the new blocks. A deposit that was credited is taken back.',
    refusals: ['validation_failed'],
    sandboxOnly: true,
  },
  simulateChainBlocks: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/chain/blocks',
    body: simulations.SimulatedBlocksCreate,
    response: simulations.SimulatedBlocks,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Create blocks on the simulated chain',
    description: 'Makes blocks on the simulated chain at once, so that deposits and payouts get their confirmations.',
    refusals: [],
    sandboxOnly: true,
  },
  diagnoseSignature: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/signature',
    body: simulations.SignedRequest,
    response: simulations.SignatureDiagnosis,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Diagnose a signed request',
    description:
      'Verifies the signature of a request that you describe, with the key and the secret of the calling service ' +
      'account. Names the likely mistake and returns the canonical string that the service builds, with the secret as ' +
      '`<API_SECRET>`. If you send your own `canonicalString`, the two are compared as well. Changes nothing: the ' +
      'described nonce stays unused.',
    refusals: [],
    sandboxOnly: true,
  },
  createReport: {
    tag: 'reports',
    method: 'POST',
    path: '/v1/reports',
    body: reports.ReportCreate,
    response: reports.Report,
    idempotency: 'body',
    permission: 'reports:write',
    source: 'extension',
    summary: 'Request a report',
    description:
      'Queues a report; a worker writes it. The same kind, format, period, currency and customer always give the same ' +
      'bytes. The worker begins when every movement of the period is certain to be recorded, about half a minute after ' +
      '`to`. Idempotent by `idempotencyKey` or `Idempotency-Key`. At most 50 reports of a partner wait or run.',
    refusals: ['not_found', 'currency_not_supported', 'report_format_not_supported', 'report_limit_reached'],
  },
  listReports: {
    tag: 'reports',
    method: 'GET',
    path: '/v1/reports',
    query: reports.ReportQuery,
    response: reports.ReportPage,
    permission: 'reports:read',
    source: 'extension',
    summary: 'List reports',
    description: 'Lists the reports that have not been deleted, newest first.',
    refusals: [],
  },
  createReportSchedule: {
    tag: 'reports',
    method: 'POST',
    path: '/v1/reports/schedules',
    body: reports.ReportScheduleCreate,
    response: reports.ReportSchedule,
    idempotency: 'header',
    permission: 'reports:write',
    source: 'extension',
    summary: 'Create a schedule of reports',
    description:
      'Creates a report at the end of each day, week or month and mails a link to it when it is ready. Everyone who has ' +
      'the link can read the report until it expires. A partner has at most 20 schedules.',
    refusals: ['not_found', 'currency_not_supported', 'report_format_not_supported', 'report_schedule_limit_reached'],
  },
  listReportSchedules: {
    tag: 'reports',
    method: 'GET',
    path: '/v1/reports/schedules',
    query: reports.ReportScheduleQuery,
    response: reports.ReportSchedulePage,
    permission: 'reports:read',
    source: 'extension',
    summary: 'List schedules of reports',
    description: 'Lists the schedules of reports, newest first.',
    refusals: [],
  },
  getReportSchedule: {
    tag: 'reports',
    method: 'GET',
    path: '/v1/reports/schedules/{id}',
    params: scheduleId,
    response: reports.ReportSchedule,
    permission: 'reports:read',
    source: 'extension',
    summary: 'Retrieve a schedule of reports',
    description: 'Returns the schedule, with the time of its next report.',
    refusals: ['not_found'],
  },
  deleteReportSchedule: {
    tag: 'reports',
    method: 'DELETE',
    path: '/v1/reports/schedules/{id}',
    params: scheduleId,
    permission: 'reports:write',
    source: 'extension',
    summary: 'Delete a schedule of reports',
    description: 'Deletes the schedule. Reports that it has created stay until they expire.',
    refusals: ['not_found'],
  },
  getReport: {
    tag: 'reports',
    method: 'GET',
    path: '/v1/reports/{id}',
    params: reportId,
    response: reports.Report,
    permission: 'reports:read',
    source: 'extension',
    summary: 'Retrieve a report',
    description: 'Returns the status and the progress of the report; once it is `Ready`, also its length and hash.',
    refusals: ['not_found'],
  },
  deleteReport: {
    tag: 'reports',
    method: 'DELETE',
    path: '/v1/reports/{id}',
    params: reportId,
    permission: 'reports:write',
    source: 'extension',
    summary: 'Delete or cancel a report',
    description: 'Deletes the report and its content. A report that waits or runs is cancelled.',
    refusals: ['not_found'],
  },
  getReportContent: {
    tag: 'reports',
    method: 'GET',
    path: '/v1/reports/{id}/content',
    params: reportId,
    content: [...new Set(Object.values(reports.reportMediaTypes))],
    permission: 'reports:read',
    source: 'extension',
    summary: 'Retrieve the content of a report',
    description:
      'Streams the file. `Range` reads a part of it (206), so that an interrupted download continues; send the `ETag` ' +
      'as `If-Range`. If the report is deleted meanwhile, the connection ends before `Content-Length` bytes.',
    refusals: ['not_found', 'report_not_ready', 'range_not_satisfiable'],
  },
} as const satisfies Record<string, Operation>

export type Operations = typeof operations
export type OperationId = keyof Operations
export const operationIds = Object.keys(operations) as readonly OperationId[]

/** The ids of the operations with a tag. */
export type OperationOf<T extends Tag> = { [K in OperationId]: Operations[K]['tag'] extends T ? K : never }[OperationId]

type Shape<O, K extends string> = O extends Record<K, infer S> ? (S extends TSchema ? Static<S> : undefined) : undefined
type Params<O> = O extends { params: infer P } ? { readonly [K in keyof P]: string } : Record<never, never>

export type ParamsOf<K extends OperationId> = Params<Operations[K]>
export type QueryOf<K extends OperationId> = Shape<Operations[K], 'query'>
export type BodyOf<K extends OperationId> = Operations[K] extends { bodyOptional: true }
  ? Shape<Operations[K], 'body'> | undefined
  : Shape<Operations[K], 'body'>
export type ResponseOf<K extends OperationId> = Shape<Operations[K], 'response'>

/** Contract page, Silences: one read and one write permission per operation group. */
export const permissions: readonly Permission[] = tags.flatMap((tag) => [`${tag}:read`, `${tag}:write`] as const)

/** The schema for an operation that declares no body or no query: an object without fields. */
export const NoFields = closed({})
