/**
 * Rules for countries under embargo: countries that payouts must not go to, deposits must not come from, and customers
 * must not live in or be nationals of. Staff maintain them as the list `countries`; each change is a new generation.
 */
import { createHash } from 'node:crypto'
import { ownJson } from '@partner-payments/wire'
import countryCodes from 'i18n-iso-countries/index.js'
import { Refusal } from '../kernel/api/index.ts'
import { after, type Clock, isEmptyName, secondMs } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { ListEntry } from './lists/entry.ts'
import { replaceList, type SearchedEntry } from './lists.ts'
import type { SubjectCountry, SubjectKind } from './rules.ts'
import { countryEntriesAt, currentGeneration, currentLists, lockLists } from './store-lists.ts'

export const countrySides = ['payouts', 'deposits', 'customers'] as const
/** The country of a payee, of a payer, or of a customer. */
export type CountrySide = (typeof countrySides)[number]
export const countryActions = ['refuse', 'review'] as const
/**
 * `refuse`: new requests are refused, and existing data needs a decision of two people. `review`: both need such a
 * decision.
 */
export type CountryAction = (typeof countryActions)[number]

/** `country`: ISO 3166-1 alpha-2. */
export type CountryRule = { readonly country: string; readonly side: CountrySide; readonly action: CountryAction }

/** The rules at a generation of the lists. */
export type CountryRules = {
  readonly all: readonly CountryRule[]
  readonly isRefused: (side: CountrySide, country: string) => boolean
  /** Returns the newest generation that wrote a rule for one of the countries. 0: no rules. */
  readonly since: (side: CountrySide, countries: readonly string[]) => number
}

export type Countries = {
  /** Reads the rules, at most five seconds old, for requests. The worker checks the accepted requests again. */
  readonly recent: (tx: Tx) => Promise<CountryRules>
  /** Returns the rules at a generation. Reads them if this process has cached another generation. */
  readonly at: (tx: Tx, generation: number) => Promise<CountryRules>
  /** Lists the current rules. */
  readonly list: (tx: Tx) => Promise<readonly CountryRule[]>
  /**
   * Sets or removes (`action`: null) the rules of countries, and returns all rules. Every name is then screened again. Refuses:
   * validation_failed (country, no person named), not_found (a rule to remove).
   */
  readonly change: (tx: Tx, change: CountryChange) => Promise<readonly CountryRule[]>
}

export type CountryChange = {
  readonly countries: readonly string[]
  readonly sides: readonly CountrySide[]
  readonly action: CountryAction | null
  readonly staff: string
}

/** How long a process may still accept requests under earlier rules. */
const rulesAgeMsMax = 5 * secondMs

const sides = {
  customer: 'customers',
  beneficiary: 'payouts',
  payer: 'deposits',
  payout: 'payouts',
  partner: 'customers',
  person: 'customers',
} as const satisfies Record<SubjectKind, CountrySide>
export const countrySide = (kind: SubjectKind): CountrySide => sides[kind]

/** Returns the id of a rule among the entries of the list. */
export const countryEntryId = (side: CountrySide, country: string): string => `${country} ${side}`

/** Returns the English name of a country, for the person who decides. */
const countryName = (country: string): string => countryNames.of(country) ?? country
const countryNames = new Intl.DisplayNames(['en'], { type: 'region' })

const ibanForm = /^([A-Z]{2})\d{2}[A-Z0-9]{8,30}$/
const bicForm = /^[A-Z0-9]{4}([A-Z]{2})[A-Z0-9]{2}([A-Z0-9]{3})?$/
const codeForm = /^[A-Z]{2}$/

/**
 * Lists the countries of an account without duplicates: of its IBAN (ISO 13616), its BIC (ISO 9362), the given country, and the owner's address.
 * Ignores other texts and null.
 */
export function countriesOfAccount({
  account,
  bic,
  country,
  address = null,
}: Readonly<Record<'account' | 'bic' | 'country', string | null>> & {
  readonly address?: string | null
}): readonly SubjectCountry[] {
  const found = [
    { role: 'iban', country: ibanForm.exec(account?.replaceAll(/\s/g, '').toUpperCase() ?? '')?.[1] },
    { role: 'bic', country: bicForm.exec(bic?.toUpperCase() ?? '')?.[1] },
    { role: 'country', country: codeForm.exec(country ?? '')?.[0] },
    { role: 'address', country: codeForm.exec(address ?? '')?.[0] },
  ]
  // Each country appears once, because the people who decide see one hit for it.
  return found.flatMap(({ role, country: code }, index) =>
    code === undefined || found.slice(0, index).some((one) => one.country === code) ? [] : [{ role, country: code }],
  )
}

