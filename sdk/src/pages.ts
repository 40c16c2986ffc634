/** Auto-pagination: requests one page after another and returns the items of all. */

export type Page = { readonly data: readonly unknown[]; readonly nextCursor: string | null; readonly hasMore: boolean }

type Item<P extends Page> = P['data'][number]

/** Iterates over the items of all pages: `for await (const customer of client.customers.listAll())`. */
export type Pages<P extends Page> = AsyncIterable<Item<P>> & {
  /** Iterates over the pages themselves, for example to store `nextCursor` after each. */
  readonly pages: () => AsyncIterable<P>
}

/** `read` requests the page after a cursor. A page is requested only when the iteration reaches it. */
export function createPages<P extends Page>(read: (cursor: string | undefined) => Promise<P>): Pages<P> {
  async function* pages(): AsyncGenerator<P> {
    let cursor: string | undefined
    for (;;) {
      const page = await read(cursor)
      yield page
      if (!page.hasMore || page.nextCursor === null || page.nextCursor === cursor) return
      cursor = page.nextCursor
    }
  }
  async function* items(): AsyncGenerator<Item<P>> {
    for await (const page of pages()) for (const item of page.data) yield item as Item<P>
  }
  return { pages, [Symbol.asyncIterator]: items }
}
