/**
 * A name as words: in Latin letters without accents, in lower case, with non-identifying words set apart. Arabic words
 * keep their letters, because they are written without vowels (arabic.ts).
 */
import anyAscii from 'any-ascii'
import { arabicForms, isArabic, plainArabic } from './arabic.ts'
import { latinReadings } from './east-asian.ts'
import { editsBetween } from './spelling.ts'

/** Particles, titles and legal forms. They do not count when names are compared, unless a name has no other word. */
const commonWords = new Set(
  [
    'al el ul bin ibn ben bint abu abou abo um umm as ad ar an at az',
    'de da do dos das del della di du la le les los las van von der den ter ten zu zur af av y e i and und et the of for',
    'mr mrs ms miss dr prof sir sheikh shaykh haji hajji sayyid mullah maulavi mawlawi general colonel',
    'ltd limited llc llp inc incorporated corp corporation corporacion co company plc pte pty gmbh mbh ag kg ohg sa sarl sas spa srl',
    'bv nv ab oy as aps ooo oao zao pao ao jsc pjsc ojsc fze fzc fzco bhd sdn kk est group holding holdings',
  ].flatMap((line) => line.split(' ')),
)

/** Legal forms of several words, and short ones with full stops. They count like `commonWords`. */
const legalForms = new RegExp(
  ` (?:${[
    'gesellschaft mit beschrankter haftung|aktiengesellschaft|kommanditgesellschaft|besloten vennootschap',
    'limited liability company|(?:public |open |closed )?joint stock company|incorporated company',
    'sociedad anonima|sociedad de responsabilidad limitada|societe anonyme|societa per azioni',
    'obshchestvo s ogranichenno[iy] otvetstvennost(?:yu|iu|u)|(?:publichnoe |publichnoye )?aktsionerno(?:e|ye) obshchestvo',
    's a r l|s a s|s a|s p a|s r l|s de r l|de c v|sa de cv|l l c|p? ?j s c|b v|n v|a g|a s|k g|d o o|o o o|ltda',
  ].join('|')})(?= )`,
  'g',
)

/** Signs within a word: O'Brien, Aḥmad with a sign for a sound that Latin has no letter for. */
const apostrophes = /['\u2018\u2019\u201b\u02bb-\u02bf`\u00b4]/g

type Words = {
  /** All words in their order. */
  readonly all: readonly string[]
  /** Identifying words: without particles, titles and legal forms. */
  readonly telling: readonly string[]
}
/** `others`: the same name in other Latin spellings of its Chinese or Korean characters. */
export type NameWords = Words & { readonly others: readonly Words[] }

/** No name has more words. Later ones are not compared. */
const wordsMax = 24

export function wordsOf(name: string): NameWords {
  const [first = '', ...others] = latinReadings(name.normalize('NFC').replace(apostrophes, ''))
  return { ...latinWordsOf(first), others: others.map(latinWordsOf) }
}

function latinWordsOf(text: string): Words {
  const all = (isArabic(text) ? plainArabic(text, anyAscii) : anyAscii(text))
    .toLowerCase()
    .replaceAll("'", '')
    .split(/[^a-z0-9\p{Script=Arabic}]+/u)
    .filter((word) => word !== '')
    .slice(0, wordsMax)
  return { all, telling: tellingOf(all) }
}

/** Long enough that a word one edit away is no name. */
const longForms = ['company', 'limited', 'corporation', 'incorporated', 'holdings', 'group'] as const
const isMisspeltForm = (word: string): boolean =>
  word.length > 4 && longForms.some((form) => form[0] === word[0] && editsBetween(word, form, 1) <= 1)

function tellingOf(all: readonly string[]): readonly string[] {
  const named = all.length > 2 ? ` ${all.join(' ')} `.replace(legalForms, '').trim().split(' ') : all
  const telling = named.filter((word) => word !== '' && !commonWords.has(word) && !isMisspeltForm(word))
  return telling.length > 0 ? telling : all
}

/** A word this short may be one word with its neighbour in another spelling: Won Ho, Wonho; al Tikriti, Altikriti. */
const joinedCharsMax = 4
const formsMax = 6

/** `isJoined`: two neighbours count as one word, and everything else must fit. */
export type NameForm = { readonly words: readonly string[]; readonly isJoined: boolean }

/** The words of a name, and the same with two neighbours joined. The first form is the name as it is written. */
export const formsOf = ({ others, ...first }: NameWords): readonly NameForm[] =>
  [first, ...others].flatMap(formsOfWords)

function formsOfWords({ all, telling }: Words): readonly NameForm[] {
  if (all.some(isArabic)) return arabicForms(all).map((words) => ({ words, isJoined: false }))
  const forms: NameForm[] = [{ words: telling, isJoined: false }]
  for (let at = 0; at + 1 < all.length && forms.length < formsMax; at += 1) {
    const [one = '', other = ''] = [all[at], all[at + 1]]
    if (Math.min(one.length, other.length) > joinedCharsMax || one.length + other.length < joinedCharsMax) continue
    const words = tellingOf([...all.slice(0, at), one + other, ...all.slice(at + 2)])
    forms.push({ words, isJoined: true })
  }
  return forms
}

/** The name without spelling differences: equal for names with the same words in the same order. */
export const plainName = (name: string): string => wordsOf(name).all.join(' ')
