/**
 * The similarity of two words. The sound of a word is its spelling without differences of romanisation: Muhammad, Mohammed and
 * Mohamed are the same name, as are Yevgeny and Evgenii, Müller and Mueller.
 */
import { arabicSkeletons, articleSign, isArabic, latinSkeletons, spellingCost } from './arabic.ts'

/** Rules of romanisation. Each rule applies to the output of the previous rules. */
const romanisation: readonly (readonly [pattern: RegExp, sound: string])[] = [
  [/sch|sh|sz|tch|ch|cz|zh|ts|tz/g, 's'],
  [/kh|ck|gh|q|x/g, 'k'],
  [/ph|ff/g, 'f'],
  [/th|dh/g, 't'],
  [/dj|dzh|j(?=[aeiou])/g, 'j'],
  [/ae|oe|ue/g, 'e'],
  [/c(?=[eiy])/g, 's'],
  [/c/g, 'k'],
  [/w|v/g, 'v'],
  [/z/g, 's'],
  [/(?<=[a-z])h/g, ''],
  [/ov$|of$|ev$|ef$/g, 'ov'],
  [/[iy]+[ej]?|j(?![aeiou])|ee/g, 'i'],
  [/ou|oo|u|w/g, 'o'],
  [/(.)\1+/g, '$1'],
]

export function phoneticForm(word: string): string {
  if (/\d/.test(word)) return word
  return romanisation.reduce((sound, [pattern, replacement]) => sound.replace(pattern, replacement), word)
}

/** Removes the vowels after the first letter of a sound. */
const consonantsOf = (sound: string): string => sound.slice(0, 1) + sound.slice(1).replace(/[aeio]/g, '')

/**
 * Counts the edits that turn one word into the other: a letter inserted, deleted or replaced, or two neighbours swapped.
 * Infinity beyond `editsMax`.
 */
export function editDistance(one: string, other: string, editsMax: number): number {
  const [columns, rows] = [one.length, other.length]
  if (Math.abs(columns - rows) > editsMax) return Infinity
  let beforeLast: number[] = []
  let last = Array.from({ length: columns + 1 }, (_, at) => at)
  for (let row = 1; row <= rows; row += 1) {
    const current = [row]
    let least = row
    for (let column = 1; column <= columns; column += 1) {
      const isEqual = one[column - 1] === other[row - 1]
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isEqual ? 0 : 1),
      )
      const isSwap = one[column - 1] === other[row - 2] && one[column - 2] === other[row - 1]
      if (row > 1 && column > 1 && isSwap) edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1)
      current.push(edits)
      least = Math.min(least, edits)
    }
    if (least > editsMax) return Infinity
    beforeLast = last
    last = current
  }
  const edits = last[columns] ?? Infinity
  return edits > editsMax ? Infinity : edits
}

export type PairKind = 'equal' | 'transliterated' | 'misspelt' | 'initial'
export type Likeness = { readonly how: PairKind; readonly likeness: number }

/** Returns the maximum number of edits. A short word becomes another word with one edit. */
const editsMaxFor = (length: number): number => (length < 4 ? 0 : length < 8 ? 1 : 2)
const editCost = 0.4
/** Letters with a common sound. After two edits the first letters must be equal or in one group; one edit may change the first letter. */
const firstSounds = ['hkg', 'jidz', 'vfbp', 'szt', 'aeio'] as const
const beginsAlike = (one: string, other: string): boolean =>
  one[0] === other[0] || firstSounds.some((group) => group.includes(one[0] ?? ' ') && group.includes(other[0] ?? ' '))
const firstLetterCharsMin = 4
const soundCost = 0.02
const vowelsCost = 0.16
/** The likeness of a word and its initial. */
export const initialLikeness = 0.7
/** `Abd`, with or without the article of the next word. */
const servant = /^abd(?:[aeiou][lrsdntz]?)?$/
const arabicCostMax = (letters: number): number => (letters < 5 ? 0.5 : letters < 6 ? 0.7 : 1.1)

