/** The history of a customer: the changed fields of each change, written in its transaction and read page by page. */
import { listLimitDefault, ownJson, type QueryOf } from '@partner-payments/wire'
import type { Cursors, Page } from '../../kernel/api/index.ts'
import { newId, type Sealer } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { changedFields, type FieldChange, type RecordedFields } from './rules.ts'
import * as store from './store.ts'
import { changeContext } from './sealed.ts'

/** The author of a change. Absent: the service itself, for example the command that seeds the sandbox. */
export type Actor = { readonly serviceAccountId: string; readonly name: string; readonly requestId?: string }

export type Change = Omit<store.ChangeRow, 'valuesSealed' | 'fields'> & { readonly changes: readonly FieldChange[] }

export type History = {
  /**
   * Appends the differences, if there are any. `before` is undefined for a new customer. The caller has locked the customer, or
   * creates it in the same transaction.
   */
  readonly append: (
    tx: Tx,
    partnerId: string,
    change: {
      readonly customerId: string
      readonly before: RecordedFields | undefined
      readonly after: RecordedFields
      readonly changedAt: Date
      readonly by: Actor | undefined
    },
  ) => Promise<void>
  /** Lists changes, newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, customerId: string, query: QueryOf<'listCustomerChanges'>) => Promise<Page<Change>>
}

export function createHistory(deps: {
  readonly db: Database
  readonly sealer: Sealer
  readonly cursors: Cursors
}): History {
  const { db, sealer, cursors } = deps
  const toChange = (partnerId: string, { valuesSealed, fields: _fields, ...row }: store.ChangeRow): Change => ({
    ...row,
    changes: ownJson<readonly FieldChange[]>(sealer.open(valuesSealed, changeContext(partnerId, row.id))),
  })
  return {
    append: async (tx, partnerId, { customerId, before, after, changedAt, by }) => {
      const changes = changedFields(before, after)
      if (changes.length === 0 && before !== undefined) return
      const id = newId()
      await store.insertChange(tx, partnerId, {
        id,
        customerId,
        sequence: before === undefined ? 1 : (await store.lastSequence(tx, partnerId, customerId)) + 1,
        kind: before === undefined ? 'Created' : 'Updated',
        actorId: by?.serviceAccountId ?? null,
        actorName: by?.name ?? null,
        requestId: by?.requestId ?? null,
        fields: changes.map(({ field }) => field),
        valuesSealed: sealer.seal(JSON.stringify(changes), changeContext(partnerId, id)),
        changedAt,
      })
    },
    list: async (partnerId, customerId, query) => {
      const list = `customer-history:${partnerId}:${customerId}`
      const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
      const before = query.cursor === undefined ? null : Number(cursors.open(list, query.cursor, '/query/cursor'))
      const rows = await store.changesOf(db, partnerId, customerId, before, limit + 1)
      const data = rows.slice(0, limit).map((row) => toChange(partnerId, row))
      const hasMore = rows.length > limit
      const last = data.at(-1)
      return { data, nextCursor: hasMore && last ? cursors.write(list, String(last.sequence)) : null, hasMore }
    },
  }
}
