/**
 * Splits a name into words: Latin letters without accents, in lower case, with the identifying words apart. Arabic words keep their
 * letters, because Arabic is written without vowels (arabic.ts).
 */
import anyAscii from 'any-ascii'
import { arabicForms, isArabic, plainArabic } from './arabic.ts'
import { findDecoration, splitParties, withoutPhrases } from './decorations.ts'
import { latinReadings } from './east-asian.ts'
import { editDistance } from './spelling.ts'

/** Particles, titles and legal forms. Comparisons ignore them unless a name has no other words. */
const commonWords = new Set(
  [
    'al el ul bin ibn ben bint abu abou abo um umm as ad ar an at az',
    'de da do dos das del della di du la le les los las van von der den ter ten zu zur af av y e i and und et the of for',
    'mr mrs ms miss dr prof sir sheikh shaykh haji hajji sayyid mullah maulavi mawlawi general colonel',
    'ltd limited llc llp inc incorporated corp corporation corporacion co company plc pte pty gmbh mbh ag kg ohg sa sarl sas spa srl',
    'bv nv ab oy as aps ooo oao zao pao ao jsc pjsc ojsc fze fzc fzco bhd sdn kk est group holding holdings',
  ].flatMap((line) => line.split(' ')),
)

/** Signs within a word: O'Brien, or a sign for a sound without a Latin letter. */
const apostrophes = /['\u2018\u2019\u201b\u02bb-\u02bf`\u00b4]/g

/** Four or more letters separated by the same sign: `B o r i s`, `B.o.r.i.s`. Initials and legal forms have fewer. */
const spelledOut =
  /(?<![\p{L}\p{N}])[\p{sc=Latin}\p{sc=Cyrl}\p{sc=Grek}]([^\p{L}\p{N}])(?:[\p{sc=Latin}\p{sc=Cyrl}\p{sc=Grek}]\1){2,}[\p{sc=Latin}\p{sc=Cyrl}\p{sc=Grek}](?![\p{L}\p{N}])/gu
const plainSigns = (text: string): string =>
  text
    .normalize('NFC')
    .replace(apostrophes, '')
    .replace(spelledOut, (word, sign: string) => word.replaceAll(sign, ''))

type Words = {
  /** All words in their order. */
  readonly all: readonly string[]
  /** The identifying words, without particles, titles and legal forms. */
  readonly telling: readonly string[]
}
/** The words of a name. `others`: other Latin spellings of its Chinese or Korean characters. */
export type NameWords = Words & { readonly others: readonly Words[] }

/** Maximum number of compared words. A name of 140 characters does not have more. */
const wordsMax = 70

export function nameWords(name: string): NameWords {
  const [first = '', ...others] = latinReadings(plainSigns(name))
  return { ...latinWordsOf(first), others: others.map(latinWordsOf) }
}

function latinWordsOf(text: string): Words {
  const all = plainWords(text).slice(0, wordsMax)
  return { all, telling: tellingWords(all) }
}

const plainWords = (text: string): readonly string[] =>
  (isArabic(text) ? plainArabic(text, anyAscii) : anyAscii(text))
    .toLowerCase()
    .replaceAll("'", '')
    .split(/[^a-z0-9\p{Script=Arabic}]+/u)
    .filter((word) => word !== '')

/** Lists the words of a free text, without particles, titles and legal forms. */
export const textWords = (text: string): readonly string[] =>
  plainWords(latinReadings(plainSigns(text))[0] ?? '').filter((word) => !commonWords.has(word))

/** Legal forms so long that a word with one edit is not a name. */
const longForms = ['company', 'limited', 'corporation', 'incorporated', 'holdings', 'group'] as const
const isMisspeltForm = (word: string): boolean =>
  word.length > 4 && longForms.some((form) => form[0] === word[0] && editDistance(word, form, 1) <= 1)

function tellingWords(all: readonly string[]): readonly string[] {
  const named = all.length > 2 ? withoutPhrases(all) : all
  const telling = named.filter((word) => word !== '' && !commonWords.has(word) && !isMisspeltForm(word))
  return telling.length > 0 ? withoutForms(telling) : all
}

/** Removes legal forms at the edges. A form that may be a name stays unless there are two other words. */
function withoutForms(words: readonly string[]): readonly string[] {
  const isForm = (word: string | undefined) => {
    const { kind, isSure } = findDecoration(word ?? '')
    return kind === 'legal form' && words.length > (isSure ? 1 : 2)
  }
  if (isForm(words.at(-1))) return withoutForms(words.slice(0, -1))
  return isForm(words[0]) ? withoutForms(words.slice(1)) : words
}

/** Reports whether the text has a legal form, so that it does not name a person. */
export const isCompany = (text: string): boolean =>
  plainWords(text).some((word) => {
    const { kind, isSure } = findDecoration(word)
    return kind === 'legal form' && isSure
  })

/** A word this short may be joined with its neighbour in another spelling: Won Ho, Wonho; al Tikriti, Altikriti. */
const joinedCharsMax = 4
/** Maximum number of forms of a listed name, which stay in memory. A text has as many as its words allow. */
const listedFormsMax = 6

/** The words of a name in one form. `isJoined`: two neighbours are joined, and everything else must fit. */
export type NameForm = { readonly words: readonly string[]; readonly isJoined: boolean }

/**
 * Lists the forms of a name: as written, and with two neighbours joined. `isListed`: long neighbours are joined too if they make a
 * listed word.
 */
export const nameForms = (
  { others, ...first }: NameWords,
  isListed: (word: string) => boolean = () => false,
  formsMax = listedFormsMax,
): readonly NameForm[] => [first, ...others].flatMap((words) => formsOfWords(words, isListed, formsMax))

function formsOfWords(
  { all, telling }: Words,
  isListed: (word: string) => boolean,
  formsMax: number,
): readonly NameForm[] {
  if (all.some(isArabic)) return arabicForms(all).map((words) => ({ words, isJoined: false }))
  const forms: NameForm[] = [{ words: telling, isJoined: false }]
  for (let at = 0; at + 1 < all.length && forms.length < formsMax; at += 1) {
    const [one = '', other = ''] = [all[at], all[at + 1]]
    const isShort = Math.min(one.length, other.length) <= joinedCharsMax && one.length + other.length >= joinedCharsMax
    if (!isShort && !isListed(one + other)) continue
    const words = tellingWords([...all.slice(0, at), one + other, ...all.slice(at + 2)])
    forms.push({ words, isJoined: true })
  }
  return forms
}

/** A form of a text. `isPart`: it has only one of several people, or only a part of a double name. */
export type TextForm = NameForm & { readonly isPart: boolean }

/** Minimum number of words of a person among several. A single word is only a part of a name. */
const partWordsMin = 2

/**
 * Lists the forms of the whole text, and of each person in it, also with joined and split words, by person. No form is left out to
 * save time, because the writer of the text could choose which.
 */
export function textFormsOf(text: string, isListed: (word: string) => boolean): readonly (readonly TextForm[])[] {
  const parties = splitParties(text)
  const parts = [...parties, ...(parties.length > 0 ? parties : [text]).flatMap(withoutHyphens)]
    .map(nameWords)
    .filter(({ all, telling }) => telling.length >= partWordsMin || all.length > telling.length)
  const known = new Set<string>()
  return [nameWords(text), ...parts].map((each, at) =>
    [...nameForms(each, isListed, wordsMax), ...takenApart(each.telling, isListed)].flatMap((form) => {
      const key = `${form.isJoined} ${form.words.join(' ')}`
      if (known.has(key)) return []
      known.add(key)
      return [{ ...form, isPart: at > 0 }]
    }),
  )
}

/** Double names: a part has three letters or more. */
const doubleNames = /[\p{L}\p{M}]{3,}(?:\p{Pd}[\p{L}\p{M}]{3,})+/gu

/** Lists the text with one part of a double name, and without one part, because a part may come from marriage. */
const withoutHyphens = (text: string): readonly string[] =>
  Array.from(text.matchAll(doubleNames)).flatMap(({ 0: double, index }) => {
    const parts = double.split(/\p{Pd}/u)
    const alone = parts.filter((part) => !plainWords(part).some((word) => commonWords.has(word)))
    const fewer = parts.map((_part, at) => parts.toSpliced(at, 1).join('-'))
    return [...alone, ...(parts.length > 2 ? fewer : [])].map(
      (kept) => text.slice(0, index) + kept + text.slice(index + double.length),
    )
  })

/** Minimum length of a word that was joined with others. */
const apartCharsMin = 3
const apartMax = 4

function takenApart(words: readonly string[], isListed: (word: string) => boolean): readonly NameForm[] {
  return words.flatMap((word, at) =>
    splitsOf(word, isListed, apartMax).map((split) => ({
      words: [...words.slice(0, at), ...split, ...words.slice(at + 1)],
      isJoined: true,
    })),
  )
}

/** Lists the ways to split a word into listed words. */
function splitsOf(word: string, isListed: (word: string) => boolean, max: number): readonly (readonly string[])[] {
  const found: (readonly string[])[] = []
  for (let at = apartCharsMin; at <= word.length - apartCharsMin && max > 1; at += 1) {
    const [first, rest] = [word.slice(0, at), word.slice(at)]
    if (!isListed(first)) continue
    if (isListed(rest)) found.push([first, rest])
    for (const split of splitsOf(rest, isListed, max - 1)) found.push([first, ...split])
  }
  return found
}

/** Normalizes a name: equal for names with the same words in the same order. */
export const plainName = (name: string): string => nameWords(name).all.join(' ')
