/** Pure: what is a hit, how hits change when a name or a list does, and who decides. */
import { dayMs } from '../kernel/index.ts'
import type { ListSource } from './lists/entry.ts'
import type { Match } from './names/index-of-names.ts'
import { plainName } from './names/words.ts'

/** A name that reaches this score is a hit. bench/screening.ts and corpus.test.ts show what it finds, and what it finds falsely. */
export const scoreMin = 88
/** From this score on two persons decide: every word is there, and at most their spelling or their order differs. */
export const twoPersonsScoreMin = 95
/** A proposal that waits for a second person for so long has ended, as with cases. */
const proposalMsMax = 7 * dayMs

/** `payer`: who paid a deposit that waits; its id is that of the deposit. No sweep adds it, because it is asked about once. */
export type SubjectKind = SweptKind | 'payer'
export type SweptKind = 'customer' | 'beneficiary'
export type SubjectKey = { readonly partnerId: string; readonly kind: SubjectKind; readonly id: string }

/** A name of a subject, and which one it is: `fullName`, `owner2`, `name`. */
export type SubjectName = { readonly role: string; readonly name: string }

export const outcomes = ['clear', 'confirm'] as const
export type Outcome = (typeof outcomes)[number]
export const statusAfter = { clear: 'cleared', confirm: 'confirmed' } as const satisfies Record<Outcome, HitStatus>
/** `gone`: the name or the entry changed before a person decided. */
export type HitStatus = 'open' | 'cleared' | 'confirmed' | 'gone'
export type EndReason = 'entry_removed' | 'entry_changed' | 'name_changed'

/** An entry of a list, as it stands in the index. */
export type IndexedEntry = {
  readonly source: ListSource
  readonly entryId: string
  readonly digest: string
}

/** A name of a subject that matches an entry. */
export type FoundMatch = SubjectName & { readonly match: Match<IndexedEntry> }

/** What is compared of a hit that stands. */
export type StandingHit = IndexedEntry & {
  readonly id: string
  readonly role: string
  /** As it was screened. */
  readonly name: string
}

export type HitChanges<Hit> = {
  readonly ended: readonly { readonly hit: Hit; readonly reason: EndReason }[]
  readonly opened: readonly { readonly found: FoundMatch; readonly replaces: Hit | undefined }[]
}

const keyOf = (role: string, { source, entryId }: IndexedEntry): string => `${role} ${source} ${entryId}`

/**
 * A hit stands, with its decision, as long as the name and the entry are the same. If one of them has changed, the hit ends; if the
 * name still matches, a new one takes its place, about which a person decides again.
 */
export function changesOf<Hit extends StandingHit>(
  standing: readonly Hit[],
  found: readonly FoundMatch[],
  names: readonly SubjectName[],
  digestOf: (entry: IndexedEntry) => string | undefined,
): HitChanges<Hit> {
  const nameOf = new Map(names.map(({ role, name }) => [role, plainName(name)]))
  const foundByKey = new Map(found.map((one) => [keyOf(one.role, one.match.entry), one]))
  const ended = standing.flatMap((hit): readonly { readonly hit: Hit; readonly reason: EndReason }[] => {
    const digest = digestOf(hit)
    if (digest === undefined) return [{ hit, reason: 'entry_removed' }]
    if (nameOf.get(hit.role) !== plainName(hit.name)) return [{ hit, reason: 'name_changed' }]
    return digest === hit.digest ? [] : [{ hit, reason: 'entry_changed' }]
  })
  const endedByKey = new Map(ended.map(({ hit }) => [keyOf(hit.role, hit), hit]))
  const kept = new Set(
    standing.filter((hit) => !ended.some((end) => end.hit === hit)).map((hit) => keyOf(hit.role, hit)),
  )
  const opened = [...foundByKey].flatMap(([key, one]) =>
    kept.has(key) ? [] : [{ found: one, replaces: endedByKey.get(key) }],
  )
  return { ended, opened }
}

/** Above the score, and whenever a decision is taken back, two persons decide. */
export const needsTwoPersons = ({ score, status }: { readonly score: number; readonly status: HitStatus }): boolean =>
  score >= twoPersonsScoreMin || status !== 'open'

export const hasExpired = (proposedAt: Date, now: Date): boolean => now.getTime() - proposedAt.getTime() > proposalMsMax
