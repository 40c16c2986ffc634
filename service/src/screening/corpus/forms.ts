/**
 * Pure: the forms in which people write a listed name. A form changes a name in one or two ways, and states the percentage of such names that
 * the search must find. A seed determines the changes, so that each list has its own corpus.
 */
import type { EntryKind } from '../lists/entry.ts'
import { nameWords } from '../names/words.ts'

export type Random = () => number

/** Creates a generator (mulberry32) that returns the same numbers for a seed on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Picks an element. The caller passes at least one. */
export function pick<T>(random: Random, from: readonly T[]): T {
  const chosen = from[Math.floor(random() * from.length)]
  if (chosen === undefined) throw new Error('nothing to pick from')
  return chosen
}

/** The groups of forms in the report. */
export type FormGroup =
  | 'as listed'
  | 'form of address'
  | 'account word'
  | 'place or year'
  | 'joint names'
  | 'added name'
  | 'order'
  | 'left out'
  | 'typing error'
  | 'transliteration'
  | 'joined or hyphenated'
  | 'initial'
  | 'case'
  | 'legal form'
  | 'two ways'

type Words = readonly string[]
/** Writes the words in a form. Undefined: the form does not apply to this name. */
type Write = (words: Words, random: Random, kind: EntryKind) => Words | undefined

export type Form = {
  readonly name: string
  readonly group: FormGroup
  readonly ways: 1 | 2
  readonly kinds: readonly EntryKind[]
  /** Percentage of the names that must be found. */
  readonly floor: number
  /** Explains why the floor is lower than that of other forms with the same number of changes. */
  readonly reason?: string
  readonly write: Write
}

/** The floor of names with one and with two changes, in percent. */
const floors = { 1: 97, 2: 90 } as const
const persons = ['person'] as const
const companies = ['organisation'] as const
const both = ['person', 'organisation'] as const

const form = (
  group: FormGroup,
  name: string,
  kinds: readonly EntryKind[],
  write: Write,
  lower?: { readonly floor: number; readonly reason: string },
): Form => ({ name, group, ways: 1, kinds, floor: floors[1], write, ...lower })

const X = '*'
/** Replaces the asterisk with the words of the name. */
const around = (pattern: string): Write => {
  const parts = pattern.split(' ')
  return (words) => parts.flatMap((part) => (part === X ? words : [part]))
}
const patterns = (group: FormGroup, kinds: readonly EntryKind[], all: readonly string[]): readonly Form[] =>
  all.map((pattern) => form(group, pattern.replace(X, 'NAME'), kinds, around(pattern)))

/** Words of at least five letters, in which typing errors are made. */
const longWord = /^[\p{Script=Latin}]{5,}$/u
const letters = 'abcdefghijklmnopqrstuvwxyz'

type Edit = (word: string, at: number, random: Random) => string
/** Returns a different letter in the same case. */
const other = (letter: string | undefined, random: Random): string => {
  const lower = letter?.toLowerCase() ?? ''
  const chosen = pick(
    random,
    Array.from(letters).filter((each) => each !== lower),
  )
  return letter === lower ? chosen : chosen.toUpperCase()
}
const edits: Readonly<Record<string, Edit>> = {
  'a letter more': (word, at, random) => word.slice(0, at) + other(word[at], random) + word.slice(at),
  'a letter less': (word, at) => word.slice(0, at) + word.slice(at + 1),
  'another letter': (word, at, random) => word.slice(0, at) + other(word[at], random) + word.slice(at + 1),
  'letters exchanged': (word, at) => {
    const from = Math.min(at, word.length - 2)
    return word.slice(0, from) + (word[from + 1] ?? '') + (word[from] ?? '') + word.slice(from + 2)
  },
}
const places: Readonly<Record<string, (word: string, random: Random) => number>> = {
  'first letter': () => 0,
  middle: (word, random) => 1 + Math.floor(random() * (word.length - 2)),
  'last letter': (word) => word.length - 1,
}

