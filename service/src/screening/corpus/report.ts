/**
 * The screening report that an operator gives to its regulator: the loaded lists, the settings of comparisons, how many listed names the search
 * finds in each form, and how often common names are false hits. The same lists and seed give the same measurements.
 */
import type { Database } from '../../postgres/index.ts'
import type { Countries, CountryRule } from '../countries.ts'
import { isPepSource } from '../lists/entry.ts'
import { namesToCompare, type Lists } from '../lists.ts'
import { scoreMin, type SecondData, twoPersonsScoreMin } from '../rules.ts'
import {
  circaYearsApartMax,
  commonWeightMax,
  findExclusion,
  type ListedPerson,
  type SecondDatumRule,
  yearsApartMax,
} from '../second-datum.ts'
import { countExclusions, type ExclusionCount } from '../store.ts'
import { countHits, type HitCount } from '../store-numbers.ts'
import type { ListRow } from '../store-lists.ts'
import {
  type CorpusName,
  createRandom,
  type FormGroup,
  forms,
  namesWithForms,
  mixSeed,
  writeVariants,
} from './forms.ts'
import type { NameIndex } from '../names/index-of-names.ts'
import { commonNames, countriesWithNames } from './common-names.ts'

export type ReportSettings = { readonly pepHits: string; readonly secondDatum: SecondDatumRule }

export type ReportRequest = {
  readonly db: Database
  readonly lists: Pick<Lists, 'current' | 'snapshot' | 'eachEntry'>
  readonly countries: Pick<Countries, 'list'>
  readonly settings: ReportSettings
  /** The version of the software: its newest migration. */
  readonly version: string
  readonly seed: number
  /** Maximum number of names for each form. Countries have three times as many. */
  readonly namesMax: number
  readonly said: (line: string) => void
}

/** A loaded list, and how many of its people have a second identifying fact. */
type ReportedList = Pick<ListRow, 'source' | 'publishedAt' | 'hash' | 'loadedAt' | 'loadedBy' | 'entries' | 'names'> &
  Readonly<Record<'persons' | 'births' | 'countries' | 'documents', number>> & {
    /** Entries without countries and documents, which an earlier version read. The list must be loaded again. */
    readonly withoutFacts: number
  }

export type Report = {
  readonly version: string
  readonly seed: number
  readonly namesMax: number
  readonly settings: ReportSettings & { readonly scoreMin: number; readonly twoPersonsScoreMin: number }
  readonly countryRules: readonly CountryRule[]
  readonly lists: readonly ReportedList[]
  readonly forms: readonly MeasuredForm[]
  readonly countries: readonly MeasuredCountry[]
  readonly exclusions: readonly ExclusionCount[]
  readonly hits: readonly HitCount[]
}

/** Measures and builds the report. Undefined: no sanctions list is loaded. */
export async function createReport(request: ReportRequest): Promise<Report | undefined> {
  const { db, lists, countries, settings, version, seed, namesMax, said } = request
  const snapshot = await lists.snapshot()
  const current = (await lists.current(db)).filter(({ source }) => source !== 'countries')
  if (snapshot === undefined || current.every(({ source }) => isPepSource(source))) return undefined
  const counted = new Map<string, Record<'persons' | 'births' | 'countries' | 'documents' | 'withoutFacts', number>>()
  const names: CorpusName<string>[] = []
  await lists.eachEntry(snapshot.generation, ({ source, entryId }, said) => {
    const counts = counted.get(source) ?? { persons: 0, births: 0, countries: 0, documents: 0, withoutFacts: 0 }
    counted.set(source, counts)
    if (said.countries === undefined) counts.withoutFacts += 1
    if (said.kind === 'person') {
      counts.persons += 1
      for (const field of ['births', 'countries', 'documents'] as const)
        if ((said[field] ?? []).length > 0) counts[field] += 1
    }
    if (isPepSource(source)) return
    const entry = `${source} ${entryId}`
    for (const { text } of namesToCompare(said)) names.push({ entry, kind: said.kind, text })
  })
  const search = (text: string, least: number) =>
    snapshot.index
      .search(text, least)
      .map((match) => ({ ...match, entry: `${match.entry.source} ${match.entry.entryId}` }))
  return {
    version,
    seed,
    namesMax,
    settings: { scoreMin, twoPersonsScoreMin, ...settings },
    countryRules: await countries.list(db),
    lists: current.map(({ source, publishedAt, hash, loadedAt, loadedBy, entries, names: length }) => ({
      ...{ source, publishedAt, hash, loadedAt, loadedBy, entries, names: length },
      ...(counted.get(source) ?? { persons: 0, births: 0, countries: 0, documents: 0, withoutFacts: 0 }),
    })),
    forms: measureForms(search, names, { seed, said, variantsMax: namesMax }),
    countries: measureCountries(snapshot.index.search, settings.secondDatum, { seed, said, namesMax: 3 * namesMax }),
    exclusions: await countExclusions(db),
    hits: await countHits(db),
  }
}

