/** Pure: the criteria of a hit, how hits change with names and lists, and who decides. */
import { dayMs } from '../kernel/index.ts'
import type { ListSource } from './lists/entry.ts'
import type { Match } from './names/index-of-names.ts'
import { plainName } from './names/words.ts'

/** A name that reaches this score is a hit. corpus.test.ts shows its true and false hits. */
export const scoreMin = 88
/** Lowest score that needs two persons: every word is there, and at most spelling or order differ. */
export const twoPersonsScoreMin = 95
/** A proposal ends after this time without a second person, as with cases. */
const proposalMsMax = 7 * dayMs

/**
 * `payer`: the payer of a waiting deposit, with the id of the deposit, and its texts. `payout`: a payout by its own texts, or by the countries
 * of a payee that is no beneficiary. No sweep adds them: payments.ts and the credit of a deposit do.
 */
export type SubjectKind = SweptKind | 'payer' | 'payout'
/** `partner`: the partner itself, under its own id. `person`: a member of its team. In the order in which they are swept. */
export const sweptKinds = ['customer', 'beneficiary', 'partner', 'person'] as const
export type SweptKind = (typeof sweptKinds)[number]
export type SubjectKey = { readonly partnerId: string; readonly kind: SubjectKind; readonly id: string }
/** `account`: an IBAN, a wallet or another number, under any name. Its id is `accountKey`. */
export type HoldKey = SubjectKey | { readonly partnerId: string; readonly kind: 'account'; readonly id: string }
/**
 * `countries`: those of a payment to the party. While their rules were not compared with it, the payment waits. `comparedWith`: the
 * generation of lists that a `payout` must have been compared with. `ofCustomer`: the `partner` acts with the money of a customer.
 */
export type HeldParty = HoldKey & {
  readonly countries?: readonly string[]
  readonly comparedWith?: number
  readonly ofCustomer?: boolean
}
/** The partner behind a payment, of its own money or of a customer's. */
export const partnerOf = (partnerId: string, customerId: string | null): HeldParty => ({
  ...{ partnerId, kind: 'partner', id: partnerId },
  ofCustomer: customerId !== null && customerId !== partnerId,
})

/** The account in the form in which it is compared: banks and requests write it with spaces and in either case. */
export const accountKey = (account: string): string => account.replaceAll(/\s/g, '').toUpperCase()

/** A name of a subject, and its role: `fullName`, `owner2`, `name`. */
export type SubjectName = { readonly role: string; readonly name: string }

/** The role of a text that is the name of a party, which is compared by itself. */
export const craftRole = 'payee'

/** A country of a subject, ISO 3166-1 alpha-2, and its role: `iban`, `citizenshipCountryCode`. */
export type SubjectCountry = { readonly role: string; readonly country: string }

/** The facts about a person besides its name. They decide about a hit of a common name (second-datum.ts). */
export type SecondData = {
  /** `YYYY-MM-DD`. */
  readonly births: readonly string[]
  /** Countries of nationality; of a payee, of its address and account. ISO 3166-1 alpha-2. */
  readonly countries: readonly string[]
  /** Numbers of documents, as given. */
  readonly documents: readonly string[]
}

/** Subject as a module knows it. Without names: there is no such subject. `account`: null if it has none of its own. */
export type Subject = {
  readonly names: readonly SubjectName[]
  readonly account: string | null
  readonly countries: readonly SubjectCountry[]
  /** Texts of a payment, in which listed names and vessels are looked for; under `craftRole`, vessels alone. Undefined: it has none. */
  readonly texts?: readonly SubjectName[]
  /** Facts by the role of the name whose person they are about. Undefined: nothing is known. */
  readonly data?: Readonly<Record<string, SecondData>>
}

