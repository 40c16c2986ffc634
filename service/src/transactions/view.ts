/** A transaction as it is read: its row, its timeline taken from the JSON of the row, and the customer that it is for. */
import { ownJson } from '@partner-payments/wire'
import { partnerKey } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { Customers, CustomerUser } from '../parties/customers/index.ts'
import type * as store from './store.ts'

export type TransactionView = {
  readonly row: store.TransactionRow
  readonly timeline: readonly store.TimelineEntry[]
  readonly id: string
}
/** The partner's user of the interface document: the customer, with the address from which it acted. */
export type PartnerUser = CustomerUser & { readonly ipAddress?: string }
/** `user`: null for a transaction of the partner itself. */
export type ShownTransaction = TransactionView & { readonly user: PartnerUser | null }

export const view = (row: store.TransactionRow): TransactionView => ({
  row,
  id: row.id,
  timeline: ownJson<readonly store.TimelineEntry[]>(row.timeline),
})

/** Reads the customers of some transactions, in one statement. */
export async function withUsers<V extends TransactionView>(
  tx: Tx,
  customers: Pick<Customers, 'usersByIds'>,
  views: readonly V[],
): Promise<readonly (V & ShownTransaction)[]> {
  const keys = new Map(
    views.flatMap(({ row: { partnerId, customerId: id } }) =>
      id === null ? [] : [[partnerKey(partnerId, id), { partnerId, id }] as const],
    ),
  )
  const users = await customers.usersByIds(tx, [...keys.values()])
  return views.map((each) => ({ ...each, user: userOf(each.row, users) }))
}

function userOf(
  { partnerId, customerId, partnerUser }: store.TransactionRow,
  users: Awaited<ReturnType<Customers['usersByIds']>>,
): PartnerUser | null {
  const found = customerId === null ? undefined : users.get(partnerKey(partnerId, customerId))
  if (found === undefined) return null
  const { isErased, ...user } = found
  const { ipAddress = '' } = partnerUser === null ? {} : ownJson<{ readonly ipAddress?: string }>(partnerUser)
  return ipAddress === '' || isErased ? user : { ...user, ipAddress }
}
