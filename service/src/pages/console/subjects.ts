/** Links to the things that an operation is about, for the logs of audit and requests. */
import { type Operation, operations, type Permission } from '@partner-payments/wire'
import type { Link } from './lists.ts'
import type { Person } from './request.ts'
import { transactionHref } from './transaction-routes.ts'

/** Pages of the things that an operation is about, by the path of the operation. */
const pagesOfSubjects: readonly (readonly [path: string, page: string, permission: Permission])[] = [
  ['/v1/customers/{id}', 'customers', 'customers:read'],
  ['/v1/payouts/{id}', 'payouts', 'payouts:read'],
  ['/v1/beneficiaries/{id}', 'payees', 'beneficiaries:read'],
  ['/v1/webhooks/{id}', 'webhooks', 'webhooks:read'],
]

/** An operation by its id. Undefined: the text is no id of one. */
export const operationOf = (id: string): Operation | undefined =>
  Object.hasOwn(operations, id) ? operations[id as keyof typeof operations] : undefined

/** The values of the path of an operation, with links to pages that the person may open. */
export function subjectsOf(
  { view, caller }: Person,
  operation: string,
  values: Readonly<Record<string, string>>,
): readonly Link[] {
  const path = operationOf(operation)?.path ?? ''
  const known = pagesOfSubjects.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))
  return Object.entries(values).map(([name, text]) => {
    if (name === 'reference' && caller.permissions.includes('transactions:read'))
      return { text, href: transactionHref(view, text) }
    if (name === 'id' && known !== undefined && caller.permissions.includes(known[2]))
      return { text, href: `${view.root}${known[1]}/${encodeURIComponent(text)}` }
    return { text }
  })
}