const percent = (part: number, whole: number): string => (whole === 0 ? '-' : ((100 * part) / whole).toFixed(1))
const isMeasured = ({ names }: MeasuredForm): boolean => names >= namesForAFormMin
/** Reports whether the search found fewer names of a form than its floor. */
const isBelowFloor = (form: MeasuredForm): boolean => isMeasured(form) && 100 * form.found < form.floor * form.names
/** Maximum percentage of the most common names of a country that may be hits. */
export const falseHitsPercentMax = 1
const isAboveFalseHits = ({ withSecondDatum, names }: MeasuredCountry): boolean =>
  100 * withSecondDatum > falseHitsPercentMax * names

/** Replaces bars and line ends, which would end a cell. */
const cell = (value: string | number | bigint): string => String(value).replaceAll('|', '/').replaceAll(/\s+/g, ' ')
const table = (head: readonly string[], rows: readonly (readonly (string | number | bigint)[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')
const minute = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`

const rules: Readonly<Record<SecondDatumRule, string>> = {
  off: 'Off: every name that reaches the score is a hit.',
  birth: `A hit of a customer's own name is excluded if every found word is common and the dates of birth contradict.`,
  'birth-or-country':
    "A hit of a customer's own name is excluded if every found word is common and the dates of birth contradict; or if every found word is common, the name is not whole, and no nationality of the customer is among the countries of the entry. A hit of a payee is excluded by its address in the same way.",
}

/** Writes the report as Markdown. */
export function reportText(report: Report): string {
  const { settings, forms, countries } = report
  const below = forms.filter(isBelowFloor)
  const above = countries.filter(isAboveFalseHits)
  const unmeasured = forms.filter((form) => !isMeasured(form))
  const sections = [
    '# Report of sanctions screening',
    `Made by the software with the migration ${report.version}, with seed ${report.seed} and at most ${report.namesMax} names of each form. The same lists, software and seed give the same measurements.`,
    below.length === 0 && above.length === 0
      ? 'Every form reaches its floor, and no country has more false hits than allowed.'
      : `${below.length} of ${forms.length} forms are below their floor, and ${above.length} of ${countries.length} countries have more than ${falseHitsPercentMax} % false hits: see below.`,
    '## Lists',
    listsTable(report),
    '## Settings',
    table(
      ['setting', 'value'],
      [
        ['score that is a hit', `${settings.scoreMin} of 100`],
        ['score that two persons decide', `${settings.twoPersonsScoreMin} of 100`],
        ['hits on politically exposed persons (PEP_HITS)', settings.pepHits],
        ['second datum (SECOND_DATUM)', settings.secondDatum],
        ['rules for countries', ruleCounts(report.countryRules)],
      ],
    ),
    '## What is found',
    'Names of the loaded lists with two or more identifying words, drawn by the seed and written in each form; found by the search that production uses. A form in two ways draws one of each kind.',
    table(['kind of form', 'ways', 'forms', 'names', 'found %', 'lowest form %'], groupRows(forms)),
    '### Forms below their floor',
    below.length === 0
      ? 'None.'
      : table(
          ['form', 'names', 'found %', 'floor %', 'not found, as written (as listed)'],
          below.map((form) => [
            nameOf(form),
            form.names,
            percent(form.found, form.names),
            form.floor,
            form.missed.join('; '),
          ]),
        ),
    '### All forms',
    table(
      ['form', 'ways', 'names', 'found %', 'floor %', 'why the floor is lower'],
      forms
        .filter(isMeasured)
        .map((form) => [
          nameOf(form),
          form.ways,
          form.names,
          percent(form.found, form.names),
          form.floor,
          form.reason ?? '',
        ]),
    ),
    ...(unmeasured.length === 0
      ? []
      : [`The lists have fewer than ${namesForAFormMin} names for: ${unmeasured.map(nameOf).join('; ')}.`]),
    '## False hits',
    'The commonest given and family names of thirty countries, crossed and drawn by the seed. By name: payers, owners of companies and payees without an address, of whom screening knows nothing else. With address: a payee whose address and account are in the country. With second datum: a customer who is a national of the country and born in a year that is drawn between 1945 and 2006.',
    table(
      ['country', 'names', 'by name %', 'with address %', 'with second datum %', 'examples'],
      countries.map((one) => [
        one.country,
        one.names,
        percent(one.byName, one.names),
        percent(one.withAddress, one.names),
        `${percent(one.withSecondDatum, one.names)}${isAboveFalseHits(one) ? ' (above)' : ''}`,
        one.examples.join('; '),
      ]),
    ),
    '## Second datum',
    rules[settings.secondDatum],
    `- A word is common if its weight on the lists is at most ${commonWeightMax} of 100, or if it is one of the commonest names of the thirty countries. A rare word makes a hit whatever else is known.\n- Years of birth contradict if they are more than ${yearsApartMax} apart (${circaYearsApartMax} if the list says that its date is approximate) from each date that the list gives. If the name is not whole, a day contradicts a day if two of year, month and day differ.\n- What one side does not know contradicts nothing. An equal number of a document leaves the hit; an equal day of birth leaves it whatever the countries are.\n- Of payees, the address and the account decide as a nationality does, if neither is in a country of the entry. Without an address nothing is excluded: the country of an account does not say who holds it.\n- Countries of the entry are those of nationality, birth, addresses and issued documents.\n- Only persons are excluded, never organisations. Each exclusion is kept with its reason: \`operator screening excluded\`.`,
    report.exclusions.length === 0
      ? 'No match is excluded at present.'
      : table(
          ['list', 'reason', 'matches'],
          report.exclusions.map(({ source, reason, count }) => [source, reason, count]),
        ),
    '## Hits',
    report.hits.length === 0
      ? 'No hit was opened.'
      : table(
          ['opened in', 'status', 'hits'],
          report.hits.map(({ month, status, count }) => [month, status, count]),
        ),
    '## What this report does not show',
    '- Names in Arabic letters, Chinese or Korean characters are searched, and not measured here, except Cyrillic spellings.\n- Names of one word, and names with numbers or brackets, have no forms.\n- Lists of politically exposed persons are shown above and not measured.\n- The drawn customers are invented: real customers of a country have other years of birth.',
  ]
  return `${sections.join('\n\n')}\n`
}

const nameOf = ({ group, form }: MeasuredForm): string => (group === form ? form : `${group}: ${form}`)

function listsTable({ lists }: Report): string {
  const rows = lists.map((list) => [
    list.source,
    minute(list.publishedAt),
    minute(list.loadedAt),
    list.loadedBy,
    list.entries,
    list.names,
    `${list.births} / ${list.countries} / ${list.documents} of ${list.persons}`,
    list.hash.slice(0, 16),
  ])
  const head = [
    'list',
    'published',
    'loaded',
    'by',
    'entries',
    'names',
    'persons with birth / country / document',
    'SHA-256',
  ]
  const old = lists.filter(({ withoutFacts }) => withoutFacts > 0)
  const warning = old.map(
    ({ source, withoutFacts }) =>
      `${withoutFacts} entries of ${source} were read by a version that kept no countries and documents: load the list again.`,
  )
  return [table(head, rows), ...warning].join('\n\n')
}

function ruleCounts(rules: readonly CountryRule[]): string {
  const sides = [...Map.groupBy(rules, ({ side, action }) => `${action} for ${side}`)]
  return sides.length === 0
    ? 'none'
    : sides.map(([said, all]) => `${said}: ${all.map(({ country }) => country).join(' ')}`).join('; ')
}

function groupRows(forms: readonly MeasuredForm[]) {
  return [...Map.groupBy(forms.filter(isMeasured), ({ group }) => group)].map(([group, all]) => {
    const [names, found] = [
      all.reduce((sum, form) => sum + form.names, 0),
      all.reduce((sum, form) => sum + form.found, 0),
    ]
    const lowest = all.toSorted((one, other) => one.found / one.names - other.found / other.names)[0]
    const worst = lowest === undefined ? '-' : `${percent(lowest.found, lowest.names)} (${lowest.form})`
    return [group, all[0]?.ways ?? 1, all.length, names, percent(found, names), worst]
  })
}

// Measurements by a seed: how many listed names the search finds in each form, and how many common names are false hits.

export type MeasuredForm = {
  readonly group: FormGroup
  readonly form: string
  readonly ways: 1 | 2
  /** Number of names that were written in the form. */
  readonly names: number
  readonly found: number
  /** Percentage that must be found. */
  readonly floor: number
  readonly reason: string | null
  /** Examples that were not found, as written. */
  readonly missed: readonly string[]
}

export type MeasuredCountry = {
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly names: number
  /** Number of names that are hits by the name alone, as for payers, owners and payees without an address. */
  readonly byName: number
  /** Number of names that are hits for a payee whose address and account are in the country. */
  readonly withAddress: number
  /** Number of names that are hits for a customer who is a national of the country and was born in a drawn year. */
  readonly withSecondDatum: number
  readonly examples: readonly string[]
}

/** `said` receives the progress of the measurement, in one line. */
type MeasurementOptions = { readonly seed: number; readonly said: (line: string) => void }
type Search<Entry> = NameIndex<Entry>['search']

const examplesMax = 3
/** Minimum number of names on the loaded lists to compare a form with its floor. */
const namesForAFormMin = 5

export function measureForms<Entry>(
  search: Search<Entry>,
  names: readonly CorpusName<Entry>[],
  { seed, said, variantsMax }: MeasurementOptions & { readonly variantsMax: number },
): readonly MeasuredForm[] {
  const usable = namesWithForms(names)
  return forms.map((form, at) => {
    const variants = writeVariants(form, usable, seed, variantsMax)
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

/** Years of birth of adults. */
const [bornFirst, bornLast] = [1945, 2006]

export function measureCountries<Entry extends ListedPerson>(
  search: Search<Entry>,
  rule: SecondDatumRule,
  { seed, said, namesMax }: MeasurementOptions & { readonly namesMax: number },
): readonly MeasuredCountry[] {
  return countriesWithNames.map((country, at) => {
    const random = createRandom(mixSeed(`born in ${country}`, seed))
    const names = commonNames(country, seed, namesMax)
    const hits = names.flatMap((name) => {
      const year = bornFirst + Math.floor(random() * (bornLast - bornFirst + 1))
      const known: SecondData = { births: [`${year}-06-15`], countries: [country], documents: [] }
      const matches = search(name, scoreMin)
      const standing = (data: SecondData) => matches.filter((match) => findExclusion(rule, match, data) === undefined)
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
