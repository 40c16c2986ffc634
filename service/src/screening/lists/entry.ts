/** What a list says about one person or organisation, in whichever format it was published. */

export type ListSource = 'un' | 'eu' | 'ofac'

/** `other`: ships and aircraft. They are kept with their list, and no name is compared with them. */
export type EntryKind = 'person' | 'organisation' | 'other'

/** `weak`: the publisher says that the name alone identifies no one. */
export type ListedName = { readonly text: string; readonly quality: 'primary' | 'good' | 'weak' }

export type ListEntry = {
  /** The publisher's key of the entry: it stays when the entry changes. */
  readonly id: string
  /** As the publisher's pages name the entry, for the person who decides. */
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
