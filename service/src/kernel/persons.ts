/** Names of persons and service accounts, normalised for comparison where a second person has to decide. */

/**
 * Letters of other scripts that look like a Latin one, in either case (Unicode TS 39, confusables). Limited to letters
 * in names.
 */
const lookAlikes = new Map(
  [
    ['аᴀɑαΑ', 'a'],
    ['вβ', 'b'],
    ['сϲ', 'c'],
    ['ԁ', 'd'],
    ['еεҽ', 'e'],
    ['ɡց', 'g'],
    ['нηһ', 'h'],
    ['іιıɩ', 'i'],
    ['јϳ', 'j'],
    ['кκ', 'k'],
    ['ӏ', 'l'],
    ['мμ', 'm'],
    ['νѵ', 'v'],
    ['оοօ', 'o'],
    ['рρ', 'p'],
    ['ѕ', 's'],
    ['тτ', 't'],
    ['уγύ', 'y'],
    ['хχ', 'x'],
    ['ԝ', 'w'],
    ['ζ', 'z'],
  ].flatMap(([letters = '', latin = '']) => Array.from(letters).map((letter) => [letter, latin] as const)),
)

/**
 * Normalises a name: removes case, spaces, accents, invisible characters and look-alikes of other scripts, so that
 * one person does not count as two.
 */
export const personKey = (name: string): string => {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}\p{M}]/gu, '')
  return Array.from(plain, (letter) => lookAlikes.get(letter) ?? letter).join('')
}

export const isNoName = (name: string): boolean => personKey(name) === ''
export const isSamePerson = (one: string, other: string): boolean => personKey(one) === personKey(other)

/** The stored form of a name: no blanks at its ends, one between two words. */
export const tidyName = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/[\s\p{Cf}]+/gu, ' ')
    .trim()

/** A person of two who decide, as the person stands when the decision takes effect. */
export type Standing = {
  /** Absent: the person was typed, and has no account. */
  readonly id?: string | undefined
  readonly name: string
  /** False: the account was removed, or its role no longer allows it. */
  readonly may: boolean
}

/**
 * Judges the two persons of a decision when it takes effect: they are two, and each still may. A proposal of who lost the right waits for one
 * with the right, who proposes it again. Undefined: it may take effect.
 */
export function whyNotTwo(author: Standing, approver: Standing): string | undefined {
  if ((author.id !== undefined && author.id === approver.id) || isSamePerson(author.name, approver.name))
    return `${author.name} proposed it: another person decides.`
  if (!author.may) return `${author.name} proposed it, and may no longer do so: a person who may proposes it again.`
  return approver.may ? undefined : `${approver.name} approved it, and may no longer do so: another person approves it.`
}
