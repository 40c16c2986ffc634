/** Measures what a search finds of listed names in each form, and whom it hits by chance, by a seed. */
import type { NameIndex } from '../names/index-of-names.ts'
import { scoreMin, type SecondData } from '../rules.ts'
import { exclusionOf, type ListedPerson, type SecondDatumRule } from '../second-datum.ts'
import { commonNames, countriesWithNames } from './common-names.ts'
import { type CorpusName, createRandom, forms, type FormGroup, namesWithForms, seedOf, variantsOf } from './forms.ts'

export type MeasuredForm = {
  readonly group: FormGroup
  readonly form: string
  readonly ways: 1 | 2
  /** Names that were written in the form. */
  readonly names: number
  readonly found: number
  /** Percent that must be found, and why it is less than that of other forms; null: it is not. */
  readonly floor: number
  readonly reason: string | null
  /** Some that were not found, as written. */
  readonly missed: readonly string[]
}

export type MeasuredCountry = {
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly names: number
  /** Names that are a hit by themselves: of payers, owners and payees without an address, of whom nothing else is known. */
  readonly byName: number
  /** Names that stay a hit of a payee whose address and account are in the country. */
  readonly withAddress: number
  /** Names that stay a hit of a customer who is a national of the country and was born in a drawn year. */
  readonly withSecondDatum: number
  readonly examples: readonly string[]
}

/** `said` tells how far the measurement has come, in one line. */
export type Measuring = { readonly seed: number; readonly said: (line: string) => void }
type Search<Entry> = NameIndex<Entry>['search']

const examplesMax = 3
/** Forms of too few names on the loaded lists say nothing. */
export const namesForAFormMin = 5

export function measureForms<Entry>(
  search: Search<Entry>,
  names: readonly CorpusName<Entry>[],
  { seed, said, variantsMax }: Measuring & { readonly variantsMax: number },
): readonly MeasuredForm[] {
  const usable = namesWithForms(names)
  return forms.map((form, at) => {
    const variants = variantsOf(form, usable, seed, variantsMax)
    const missed = variants.filter(({ text, of }) => !search(text, scoreMin).some(({ entry }) => entry === of.entry))
    said(`form ${at + 1} of ${forms.length}: ${form.group}, ${form.name}`)
    return {
      group: form.group,
      form: form.name,
      ways: form.ways,
      names: variants.length,
      found: variants.length - missed.length,
      floor: form.floor,
      reason: form.reason ?? null,
      missed: missed.slice(0, examplesMax).map(({ text, of }) => `${text} (${of.text})`),
    }
  })
}

/** Adults are born in these years. */
const [bornFirst, bornLast] = [1945, 2006]

export function measureCountries<Entry extends ListedPerson>(
  search: Search<Entry>,
  rule: SecondDatumRule,
  { seed, said, namesMax }: Measuring & { readonly namesMax: number },
): readonly MeasuredCountry[] {
  return countriesWithNames.map((country, at) => {
    const random = createRandom(seedOf(`born in ${country}`, seed))
    const names = commonNames(country, seed, namesMax)
    const hits = names.flatMap((name) => {
      const year = bornFirst + Math.floor(random() * (bornLast - bornFirst + 1))
      const known: SecondData = { births: [`${year}-06-15`], countries: [country], documents: [] }
      const matches = search(name, scoreMin)
      const standing = (data: SecondData) => matches.filter((match) => exclusionOf(rule, match, data) === undefined)
      const [first] = standing(known)
      const isOfPayee = standing({ births: [], countries: [country], documents: [] }).length > 0
      return matches.length === 0
        ? []
        : [{ name, isOfPayee, isStanding: first !== undefined, shown: first ?? matches[0] }]
    })
    said(`names of country ${at + 1} of ${countriesWithNames.length}: ${country}`)
    return {
      country,
      names: names.length,
      byName: hits.length,
      withAddress: hits.filter(({ isOfPayee }) => isOfPayee).length,
      withSecondDatum: hits.filter(({ isStanding }) => isStanding).length,
      examples: hits
        .toSorted((one, other) => Number(other.isStanding) - Number(one.isStanding))
        .slice(0, examplesMax)
        .map(({ name, shown, isStanding }) => `${name} ~ ${shown?.listedName}${isStanding ? '' : ' (excluded)'}`),
    }
  })
}
