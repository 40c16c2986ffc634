/** A name as words: in Latin letters without accents, in lower case, with the words that identify no one set apart. */
import anyAscii from 'any-ascii'

/** Particles, titles and legal forms. They count for nothing when names are compared, unless a name has no other word. */
const commonWords = new Set(
  [
    'al el ul bin ibn ben bint abu abou um umm as ad ar an at az',
    'de da do dos das del della di du la le les los las van von der den ter ten zu zur af av y e i and und et the of for',
    'mr mrs ms miss dr prof sir sheikh shaykh haji hajji sayyid mullah maulavi mawlawi general colonel',
    'ltd limited llc llp inc incorporated corp corporation co company plc pte pty gmbh mbh ag kg ohg sa sarl sas spa srl',
    'bv nv ab oy as aps ooo oao zao pao ao jsc pjsc ojsc fze fzc fzco bhd sdn kk est group holding',
  ].flatMap((line) => line.split(' ')),
)

/** Each sign of these scripts is a word, or a syllable that is written as one. */
const syllabic = /[\p{Script=Han}\p{Script=Hangul}]/gu
/** Within a word: O'Brien, Aḥmad with a sign for a sound that Latin has no letter for. */
const apostrophes = /['\u2018\u2019\u201b\u02bb-\u02bf`\u00b4]/g

export type NameWords = {
  /** All words in their order. */
  readonly all: readonly string[]
  /** Identifying words: without particles, titles and legal forms. */
  readonly telling: readonly string[]
}

/** More words are no name. What stands behind them is not compared. */
const wordsMax = 24

export function wordsOf(name: string): NameWords {
  const ascii = anyAscii(name.normalize('NFC').replace(apostrophes, '').replace(syllabic, ' $& '))
  const all = ascii
    .toLowerCase()
    .replaceAll("'", '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .slice(0, wordsMax)
  return { all, telling: tellingOf(all) }
}

function tellingOf(all: readonly string[]): readonly string[] {
  const telling = all.filter((word) => !commonWords.has(word))
  return telling.length > 0 ? telling : all
}

/** Two words of which one is as short as this may be one word in another spelling: Won Ho, Wonho; al Tikriti, Altikriti. */
const joinedCharsMax = 4
const formsMax = 6

/** The words of a name, and the same with two neighbours joined. The first form is the name as it is written. */
export function formsOf({ all, telling }: NameWords): readonly (readonly string[])[] {
  const forms: (readonly string[])[] = [telling]
  for (let at = 0; at + 1 < all.length && forms.length < formsMax; at += 1) {
    const [one = '', other = ''] = [all[at], all[at + 1]]
    if (Math.min(one.length, other.length) > joinedCharsMax || one.length + other.length < joinedCharsMax) continue
    forms.push(tellingOf([...all.slice(0, at), one + other, ...all.slice(at + 2)]))
  }
  return forms
}

/** The name without what spelling leaves open: equal for names with the same words in the same order. */
export const plainName = (name: string): string => wordsOf(name).all.join(' ')
