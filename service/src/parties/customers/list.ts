/** The list of customers: its filters and the positions in its cursors. */
import { listLimitDefault, type QueryOf } from '@partner-payments/wire'
import { type Cursors, type Page, readTime } from '../../kernel/api/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { NameIndex } from './name-index.ts'
import { readNamePrefix } from './names.ts'
import * as store from './store.ts'

/** `id`: of the only customer that may be found. */
export type CustomerList = Omit<QueryOf<'listCustomers'>, 'iban'> & { readonly id?: string | undefined }

/** Returns rows as they are stored. Refuses: validation_failed (cursor, namePrefix). */
export function createList(deps: {
  readonly db: Database
  readonly cursors: Cursors
  readonly names: NameIndex
}): (partnerId: string, query: CustomerList) => Promise<Page<store.CustomerRow>> {
  const { db, cursors, names } = deps
  return async (partnerId, query) => {
    const isByChange = query.updatedSince !== undefined
    const list = `customers${isByChange ? '-by-change' : ''}:${partnerId}`
    const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
    const after = query.cursor === undefined ? null : readPosition(cursors.open(list, query.cursor, '/query/cursor'))
    const filter = readFilter(query)
    const nameToken = filter.prefix === undefined ? undefined : await names.tokenOf(db, partnerId, filter.prefix)
    if (filter.prefix !== undefined && nameToken === undefined) return { data: [], nextCursor: null, hasMore: false }
    const rows = await store.list(db, partnerId, { ...filter.columns, nameToken }, after, limit + 1)
    const data = rows.slice(0, limit)
    const hasMore = rows.length > limit
    const last = data.at(-1)
    const nextCursor = hasMore && last ? cursors.write(list, writePosition(last, isByChange)) : null
    return { data, nextCursor, hasMore }
  }
}

function readFilter(query: CustomerList) {
  const { id, email, partnerCustomerIdentifier, serviceId, customerType, verificationState } = query
  const timeOf = (text: string | undefined) => (text === undefined ? undefined : readTime(text))
  const columns = {
    id,
    email,
    partnerCustomerIdentifier,
    serviceId,
    customerType,
    verificationState,
    createdFrom: timeOf(query.createdFrom),
    createdTo: timeOf(query.createdTo),
    updatedSince: timeOf(query.updatedSince),
  }
  return { columns, prefix: query.namePrefix === undefined ? undefined : readNamePrefix(query.namePrefix) }
}

/**
 * A position among changes contains the time of the last change, because that time moves: a row that moves shifts no
 * other.
 */
const writePosition = ({ id, updatedAt }: store.CustomerRow, isByChange: boolean) =>
  isByChange ? `${id} ${updatedAt.toISOString()}` : id

function readPosition(position: string): store.ListPosition {
  const [id = '', updatedAt] = position.split(' ')
  return { id, updatedAt: updatedAt === undefined ? null : new Date(updatedAt) }
}