function arabicLikeness(one: string, other: string): Likeness | undefined {
  const [arabic, latin] = isArabic(one) ? [one, other] : [other, one]
  if (isArabic(latin)) return plainLikeness(arabic.replace(articleSign, ''), latin.replace(articleSign, ''))
  const letters = arabic.replace(articleSign, '').length
  const cost = arabic === 'عبد' && servant.test(latin) ? 0 : spellingCost(arabic, latin, arabicCostMax(letters))
  if (cost === Infinity) return undefined
  return { how: 'transliterated', likeness: 1 - soundCost - (cost * editCost) / Math.sqrt(letters) }
}

/** Compares two words of the same script by their letters only. */
function plainLikeness(one: string, other: string): Likeness | undefined {
  if (one === other) return { how: 'equal', likeness: 1 }
  const shorter = Math.min(one.length, other.length)
  const edits = editDistance(one, other, editsMaxFor(shorter))
  return edits === Infinity ? undefined : { how: 'misspelt', likeness: 1 - (edits * editCost) / Math.sqrt(shorter) }
}

/** Returns the likeness of a word of this length and a word with one edit. */
export const oneEditLikeness = (length: number): number => 1 - (editCost * (1 + soundCost)) / Math.sqrt(length - 1)

/** Compares two words. `likeness` is 1 for equal words. Undefined: they are different words. */
export function compareWords(one: string, other: string): Likeness | undefined {
  if (one === other) return { how: 'equal', likeness: 1 }
  if (isArabic(one) || isArabic(other)) return arabicLikeness(one, other)
  if (one.length === 1 || other.length === 1)
    return one[0] === other[0] ? { how: 'initial', likeness: initialLikeness } : undefined
  const [sound, otherSound] = [phoneticForm(one), phoneticForm(other)]
  if (sound === otherSound && sound.length > 1) return { how: 'transliterated', likeness: 1 - soundCost }
  const shorter = Math.min(one.length, other.length)
  if (one[0] !== other[0] && !beginsAlike(sound, otherSound)) {
    const isOneEdit = shorter >= firstLetterCharsMin && editDistance(one, other, 1) === 1
    return isOneEdit ? { how: 'misspelt', likeness: 1 - editCost / Math.sqrt(shorter) } : undefined
  }
  const edits = Math.min(
    editDistance(one, other, editsMaxFor(shorter)),
    editDistance(sound, otherSound, editsMaxFor(Math.min(sound.length, otherSound.length))) + soundCost,
  )
  if (edits !== Infinity) return { how: 'misspelt', likeness: 1 - (edits * editCost) / Math.sqrt(shorter) }
  const consonants = consonantsOf(sound)
  const isSpelling = consonants.length > 2 && consonants === consonantsOf(otherSound)
  return isSpelling ? { how: 'transliterated', likeness: 1 - vowelsCost } : undefined
}

/** Returns a key that is equal for all spellings of a name, whose frequencies count together. */
export function spellingKey(word: string): string {
  if (isArabic(word)) return word
  const sound = phoneticForm(word)
  const consonants = consonantsOf(sound)
  return consonants.length > 2 ? `-${consonants}` : sound
}

/**
 * Lists the keys of a word: the word, its sound and its consonants, each also without any one letter. Two words with one edit
 * share a key. With two edits they share a key unless both edits are in consonants.
 */
export function wordKeys(word: string): readonly string[] {
  if (isArabic(word)) {
    const letters = word.replace(articleSign, '')
    const edited = letters.length > 3 ? withoutOne(letters) : []
    return [letters, ...edited, ...arabicSkeletons(word).map((skeleton) => `~${skeleton}`)]
  }
  const sound = phoneticForm(word)
  const consonants = consonantsOf(sound)
  const keys = new Set([word, sound, `-${consonants}`])
  for (const each of [word, sound]) if (each.length > 3) for (const shorter of withoutOne(each)) keys.add(shorter)
  if (consonants.length > 3) for (const shorter of withoutOne(consonants)) keys.add(`-${shorter}`)
  return [...keys]
}

/** Lists the keys of a listed word, including those for words in Arabic letters. */
export const listedWordKeys = (word: string): readonly string[] => [
  ...wordKeys(word),
  ...(isArabic(word) ? [] : latinSkeletons(word).map((skeleton) => `~${skeleton}`)),
]

const withoutOne = (word: string): readonly string[] =>
  Array.from(word, (_letter, at) => word.slice(0, at) + word.slice(at + 1))
