/**
 * Pure: a second datum excludes hits of common names. A name of which every found word is common does not say who is meant, so that what else is known
 * of the person decides (0135). What one side does not know contradicts nothing. An equal document, or an equal day of birth, leaves the hit.
 */
import type { Match } from './names/index-of-names.ts'
import type { WordMatch } from './names/compare.ts'
import { isCommonName } from './corpus/common-names.ts'
import { isCountryCode, type ListEntry, readSdnDay } from './lists/entry.ts'
import { type SecondData, twoPersonsScoreMin } from './rules.ts'

/** `birth`: only dates of birth exclude. `birth-or-country`: also the countries, if the name is not whole. */
export type SecondDatumRule = 'birth-or-country' | 'birth' | 'off'

/** `birth`: the years differ, or the days if the name is not whole; `country`: the name is not whole, and no country is common to both. */
export type Exclusion = 'birth' | 'country'

/** Lists and passports differ by a year or two where births are registered late. */
export const yearsApartMax = 2
/** The same of a date that the list calls approximate. */
export const circaYearsApartMax = 5
/** A word that weighs more is rare: fewer than some twenty of 20,000 listed names have it. */
export const commonWeightMax = 70

/** Every word that was found is common: on the lists, or in a country. Words of the list that the name lacks say no more. */
const isCommonMatch = (words: readonly WordMatch[]): boolean =>
  words.every(
    ({ word, listed, weight }) =>
      word === null || listed === null || weight <= commonWeightMax || isCommonName(word) || isCommonName(listed),
  )

export type ListedPerson = Pick<ListEntry, 'kind' | 'births' | 'countries' | 'documents'>

/** Returns why the second datum excludes the match; undefined: it is a hit. */
export function exclusionOf(
  rule: SecondDatumRule,
  { entry, words, score }: Pick<Match<ListedPerson>, 'entry' | 'words' | 'score'>,
  known: SecondData | undefined,
): Exclusion | undefined {
  if (rule === 'off' || known === undefined || entry.kind !== 'person' || !isCommonMatch(words)) return undefined
  if (hasSameDocument(entry.documents ?? [], known)) return undefined
  const isWhole = score >= twoPersonsScoreMin
  const birth = compareBirths(entry.births, known.births, isWhole)
  if (birth === 'differs') return 'birth'
  const country = !isWhole && birth !== 'same day' ? compareCountries(countriesOf(entry), known.countries) : 'unknown'
  return rule === 'birth-or-country' && country === 'differs' ? 'country' : undefined
}

/** `agrees`: the years are near each other. */
type ComparedBirths = 'same day' | 'agrees' | 'differs' | 'unknown'

/** A birth of the list is a day, a year or a period as published: `1961-04-12`, `circa 1961`, `1961 to 1963`, `07 Oct 1954`. */
function compareBirths(listed: readonly string[], known: readonly string[], isWhole: boolean): ComparedBirths {
  if (listed.some((birth) => known.includes(readSdnDay(birth) ?? birth))) return 'same day'
  // A birth that has no year may be the true one.
  if (listed.length === 0 || listed.some((birth) => yearsIn(birth) === undefined)) return 'unknown'
  const given = known.filter((birth) => yearsIn(birth) !== undefined)
  if (given.length === 0) return 'unknown'
  const isNear = (one: string, other: string) => isNearYear(one, other) && (isWhole || !isOtherDay(one, other))
  return listed.some((one) => given.some((other) => isNear(one, other))) ? 'agrees' : 'differs'
}

function isNearYear(listed: string, known: string): boolean {
  const [period, year] = [yearsIn(listed), yearsIn(known)?.first]
  if (period === undefined || year === undefined) return false
  return year >= period.first - period.apart && year <= period.last + period.apart
}

/** Two of year, month and day differ, also if month and day are exchanged. The first of January may stand for a year alone. */
function isOtherDay(listed: string, known: string): boolean {
  const [one, other] = [dayIn(listed), dayIn(known)]
  if (one === undefined || other === undefined) return false
  const exchanged = [one[0], one[2], one[1]]
  return [one, exchanged].every((parts) => parts.filter((part, at) => part !== other[at]).length >= 2)
}
const dayIn = (birth: string): readonly string[] | undefined => {
  const day = readSdnDay(birth) ?? birth
  return /^\d{4}-\d\d-\d\d$/.test(day) && !day.endsWith('-01-01') ? day.split('-') : undefined
}

type Years = { readonly first: number; readonly last: number; readonly apart: number }

function yearsIn(birth: string): Years | undefined {
  const years = [...birth.matchAll(/\b(?:1[89]|20)\d\d\b/g)].map(([year]) => Number(year))
  if (years.length === 0) return undefined
  const apart = /circa|approx/i.test(birth) ? circaYearsApartMax : yearsApartMax
  return { first: Math.min(...years), last: Math.max(...years), apart }
}

/** The country that issued a document is one of the person, too. */
const countriesOf = ({ countries = [], documents = [] }: ListedPerson): readonly string[] => [
  ...countries,
  ...documents.flatMap(({ country }) => (country === '' ? [] : [country])),
]

/** A text of the list that names no country of today may mean any. */
function compareCountries(listed: readonly string[], known: readonly string[]): 'agrees' | 'differs' | 'unknown' {
  if (listed.length === 0 || known.length === 0 || !listed.every(isCountryCode)) return 'unknown'
  return known.some((country) => listed.includes(country)) ? 'agrees' : 'differs'
}

/** A shorter number is that of many documents. */
const documentCharsMin = 6
const documentKey = (number: string): string => number.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

function hasSameDocument(listed: NonNullable<ListEntry['documents']>, known: SecondData): boolean {
  const numbers = new Set(listed.map(({ number }) => documentKey(number)))
  return known.documents.map(documentKey).some((number) => number.length >= documentCharsMin && numbers.has(number))
}
