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
  /** `rows` holds up to `limit + 1` rows: the extra one only says that there is more. */
  readonly page: <T extends { readonly id: string }>(list: string, request: PageRequest, rows: readonly T[]) => Page<T>
}

const macBytes = 16

export function createCursors(key: Uint8Array): Cursors {
  const mac = (list: string, id: string) =>
    createHmac('sha256', key).update(`${list}\n${id}`).digest().subarray(0, macBytes)
  return {
    read: (list, query) => {
      const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
      if (query.cursor === undefined) return { limit, afterId: null }
      const bytes = Buffer.from(query.cursor, 'base64url')
      const id = bytes.subarray(macBytes).toString('latin1')
      const given = bytes.subarray(0, macBytes)
      if (given.length !== macBytes || !timingSafeEqual(given, mac(list, id)))
        throw refuseField({ pointer: '/query/cursor', code: 'invalid_value', message: 'is not a cursor of this list' })
      return { limit, afterId: id }
    },
    page: (list, { limit }, rows) => {
      const data = rows.slice(0, limit)
      const hasMore = rows.length > limit
      const last = data.at(-1)
      const nextCursor =
        hasMore && last
          ? Buffer.concat([mac(list, last.id), Buffer.from(last.id, 'latin1')]).toString('base64url')
          : null
      return { data, nextCursor, hasMore }
    },
  }
}
