/**
 * Pure: a second datum excludes hits of common names. A name of common words does not identify a person, so other data of the person decides
 * (0135). Data that one side lacks does not contradict. An equal document or day of birth always leaves the hit.
 */
import type { Match } from './names/index-of-names.ts'
import type { WordMatch } from './names/compare.ts'
import { isCommonName } from './corpus/common-names.ts'
import { isCountryCode, type ListEntry, readSdnDay } from './lists/entry.ts'
import { type SecondData, twoPersonsScoreMin } from './rules.ts'

/** Data that exclude a match. `birth`: another date of birth. `birth-or-country`: also other countries, if the name is incomplete. */
export type SecondDatumRule = 'birth-or-country' | 'birth' | 'off'

/** `birth`: the years differ, or the days if the name is incomplete. `country`: the name is incomplete, and the countries are disjoint. */
export type Exclusion = 'birth' | 'country'

/** Maximum difference of years of birth. Where births are registered late, lists and passports differ by a year or two. */
export const yearsApartMax = 2
/** Maximum difference for a date that the list calls approximate. */
export const circaYearsApartMax = 5
/** Maximum weight of a common word. Fewer than some twenty of 20,000 listed names have a heavier word. */
export const commonWeightMax = 70

/** Reports whether every matched word is common, on the lists or in a country. Missing words do not count. */
const isCommonMatch = (words: readonly WordMatch[]): boolean =>
  words.every(
    ({ word, listed, weight }) =>
      word === null || listed === null || weight <= commonWeightMax || isCommonName(word) || isCommonName(listed),
  )

export type ListedPerson = Pick<ListEntry, 'kind' | 'births' | 'countries' | 'documents'>

/** Returns why the second datum excludes the match. Undefined: it is a hit. */
export function findExclusion(
  rule: SecondDatumRule,
  { entry, words, score }: Pick<Match<ListedPerson>, 'entry' | 'words' | 'score'>,
  known: SecondData | undefined,
): Exclusion | undefined {
  if (rule === 'off' || known === undefined || entry.kind !== 'person' || !isCommonMatch(words)) return undefined
  if (hasSameDocument(entry.documents ?? [], known)) return undefined
  const isWhole = score >= twoPersonsScoreMin
  const birth = compareBirths(entry.births, known.births, isWhole)
  if (birth === 'differs') return 'birth'
  const country =
    !isWhole && birth !== 'same day' ? compareCountries(personCountries(entry), known.countries) : 'unknown'
  return rule === 'birth-or-country' && country === 'differs' ? 'country' : undefined
}

/** `agrees`: the years are close. */
type ComparedBirths = 'same day' | 'agrees' | 'differs' | 'unknown'

/** Compares births. The list has days, years or periods as published: `1961-04-12`, `circa 1961`, `1961 to 1963`, `07 Oct 1954`. */
function compareBirths(listed: readonly string[], known: readonly string[], isWhole: boolean): ComparedBirths {
  if (listed.some((birth) => known.includes(readSdnDay(birth) ?? birth))) return 'same day'
  // A listed date of birth without a year may be the person's.
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

/** Reports whether two of year, month and day differ, even with month and day swapped. 1 January may stand for a whole year. */
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

/** Lists the countries of a person, including those that issued documents. */
const personCountries = ({ countries = [], documents = [] }: ListedPerson): readonly string[] => [
  ...countries,
  ...documents.flatMap(({ country }) => (country === '' ? [] : [country])),
]

/** Compares countries. A text of the list that does not name a present country may mean any country. */
function compareCountries(listed: readonly string[], known: readonly string[]): 'agrees' | 'differs' | 'unknown' {
  if (listed.length === 0 || known.length === 0 || !listed.every(isCountryCode)) return 'unknown'
  return known.some((country) => listed.includes(country)) ? 'agrees' : 'differs'
}

/** Minimum length of a document number. Many documents share a shorter number. */
const documentCharsMin = 6
const documentKey = (number: string): string => number.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

function hasSameDocument(listed: NonNullable<ListEntry['documents']>, known: SecondData): boolean {
  const numbers = new Set(listed.map(({ number }) => documentKey(number)))
  return known.documents.map(documentKey).some((number) => number.length >= documentCharsMin && numbers.has(number))
}
