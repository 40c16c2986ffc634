/**
 * Variants of the names of published lists, made at run time from their own entries: the files are not in the repository.
 * `readListed` reads OFAC's SDN.CSV and ALT.CSV and the list of the UN; `realVariants` writes the names as people do.
 */
import { createReadStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { readSanctionsList } from '../../../service/src/screening/index.ts'
import type { Random } from './corpus.ts'

export type RealEntry = {
  readonly id: string
  readonly isPerson: boolean
  /** Names in Latin letters, the primary one first. Of a person: given names before family names. */
  readonly names: readonly string[]
  /** Names in another script. They are searched and not indexed. */
  readonly originals: readonly string[]
  readonly given: readonly string[]
  readonly family: readonly string[]
  readonly remarks: string
}

const isLatin = (text: string): boolean => !/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(text)
const rowsOf = (path: string): string[][] =>
  parse(readFileSync(path).toString('latin1').replaceAll('\u001a', ''), { relax_column_count: true, trim: true })
const wordsIn = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

function personName(text: string): { readonly given: readonly string[]; readonly family: readonly string[] } {
  const [family = '', ...given] = text.split(',')
  return { given: wordsIn(given.join(' ')), family: wordsIn(family) }
}

function readOfac(folder: string): readonly RealEntry[] {
  const aliases = Map.groupBy(rowsOf(join(folder, 'ofac-alt.csv')), ([id]) => id)
  return rowsOf(join(folder, 'ofac-sdn.csv')).flatMap((row): readonly RealEntry[] => {
    const [id = '', name = '', kind] = row
    if (kind !== 'individual' && kind !== '-0-') return []
    const isPerson = kind === 'individual'
    const { given, family } = isPerson ? personName(name) : { given: [], family: [] }
    const texts = [name, ...(aliases.get(id) ?? []).map((alias) => alias[3] ?? '')]
    const names = texts.map((text) => {
      const parts = personName(text)
      return isPerson ? [...parts.given, ...parts.family].join(' ') : text
    })
    return [{ id: `ofac ${id}`, isPerson, names, originals: [], given, family, remarks: row.at(-1) ?? '' }]
  })
}

async function readUn(folder: string): Promise<readonly RealEntry[]> {
  const { entries } = await readSanctionsList(createReadStream(join(folder, 'un-consolidated.xml')))
  return entries.map(({ id, kind, names }) => {
    const texts = names.map(({ text }) => text)
    return {
      id: `un ${id}`,
      isPerson: kind === 'person',
      names: texts.filter(isLatin),
      originals: texts.filter((text) => !/\p{Script=Latin}/u.test(text)).slice(0, 1),
      given: [],
      family: [],
      remarks: '',
    }
  })
}

/** Reads both lists of a folder of samples. */
export const readListed = async (folder: string): Promise<readonly RealEntry[]> => [
  ...readOfac(folder),
  ...(await readUn(folder)),
]

const spanish =
  /(?:POB|nationality|citizen) [^;]*(?:Mexico|Colombia|Venezuela|Cuba|Peru|Ecuador|Honduras|Guatemala|Nicaragua|Spain|Panama|Salvador|Argentina|Bolivia|Costa Rica)/
const slavic = /(?:nationality|citizen) (?:Russia|Belarus)/
/** A title before a surname alone names no person. */
const title = /^(?:shaykh|sheikh|haji|hajji|general|abu|sayyid|qari|mullah)$/i
const isWord = (word: string): boolean => /^[\p{L}'-]{3,}$/u.test(word)

const letters = Object.fromEntries(
  Array.from('abvgdeziklmnoprstufy', (letter, at) => [letter, 'абвгдезиклмнопрстуфы'[at] ?? '']),
)
const cyrillic: Readonly<Record<string, string>> = {
  ...{ shch: 'щ', zh: 'ж', kh: 'х', ts: 'ц', ch: 'ч', sh: 'ш', yu: 'ю', ya: 'я', ye: 'е', yo: 'ё' },
  ...{ iy: 'ий', yy: 'ый', ey: 'ей', ay: 'ай', oy: 'ой', uy: 'уй' },
  ...letters,
}
const inCyrillic = (text: string): string =>
  text.toLowerCase().replace(/shch|zh|kh|ts|ch|sh|yu|ya|ye|yo|[iyeaou]y\b|[a-z]/g, (each) => cyrillic[each] ?? each)

/** The legal forms, each with other ways to write it. */
const legalForms: readonly (readonly [pattern: RegExp, others: readonly string[]])[] = [
  [/\bGMBH$/i, ['Gesellschaft mit beschränkter Haftung', 'mbH']],
  [/\b(?:LLC|L\.L\.C\.?|OOO)$/i, ['ООО', 'Limited Liability Company', 'Obshchestvo s Ogranichennoy Otvetstvennostyu']],
  [/\b(?:LTD\.?|LIMITED)$/i, ['Limited', 'Ltd']],
  [/\bCO\.,? LTD\.?$/i, ['Company Limited', 'Co Ltd']],
  [/\bS\.A\.$/i, ['SA', 'Sociedad Anonima', 'Société Anonyme']],
  [/\b(?:JSC|AO)$/i, ['АО', 'Joint Stock Company', 'Aktsionernoye Obshchestvo']],
  [/\bINC\.?$/i, ['Incorporated']],
  [/\bCORP\.?$/i, ['Corporation']],
]

function withEdit(random: Random, words: readonly string[]): readonly string[] {
  const long = words.flatMap((word, at) => (/^[A-Za-z]{5,}$/.test(word) ? [at] : []))
  const chosen = long[Math.floor(random() * long.length)]
  if (chosen === undefined) return []
  const edited = words.map((word, index) => {
    if (index !== chosen) return word
    const at = 1 + Math.floor(random() * (word.length - 2))
    const [before, letter = '', behind] = [word.slice(0, at), word[at], word.slice(at + 1)]
    const other = 'aeioulnrst'[Math.floor(random() * 10)] ?? 'a'
    const ways = [before + behind, before + letter + letter + behind, before + other + behind]
    return ways[Math.floor(random() * ways.length)] ?? word
  })
  return [edited.join(' ')]
}

type Forms = Readonly<Record<string, readonly string[]>>

function personForms(random: Random, { given, family, names, remarks }: RealEntry): Forms {
  const [first = '', second = ''] = given
  const [surname = '', otherSurname = ''] = family
  const whole = [...given, ...family].join(' ')
  if (!isWord(first) || title.test(first) || family.length === 0 || whole !== names[0]) return {}
  const isSpanish = spanish.test(remarks) && family.length === 2 && isWord(surname) && isWord(otherSurname)
  const double = family.find((word) => /^[A-Z]{4,}-[A-Z]{4,}$/.test(word))
  const parts = double?.split('-') ?? []
  return {
    'first given name of two': given.length === 2 ? [`${first} ${family.join(' ')}`] : [],
    'first given name of three or more': given.length > 2 ? [`${first} ${family.join(' ')}`] : [],
    'Spanish: given name, first surname': isSpanish && given.length === 1 ? [`${first} ${surname}`] : [],
    'Spanish: two given names, first surname': isSpanish && given.length === 2 ? [`${first} ${second} ${surname}`] : [],
    'Spanish: first of two, first surname': isSpanish && given.length === 2 ? [`${first} ${surname}`] : [],
    'other order': [`${family.join(' ')}, ${given.join(' ')}`],
    'typing error': withEdit(random, [...given, ...family]),
    'double name, one part': parts.map((part) => [...given, part].join(' ')),
    'double name, two words': double === undefined ? [] : [[...given, ...parts].join(' ')],
    Cyrillic: slavic.test(remarks) ? [inCyrillic(whole)] : [],
    'Cyrillic without patronymic':
      slavic.test(remarks) && given.length === 2 ? [inCyrillic(`${first} ${surname}`)] : [],
  }
}

function companyForms(random: Random, { names: [name = ''] }: RealEntry): Forms {
  const form = legalForms.find(([pattern]) => pattern.test(name))
  if (form === undefined) return { 'company, typing error': withEdit(random, wordsIn(name)) }
  const bare = name.replace(form[0], '').replace(/[\s,]+$/, '')
  return {
    'company without legal form': [bare],
    'company, other legal form': form[1].map((other) => `${bare} ${other}`),
    'company, typing error': withEdit(random, wordsIn(name)),
  }
}

const scripts = { Arabic: /\p{Script=Arabic}/u, Han: /\p{Script=Han}/u } as const

function originalForms({ originals, isPerson }: RealEntry): Forms {
  return Object.fromEntries(
    Object.entries(scripts).map(([script, pattern]) => [
      `${script}, ${isPerson ? 'person' : 'organisation'}`,
      originals.filter((text) => pattern.test(text)),
    ]),
  )
}

export type RealVariant = { readonly form: string; readonly text: string; readonly of: RealEntry }

/** Writes every entry in each form that its name allows. */
export function realVariants(random: Random, entries: readonly RealEntry[]): readonly RealVariant[] {
  return entries.flatMap((of) => {
    const forms = { ...(of.isPerson ? personForms(random, of) : companyForms(random, of)), ...originalForms(of) }
    return Object.entries(forms).flatMap(([form, texts]) => texts.map((text) => ({ form, text, of })))
  })
}
