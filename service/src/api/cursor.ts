/** Opaque, signed list cursors: where the page before ended. A cursor of another list or a forged one is refused. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { listLimitDefault } from '@partner-payments/wire'
import { refuseField } from './refusal.ts'

/** Lists are ordered by (createdAt, id) descending; ids are version 7, so `id` alone carries that order. */
export type PageRequest = { readonly limit: number; readonly afterId: string | null }
export type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null; readonly hasMore: boolean }

export type Cursors = {
  /** Refuses (400) a cursor that this list of this partner did not hand out. `list` includes the partner's id. */
  readonly read: (list: string, query: { readonly limit?: string; readonly cursor?: string }) => PageRequest
  /** The place in a list, from what `write` made of it. Refuses (400, `pointer`) what this list did not hand out. */
  readonly open: (list: string, cursor: string, pointer: string) => string
  readonly write: (list: string, place: string) => string
  /** `rows` holds up to `limit + 1` rows: the extra one only says that there is more. */
  readonly page: <T extends { readonly id: string }>(list: string, request: PageRequest, rows: readonly T[]) => Page<T>
}

const macBytes = 16

export function createCursors(key: Uint8Array): Cursors {
  const mac = (list: string, id: string) =>
    createHmac('sha256', key).update(`${list}\n${id}`).digest().subarray(0, macBytes)
  const open = (list: string, cursor: string, pointer: string) => {
    const bytes = Buffer.from(cursor, 'base64url')
    const place = bytes.subarray(macBytes).toString('latin1')
    const given = bytes.subarray(0, macBytes)
    if (given.length !== macBytes || !timingSafeEqual(given, mac(list, place)))
      throw refuseField({ pointer, code: 'invalid_value', message: 'is not a cursor of this list' })
    return place
  }
  const write = (list: string, place: string) =>
    Buffer.concat([mac(list, place), Buffer.from(place, 'latin1')]).toString('base64url')
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
