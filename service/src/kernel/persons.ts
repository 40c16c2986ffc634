/** Compares names of people and service accounts, for decisions that need a second person. */

/**
 * Letters of other scripts that look like Latin letters, in either case (Unicode TS 39, confusables). Limited to letters in names.
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
 * Normalises a name for comparison: removes case, spaces, accents and invisible characters, and replaces look-alikes of
 * other scripts, so that one person does not count as two.
 */
export const personKey = (name: string): string => {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}\p{M}]/gu, '')
  return Array.from(plain, (letter) => lookAlikes.get(letter) ?? letter).join('')
}

export const isEmptyName = (name: string): boolean => personKey(name) === ''
export const isSamePerson = (one: string, other: string): boolean => personKey(one) === personKey(other)

/** Formats in English who decided. `second`: null if one person decided alone. */
export const decidersText = (first: string | null, second: string | null): string =>
  second === null ? (first ?? '') : `${first ?? ''}, approved by ${second}`

/** Returns the stored form of a name, without extra spaces. */
export const normalizeName = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/[\s\p{Cf}]+/gu, ' ')
    .trim()

/** A person who proposes or approves a decision. `id`: the signed-in account. Absent: the name was typed. */
export type Decider = { readonly id?: string | undefined; readonly name: string }

/**
 * A decider at the time when the decision takes effect. `may`: false if the account was removed or its role no longer
 * allows the decision.
 */
export type DeciderStanding = Decider & { readonly may: boolean }

/**
 * The reason why a decision of two people is invalid. `author`: the proposer may no longer decide, and another person
 * must propose again.
 */
export type DecidersProblem = { readonly who: 'same' | 'author' | 'approver'; readonly why: string }

/**
 * Checks, when a decision takes effect, that two different people made it and both may still do so. Undefined: the
 * decision is valid.
 */
export function checkDeciders(author: DeciderStanding, approver: DeciderStanding): DecidersProblem | undefined {
  if ((author.id !== undefined && author.id === approver.id) || isSamePerson(author.name, approver.name))
    return { who: 'same', why: `${author.name} proposed it: another person must approve it.` }
  if (!approver.may)
    return {
      who: 'approver',
      why: `${approver.name} may not approve it: another person with this permission must approve it.`,
    }
  if (!author.may)
    return {
      who: 'author',
      why: `${author.name}, who proposed it, may no longer do so: a person with this permission must propose it again.`,
    }
  return undefined
}