export function createCountries({ clock }: { readonly clock: Clock }): Countries {
  let known: { readonly generation: number; readonly rules: CountryRules } | undefined
  let readUntil = new Date(0)
  const at: Countries['at'] = async (tx, generation) => {
    if (known?.generation === generation) return known.rules
    const rules = toRules(await countryEntriesAt(tx, generation))
    known = { generation, rules }
    return rules
  }
  return {
    at,
    recent: async (tx) => {
      const now = clock.now()
      if (known !== undefined && now < readUntil) return known.rules
      const rules = await at(tx, await currentGeneration(tx))
      readUntil = after(now, rulesAgeMsMax)
      return rules
    },
    list: async (tx) => toRules(await countryEntriesAt(tx, await currentGeneration(tx))).all,
    change: (tx, change) => changeRules(tx, clock, change),
  }
}

type Entry = { readonly entryId: string; readonly detail: string; readonly fromGeneration: number }

function toRule({ entryId, detail }: Pick<Entry, 'entryId' | 'detail'>): CountryRule {
  const { reference: country, programmes } = ownJson<Pick<ListEntry, 'reference' | 'programmes'>>(detail)
  const side = countrySides.find((each) => entryId === countryEntryId(each, country)) ?? 'payouts'
  return { country, side, action: countryActions.find((each) => programmes.includes(each)) ?? 'refuse' }
}

function toRules(entries: readonly Entry[]): CountryRules {
  const byId = new Map(entries.map((entry) => [entry.entryId, { ...toRule(entry), from: entry.fromGeneration }]))
  const findRule = (side: CountrySide, country: string) => byId.get(countryEntryId(side, country))
  return {
    all: entries.map(toRule),
    isRefused: (side, country) => findRule(side, country)?.action === 'refuse',
    since: (side, countries) => Math.max(0, ...countries.map((country) => findRule(side, country)?.from ?? 0)),
  }
}

/** Changes rules under the lock of the lists, so that a concurrent change waits and sees this one. */
async function changeRules(
  tx: Tx,
  clock: Clock,
  { countries, sides: changed, action, staff }: CountryChange,
): Promise<readonly CountryRule[]> {
  if (isEmptyName(staff)) throw new Refusal('validation_failed', 'State who changes the rules.')
  const unknown = countries.find((country) => !codeForm.test(country) || !countryCodes.isValid(country))
  if (unknown !== undefined)
    throw new Refusal(
      'validation_failed',
      `There is no country ${unknown}: use codes of ISO 3166-1 alpha-2, such as IR.`,
    )
  await lockLists(tx)
  const generation = await currentGeneration(tx)
  const rules = new Map(
    (await countryEntriesAt(tx, generation)).map((entry): readonly [string, CountryRule] => [
      entry.entryId,
      toRule(entry),
    ]),
  )
  for (const country of countries)
    for (const side of changed) {
      const id = countryEntryId(side, country)
      if (action !== null) rules.set(id, { country, side, action })
      else if (!rules.delete(id)) throw new Refusal('not_found', `No such rule: ${side} of ${country}.`)
    }
  const entries = [...rules]
    .map(([id, rule]) => toEntry(id, rule))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const before = (await currentLists(tx)).find(({ source }) => source === 'countries')
  const now = clock.now()
  // The clock of another process may be ahead, but a change must never be older than the previous one.
  const publishedAt = before !== undefined && before.publishedAt > now ? before.publishedAt : now
  const hash = createHash('sha256').update(JSON.stringify(entries)).digest('hex')
  await replaceList(tx, clock, { source: 'countries', publishedAt, hash, entries }, staff)
  return [...rules.values()]
}

const toEntry = (id: string, { country, action }: CountryRule): ListEntry => ({
  id,
  reference: country,
  kind: 'country',
  names: [],
  births: [],
  programmes: [action],
})

/** Matches the countries of a subject with the rules in a snapshot of the lists. */
export function countryMatches(
  entryOf: (entryId: string) => SearchedEntry | undefined,
  kind: SubjectKind,
  countries: readonly SubjectCountry[],
) {
  return countries.flatMap(({ role, country }) => {
    const entry = entryOf(countryEntryId(countrySide(kind), country))
    if (entry === undefined) return []
    const words = [{ word: country, listed: country, how: 'equal', likeness: 100, weight: 100 }] as const
    const match = { entry, listedName: countryName(country), score: 100, isReordered: false, words }
    return [{ role, name: country, match }]
  })
}
