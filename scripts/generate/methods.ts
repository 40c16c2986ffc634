/** The methods of the SDK: one namespace per tag, one method per operation, and a paginated one per list with a cursor. */
import { type Operation, type OperationId, type Tag, operationIds, operations, tags } from '@partner-payments/wire'
import { isSchema } from './shapes.ts'

export type Method = { readonly id: OperationId; readonly name: string }
export type Namespace = { readonly tag: Tag; readonly methods: readonly Method[] }

/** The noun that a method name omits, because the namespace states it: `listCustomers` is `customers.list`. */
const nouns: Readonly<Record<Tag, string>> = {
  accounts: 'Accounts?',
  beneficiaries: 'Beneficiar(?:y|ies)',
  checkout: 'CheckoutSessions?',
  customers: 'Customers?',
  fx: 'Fx',
  payouts: '(?:Fiat)?Payouts?',
  reports: 'Reports?',
  simulations: 'Simulations?',
  transactions: 'Transactions?',
  users: 'Users?',
  wallets: 'Wallets?',
  webhooks: 'Subscriptions?',
}

function nameOf(id: OperationId, tag: Tag): string {
  const { sdkMethod }: Operation = operations[id]
  return sdkMethod ?? id.replace(new RegExp(`^([a-z]+)${nouns[tag]}(?=[A-Z]|$)`), '$1')
}

function namespaceOf(tag: Tag): Namespace {
  const ids = operationIds.filter((id) => operations[id].tag === tag)
  const methods = ids.map((id) => ({ id, name: nameOf(id, tag) }))
  if (new Set(methods.map(({ name }) => name)).size < methods.length)
    throw new Error(`two operations of ${tag} have the same method name; declare sdkMethod for one`)
  return { tag, methods }
}

export const namespaces: readonly Namespace[] = tags.map(namespaceOf).filter(({ methods }) => methods.length > 0)

/** The query parameter that takes the cursor of the next page, or undefined if the operation has no pages. */
export function cursorOf({ query, response }: Operation): 'cursor' | 'after' | undefined {
  if (!isSchema(query) || !isSchema(query.properties) || !isSchema(response) || !isSchema(response.properties))
    return undefined
  if (!('nextCursor' in response.properties)) return undefined
  if ('cursor' in query.properties) return 'cursor'
  return 'after' in query.properties ? 'after' : undefined
}