/** Changes one word that passes `isUsable`. Undefined: no word passes, or nothing would change. */
const inOneWord =
  (isUsable: (word: string, at: number) => boolean, change: (word: string, random: Random) => string): Write =>
  (words, random) => {
    const usable = words.flatMap((word, at) => (isUsable(word, at) ? [at] : []))
    if (usable.length === 0) return undefined
    const chosen = pick(random, usable)
    const changed = words.map((word, at) => (at === chosen ? change(word, random) : word))
    return changed[chosen] === words[chosen] ? undefined : changed
  }

const typingErrors: readonly Form[] = Object.entries(edits).flatMap(([edit, change]) =>
  Object.entries(places).map(([place, placeOf]) =>
    form(
      'typing error',
      `${edit}, ${place}`,
      both,
      inOneWord(
        (word) => longWord.test(word) && !isLegalWord(word),
        (word, random) => change(word, placeOf(word, random), random),
      ),
    ),
  ),
)

/** Romanisations of the same sound, each written in place of the other. */
const sounds: readonly (readonly [pattern: RegExp, written: string])[] = [
  [/^moham+[ae]d$/i, 'Muhammad'],
  [/^muham+[ae]d$/i, 'Mohamed'],
  [/^y[ou]+s+[ue]f$/i, 'Youssef'],
  [/^huss?[ae][iy]n$/i, 'Hossein'],
  [/^aleksandr$/i, 'Alexander'],
  [/^alekse[iy]$/i, 'Alexey'],
  [/^yevgeniy?$/i, 'Evgenii'],
  [/^abdul(?=.)/i, 'Abdel'],
  [/ks/i, 'x'],
  [/(?<=.)kh/i, 'h'],
  [/ou/i, 'u'],
  [/(?<=[a-z])oo(?=[a-z])/i, 'u'],
  [/(?<=[a-z])ee(?=[a-z])/i, 'i'],
  [/q/i, 'k'],
  [/j(?=[aeiou])/i, 'dj'],
  [/w(?=[aeiou])/i, 'v'],
  [/ah$/i, 'a'],
  [/mm/i, 'm'],
  [/ss/i, 's'],
  [/zadeh$/i, 'zade'],
  [/ov$/i, 'off'],
  [/ev$/i, 'eff'],
  [/sky$/i, 'skiy'],
  [/iy$/i, 'y'],
  [/ei$/i, 'ey'],
  [/ph/i, 'f'],
  [/shch/i, 'sch'],
  [/(?<=[a-z])sh/i, 'sch'],
  [/zh/i, 'j'],
  [/ts/i, 'tz'],
  [/y(?=[aeou])/i, 'i'],
  [/dh/i, 'd'],
  [/th/i, 't'],
]
const otherSound: Write = (words, random) => {
  const possible = words.flatMap((word, at) =>
    word.length < 4
      ? []
      : sounds.flatMap(([pattern, written]) => (pattern.test(word) ? [{ at, pattern, written }] : [])),
  )
  if (possible.length === 0) return undefined
  const { at: chosen, pattern, written } = pick(random, possible)
  return words.map((word, at) => (at === chosen ? word.replace(pattern, written) : word))
}

const cyrillicLetters: Readonly<Record<string, string>> = {
  ...{ shch: 'щ', zh: 'ж', kh: 'х', ts: 'ц', ch: 'ч', sh: 'ш', yu: 'ю', ya: 'я', ye: 'е', yo: 'ё' },
  ...{ iy: 'ий', yy: 'ый', ey: 'ей', ay: 'ай', oy: 'ой', uy: 'уй' },
  ...Object.fromEntries(Array.from('abvgdeziklmnoprstufy', (letter, at) => [letter, 'абвгдезиклмнопрстуфы'[at] ?? ''])),
}
/** Endings of Russian, Belarusian and Ukrainian names. Only such words are written in Cyrillic. */
const slavic = /(?:ov|ev|in|ova|eva|ina|sky|skiy|skaya|enko|ovich|evich|ovna|evna)$/i
const inCyrillic: Write = (words) =>
  words.filter((word) => slavic.test(word)).length >= 2 && words.every((word) => /^[A-Za-z]+$/.test(word))
    ? words.map((word) => {
        const written = word
          .toLowerCase()
          .replace(/shch|zh|kh|ts|ch|sh|yu|ya|ye|yo|[iyeaou]y\b|[a-z]/g, (each) => cyrillicLetters[each] ?? each)
        return written.slice(0, 1).toUpperCase() + written.slice(1)
      })
    : undefined
