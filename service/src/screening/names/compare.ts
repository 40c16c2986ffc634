/**
 * The score of a name against a listed one, and its components: are the words of the listed name there? Each word pairs with at most one word
 * of the other name. A pair counts by its weight times its likeness; a rare word of the list weighs more than a common one.
 */
import { decorationOf, type WordKind } from './decorations.ts'
import { type How, initialLikeness, type Likeness, likenessOf } from './spelling.ts'

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
  /** States what an `additional` word is. */
  readonly kind?: WordKind
}

export type Comparison = {
  /** 0 to 100. */
  readonly score: number
  /** The pairs are in another order than in the listed name. */
  readonly isReordered: boolean
  readonly words: readonly WordMatch[]
}

/**
 * The share of a listed word that the name lacks. If the name has a word that the list lacks, both count in full: they contradict each other.
 */
const omittedShare = 0.5
/**
 * The share if the first listed word and another one are there: second given names, patronymics and second surnames are
 * often left out. Together they weigh at most as much as the pairs.
 */
const omittedAfterFirstShare = 0.2
const identifyingPairsMin = 2
/** A score from 95 on says that every word is there and no other name (`twoPersonsScoreMin` in rules.ts). */
export const incompleteScoreMax = 0.94
/**
 * A whole listed name beside other names is found if its words weigh this much together, and more for each other name: the more names a person
 * has, the more often two of them are those of a listed one.
 */
const tellingWeightMin = 0.7
const tellingWeightPerStranger = 0.1
/** Two words of a listed name that weigh so much say who is meant without its first word. */
const tellingWithoutFirstMin = 1.1
const missingWithoutFirstMax = 0.9
/** The words that stand in another order weigh this much, or one that is left out makes another person. */
const tellingInOtherOrderMin = 1.3

export type Weighted = { readonly word: string; readonly weight: number }
type Pair = Likeness & { readonly at: number; readonly listedAt: number }

export type Sums = {
  readonly pairs: number
  /** The first word of the listed name is in a pair. */
  readonly isFirstPaired: boolean
  /** The pairs stand in the order of the listed name, or with its last word first. */
  readonly isInOrder: boolean
  /** Weights: of pairs, of pairs by their likeness, and of words without a pair on either side. */
  readonly paired: number
  readonly alike: number
  readonly missing: number
  readonly additional: number
  /** Number of the additional words. */
  readonly strangers: number
  /** Weight of the pairs of whole words. */
  readonly telling: number
}

export function scoreOf(sums: Sums): number {
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

/** Whether a word beside a listed name of so many words makes another name. The only word of one is found beside few words. */
export function isNameBeside(word: string, listedWords: number): boolean {
  const { kind, isSure } = decorationOf(word)
  return listedWords === 1 ? kind === 'name' || kind === 'place' || !isSure : kind === 'name' && word.length > 1
}

/** A word contradicts a missing one of its kind too: another year, another place. */
const isStranger = (word: string, listed: readonly Weighted[], missing: readonly Weighted[]): boolean =>
  isNameBeside(word, listed.length) ||
  missing.some(
    (each) => decorationOf(each.word).kind !== 'name' && decorationOf(each.word).kind === decorationOf(word).kind,
  )

/** How much a pair says about who is meant: less if it is short or misspelt, and nothing if it is an initial. */
export function tellingOf({ likeness }: Pick<Likeness, 'likeness'>, { word, weight }: Weighted): number {
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
  const strangers = additional.filter(({ word }) => isStranger(word, listed, missing))
  const sum = (all: readonly number[]) => all.reduce((total, each) => total + each, 0)
  const score = scoreOf({
    pairs: pairs.length,
    isFirstPaired: pairs[0]?.listedAt === 0,
    isInOrder: isInOrder(pairs, listed.length),
    paired: sum(pairs.map(weightAt)),
    alike: sum(pairs.map((pair) => weightAt(pair) * pair.likeness)),
    missing: sum(missing.map(({ weight }) => weight)),
    additional: sum(strangers.map(({ weight }) => weight)),
    strangers: strangers.length,
    telling: sum(pairs.map((pair) => tellingOf(pair, listed[pair.listedAt] ?? { word: '', weight: 0 }))),
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
        kind: decorationOf(word).kind,
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
