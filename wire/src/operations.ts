/**
 * The operations table: every operation of the API, one file for each group in `operations/`. Routes, validation, permissions,
 * handler types, the audit of requests, the OpenAPI document, the SDK and the contract tests derive from it. The handler has
 * the same id, in `routes.ts` of the module that handles the group.
 */
import { accountsOperations } from './operations/accounts.ts'
import { beneficiariesOperations } from './operations/beneficiaries.ts'
import { bulkPayoutsOperations } from './operations/bulk-payouts.ts'
import { checkoutOperations } from './operations/checkout.ts'
import { customersOperations } from './operations/customers.ts'
import { fxOperations } from './operations/fx.ts'
import { guestLinksOperations } from './operations/guest-links.ts'
import { identityOperations } from './operations/identity.ts'
import { monitorsOperations } from './operations/monitors.ts'
import { payoutsOperations } from './operations/payouts.ts'
import { recallsOperations } from './operations/recalls.ts'
import { reportsOperations } from './operations/reports.ts'
import { requestsOperations } from './operations/requests.ts'
import { serviceAccountsOperations } from './operations/service-accounts.ts'
import { simulationsOperations } from './operations/simulations.ts'
import { standingOrdersOperations } from './operations/standing-orders.ts'
import { transactionsOperations } from './operations/transactions.ts'
import { usersOperations } from './operations/users.ts'
import { walletsOperations } from './operations/wallets.ts'
import { webhooksOperations } from './operations/webhooks.ts'
import type { ExampleValue } from './operations/example.ts'
import { closed, type Static, type TSchema } from './shapes.ts'

export {
  type Audience,
  operationAudience,
  isWrite,
  storesAnswer,
  createdIds,
  idempotencyKeyPlace,
  type Operation,
  type Permission,
  permissions,
  type RequestAudit,
  operationAudit,
  type Tag,
  tags,
  usesKey,
} from './operations/operation.ts'
export type { ExampleValue, Placeholder, Resource } from './operations/example.ts'

/** The operations by group: one file of `operations/` each. `routes.ts` of a module handles whole groups. */
export type OperationGroups = {
  readonly accounts: typeof accountsOperations
  readonly monitors: typeof monitorsOperations
  readonly beneficiaries: typeof beneficiariesOperations
  readonly checkout: typeof checkoutOperations
  readonly customers: typeof customersOperations
  readonly identity: typeof identityOperations
  readonly fx: typeof fxOperations
  readonly payouts: typeof payoutsOperations
  readonly bulkPayouts: typeof bulkPayoutsOperations
  readonly standingOrders: typeof standingOrdersOperations
  readonly recalls: typeof recallsOperations
  readonly reports: typeof reportsOperations
  readonly simulations: typeof simulationsOperations
  readonly transactions: typeof transactionsOperations
  readonly users: typeof usersOperations
  readonly guestLinks: typeof guestLinksOperations
  readonly serviceAccounts: typeof serviceAccountsOperations
  readonly requests: typeof requestsOperations
  readonly wallets: typeof walletsOperations
  readonly webhooks: typeof webhooksOperations
}
export type OperationGroup = keyof OperationGroups

type WithEveryParameter<T> = {
  readonly [K in keyof T]: T[K] extends { readonly params: infer P }
    ? { readonly example: { readonly params: Readonly<Record<keyof P, ExampleValue>> } }
    : unknown
}
/** Makes the table fail to compile if an example omits a path parameter. */
const complete = <const T>(table: T & WithEveryParameter<T>): T => table

/** Every operation, in the order of the OpenAPI document. */
export const operations = complete({
  ...accountsOperations,
  ...monitorsOperations,
  ...beneficiariesOperations,
  ...checkoutOperations,
  ...customersOperations,
  ...identityOperations,
  ...fxOperations,
  ...payoutsOperations,
  ...bulkPayoutsOperations,
  ...standingOrdersOperations,
  ...recallsOperations,
  ...reportsOperations,
  ...simulationsOperations,
  ...transactionsOperations,
  ...usersOperations,
  ...guestLinksOperations,
  ...serviceAccountsOperations,
  ...requestsOperations,
  ...walletsOperations,
  ...webhooksOperations,
})

export type Operations = typeof operations
export type OperationId = keyof Operations
export const operationIds = Object.keys(operations) as readonly OperationId[]

/** The ids of the operations of some groups. */
export type OperationOf<G extends OperationGroup> = G extends OperationGroup
  ? Extract<keyof OperationGroups[G], OperationId>
  : never

type Shape<O, K extends string> = O extends Record<K, infer S> ? (S extends TSchema ? Static<S> : undefined) : undefined
type Params<O> = O extends { params: infer P } ? { readonly [K in keyof P]: string } : Record<never, never>

export type ParamsOf<K extends OperationId> = Params<Operations[K]>
export type QueryOf<K extends OperationId> = Shape<Operations[K], 'query'>
export type BodyOf<K extends OperationId> = Operations[K] extends { bodyOptional: true }
  ? Shape<Operations[K], 'body'> | undefined
  : Shape<Operations[K], 'body'>
export type ResponseOf<K extends OperationId> = Shape<Operations[K], 'response'>

/** The schema for an operation that declares no body or no query: an object without fields. */
export const NoFields = closed({})
