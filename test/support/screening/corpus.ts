/**
 * Names of a list, the same names as people write them otherwise, and ordinary names: all made by stated rules from stated lists
 * (names.ts), by a seed. Rules:
 *
 * - `misspelt`: one edit in a word of five letters or more (a letter left out, doubled, exchanged with its neighbour or replaced by its
 *   neighbour on the keyboard); in names of three words, two words in three of ten.
 * - `transliterated`: one to three replacements of one romanisation by another, of a company in its own name; a third of the Russian names in Cyrillic letters.
 * - `reordered`: the last word first, with a comma, or the words rotated.
 * - An ordinary name is made of the names of one culture. One in ten has a culture of the list. One in twenty is a company. A name with
 *   exactly the words of a listed name is the same name, and is made again.
 */
import { companyForms, companyNames, companyTrades, type Culture, listed, ordinary } from './names.ts'

export type Random = () => number

/** mulberry32: the same numbers for a seed on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function pick<T>(random: Random, from: readonly T[]): T {
  const chosen = from[Math.floor(random() * from.length)]
  if (chosen === undefined) throw new Error('a list of names has names')
  return chosen
}

export type MadeName = { readonly text: string; readonly culture: string; readonly isPerson: boolean }

/** By the shares of the cultures. */
function pickCulture(random: Random, cultures: Readonly<Record<string, Culture>>): readonly [string, Culture] {
  const all = Object.entries(cultures)
  let left = random() * all.reduce((sum, [, { share }]) => sum + share, 0)
  return all.find(([, { share }]) => (left -= share) < 0) ?? pick(random, all)
}

function person(random: Random, name: string, { given, family, secondGivenShare, isFamilyFirst }: Culture): MadeName {
  const first = pick(random, given)
  const second = random() < secondGivenShare ? [pick(random, given)] : []
  const words = [first, ...second.filter((word) => word !== first)]
  const last = pick(random, family)
  return { text: (isFamilyFirst ? [last, ...words] : [...words, last]).join(' '), culture: name, isPerson: true }
}

const company = (random: Random): MadeName => ({
  text: `${pick(random, companyNames)} ${pick(random, companyTrades)} ${pick(random, companyForms)}`,
  culture: 'company',
  isPerson: false,
})

const keyOf = (text: string) =>
  text
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .toSorted()
    .join(' ')

export function listedNames(random: Random, count: number): readonly MadeName[] {
  const found = new Map<string, MadeName>()
  while (found.size < count) {
    const made = random() < 0.15 ? company(random) : person(random, ...pickCulture(random, listed))
    if (!found.has(keyOf(made.text))) found.set(keyOf(made.text), made)
  }
  return [...found.values()]
}

export function ordinaryNames(random: Random, count: number, names: readonly MadeName[]): readonly string[] {
  const taken = new Set(names.map(({ text }) => keyOf(text)))
  const found: string[] = []
  while (found.length < count) {
    const chosen = random()
    const { text } =
      chosen < 0.1
        ? person(random, ...pickCulture(random, listed))
        : chosen < 0.15
          ? ordinaryCompany(random)
          : person(random, ...pickCulture(random, ordinary))
    if (!taken.has(keyOf(text))) found.push(text)
  }
  return found
}

function ordinaryCompany(random: Random): MadeName {
  const { family } = pick(random, Object.values(ordinary))
  return { text: `${pick(random, family)} ${pick(random, companyTrades)} GmbH`, culture: 'company', isPerson: false }
}

const keyboard = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']
const neighbourOf = (letter: string): string => {
  const row = keyboard.find((each) => each.includes(letter)) ?? ''
  const at = row.indexOf(letter)
  return row[at + 1] ?? row[at - 1] ?? letter
}

function misspeltWord(random: Random, word: string): string {
  const at = 1 + Math.floor(random() * (word.length - 2))
  const [letter = '', next = ''] = [word[at], word[at + 1]]
  const [before, behind] = [word.slice(0, at), word.slice(at + 1)]
  return pick(random, [
    before + behind,
    before + letter + letter + behind,
    before + next + letter + word.slice(at + 2),
    before + neighbourOf(letter) + behind,
  ])
}

function misspelt(random: Random, { text, isPerson }: MadeName): string {
  const words = text.split(' ')
  const long = words.flatMap((word, at) => (word.length >= 5 && (isPerson || at === 0) ? [at] : []))
  const chosen = new Set([pick(random, long)])
  if (words.length > 2 && random() < 0.3) chosen.add(pick(random, long))
  return words.map((word, at) => (chosen.has(at) ? misspeltWord(random, word) : word)).join(' ')
}