/** German, Scandinavian and Polish letters without their diacritics, and the reverse: `ae` for `ä`. */
const signs: readonly (readonly [pattern: RegExp, written: string])[] = [
  [/ae/i, 'ä'],
  [/oe/i, 'ö'],
  [/ue(?=[^aeiou])/i, 'ü'],
  [/c(?=i|e)/i, 'ć'],
  [/n(?=a|o)/i, 'ñ'],
  [/a/i, 'á'],
  [/o/i, 'ø'],
  [/e/i, 'é'],
]
const otherSign = inOneWord(
  (word) => longWord.test(word) && signs.some(([pattern]) => pattern.test(word)),
  (word, random) => {
    const [pattern, written] = pick(
      random,
      signs.filter(([each]) => each.test(word)),
    )
    return word.replace(pattern, written)
  },
)

const swapped: Write = (words) => [...words.slice(-1), ...words.slice(0, -1)]
const withComma: Write = (words) => [`${words.at(-1)},`, ...words.slice(0, -1)]
type Place = (words: Words, random: Random) => number
/** Leaves a word out. `isEnough`: two or more identifying words remain. */
const without =
  (place: Place, isEnough = true): Write =>
  (words, random) => {
    if (words.length < 3) return undefined
    const left = words.toSpliced(place(words, random), 1)
    return isIdentifying(left) === isEnough ? left : undefined
  }
const isIdentifying = (words: Words): boolean =>
  nameWords(words.join(' ')).telling.filter((word) => word.length > 1).length >= 2
const inMiddle: Place = (words, random) => 1 + Math.floor(random() * (words.length - 2))
const anywhere: Place = (words, random) => Math.floor(random() * words.length)
const atFirst: Place = () => 0
const atLast: Place = (words) => words.length - 1

const joinedAt = (at: number, sign: string, words: Words): Words =>
  words.toSpliced(at, 2, `${words[at]}${sign}${words[at + 1] ?? ''}`)
const isPlain = (word: string | undefined): boolean => /^\p{L}{2,}$/u.test(word ?? '')

/** Names of people with whom a listed person shares an account, and names taken by marriage. */
const others = {
  given: 'Anna Maria Peter Thomas Julia Sofia Lukas Marie Elena Paul Katarzyna Laura Jan Emma Martin'.split(' '),
  family: 'Schneider Fischer Dubois Kowalska Novak Rossi Jensen Schmidt Moreau Lindqvist Becker Horvath Wagner'.split(
    ' ',
  ),
}
const anyGiven = (random: Random) => pick(random, others.given)
const anyFamily = (random: Random) => pick(random, others.family)

/** Legal forms by country, from the list of GLEIF (ISO 20275). The report has a line for each. */
const legalFormsSaid = [
  'GmbH|mbH|UG (haftungsbeschränkt)|AG|KG|OHG|e.K.|GbR|GmbH & Co. KG|e.V.',
  'Sp. z o.o.|Sp. k.|Sp. j.|s.r.o.|a.s.|Kft|Zrt|Nyrt|Bt|d.o.o.|d.d.|SIA|UAB|AB|OÜ|AS|EOOD|OOD|AD|SRL',
  'SARL|EURL|SAS|SASU|SA|SCI|S.à r.l.|BV|B.V.|N.V.|VOF|S.L.|S.L.U.|S.A.|Lda|Unipessoal Lda|S.r.l.|S.p.A.|S.a.s.',
  'Ltd|Limited|PLC|LLP|DAC|ApS|A/S|Oy|Oyj|ASA|EPE|IKE|A.Ş.|Ltd. Şti.|OOO|AO|PAO|ZAO|TOV|PrAT|Sh.p.k.',
  'LLC|Inc.|Corp.|L.P.|FZ-LLC|FZE|FZCO|DMCC|W.L.L.|Pvt Ltd|Sdn Bhd|Pte Ltd|Pty Ltd|Co., Ltd.|K.K.|Ltda|S/A|S.A. de C.V.|PT',
]
  .join('|')
  .split('|')
