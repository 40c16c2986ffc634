/** Entry of a list about one person or organisation, independent of the published format. */
import { present } from './element.ts'

export type ListSource = 'un' | 'eu' | 'ofac'

/** `other`: ships and aircraft. They are kept with their list, and no name is compared with them. */
export type EntryKind = 'person' | 'organisation' | 'other'

/** `weak`: the publisher says that the name alone identifies no one. */
export type ListedName = { readonly text: string; readonly quality: 'primary' | 'good' | 'weak' }

export type ListEntry = {
  /** The publisher's key of the entry: it stays when the entry changes. */
  readonly id: string
  /** Reference of the entry on the publisher's pages, for the person who decides. */
  readonly reference: string
  readonly kind: EntryKind
  /** The primary name first. */
  readonly names: readonly ListedName[]
  /** Dates or years, as published. */
  readonly births: readonly string[]
  readonly programmes: readonly string[]
}

export type SanctionsList = {
  readonly source: ListSource
  readonly publishedAt: Date
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly hash: string
  readonly entries: readonly ListEntry[]
}

/** The first name that is not weak is the primary one. A repeated name counts once, by its better quality. */
export function namesOf(found: readonly { readonly text: string; readonly isWeak: boolean }[]): readonly ListedName[] {
  const strong = present(found.filter(({ isWeak }) => !isWeak).map(({ text }) => text))
  const weak = present(found.filter(({ isWeak }) => isWeak).map(({ text }) => text))
  return [
    ...strong.map((text, index): ListedName => ({ text, quality: index === 0 ? 'primary' : 'good' })),
    ...weak.filter((text) => !strong.includes(text)).map((text): ListedName => ({ text, quality: 'weak' })),
  ]
}
