/** Opaque, signed list cursors. A cursor holds the position where a page ended. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { listLimitDefault } from '@partner-payments/wire'
import { refuseField } from './refusal.ts'

/** Lists are ordered by (createdAt, id), descending. Ids are UUIDs version 7, so that ordering by `id` is the same. */
export type PageRequest = { readonly limit: number; readonly afterId: string | null }
export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null; readonly hasMore: boolean }

export type Cursors = {
  /** `list` includes the partner's id. Refuses (400) a cursor that was not issued for this list. */
  readonly read: (list: string, query: { readonly limit?: string; readonly cursor?: string }) => PageRequest
  /** The position in a cursor made by `write`. Refuses (400, with `pointer`) a cursor that was not issued for this list. */
  readonly open: (list: string, cursor: string, pointer: string) => string
  readonly write: (list: string, position: string) => string
  /** `rows` holds up to `limit + 1` rows: the extra row only shows that there are more. */
  readonly page: <T extends { readonly id: string }>(list: string, request: PageRequest, rows: readonly T[]) => Page<T>
}

const macBytes = 16

export function createCursors(key: Uint8Array): Cursors {
  const mac = (list: string, id: string) =>
    createHmac('sha256', key).update(`${list}\n${id}`).digest().subarray(0, macBytes)
  const open = (list: string, cursor: string, pointer: string) => {
    const bytes = Buffer.from(cursor, 'base64url')
    const position = bytes.subarray(macBytes).toString('latin1')
    const given = bytes.subarray(0, macBytes)
    if (given.length !== macBytes || !timingSafeEqual(given, mac(list, position)))
      throw refuseField({
        pointer,
        code: 'invalid_value',
        message: 'is not a cursor of this list; send the `nextCursor` of its previous page unchanged',
      })
    return position
  }
  const write = (list: string, position: string) =>
    Buffer.concat([mac(list, position), Buffer.from(position, 'latin1')]).toString('base64url')
  return {
    open,
    write,
    read: (list, query) => {
      const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
      return { limit, afterId: query.cursor === undefined ? null : open(list, query.cursor, '/query/cursor') }
    },
    page: (list, { limit }, rows) => {
      const data = rows.slice(0, limit)
      const hasMore = rows.length > limit
      const last = data.at(-1)
      return { data, nextCursor: hasMore && last ? write(list, last.id) : null, hasMore }
    },
  }
}
