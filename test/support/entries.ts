/** Reads a statement of accounts to its end. */
import type { ResponseOf } from '@partner-payments/wire'

export type EntryPage = ResponseOf<'listAccountEntries'>

/** Every entry of a statement, from all pages. */
export async function readEntries(
  read: (query: Readonly<Record<string, string>>) => Promise<EntryPage>,
  query: Readonly<Record<string, string>>,
): Promise<EntryPage['data']> {
  const entries: EntryPage['data'][number][] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await read(cursor === undefined ? query : { ...query, cursor })
    entries.push(...page.data)
    cursor = page.nextCursor
  }
  return entries
}
