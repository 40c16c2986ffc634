/**
 * The score of a name against a listed one, and its components. Each word pairs with at most one word of the other
 * name. A pair counts by its weight times its likeness; a rare word of the list weighs more than a common one.
 */
import { type How, type Likeness, likenessOf } from './spelling.ts'

export type WordMatch = {
  /** A word of the name that was screened; null: `missing`. */
  readonly word: string | null
  /** A word of the listed name; null: `additional`. */
  readonly listed: string | null
  readonly how: How | 'missing' | 'additional'
  /** 0 to 100. */
  readonly likeness: number
  /** 0 to 100: how distinctive the word is, by how many listed names have it. */
  readonly weight: number
}

export type Comparison = {
  /** 0 to 100. */
  readonly score: number
  /** The pairs are in another order than in the listed name. */
  readonly isReordered: boolean
  readonly words: readonly WordMatch[]
}

/**
 * The share of a listed word that the name lacks. A word that the list lacks counts in full, because another person has
 * it; and if both have one, they contradict each other.
 */
const omittedShare = 0.5
/**
 * The share if the first listed word and another one are there: second given names, patronymics and second surnames are
 * often left out. Together they weigh at most as much as the pairs.
 */
const omittedAfterFirstShare = 0.2
const identifyingPairsMin = 2
/** A score from 95 on says that every word is there (`twoPersonsScoreMin` in rules.ts). */
export const incompleteScoreMax = 0.94

export type Weighted = { readonly word: string; readonly weight: number }
type Pair = Likeness & { readonly at: number; readonly listedAt: number }

export type Sums = {
  readonly pairs: number
  /** The first word of the listed name is in a pair. */
  readonly isFirstPaired: boolean
  /** Weights: of pairs, of pairs by their likeness, and of words without a pair on either side. */
  readonly paired: number
  readonly alike: number
  readonly missing: number
  readonly additional: number
}

export function scoreOf({ pairs, isFirstPaired, paired, alike, missing, additional }: Sums): number {
  const omitted =
    isFirstPaired && pairs >= identifyingPairsMin
      ? omittedAfterFirstShare * Math.min(missing, paired)
      : omittedShare * missing
  const whole = 2 * paired + (additional > 0 ? missing : omitted) + additional
  const score = whole === 0 ? 0 : (2 * alike) / whole
  return missing > 0 ? Math.min(score, incompleteScoreMax) : score
}

type LikenessOf = (word: string, listed: string) => Likeness | undefined

/** Takes the best pairs first, so that a similar word does not displace an equal one. */
function pairsOf(words: readonly Weighted[], listed: readonly Weighted[], like: LikenessOf): readonly Pair[] {
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

/** `words`: of the name, with the weights that the list would give them. `like`: `likenessOf`, possibly cached. */
export function compareNames(
  words: readonly Weighted[],
  listed: readonly Weighted[],
  like: LikenessOf = likenessOf,
): Comparison {
  const pairs = pairsOf(words, listed, like)
  const weightAt = ({ listedAt }: Pair) => listed[listedAt]?.weight ?? 0
  const missing = listed.filter((_, at) => !pairs.some(({ listedAt }) => listedAt === at))
  const additional = words.filter((_, at) => !pairs.some((pair) => pair.at === at))
  const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)
  const score = scoreOf({
    pairs: pairs.length,
    isFirstPaired: pairs[0]?.listedAt === 0,
    paired: sum(pairs.map(weightAt)),
    alike: sum(pairs.map((pair) => weightAt(pair) * pair.likeness)),
    missing: sum(missing.map(({ weight }) => weight)),
    additional: sum(additional.map(({ weight }) => weight)),
  })
  return {
    score: percent(score),
    isReordered: pairs.some(({ at }, index) => at < (pairs[index - 1]?.at ?? -1)),
    words: [
      ...pairs.map((pair) => ({
        word: words[pair.at]?.word ?? null,
        listed: listed[pair.listedAt]?.word ?? null,
        how: pair.how,
        likeness: percent(pair.likeness),
        weight: percent(weightAt(pair)),
      })),
      ...missing.map(({ word, weight }) => unpaired(null, word, 'missing', weight)),
      ...additional.map(({ word, weight }) => unpaired(word, null, 'additional', weight)),
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