const romanisations: readonly (readonly [RegExp, string])[] = [
  [/Mohammed/, 'Muhammad'],
  [/Mohammed/, 'Mohamed'],
  [/Yusuf/, 'Youssef'],
  [/Hussein/, 'Husayn'],
  [/Aleksandr/, 'Alexander'],
  [/Aleksei/, 'Alexey'],
  [/Yevgeny/, 'Evgenii'],
  [/Yelena/, 'Elena'],
  [/Dmitry/, 'Dmitriy'],
  [/Sergei/, 'Sergey'],
  [/al-/, 'El '],
  [/al-/, 'Al'],
  [/Abdul/, 'Abdel '],
  [/kh/, 'h'],
  [/kh/, 'ch'],
  [/ei/, 'ey'],
  [/ov$/, 'off'],
  [/sh/, 'sch'],
  [/ch/, 'tch'],
  [/ou/, 'u'],
  [/(?<=[a-z])u(?=[a-z])/, 'ou'],
  [/q/i, 'k'],
  [/j(?=[aeiou])/, 'dj'],
  [/ks/, 'x'],
  [/w(?=[aeiou])/, 'v'],
  [/ah$/, 'a'],
  [/mm/, 'm'],
  [/ss/, 's'],
  [/zadeh/, 'zade'],
  [/y$/, 'i'],
  [/i$/, 'y'],
  [/(?<=[a-z])i(?=[a-z])/, 'ee'],
  [/ky$/, 'kiy'],
  [/ph/, 'f'],
  [/o(?=[a-z])/, 'u'],
  [/e(?=[a-z])/, 'i'],
]

const cyrillic: Readonly<Record<string, string>> = {
  ...{ shch: 'щ', zh: 'ж', kh: 'х', ts: 'ц', ch: 'ч', sh: 'ш', yu: 'ю', ya: 'я', ye: 'е', yo: 'ё', ky: 'кий' },
  ...Object.fromEntries(
    Array.from('abvgdeziklmnoprstufyj', (letter, at) => [letter, 'абвгдезиклмнопрстуфый'[at] ?? '']),
  ),
}

function inCyrillic(text: string): string {
  return text
    .toLowerCase()
    .replace(/shch|zh|kh|ts|ch|sh|yu|ya|ye|yo|ky\b|[a-z]/g, (letters) => cyrillic[letters] ?? letters)
    .replace(/(?<=^|\s)\p{L}/gu, (letter) => letter.toUpperCase())
}

function transliterated(random: Random, { text, culture, isPerson }: MadeName): string {
  if (culture === 'russian' && random() < 1 / 3) return inCyrillic(text)
  const words = text.split(' ')
  const wanted = 1 + Math.floor(random() * 3)
  for (let made = 0, tries = 0; made < wanted && tries < 200; tries += 1) {
    const at = isPerson ? Math.floor(random() * words.length) : 0
    const [pattern, replacement] = pick(random, romanisations)
    const word = words[at] ?? ''
    if (!pattern.test(word)) continue
    words[at] = word.replace(pattern, replacement)
    made += 1
  }
  return words.join(' ')
}

function reordered(random: Random, text: string): string {
  const words = text.split(' ')
  if (random() < 0.5) return `${words.at(-1)}, ${words.slice(0, -1).join(' ')}`
  const by = 1 + Math.floor(random() * (words.length - 1))
  return [...words.slice(by), ...words.slice(0, by)].join(' ')
}

export type Variant = { readonly kind: string; readonly text: string; readonly of: MadeName }

/** What the aim speaks of. */
const kinds: Readonly<Record<string, (random: Random, name: MadeName) => string>> = {
  misspelt,
  transliterated,
  reordered: (random, { text }) => reordered(random, text),
  'misspelt and reordered': (random, name) => reordered(random, misspelt(random, name)),
  'transliterated and reordered': (random, name) => reordered(random, transliterated(random, name)),
}

/** Written as `kinds` say, in turn. What is misspelt has a word of five letters or more. */
export function variantsOf(random: Random, names: readonly MadeName[], count: number): readonly Variant[] {
  const isLong = (word: string) => word.length >= 5
  const usable = names.filter(({ text, isPerson }) =>
    text.split(' ').some((word, at) => isLong(word) && (isPerson || at === 0)),
  )
  const makers = Object.entries(kinds)
  return Array.from({ length: count }, (_, at) => {
    const [kind, make] = makers[at % makers.length] ?? ['misspelt', misspelt]
    const of = pick(random, kind.startsWith('misspelt') ? usable : names)
    return { kind, of, text: make(random, of) }
  })
}
