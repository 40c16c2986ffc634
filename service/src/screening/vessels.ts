/**
 * Pure: finds listed vessels and aircraft in the texts of payments. An IMO number counts after the letters IMO and with a valid check digit. A
 * name counts only next to a word for a vessel, because names such as ORIENTAL occur in many texts.
 */
import anyAscii from 'any-ascii'
import { type Craft, isImoNumber, type ListedName } from './lists/entry.ts'

/** A listed vessel or aircraft in a text. `said`: the words of the text. `score`: 100 for a number, less for a name. */
export type CraftMatch<Entry> = {
  readonly entry: Entry
  readonly said: string
  readonly listed: string
  readonly score: number
}
export type CraftIndex<Entry> = (text: string) => readonly CraftMatch<Entry>[]

/** The score of a name, so low that one person can decide, because another vessel may have the same name. */
const nameScore = 90

const vesselWords = [
  ...['mv', 'mt', 'vessel', 'vessels', 'ship', 'ships', 'tanker', 'tankers', 'freighter', 'motorship', 'steamship'],
  ...['schiff', 'motorschiff', 'tankschiff', 'frachter', 'frachtschiff', 'navire', 'petrolier', 'buque', 'motonave'],
]
const aircraftWords = ['aircraft', 'airplane', 'aeroplane', 'flugzeug', 'avion', 'tail']
const words = {
  vessel: new Set(vesselWords),
  aircraft: new Set(aircraftWords),
} as const satisfies Record<Craft['kind'], ReadonlySet<string>>
/** Words between the word for a vessel and the name: `vessel name: ORIENTAL`, `ship called the DENA`. */
const fillers = new Set([
  'name',
  'named',
  'names',
  'called',
  'no',
  'number',
  's',
  'is',
  'the',
  'motor',
  'oil',
  'registration',
])
const fillersMax = 3

/** Matches texts that may name a vessel or an aircraft, in one pass, because most texts do not. */
const candidate = new RegExp(
  `(?<![a-z])(?:imo(?:no|nr|number)?|m[./]\\s?[vt]|${[...vesselWords, 'p\u00e9trolier', ...aircraftWords].join('|')})(?![a-z])`,
  'i',
)
const imoNumbers = /(?<![a-z])imo[\s-]*(?:number|no|nr)?[\s.:#/-]*(\d{7})(?!\d)/g
const namesShort = 3

/** Selects the texts that may name a vessel or an aircraft, or that `also` selects, without duplicates, each in its own line. Null: none. */
export function craftText(
  texts: readonly (string | null | undefined)[],
  also: (text: string) => boolean = () => false,
): string | null {
  const found = texts.flatMap((text) =>
    text !== null && text !== undefined && (candidate.test(text) || also(text)) ? [text.replaceAll(/\s+/g, ' ')] : [],
  )
  return found.length === 0 ? null : [...new Set(found)].join('\n')
}

const wordsIn = (text: string): readonly string[] =>
  anyAscii(text)
    .toLowerCase()
    .replaceAll(/\bm[./]\s?([vt])\b\.?/g, 'm$1 ')
    .replaceAll(/['\u2019](?=s\b)/g, ' ')
    .match(/[a-z0-9]+/g) ?? []

type NamedCraft<Entry> = { readonly entry: Entry; readonly kind: Craft['kind']; readonly listed: string }
export type IndexedCraft<Entry> = {
  readonly entry: Entry
  readonly craft: Craft
  readonly names: readonly ListedName[]
}

/** Creates the search in texts. Names are compared without spaces: `ARGO I` equals `ARGOI`. */
export function createCraftIndex<Entry>(crafts: readonly IndexedCraft<Entry>[]): CraftIndex<Entry> {
  const byNumber = new Map<string, NamedCraft<Entry>[]>()
  const byName = new Map<string, NamedCraft<Entry>[]>()
  let wordsMax = 0
  for (const { entry, craft, names } of crafts) {
    for (const number of craft.imoNumbers) add(byNumber, number, { entry, kind: craft.kind, listed: `IMO ${number}` })
    for (const { text, quality } of names) {
      const parts = wordsIn(text)
      const key = parts.join('')
      if (key.length < namesShort || /^\d+$/.test(key) || (quality === 'weak' && parts.length === 1)) continue
      wordsMax = Math.max(wordsMax, parts.length)
      add(byName, key, { entry, kind: craft.kind, listed: text })
    }
  }
  return (text) => {
    if (!candidate.test(text)) return []
    const found = [...numbersIn(text, byNumber), ...namesIn(wordsIn(text), byName, wordsMax)]
    // A number outweighs the name of the same vessel.
    return [...new Map(found.toReversed().map((match) => [match.entry, match])).values()].toReversed()
  }
}

function add<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key)
  if (values === undefined) map.set(key, [value])
  else values.push(value)
}

function numbersIn<Entry>(
  text: string,
  byNumber: ReadonlyMap<string, readonly NamedCraft<Entry>[]>,
): readonly CraftMatch<Entry>[] {
  return [...text.normalize('NFKC').toLowerCase().matchAll(imoNumbers)].flatMap(([said, number = '']) =>
    isImoNumber(number)
      ? (byNumber.get(number) ?? []).map(({ entry, listed }) => ({ entry, said, listed, score: 100 }))
      : [],
  )
}

function namesIn<Entry>(
  all: readonly string[],
  byName: ReadonlyMap<string, readonly NamedCraft<Entry>[]>,
  wordsMax: number,
): readonly CraftMatch<Entry>[] {
  const matches = (from: number, to: number, kind: Craft['kind']) =>
    from < 0 || to > all.length
      ? []
      : (byName.get(all.slice(from, to).join('')) ?? [])
          .filter((named) => named.kind === kind)
          .map(({ entry, listed }) => ({ entry, said: all.slice(from, to).join(' '), listed, score: nameScore }))
  return all.flatMap((word, at) =>
    (['vessel', 'aircraft'] as const).flatMap((kind) => {
      if (!words[kind].has(word)) return []
      const begin = behindFillers(all, at + 1)
      const lengths = Array.from({ length: wordsMax }, (_none, index) => index + 1)
      return lengths.flatMap((length) => [
        ...matches(begin, begin + length, kind),
        ...(begin === at + 1 ? [] : matches(at + 1, at + 1 + length, kind)),
        ...matches(at - length, at, kind),
      ])
    }),
  )
}

function behindFillers(all: readonly string[], from: number): number {
  let at = from
  while (at < from + fillersMax && fillers.has(all[at] ?? '')) at += 1
  return at
}
