/**
 * THE table: every operation of the API, once. Validation, permissions, handler types, OpenAPI, the SDK's types and the
 * generated contract tests are all read from here. To find an endpoint: its line here, then `rooms/<tag>/routes.ts`.
 */
import * as accounts from './accounts.ts'
import * as beneficiaries from './beneficiaries.ts'
import * as customers from './customers.ts'
import * as payouts from './payouts.ts'
import type { ProblemCode } from './problems.ts'
import { CustomerRef, Reference, type Static, type TSchema, Uuid, closed } from './shapes.ts'
import * as simulations from './simulations.ts'
import * as transactions from './transactions.ts'
import * as users from './users.ts'
import * as webhooks from './webhooks.ts'

export const tags = [
  'accounts',
  'beneficiaries',
  'customers',
  'payouts',
  'simulations',
  'transactions',
  'users',
  'webhooks',
] as const
export type Tag = (typeof tags)[number]
export type Permission = `${Tag}:${'read' | 'write'}`

export type Operation = {
  readonly tag: Tag
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Parameters as `{name}`; a value that fails its constraint in `params` is 404 (interface document, Errors). */
  readonly path: string
  readonly params?: Readonly<Record<string, TSchema>>
  readonly query?: TSchema
  readonly body?: TSchema
  /** The body may be left out altogether. */
  readonly bodyOptional?: true
  /** Absent: 204, no body. */
  readonly response?: TSchema
  readonly permission: Permission
  readonly source: 'documented' | 'extension'
  readonly summary: string
  /** The refusals of its own, beyond those that every operation shares. */
  readonly refusals: readonly ProblemCode[]
  /** Answers 404 outside the sandbox. */
  readonly sandboxOnly?: true
}

const customerId = { id: CustomerRef }
const id = { id: Uuid }
const deliveryId = { ...id, eventId: Uuid }