export const outcomes = ['clear', 'confirm'] as const
export type Outcome = (typeof outcomes)[number]
/** Findings of persons about a hit, by what it compares and the outcome. The numbers of compliance count them. */
const dispositions = {
  names: {
    clear: ['name_differs', 'birth_differs', 'country_differs', 'document_differs', 'kind_differs'],
    confirm: ['data_agree', 'account_agrees', 'not_excluded'],
  },
  countries: { clear: ['licensed', 'not_concerned'], confirm: ['prohibited'] },
} as const
export type HitDisposition = (typeof dispositions)[keyof typeof dispositions][Outcome][number]
export const hitDispositionsOf = (source: ListSource, outcome: Outcome): readonly HitDisposition[] =>
  dispositions[source === 'countries' ? 'countries' : 'names'][outcome]
export const statusAfter = { clear: 'cleared', confirm: 'confirmed' } as const satisfies Record<Outcome, HitStatus>
/** `gone`: the entry changed before a person decided, and another hit replaced this one. */
export type HitStatus = 'open' | 'cleared' | 'confirmed' | 'gone'
/** `name_changed`: only of hits that ended before names were kept. */
export type EndReason = 'entry_removed' | 'entry_changed' | 'name_changed'

/** An entry of a list, as the index holds it. */
export type IndexedEntry = {
  readonly source: ListSource
  readonly entryId: string
  readonly digest: string
}

/** A name of a subject that matches an entry. */
export type FoundMatch = SubjectName & { readonly match: Match<IndexedEntry> }

/** Compared fields of a current hit. */
export type StandingHit = IndexedEntry & {
  readonly id: string
  readonly role: string
  /** Name as it was screened. */
  readonly name: string
  readonly status: HitStatus
}

export type HitChanges<Hit> = {
  readonly ended: readonly { readonly hit: Hit; readonly reason: EndReason }[]
  readonly opened: readonly { readonly found: FoundMatch; readonly replaces: Hit | undefined }[]
}

/** The names of a subject, each once in its role. The first of equal ones stays. */
export const distinctNames = (names: readonly SubjectName[]): readonly SubjectName[] =>
  [...Map.groupBy(names, nameKey).values()].flatMap(([first]) => first ?? [])

const nameKey = ({ role, name }: SubjectName): string => `${role} ${plainName(name)}`
const keyOf = (name: SubjectName, { source, entryId }: IndexedEntry): string => `${nameKey(name)} ${source} ${entryId}`

/**
 * A hit is about one name and one entry, and a subject keeps its earlier names: a new name has hits of its own, and
 * ends none. If the entry has changed, a decision to clear ends, and so does an open hit if another one replaces it.
 * Only persons end other open or confirmed hits.
 */
export function changesOf<Hit extends StandingHit>(
  standing: readonly Hit[],
  found: readonly FoundMatch[],
  digestOf: (entry: IndexedEntry) => string | undefined,
): HitChanges<Hit> {
  const foundByKey = new Map(found.map((one) => [keyOf(one, one.match.entry), one]))
  const ended = standing.flatMap((hit): readonly { readonly hit: Hit; readonly reason: EndReason }[] => {
    const digest = digestOf(hit)
    const isReplaced = hit.status === 'open' && foundByKey.has(keyOf(hit, hit))
    if (digest === hit.digest || (hit.status !== 'cleared' && !isReplaced)) return []
    return [{ hit, reason: digest === undefined ? 'entry_removed' : 'entry_changed' }]
  })
  const endedByKey = new Map(ended.map(({ hit }) => [keyOf(hit, hit), hit]))
  const kept = new Set(standing.filter((hit) => !ended.some((end) => end.hit === hit)).map((hit) => keyOf(hit, hit)))
  const opened = [...foundByKey].flatMap(([key, one]) =>
    kept.has(key) ? [] : [{ found: one, replaces: endedByKey.get(key) }],
  )
  return { ended, opened }
}

/** Two persons decide above the score, and whenever a decision is withdrawn. */
export const needsTwoPersons = ({ score, status }: { readonly score: number; readonly status: HitStatus }): boolean =>
  score >= twoPersonsScoreMin || status !== 'open'

export const hasExpired = (proposedAt: Date, now: Date): boolean => now.getTime() - proposedAt.getTime() > proposalMsMax
