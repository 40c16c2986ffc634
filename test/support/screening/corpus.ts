/** A list of invented persons and companies, for tests and measurements without published lists. By a seed. */
import { commonNames, countriesWithNames } from '../../../service/src/screening/corpus/common-names.ts'
import { type CorpusName, createRandom, pick, type Random } from '../../../service/src/screening/corpus/forms.ts'
import type { ListEntry } from '../../../service/src/screening/lists/entry.ts'
import { namesToCompare } from '../../../service/src/screening/lists.ts'

export { createRandom, type Random }

/** Invented family names: the beginning of a common name, and endings of other languages. */
const endings =
  'anov chenko zadeh pour inov itsky oglu akov yani wan ashvili arian uddin eiro ovsky inho atov eddine ulov imbe'.split(
    ' ',
  )
const trades = 'Shipping Trading Petroleum Logistics Mining Holding Electronics Aviation Metals Chemicals'.split(' ')
const forms = ['Ltd', 'LLC', 'GmbH', 'JSC', 'FZE', 'S.A.', 'Co., Ltd.', 'OOO']

export type InventedEntry = ListEntry & { readonly names: readonly [ListEntry['names'][number]] }

/** Draws at least `count` different names. A third of the persons has two given names. */
export function inventedList(seed: number, count: number): readonly InventedEntry[] {
  const random = createRandom(seed)
  const people = countriesWithNames.flatMap((country) =>
    commonNames(country, seed, 450).map((name): readonly [string, string] => {
      const [first = '', last = ''] = name.split(' ')
      return [first, last]
    }),
  )
  const family = () => {
    const [, last] = pick(random, people)
    return `${last.slice(0, 3 + Math.floor(random() * 3))}${pick(random, endings)}`.replaceAll(/[^\p{L}]/gu, '')
  }
  const given = () => pick(random, people)[0]
  const names = new Map<string, ListEntry['kind']>()
  while (names.size < count) {
    if (random() < 0.15) names.set(`${family()} ${pick(random, trades)} ${pick(random, forms)}`, 'organisation')
    else names.set([given(), ...(random() < 1 / 3 ? [given()] : []), family()].join(' '), 'person')
  }
  return [...names].map(([text, kind], at) => ({
    id: String(at),
    reference: String(at),
    kind,
    names: [{ text, quality: 'primary' }],
    births: kind === 'person' ? [String(1945 + (at % 60))] : [],
    programmes: [],
    countries: [],
    documents: [],
    addresses: [],
  }))
}

/** The names of entries as the corpus takes them. */
export const corpusNames = <Entry extends ListEntry>(entries: readonly Entry[]): readonly CorpusName<Entry>[] =>
  entries.flatMap((entry) => namesToCompare(entry).map(({ text }) => ({ entry, kind: entry.kind, text })))
