/**
 * Tells which tables the commits of this process have written. It is a hint: the process may die between a commit and the
 * call, so a reader of the rows must also look by itself.
 */
import type { Log } from '../kernel/index.ts'

export type OnWritten = (tables: ReadonlySet<string>) => void

/** Texts that are remembered. A sharded database gets a text for each number of rows. */
const textsMax = 5_000
const tablesByText = new Map<string, readonly string[]>()
const written = /\b(?:insert\s+into|update)\s+([a-z_0-9]+\.[a-z_0-9]+)/g

/** The tables that a statement inserts into or updates. A deleted row makes no work due. */
function tablesOf(text: string): readonly string[] {
  let tables = tablesByText.get(text)
  if (tables === undefined) {
    if (tablesByText.size >= textsMax) tablesByText.clear()
    tables = [...text.matchAll(written)].map((match) => match[1] ?? '')
    tablesByText.set(text, tables)
  }
  return tables
}

/** The tables that a statement reads or writes. */
export const tablesIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\b(?:from|join|into|update)\s+([a-z_0-9]+\.[a-z_0-9]+)/g)].map((match) => match[1] ?? ''))

export function createWrittenTables(log: Log) {
  const listeners = new Set<OnWritten>()
  return {
    /** Calls `listener` after each commit that has written tables. Returns the function that ends this. */
    subscribe: (listener: OnWritten) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Reports the statements of a commit. A listener that fails must not make a committed transaction look failed. */
    report: (texts: Iterable<string>): void => {
      if (listeners.size === 0) return
      const tables = new Set<string>()
      for (const text of texts) for (const table of tablesOf(text)) tables.add(table)
      if (tables.size === 0) return
      for (const listener of listeners)
        try {
          listener(tables)
        } catch (error) {
          log.error({ err: error }, 'after-commit hint failed')
        }
    },
  }
}