const legalWords = new Set(legalFormsSaid.flatMap((said) => said.split(' ')).map(plainWord))
const moreLegalWords = new Set(
  'company corporation incorporated limited group holding holdings fzc llp jsc pjsc ojsc the and of'.split(' '),
)
function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/[^\p{L}]/gu, '')
}
const isLegalWord = (word: string): boolean => legalWords.has(plainWord(word)) || moreLegalWords.has(plainWord(word))

/** Removes the legal form at the end of the name. Undefined: the rest does not identify the company. */
function bareCompany(words: Words): Words | undefined {
  const last = words.findLastIndex((word) => !isLegalWord(word))
  const bare = words.slice(0, last + 1).map((word, at) => (at === last ? word.replace(/,$/, '') : word))
  return bare.filter((word) => isPlain(word) && !isLegalWord(word)).length < 2 ? undefined : bare
}

const decorated: readonly Form[] = [
  ...patterns('form of address', persons, [
    ...[
      'Herr *',
      'Frau *',
      'Herrn *',
      'Monsieur *',
      'Madame *',
      'Señor *',
      'Señora *',
      'Signor *',
      'Mr *',
      'Mrs. *',
      'Dhr. *',
    ],
    ...[
      'Dott. *',
      'Dr. *',
      'Prof. Dr. *',
      'Dipl.-Ing. *',
      'Ing. *',
      'Mag. *',
      'Pan *',
      'Pani *',
      'Sr. *',
      'Sra. *',
      'Don *',
      'Hr. *',
    ],
    ...['* jun.', '* MBA', '* e.K.', 'IP *', 'Gospodin *', 'Familie *', 'Eheleute *', 'Erben *'],
  ]),
  ...patterns('account word', both, [
    'c/o *',
    '* c/o',
    '* Konto',
    '* account',
    'Konto *',
    'z. Hd. *',
    'attn. *',
    'a/c *',
    '* IBAN',
  ]),
  ...patterns('place or year', both, [
    '* 2026',
    '* Berlin',
    '* London',
    '* Paris',
    '* Moscow',
    'Berlin *',
    '* 10115 Berlin',
    '* Germany',
  ]),
  ...patterns('account word', companies, ['Firma *', 'Fa. *', 'Company *', '* Filiale']),
]

const joint: readonly Form[] = [
  form('joint names', 'NAME und Anna', persons, (words, random) => [...words, 'und', anyGiven(random)]),
  form('joint names', 'Anna und NAME', persons, (words, random) => [anyGiven(random), 'und', ...words]),
  ...['und', 'oder', '&', '/', 'et', 'and', 'i', 'y', 'ou', 'o'].flatMap((sign) => [
    form('joint names', `NAME ${sign} Anna Fischer`, persons, (words, random) => [
      ...words,
      sign,
      anyGiven(random),
      anyFamily(random),
    ]),
  ]),
  form('joint names', 'Anna Fischer oder NAME', persons, (words, random) => [
    anyGiven(random),
    anyFamily(random),
    'oder',
    ...words,
  ]),
  form('joint names', 'the fifth of five', persons, (words, random) => [
    ...Array.from({ length: 4 }, () => [anyGiven(random), anyFamily(random), '&']).flat(),
    ...words,
  ]),
  form('joint names', 'NAME, Anna Fischer', persons, (words, random) => [
    ...words.slice(0, -1),
    `${words.at(-1)},`,
    anyGiven(random),
    anyFamily(random),
  ]),
]

