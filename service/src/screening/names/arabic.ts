/**
 * Words in Arabic letters. Arabic writes no short vowels, so such a word is compared with a Latin one by its consonants,
 * in classes of letters that romanisations exchange.
 */
const arabicWord = /[\p{Script=Arabic}\p{M}]+/gu
const signs = /[\p{M}\u0640]/gu
const article = /^(عبد)?ال(?=.{3})/u
/** The words for "son of" and "father of" and titles, which names often omit. */
const particles = new Set('بن ابن بنت ابو أبو ابي أبي ال آل ملا شيخ حاج حاجي سيد مولوي'.split(' '))

export const isArabic = (text: string): boolean => /\p{Script=Arabic}/u.test(text)

/** The text with Arabic words without signs, article and particles, and all other words in ASCII by `ascii`. */
export function plainArabic(text: string, ascii: (text: string) => string): string {
  const words: string[] = []
  let end = 0
  for (const found of text.matchAll(arabicWord)) {
    words.push(ascii(text.slice(end, found.index)))
    end = found.index + found[0].length
    const word = found[0].replace(signs, '').replace(article, '$1')
    if (word === 'الله' && words.at(-1)?.trim() === '' && words.at(-2) === 'عبد') words.splice(-2, 2, 'عبدالله')
    else if (!particles.has(word)) words.push(word)
  }
  return [...words, ascii(text.slice(end))].join(' ')
}

const classes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    b: 'بپ',
    t: 'تطث',
    g: 'جغگ',
    k: 'خقكک',
    d: 'دذضظز',
    r: 'رڑ',
    s: 'سصشچ',
    f: 'ف',
    l: 'ل',
    m: 'م',
    n: 'ن',
  }).flatMap(([sound, all]) => Array.from(all, (letter) => [letter, sound] as const)),
)

/** Applies in this order. H, v, w, y and vowels stand for letters that the other script omits or writes in several ways. */
const latinClasses: readonly (readonly [pattern: RegExp, sound: string])[] = [
  [/^abd[aeiou]?l+ah?$/, 'abdl'],
  [/^abd[aeiou]?([rs])\1/, 'abd$1'],
  [/^abd(?:[aeiou]?l(?=.)|[aeiou][lrs]$)/, 'abd'],
  [/sh|ch/g, 's'],
  [/kh/g, 'k'],
  [/gh|dj|j/g, 'g'],
  [/ph/g, 'f'],
  [/th/g, 't'],
  [/dh|z/g, 'd'],
  [/c|q/g, 'k'],
  [/x/g, 'ks'],
  [/p/g, 'b'],
  [/[aeiouhvwy]/g, ''],
]

/** The consonants of a word of either script by their classes, a repeated one once; empty if there are none. */
export function skeletonOf(word: string): string {
  const consonants = isArabic(word)
    ? Array.from(word, (letter) => classes[letter] ?? '').join('')
    : latinClasses.reduce((text, [pattern, sound]) => text.replace(pattern, sound), word)
  return consonants.replace(/(.)\1+/g, '$1')
}
