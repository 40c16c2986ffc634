/** Pure: the criteria of hits, how hits change with names and lists, and who decides. */
import { dayMs } from '../kernel/index.ts'
import type { ListSource } from './lists/entry.ts'
import type { Match } from './names/index-of-names.ts'
import { plainName } from './names/words.ts'

/** Minimum score of a hit. corpus.test.ts measures true and false hits at this score. */
export const scoreMin = 88
/** Minimum score that needs two people: every word is there, and at most spelling or order differ. */
export const twoPersonsScoreMin = 95
/** A proposal expires after this time without a second person, like proposals about cases. */
const proposalMsMax = 7 * dayMs

/**
 * `payer`: the payer and the texts of a held deposit, under the deposit's id. `payout`: the texts of a payout, and the
 * countries of a payee that is not a beneficiary. Sweeps do not add these kinds; the payments themselves do.
 */
export type SubjectKind = RescreenedKind | 'payer' | 'payout'
/** `partner`: the partner itself, under its own id. `person`: a member of its team. In the order of the sweep. */
export const rescreenedKinds = ['customer', 'beneficiary', 'partner', 'person'] as const
export type RescreenedKind = (typeof rescreenedKinds)[number]
export type SubjectKey = { readonly partnerId: string; readonly kind: SubjectKind; readonly id: string }
/** A subject or an account that a hit can hold. `account`: an IBAN, a wallet or another number, under any name; its id is `accountKey`. */
export type HoldKey = SubjectKey | { readonly partnerId: string; readonly kind: 'account'; readonly id: string }
/**
 * A party of a payment. `countries`: the countries of the payment, which is held until the party was compared with the
 * rules for them. `comparedWith`: the generation of lists with which a `payout` must have been compared. `ofCustomer`:
 * the `partner` acts with a customer's money.
 */
export type ScreenedParty = HoldKey & {
  readonly countries?: readonly string[]
  readonly comparedWith?: number
  readonly ofCustomer?: boolean
}
/** Returns the partner as a party of a payment of its own or a customer's money. */
export const partnerParty = (partnerId: string, customerId: string | null): ScreenedParty => ({
  partnerId,
  kind: 'partner',
  id: partnerId,
  ofCustomer: customerId !== null && customerId !== partnerId,
})

/** Normalizes an account for comparison, because banks and requests use spaces and either case. */
export const accountKey = (account: string): string => account.replaceAll(/\s/g, '').toUpperCase()

/** A name of a subject, and its role: `fullName`, `owner2`, `name`. */
export type SubjectName = { readonly role: string; readonly name: string }

/** The role of a text that is the name of a separately screened party. */
export const payeeTextRole = 'payee'

/** A country of a subject, ISO 3166-1 alpha-2, and its role: `iban`, `citizenshipCountryCode`. */
export type SubjectCountry = { readonly role: string; readonly country: string }

/**
 * The data about a person besides the name, which decides whether a match of a common name is a hit (second-datum.ts).
 */
export type SecondData = {
  /** `YYYY-MM-DD`. */
  readonly births: readonly string[]
  /** Countries of nationality, or of a payee's address and account. ISO 3166-1 alpha-2. */
  readonly countries: readonly string[]
  /** Numbers of documents, as given. */
  readonly documents: readonly string[]
}

/** The data of a subject from its module. No names: there is no such subject. `account`: null if it does not have one. */
export type Subject = {
  readonly names: readonly SubjectName[]
  readonly account: string | null
  readonly countries: readonly SubjectCountry[]
  /** Texts of a payment to search for listed names and vessels; with `payeeTextRole`, only for vessels. */
  readonly texts?: readonly SubjectName[]
  /** Second data by the role of the person's name. */
  readonly data?: Readonly<Record<string, SecondData>>
}