const added: readonly Form[] = [
  form('added name', 'married name after it', persons, (words, random) => [...words, anyFamily(random)]),
  form('added name', 'married name with a hyphen', persons, (words, random) => [
    ...words.slice(0, -1),
    `${words.at(-1)}-${anyFamily(random)}`,
  ]),
  form('added name', 'married name with a hyphen, family name first', persons, (words, random) => [
    `${words.at(-1)}-${anyFamily(random)}`,
    ...words.slice(0, -1),
  ]),
  form('added name', 'married name with a hyphen, family name first, comma', persons, (words, random) => [
    `${anyFamily(random)}-${words.at(-1)},`,
    ...words.slice(0, -1),
  ]),
  form('added name', 'married name with a hyphen, title after it', persons, (words, random) => [
    ...words.slice(0, -1),
    `${words.at(-1)}-${anyFamily(random)}`,
    'jun.',
  ]),
  form('added name', 'second given name', persons, (words, random) => [
    ...words.slice(0, 1),
    anyGiven(random),
    ...words.slice(1),
  ]),
  form('added name', 'given name before it', persons, (words, random) => [anyGiven(random), ...words]),
]

const changed: readonly Form[] = [
  form('order', 'last word first', persons, swapped),
  form('order', 'last word first, comma', persons, withComma),
  form('order', 'words reversed', persons, (words) => words.toReversed()),
  form('left out', 'a word in the middle', persons, without(inMiddle)),
  form('left out', 'the last word', persons, without(atLast)),
  form('left out', 'the first word', persons, without(atFirst), {
    floor: 90,
    reason: 'the family name and a middle name without the given name are those of relatives too',
  }),
  form('left out', 'all but one identifying word', persons, without(anywhere, false), {
    floor: 0,
    reason: 'one word (`Haji Karim`, `Bin Laden`) is the name of many: only one that is listed by itself is a hit',
  }),
  ...typingErrors,
  form('transliteration', 'another romanisation', both, otherSound),
  form('transliteration', 'letters with signs', both, otherSign),
  form('transliteration', 'Cyrillic', persons, inCyrillic),
  form('joined or hyphenated', 'first two words of three run together', persons, (words) =>
    words.length >= 3 && isPlain(words[0]) && isPlain(words[1]) ? joinedAt(0, '', words) : undefined,
  ),
  form('joined or hyphenated', 'both words run together', persons, (words) =>
    words.length === 2 && words.every(isPlain) ? joinedAt(0, '', words) : undefined,
  ),
  form('joined or hyphenated', 'hyphen between two words', both, (words, random) => {
    const at = Math.floor(random() * (words.length - 1))
    return isPlain(words[at]) && isPlain(words[at + 1]) ? joinedAt(at, '-', words) : undefined
  }),
  form('joined or hyphenated', 'hyphen as a space', both, (words) =>
    words.some((word) => /\p{L}-\p{L}/u.test(word)) ? words.flatMap((word) => word.split('-')) : undefined,
  ),
  form('initial', 'initial and family name', persons, (words) => [`${words[0]?.slice(0, 1)}.`, ...words.slice(-1)], {
    floor: 0,
    reason: 'an initial does not say who is meant: only a family name that is rare among listed names is a hit',
  }),
  form('case', 'small letters', both, (words) => words.map((word) => word.toLowerCase())),
  form('case', 'capitals', both, (words) => words.map((word) => word.toUpperCase())),
]

const legal: readonly Form[] = [
  form('legal form', 'without legal form', companies, (words) => {
    const bare = bareCompany(words)
    return bare === undefined || bare.length === words.length ? undefined : bare
  }),
  ...legalFormsSaid.map((said) =>
    form('legal form', `NAME ${said}`, companies, (words) => {
      const bare = bareCompany(words)
      return bare === undefined ? undefined : [...bare, ...said.split(' ')]
    }),
  ),
]

const oneWay: readonly Form[] = [
  form('as listed', 'as listed', both, (words) => words),
  ...decorated,
  ...joint,
  ...added,
  ...changed,
  ...legal,
]

