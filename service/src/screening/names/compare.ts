/**
 * The score of a name against a listed name: which words of the listed name does it contain? Each word pairs with at most one word of the other
 * name. A pair counts by its weight times its likeness, and a rare word of the list weighs more than a common one.
 */
import { findDecoration, type WordKind } from './decorations.ts'
import { type PairKind, initialLikeness, type Likeness, compareWords } from './spelling.ts'

export type WordMatch = {
  /** A word of the screened name. Null: `missing`. */
  readonly word: string | null
  /** A word of the listed name. Null: `additional`. */
  readonly listed: string | null
  readonly how: PairKind | 'missing' | 'additional'
  /** 0 to 100. */
  readonly likeness: number
  /** 0 to 100: how distinctive the word is, by the number of listed names with it. */
  readonly weight: number
  /** The kind of an `additional` word. */
  readonly kind?: WordKind
}

export type Comparison = {
  /** 0 to 100. */
  readonly score: number
  /** True if the pairs are in a different order than in the listed name. */
  readonly isReordered: boolean
  readonly words: readonly WordMatch[]
}

/**
 * How much a missing listed word counts. If the name also has an additional word, both count in full, because they contradict each other.
 */
const omittedShare = 0.5
/**
 * How much missing words count if the first listed word and another one are there, because second given names, patronymics and
 * second surnames are often left out. Together they weigh at most as much as the pairs.
 */
const omittedAfterFirstShare = 0.2
const identifyingPairsMin = 2
/** Maximum score of an incomplete match. From 95 on, every word is there and no other name (`twoPersonsScoreMin` in rules.ts). */
export const incompleteScoreMax = 0.94
/**
 * Minimum weight of a complete listed name next to additional names. It grows with each additional name, because a
 * person with more names more often shares two of them with a listed person.
 */
const tellingWeightMin = 0.7
const tellingWeightPerStranger = 0.1
/** Minimum weight of two words that identify a person without the first listed word. */
const tellingWithoutFirstMin = 1.1
const missingWithoutFirstMax = 0.9
/** Minimum weight of words in a different order if a word is missing. */
const tellingInOtherOrderMin = 1.3

export type WeightedWord = { readonly word: string; readonly weight: number }
type Pair = Likeness & { readonly at: number; readonly listedAt: number }

export type Sums = {
  readonly pairs: number
  /** True if the first listed word is in a pair. */
  readonly isFirstPaired: boolean
  /** True if the pairs are in the order of the listed name, or with its last word first. */
  readonly isInOrder: boolean
  /** Weights: of the pairs, of the pairs times their likeness, and of unpaired words on either side. */
  readonly paired: number
  readonly alike: number
  readonly missing: number
  readonly additional: number
  /** Number of the additional words. */
  readonly strangers: number
  /** Weight of the pairs that identify a person. */
  readonly telling: number
}

export function computeScore(sums: Sums): number {
  const { pairs, isFirstPaired, isInOrder, paired, alike, missing, additional, strangers, telling } = sums
  if (paired === 0) return 0
  if (missing > 0) {
    const omitted =
      pairs >= identifyingPairsMin &&
      (isFirstPaired || (telling >= tellingWithoutFirstMin && missing <= paired * missingWithoutFirstMax))
        ? omittedAfterFirstShare * Math.min(missing, paired)
        : omittedShare * missing
    const isContradicted = additional > 0 || (!isInOrder && telling < tellingInOtherOrderMin)
    return Math.min((2 * alike) / (2 * paired + (isContradicted ? missing : omitted) + additional), incompleteScoreMax)
  }
  if (strangers === 0) return alike / paired
  const isTelling = pairs > 1 && telling >= tellingWeightMin + tellingWeightPerStranger * strangers
  return isTelling ? Math.min(alike / paired, incompleteScoreMax) : (2 * alike) / (2 * paired + additional)
}

type LikenessOf = (word: string, listed: string) => Likeness | undefined

/** Pairs words, the best pairs first, so that a similar word does not displace an equal one. */
function pairWords(words: readonly WeightedWord[], listed: readonly WeightedWord[], like: LikenessOf): readonly Pair[] {
  const possible = words.flatMap(({ word }, at) =>
    listed.flatMap((other, listedAt): readonly Pair[] => {
      const found = like(word, other.word)
      return found === undefined ? [] : [{ ...found, at, listedAt }]
    }),
  )
  const taken = new Set<number>()
  const takenListed = new Set<number>()
  const ordered = possible.toSorted(
    (a, b) => b.likeness - a.likeness || Math.abs(a.at - a.listedAt) - Math.abs(b.at - b.listedAt) || a.at - b.at,
  )
  const pairs: Pair[] = []
  for (const pair of ordered) {
    if (taken.has(pair.at) || takenListed.has(pair.listedAt)) continue
    taken.add(pair.at)
    takenListed.add(pair.listedAt)
    pairs.push(pair)
  }
  return pairs.toSorted((a, b) => a.listedAt - b.listedAt)
}

