/**
 * Pure: a second datum excludes hits of common names. A name of which every found word is common does not say who is meant, so that what else is known
 * of the person decides (0135). What one side does not know contradicts nothing. An equal document, or an equal day of birth, leaves the hit.
 */
import type { Match } from './names/index-of-names.ts'
import type { WordMatch } from './names/compare.ts'
import { isCommonName } from './corpus/common-names.ts'
import { isCountryCode } from './lists/country-codes.ts'
import type { ListEntry } from './lists/entry.ts'
import { type SecondData, twoPersonsScoreMin } from './rules.ts'
import { readSdnDay } from './lists/times.ts'

/** `birth`: only dates of birth exclude. `birth-or-country`: also the countries, if the name is not whole. */
export type SecondDatumRule = 'birth-or-country' | 'birth' | 'off'

/** `birth`: the years differ; `country`: the name is not whole, and no country is common to both. */
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
  const birth = compareBirths(entry.births, known.births)
  if (birth === 'differs') return 'birth'
  const isWeak = score < twoPersonsScoreMin && birth !== 'same day'
  const country = isWeak ? compareCountries(entry.countries ?? [], known.countries) : 'unknown'
  return rule === 'birth-or-country' && country === 'differs' ? 'country' : undefined
}

/** `agrees`: the years are near each other. */
type ComparedBirths = 'same day' | 'agrees' | 'differs' | 'unknown'

/** A birth of the list is a day, a year or a period as published: `1961-04-12`, `circa 1961`, `1961 to 1963`, `07 Oct 1954`. */
function compareBirths(listed: readonly string[], known: readonly string[]): ComparedBirths {
  if (listed.some((birth) => known.includes(readSdnDay(birth) ?? birth))) return 'same day'
  const periods = listed.map(yearsIn)
  const years = known.flatMap((birth) => yearsIn(birth) ?? [])
  // A birth that has no year may be the true one.
  if (periods.length === 0 || years.length === 0 || periods.includes(undefined)) return 'unknown'
  const isNear = (period: Years | undefined) =>
    period !== undefined &&
    years.some(({ first }) => first >= period.first - period.apart && first <= period.last + period.apart)
  return periods.some(isNear) ? 'agrees' : 'differs'
}

type Years = { readonly first: number; readonly last: number; readonly apart: number }

function yearsIn(birth: string): Years | undefined {
  const years = [...birth.matchAll(/\b(?:1[89]|20)\d\d\b/g)].map(([year]) => Number(year))
  if (years.length === 0) return undefined
  const apart = /circa|approx/i.test(birth) ? circaYearsApartMax : yearsApartMax
  return { first: Math.min(...years), last: Math.max(...years), apart }
}

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
