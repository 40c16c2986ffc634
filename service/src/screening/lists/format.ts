/** Format of a list: the beginning of its files, and the meaning of its records. */
import type { ListEntry, ListSource } from './entry.ts'
import type { Element } from './element.ts'

/** Refuses the file at the current line. */
export type Refuse = (message: string) => never

/**
 * Reads one file. It gets each whole record, in the order of the file, and keeps what it needs of records that are not
 * entries.
 */
export type FileReader = {
  /**
   * Record readers by the path below the document: `INDIVIDUALS/INDIVIDUAL`; `Locations/*` is every element of a group.
   * Undefined: not an entry.
   */
  readonly records: Readonly<Record<string, (record: Element) => ListEntry | undefined>>
  /** Called after the last record, as the two below. Undefined: the file does not say when it was published. */
  readonly publishedAt: () => Date | undefined
  /** The number of entries that the list states. Undefined: it states none. */
  readonly count: () => number | undefined
  /** Completes the entries by later records. */
  readonly whole: (entries: readonly ListEntry[]) => readonly ListEntry[]
}

export type Format = {
  readonly source: ListSource
  /** The element of the document. */
  readonly root: string
  readonly begin: (attributes: ReadonlyMap<string, string>, refuse: Refuse) => FileReader
}