const percent = (share: number): number => Math.floor(share * 100 + 1e-9)

/**
 * Reports whether an additional word makes a different name. Next to a listed name of one word, places and ambiguous
 * words do, too.
 */
export function makesDifferentName(word: string, listedWords: number): boolean {
  const { kind, isSure } = findDecoration(word)
  return listedWords === 1 ? kind === 'name' || kind === 'place' || !isSure : kind === 'name' && word.length > 1
}

/** Reports whether an additional word makes a different name, or contradicts a missing word of its kind: another year, another place. */
const isStranger = (word: string, listed: readonly WeightedWord[], missing: readonly WeightedWord[]): boolean =>
  makesDifferentName(word, listed.length) ||
  missing.some(
    (each) => findDecoration(each.word).kind !== 'name' && findDecoration(each.word).kind === findDecoration(word).kind,
  )

/** Returns how much a pair identifies a person: less if it is short or misspelt, and 0 for an initial. */
export function identifyingWeight({ likeness }: Pick<Likeness, 'likeness'>, { word, weight }: WeightedWord): number {
  if (likeness <= initialLikeness) return 0
  const isWhole = likeness >= wholeLikenessMin
  return weight * Math.min(1, word.length / wholeCharsMin) * (isWhole ? 1 : misspeltShare)
}
const wholeLikenessMin = 0.9
const wholeCharsMin = 5
const misspeltShare = 0.7

const isAscending = (pairs: readonly Pair[]): boolean =>
  pairs.every(({ at }, index) => at > (pairs[index - 1]?.at ?? -1))

function isInOrder(pairs: readonly Pair[], listedWords: number): boolean {
  const [last, rest] = [pairs.at(-1), pairs.slice(0, -1)]
  const isLastFirst = last?.listedAt === listedWords - 1 && rest.every(({ at }) => at > last.at)
  return isAscending(isLastFirst ? rest : pairs)
}

/** Compares a name with a listed name. `words`: of the name, with their weights on the list. `like`: `compareWords`, possibly cached. */
export function compareNames(
  words: readonly WeightedWord[],
  listed: readonly WeightedWord[],
  like: LikenessOf = compareWords,
): Comparison {
  const pairs = pairWords(words, listed, like)
  const weightAt = ({ listedAt }: Pair) => listed[listedAt]?.weight ?? 0
  const missing = listed.filter((_, at) => !pairs.some(({ listedAt }) => listedAt === at))
  const additional = words.filter((_, at) => !pairs.some((pair) => pair.at === at))
  const strangers = additional.filter(({ word }) => isStranger(word, listed, missing))
  const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)
  const score = computeScore({
    pairs: pairs.length,
    isFirstPaired: pairs[0]?.listedAt === 0,
    isInOrder: isInOrder(pairs, listed.length),
    paired: sum(pairs.map(weightAt)),
    alike: sum(pairs.map((pair) => weightAt(pair) * pair.likeness)),
    missing: sum(missing.map(({ weight }) => weight)),
    additional: sum(strangers.map(({ weight }) => weight)),
    strangers: strangers.length,
    telling: sum(pairs.map((pair) => identifyingWeight(pair, listed[pair.listedAt] ?? { word: '', weight: 0 }))),
  })
  return {
    score: percent(score),
    isReordered: !isAscending(pairs),
    words: [
      ...pairs.map((pair) => ({
        word: words[pair.at]?.word ?? null,
        listed: listed[pair.listedAt]?.word ?? null,
        how: pair.how,
        likeness: percent(pair.likeness),
        weight: percent(weightAt(pair)),
      })),
      ...missing.map(({ word, weight }) => unpaired(null, word, 'missing', weight)),
      ...additional.map(({ word, weight }) => ({
        ...unpaired(word, null, 'additional', weight),
        kind: findDecoration(word).kind,
      })),
    ],
  }
}

const unpaired = (word: string | null, listed: string | null, how: WordMatch['how'], weight: number): WordMatch => ({
  word,
  listed,
  how,
  likeness: 0,
  weight: percent(weight),
})