export const hitOutcomes = ['clear', 'confirm'] as const
export type HitOutcome = (typeof hitOutcomes)[number]
/** Findings about a hit, by the kind of comparison and the outcome. The figures of compliance count them. */
const dispositions = {
  names: {
    clear: ['name_differs', 'birth_differs', 'country_differs', 'document_differs', 'kind_differs'],
    confirm: ['data_agree', 'account_agrees', 'not_excluded'],
  },
  countries: { clear: ['licensed', 'not_concerned'], confirm: ['prohibited'] },
} as const
export type HitDisposition = (typeof dispositions)[keyof typeof dispositions][HitOutcome][number]
export const allowedDispositions = (source: ListSource, outcome: HitOutcome): readonly HitDisposition[] =>
  dispositions[source === 'countries' ? 'countries' : 'names'][outcome]
export const statusByOutcome = { clear: 'cleared', confirm: 'confirmed' } as const satisfies Record<
  HitOutcome,
  HitStatus
>
/** `gone`: the entry changed before a decision, and another hit replaced this one. */
export type HitStatus = 'open' | 'cleared' | 'confirmed' | 'gone'
/** `name_changed`: only for hits that ended in versions without earlier names. */
export type EndReason = 'entry_removed' | 'entry_changed' | 'name_changed'

/** An entry in the index. */
export type IndexedEntry = {
  readonly source: ListSource
  readonly entryId: string
  readonly digest: string
}

/** A name of a subject that matches an entry. */
export type NameMatch = SubjectName & { readonly match: Match<IndexedEntry> }

/** The compared fields of a current hit. */
export type CurrentHit = IndexedEntry & {
  readonly id: string
  readonly role: string
  /** The screened name. */
  readonly name: string
  readonly status: HitStatus
}

export type HitChanges<Hit> = {
  readonly ended: readonly { readonly hit: Hit; readonly reason: EndReason }[]
  readonly opened: readonly { readonly found: NameMatch; readonly replaces: Hit | undefined }[]
}

/** Removes repeated names in a role, and keeps the first. */
export const distinctNames = (names: readonly SubjectName[]): readonly SubjectName[] =>
  [...Map.groupBy(names, nameKey).values()].flatMap(([first]) => first ?? [])

const nameKey = ({ role, name }: SubjectName): string => `${role} ${plainName(name)}`
const hitKey = (name: SubjectName, { source, entryId }: IndexedEntry): string => `${nameKey(name)} ${source} ${entryId}`

/**
 * Determines which hits end and open. A hit is about one name and one entry, and a subject keeps its earlier names, so a new name opens
 * its own hits and does not end others. If an entry changes, cleared hits end, and open hits end if another hit replaces them. Only
 * people end other open and confirmed hits.
 */
export function hitChanges<Hit extends CurrentHit>(
  standing: readonly Hit[],
  found: readonly NameMatch[],
  digestOf: (entry: IndexedEntry) => string | undefined,
): HitChanges<Hit> {
  const foundByKey = new Map(found.map((one) => [hitKey(one, one.match.entry), one]))
  const ended = standing.flatMap((hit): readonly { readonly hit: Hit; readonly reason: EndReason }[] => {
    const digest = digestOf(hit)
    const isReplaced = hit.status === 'open' && foundByKey.has(hitKey(hit, hit))
    if (digest === hit.digest || (hit.status !== 'cleared' && !isReplaced)) return []
    return [{ hit, reason: digest === undefined ? 'entry_removed' : 'entry_changed' }]
  })
  const endedByKey = new Map(ended.map(({ hit }) => [hitKey(hit, hit), hit]))
  const kept = new Set(standing.filter((hit) => !ended.some((end) => end.hit === hit)).map((hit) => hitKey(hit, hit)))
  const opened = [...foundByKey].flatMap(([key, one]) =>
    kept.has(key) ? [] : [{ found: one, replaces: endedByKey.get(key) }],
  )
  return { ended, opened }
}

/** Reports whether two people must decide: from this score on, and to withdraw a decision. */
export const needsTwoPersons = ({ score, status }: { readonly score: number; readonly status: HitStatus }): boolean =>
  score >= twoPersonsScoreMin || status !== 'open'

export const hasProposalExpired = (proposedAt: Date, now: Date): boolean =>
  now.getTime() - proposedAt.getTime() > proposalMsMax