/** Two changes: a form of the first group, and then a form of the second group on its result. */
const pairs: readonly (readonly [FormGroup, FormGroup])[] = [
  ['typing error', 'form of address'],
  ['typing error', 'account word'],
  ['typing error', 'place or year'],
  ['typing error', 'joint names'],
  ['typing error', 'added name'],
  ['typing error', 'order'],
  ['typing error', 'legal form'],
  ['typing error', 'case'],
  ['transliteration', 'form of address'],
  ['transliteration', 'order'],
  ['transliteration', 'joint names'],
  ['transliteration', 'legal form'],
  ['order', 'form of address'],
  ['order', 'added name'],
  ['joined or hyphenated', 'form of address'],
  ['added name', 'form of address'],
  ['joint names', 'account word'],
  ['form of address', 'place or year'],
  ['legal form', 'place or year'],
  ['legal form', 'account word'],
]

const twoWays: readonly Form[] = pairs.map(([first, second]) => {
  const inGroup = (group: FormGroup, kind: EntryKind) =>
    oneWay.filter((each) => each.group === group && each.kinds.includes(kind))
  const kinds = both.filter((kind) => [first, second].every((group) => inGroup(group, kind).length > 0))
  return {
    name: `${first} + ${second}`,
    group: 'two ways',
    ways: 2,
    kinds,
    floor: floors[2],
    write: (words, random, kind) => {
      const written = pick(random, inGroup(first, kind)).write(words, random, kind)
      return written && pick(random, inGroup(second, kind)).write(written, random, kind)
    },
  }
})

export const forms: readonly Form[] = [...oneWay, ...twoWays]

/** A listed name, and the entry that its variants must find. */
export type CorpusName<Entry> = { readonly entry: Entry; readonly kind: EntryKind; readonly text: string }
export type Variant<Entry> = { readonly text: string; readonly of: CorpusName<Entry> }

/**
 * Reports whether forms apply to the name. They do not apply to names of one word, of initials, or in another script.
 */
const isWritten = ({ kind, text }: CorpusName<unknown>): boolean =>
  (kind === 'person' || kind === 'organisation') &&
  /^[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]+$/u.test(text) &&
  nameWords(text).telling.filter((word) => word.length >= 3).length >= 2

/** Selects the names that have forms. Leaves out names with numbers or words in brackets, which are not part of a name. */
export const namesWithForms = <Entry>(names: readonly CorpusName<Entry>[]): readonly CorpusName<Entry>[] =>
  names.filter((name) => isWritten(name) && !/[\d()"]/.test(name.text))

/** Writes at most `variantsMax` different names in the form, drawn from the names by the seed. */
export function writeVariants<Entry>(
  { kinds, write, group, name: formName }: Form,
  names: readonly CorpusName<Entry>[],
  seed: number,
  variantsMax: number,
): readonly Variant<Entry>[] {
  // Each form has its own seed, so that a new form does not change the others.
  const random = createRandom(mixSeed(formName, seed))
  const possible = names.filter(({ kind }) => kinds.includes(kind))
  const found = new Map<CorpusName<Entry>, Variant<Entry>>()
  // Some forms apply to few names, so each name is tried twice on average.
  for (let tries = 2 * possible.length; tries > 0 && found.size < variantsMax; tries -= 1) {
    const of = pick(random, possible)
    if (found.has(of)) continue
    const words = write(wordsIn(of.text), random, of.kind)
    const text = words?.join(' ')
    if (text !== undefined && (text !== of.text || group === 'as listed')) found.set(of, { text, of })
  }
  return [...found.values()]
}

/** Mixes the seed with a text (FNV-1a), so that each text gets its own numbers. */
export const mixSeed = (text: string, seed: number): number =>
  Array.from(text).reduce((sum, char) => Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x01000193), 0x811c9dc5 ^ seed)

const wordsIn = (text: string): Words => text.split(/\s+/).filter((word) => word !== '')