export const operations = {
  createInvitations: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations',
    body: users.InvitationsCreate,
    response: users.Invitations,
    permission: 'users:write',
    source: 'documented',
    summary: 'Invite people to the team: all of them or none',
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
    summary: 'List invitations, newest first',
    refusals: [],
  },
  getInvitation: {
    tag: 'users',
    method: 'GET',
    path: '/v1/users/invitations/{invitationId}',
    params: { invitationId: Uuid },
    response: users.Invitation,
    permission: 'users:read',
    source: 'documented',
    summary: 'Read an invitation',
    refusals: ['not_found'],
  },
  resendInvitation: {
    tag: 'users',
    method: 'POST',
    path: '/v1/users/invitations/{invitationId}/resend',
    params: { invitationId: Uuid },
    body: users.InvitationResend,
    bodyOptional: true,
    response: users.Invitation,
    permission: 'users:write',
    source: 'documented',
    summary: 'Send an invitation again with a new token; the old one dies',
    refusals: ['not_found', 'invitation_not_pending', 'resend_too_soon', 'resend_limit_reached'],
  },
  revokeInvitation: {
    tag: 'users',
    method: 'DELETE',
    path: '/v1/users/invitations/{invitationId}',
    params: { invitationId: Uuid },
    permission: 'users:write',
    source: 'extension',
    summary: 'Revoke a pending invitation',
    refusals: ['not_found', 'invitation_not_pending'],
  },
  createFiatPayout: {
    tag: 'payouts',
    method: 'POST',
    path: '/v1/payouts/fiat',
    body: payouts.FiatPayoutCreate,
    response: payouts.FiatPayout,
    permission: 'payouts:write',
    source: 'documented',
    summary: 'Send a fiat payout to a beneficiary, once per idempotency key',
    refusals: [
      'not_found',
      'request_in_progress',
      'idempotency_key_reused',
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
    summary: 'List payouts, newest first',
    refusals: [],
  },
  getPayout: {
    tag: 'payouts',
    method: 'GET',
    path: '/v1/payouts/{id}',
    params: id,
    response: payouts.PayoutRecord,
    permission: 'payouts:read',
    source: 'extension',
    summary: 'Read a payout',
    refusals: ['not_found'],
  },
  createBeneficiary: {
    tag: 'beneficiaries',
    method: 'POST',
    path: '/v1/beneficiaries',
    body: beneficiaries.BeneficiaryCreate,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Register whom payouts may pay: of a customer, or of the partner itself',
    refusals: ['validation_failed', 'not_found', 'currency_not_supported'],
  },
  listBeneficiaries: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries',
    query: beneficiaries.BeneficiaryQuery,
    response: beneficiaries.BeneficiaryPage,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'List beneficiaries, newest first',
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
    summary: 'Change the alias or the name of a beneficiary',
    refusals: ['validation_failed', 'not_found'],
  },
  getBeneficiary: {
    tag: 'beneficiaries',
    method: 'GET',
    path: '/v1/beneficiaries/{id}',
    params: id,
    response: beneficiaries.Beneficiary,
    permission: 'beneficiaries:read',
    source: 'extension',
    summary: 'Read a beneficiary',
    refusals: ['not_found'],
  },
  deleteBeneficiary: {
    tag: 'beneficiaries',
    method: 'DELETE',
    path: '/v1/beneficiaries/{id}',
    params: id,
    permission: 'beneficiaries:write',
    source: 'extension',
    summary: 'Remove a beneficiary; payouts already accepted go on',
    refusals: ['not_found'],
  },
  createCustomer: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers',
    body: customers.CustomerCreate,
    response: customers.Customer,
    permission: 'customers:write',
    source: 'extension',
    summary: 'Create a customer with its KYC data',
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
    summary: 'List customers, newest first',
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
    summary: 'Read a customer',
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
    summary: 'Merge fields into a customer: what is given is set, null clears, the rest stays',
    refusals: ['validation_failed', 'not_found'],
  },
  createCustomerAccount: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    permission: 'accounts:write',
    source: 'documented',
    summary: "Get the customer's IBANs, one per issuing country; the same ones at every call",
    refusals: ['not_found', 'iban_pool_exhausted'],
  },
  getCustomerAccount: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/customers/{id}/account',
    params: customerId,
    response: accounts.CustomerAccount,
    permission: 'accounts:read',
    source: 'extension',
    summary: "Read the customer's IBANs",
    refusals: ['not_found'],
  },
  listAccounts: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts',
    response: accounts.BalancePage,
    permission: 'accounts:read',
    source: 'extension',
    summary: "The partner's balances: one per currency",
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
    summary: 'List transactions, newest first',
    refusals: [],
  },
  getTransaction: {
    tag: 'transactions',
    method: 'GET',
    path: '/v1/transactions/{reference}',
    params: { reference: Reference },
    response: transactions.Transaction,
    permission: 'transactions:read',
    source: 'documented',
    summary: 'Read a transaction with its timeline',
    refusals: ['not_found'],
  },
  listEventTypes: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/event-types',
    response: webhooks.EventTypes,
    permission: 'webhooks:read',
    source: 'documented',
    summary: 'The subscribable event types with the properties of each',
    refusals: [],
  },
  createSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks',
    body: webhooks.SubscriptionCreate,
    response: webhooks.SubscriptionCreated,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Subscribe an endpoint to events; the answer shows the signing secret once',
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
    summary: 'List webhook subscriptions, newest first',
    refusals: [],
  },
  getSubscription: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    params: id,
    response: webhooks.Subscription,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Read a webhook subscription',
    refusals: ['not_found'],
  },
  updateSubscription: {
    tag: 'webhooks',
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    params: id,
    body: webhooks.SubscriptionUpdate,
    response: webhooks.Subscription,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Change the URL, the events, the description, the order or the status of a subscription',
    refusals: ['validation_failed', 'not_found'],
  },
  deleteSubscription: {
    tag: 'webhooks',
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    params: id,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Remove a webhook subscription; what it is still owed is dropped',
    refusals: ['not_found'],
  },
  listDeliveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    params: id,
    query: webhooks.DeliveryQuery,
    response: webhooks.DeliveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'The deliveries of a subscription with every attempt, newest first',
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
    summary: 'Read a delivery with its attempts',
    refusals: ['not_found'],
  },
  redeliver: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{eventId}/redeliver',
    params: deliveryId,
    response: webhooks.Delivery,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Make a delivery due at once, delivered or not; it keeps its eventId',
    refusals: ['not_found'],
  },
  rotateSecret: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate-secret',
    params: id,
    body: webhooks.SecretRotate,
    bodyOptional: true,
    response: webhooks.SecretRotated,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Sign with a new secret, shown once; those before it sign as well until the overlap ends',
    refusals: ['not_found', 'webhook_secret_limit_reached'],
  },
  testSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    params: id,
    body: webhooks.TestSend,
    bodyOptional: true,
    response: webhooks.TestResult,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Send a sample of an event to the endpoint, once, and answer what came of it',
    refusals: ['validation_failed', 'not_found', 'webhook_test_too_soon'],
  },
  enableSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/enable',
    params: id,
    response: webhooks.Subscription,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Enable a subscription; everything owed is due again, a few at first',
    refusals: ['not_found'],
  },
  startRecovery: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/recover',
    params: id,
    body: webhooks.RecoveryStart,
    response: webhooks.Recovery,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Deliver whatever the subscription wants of a time and did not get; it goes on by itself',
    refusals: ['validation_failed', 'not_found', 'recovery_in_progress'],
  },
  listRecoveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries',
    params: id,
    query: webhooks.RecoveryQuery,
    response: webhooks.RecoveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List the recoveries of a subscription, newest first',
    refusals: ['not_found'],
  },
  getRecovery: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries/{recoveryId}',
    params: { ...id, recoveryId: Uuid },
    response: webhooks.Recovery,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Read how far a recovery is',
    refusals: ['not_found'],
  },
  getSubscriptionStatistics: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/statistics',
    params: id,
    response: webhooks.SubscriptionStatistics,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'What a subscription is owed, and how its endpoint did in the last 24 hours',
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
    summary: 'The feed of all events of the partner, oldest first, whatever is subscribed to',
    refusals: ['validation_failed', 'not_found', 'cursor_expired'],
  },
  simulateDeposit: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/deposits',
    body: simulations.SimulatedDepositCreate,
    response: simulations.Simulated,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Let a deposit happen to a customer; its steps follow on the time of the sandbox bank',
    refusals: ['not_found', 'currency_not_supported', 'idempotency_key_reused'],
    sandboxOnly: true,
  },
  simulateWithdrawal: {
    tag: 'simulations',
    method: 'POST',
    path: '/v1/simulations/withdrawals',
    body: simulations.SimulatedWithdrawalCreate,
    response: simulations.Simulated,
    permission: 'simulations:write',
    source: 'extension',
    summary: 'Let a withdrawal of a customer end in a chosen outcome',
    refusals: ['not_found', 'currency_not_supported', 'insufficient_funds', 'idempotency_key_reused'],
    sandboxOnly: true,
  },
} as const satisfies Record<string, Operation>

export type Operations = typeof operations
export type OperationId = keyof Operations
export const operationIds = Object.keys(operations) as readonly OperationId[]

/** The ids of the operations of a group. */
export type OperationOf<T extends Tag> = { [K in OperationId]: Operations[K]['tag'] extends T ? K : never }[OperationId]

type Shape<O, K extends string> = O extends Record<K, infer S> ? (S extends TSchema ? Static<S> : undefined) : undefined
type Params<O> = O extends { params: infer P } ? { readonly [K in keyof P]: string } : Record<never, never>

export type ParamsOf<K extends OperationId> = Params<Operations[K]>
export type QueryOf<K extends OperationId> = Shape<Operations[K], 'query'>
export type BodyOf<K extends OperationId> = Operations[K] extends { bodyOptional: true }
  ? Shape<Operations[K], 'body'> | undefined
  : Shape<Operations[K], 'body'>
export type ResponseOf<K extends OperationId> = Shape<Operations[K], 'response'>

/** Contract page, permissions: reading and writing of each group. */
export const permissions: readonly Permission[] = tags.flatMap((tag) => [`${tag}:read`, `${tag}:write`] as const)

/** What an operation without a body may carry (nothing, or an empty object), and one without query parameters. */
export const NoFields = closed({})
