/** Format of a list: how a file of it begins, and the meaning of its records. */
import type { ListEntry, ListSource } from './entry.ts'
import type { Element } from './element.ts'

/** Refuses the file at the line that is read now. */
export type Refuse = (message: string) => never

/** Reads one file. It gets each record whole, in the order of the file, and keeps what it needs of those that are no entries. */
export type FileReader = {
  /**
   * Record readers by the path below the document: `INDIVIDUALS/INDIVIDUAL`; `Locations/*` is every element of a
   * group. Undefined: no entry.
   */
  readonly records: Readonly<Record<string, (record: Element) => ListEntry | undefined>>
  /** Called behind the last record, as the two below. Undefined: the file does not say when it was published. */
  readonly publishedAt: () => Date | undefined
  /** How many entries the list says that it has. Undefined: it does not say. */
  readonly count: () => number | undefined
  /** The entries with what records behind them say about them. */
  readonly whole: (entries: readonly ListEntry[]) => readonly ListEntry[]
}

export type Format = {
  readonly source: ListSource
  /** The element of the document. */
  readonly root: string
  readonly begin: (attributes: ReadonlyMap<string, string>, refuse: Refuse) => FileReader
}
