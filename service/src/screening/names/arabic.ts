/**
 * Names in Arabic letters: their words, and the ways in which compounds are written (`سيف الله`, Saifullah). How a word
 * of Arabic letters is written in Latin ones is in arabic-spelling.ts.
 */
import { articleSign, godSign } from './arabic-spelling.ts'

const arabicWord = /\p{Script=Arabic}+/gu
const signs = /[\p{M}\u0640]/gu

/** Letters that have several forms in Arabic, Persian and Urdu, and stand for one. */
const oneForm: Readonly<Record<string, string>> = {
  ...{ أ: 'ا', إ: 'ا', آ: 'ا', ٱ: 'ا', ک: 'ك', ی: 'ي', ے: 'ي', ہ: 'ه', ھ: 'ه', ۀ: 'ه', ۃ: 'ة', ڭ: 'ك', ګ: 'گ' },
  ...{ ړ: 'ر', ڑ: 'ر', ډ: 'د', ڈ: 'د', ټ: 'ت', ٹ: 'ت', ښ: 'ش', ځ: 'ز', څ: 'س', ڼ: 'ن', ں: 'ن', ې: 'ي', ۍ: 'ي' },
}

/** The words for "son of" and "father of", which names often omit. */
const kin = new Set('بن ابن بنت ابو ابي ابا ام اغ'.split(' '))
/** Titles, of which some are given names too. */
const titles = new Set('ال ملا شيخ الشيخ حاج الحاج حاجي حجي سيد السيد مولوي الدكتور دكتور و'.split(' '))
/** Words that are written as one with the word before them. */
const endings = new Set('الله الدين الرحمن الرحمان زاده خيل جان'.split(' '))
const initials: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from('ابتجحدرزسشطعفقكلمنهوي', (letter, at) => [letter, 'abtjhdrzsstafqklmnhwy'[at] ?? '']),
)

export const isArabic = (text: string): boolean => /\p{Script=Arabic}/u.test(text)

/** The text with Arabic words in one form of their letters, and all other words in ASCII by `ascii`. */
export function plainArabic(text: string, ascii: (text: string) => string): string {
  const plain = text.normalize('NFKC').replace(signs, '')
  const parts: string[] = []
  let end = 0
  for (const { 0: word, index } of plain.matchAll(arabicWord)) {
    const letters = Array.from(word, (letter) => oneForm[letter] ?? letter).join('')
    parts.push(ascii(plain.slice(end, index)), ...takenApart(initials[letters] ?? letters))
    end = index + word.length
  }
  return [...parts, ascii(plain.slice(end))].join(' ')
}

/** Compounds that are written as one word, as their parts. */
function takenApart(word: string): readonly string[] {
  const [, first = '', second = ''] =
    /^(عبد)(ال.{2,})$/u.exec(word) ?? /^(ابو)(.{3,})$/u.exec(word) ?? /^(.{2,})(الله|الدين)$/u.exec(word) ?? []
  return first === '' ? [word] : [first, second]
}

const withSign = (word: string): string => (word === 'الله' ? godSign : word.replace(/^ال(?=.{2})/u, articleSign))

const sons = new Set('بن ابن بنت اغ'.split(' '))
/** Words this short are parts of one more often than names. */
const isSplit = (word: string, next: string): boolean =>
  Math.min(word.length, next.length) <= 2 && !kin.has(word) && !kin.has(next) && next !== ''

const formsMax = 8

/** The words of a name in Arabic letters: each compound as its parts and as one word, each title left out and there. */
export function arabicForms(all: readonly string[]): readonly (readonly string[])[] {
  let forms: readonly (readonly string[])[] = [[]]
  /** Adds the first of these ways to each form, and the other ones up to formsMax. */
  const add = (...ways: readonly (readonly string[])[]) => {
    const kept = forms.length * ways.length > formsMax ? ways.slice(0, 1) : ways
    forms = kept.flatMap((way) => forms.map((form) => [...form, ...way.map(withSign)]))
  }
  for (let at = 0; at < all.length; at += 1) {
    const [word = '', next = ''] = [all[at], all[at + 1]]
    const isFather = kin.has(word) && !sons.has(word)
    const hasArticle = (word === 'عبد' || word === 'بن') && next.startsWith('ال')
    const isCompound = isFather || hasArticle || endings.has(next) || isSplit(word, next)
    if (next !== '' && isCompound) {
      add(
        [word, next].filter((part) => !kin.has(part)),
        [word + withSign(next)],
      )
      at += 1
    } else if (titles.has(word)) add([], [word])
    else if (!kin.has(word)) add([word])
  }
  const telling = forms.filter((form) => form.length > 0)
  return telling.length > 0 ? telling : [all.map(withSign)]
}
