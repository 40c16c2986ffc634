/**
 * The names of a list in memory, found by the keys of their words. A search compares a name only with listed names that
 * can reach the score; README.md says what it may miss.
 */
import { type Comparison, compareNames, incompleteScoreMax, scoreOf, type Weighted } from './compare.ts'
import { isArabic } from './arabic.ts'
import { keysOf, type Likeness, likenessOf, listedKeysOf, oneEditLikeness } from './spelling.ts'
import { formsOf, wordsOf } from './words.ts'

export type IndexedName<Entry> = { readonly entry: Entry; readonly text: string }

export type Match<Entry> = Comparison & { readonly entry: Entry; readonly listedName: string }

export type NameIndex<Entry> = {
  /** The number of names. */
  readonly size: number
  /** The best match of each entry that reaches `scoreMin` (0 to 100), the best first. */
  readonly search: (name: string, scoreMin: number) => readonly Match<Entry>[]
  /** The listed names of two and more words that stand whole in a text of up to 500 characters, the best first. */
  readonly searchText: (text: string) => readonly Match<Entry>[]
}

type Form = { readonly nameAt: number; readonly words: readonly number[]; readonly isJoined: boolean; weight: number }

type Tables<Entry> = {
  readonly names: IndexedName<Entry>[]
  readonly forms: Form[]
  readonly words: string[]
  readonly wordIds: Map<string, number>
  /** Forms that contain a word, by word. */
  readonly postings: number[][]
  /** Words that have a key, by key. */
  readonly byKey: Map<string, number[]>
  weights: number[]
}

/** A word in every hundredth name still counts; a list of a few names has no common words. */
const weightMin = 0.35
const namesForWeightsMin = 1000
/**
 * Two words count as one only if everything else fits: with misspellings in addition, any two short words would make a
 * third.
 */
const joinedScoreMin = 95

/** A word of another script weighs what the most common one of its likely spellings does. */
const spellingLikenessMin = 0.9

/**
 * Largest weight that an initial of the screened name adds, by `likenessOf`. It has no key, because it is similar to a
 * part of all words.
 */
const initialLikenessMax = 0.7

/** `pause` lets other work of the process run between parts of the names. */
export async function createNameIndex<Entry>(
  names: Iterable<IndexedName<Entry>>,
  pause: () => Promise<void>,
): Promise<NameIndex<Entry>> {
  const tables: Tables<Entry> = {
    names: [],
    forms: [],
    words: [],
    wordIds: new Map(),
    postings: [],
    byKey: new Map(),
    weights: [],
  }
  for (const name of names) {
    addName(tables, name)
    if (tables.names.length % namesPerPause === 0) await pause()
  }
  const total = Math.log(Math.max(tables.names.length, namesForWeightsMin))
  tables.weights = tables.postings.map(({ length }) => Math.max(weightMin, 1 - Math.log(length) / total))
  for (const form of tables.forms) form.weight = form.words.reduce((sum, word) => sum + (tables.weights[word] ?? 1), 0)
  const search = createSearch(tables)
  return { size: tables.names.length, search, searchText: (text) => search(text, joinedScoreMin) }
}
const namesPerPause = 250

function addName<Entry>(tables: Tables<Entry>, name: IndexedName<Entry>): void {
  const nameAt = tables.names.push(name) - 1
  for (const form of formsOf(wordsOf(name.text))) {
    if (form.words.length === 0) continue
    const words = form.words.map((word) => wordIdOf(tables, word))
    const formAt = tables.forms.push({ nameAt, words, isJoined: form.isJoined, weight: 0 }) - 1
    for (const word of new Set(words)) tables.postings[word]?.push(formAt)
  }
}

function wordIdOf<Entry>({ words, wordIds, postings, byKey }: Tables<Entry>, word: string): number {
  const known = wordIds.get(word)
  if (known !== undefined) return known
  const id = words.push(word) - 1
  wordIds.set(word, id)
  postings.push([])
  for (const key of word.length === 1 ? [initialKey(word)] : new Set(listedKeysOf(word))) {
    const having = byKey.get(key)
    if (having) having.push(id)
    else byKey.set(key, [id])
  }
  return id
}

const initialKey = (word: string): string => `^${word.slice(0, 1)}`

type Found = ReadonlyMap<number, Likeness>

function createSearch<Entry>(tables: Tables<Entry>): NameIndex<Entry>['search'] {
  const { names, forms, words, weights } = tables
  const bounds: Bounds = {
    alike: new Float64Array(forms.length),
    pairs: new Uint8Array(forms.length),
    covered: new Float64Array(forms.length),
  }
  const weightOfWord = (word: string, found: Found | undefined) => {
    const known = weights[tables.wordIds.get(word) ?? -1]
    if (known !== undefined || found === undefined || !isArabic(word)) return known ?? 1
    const likely = [...found].filter(([, { likeness }]) => likeness >= spellingLikenessMin)
    return Math.min(1, ...likely.map(([id]) => weights[id] ?? 1))
  }
  return (name, scoreMin) => {
    const found = new Map<string, Found>()
    const matches = new Map<Entry, Match<Entry>>()
    for (const form of formsOf(wordsOf(name))) {
      const formScoreMin = form.isJoined ? Math.max(scoreMin, joinedScoreMin) : scoreMin
      for (const word of form.words)
        if (!found.has(word)) found.set(word, wordsLike(tables, word, form.words.length === 1))
      const weighted = form.words.map((word): Weighted => ({ word, weight: weightOfWord(word, found.get(word)) }))
      const like = (word: string, listed: string) =>
        word.length === 1 ? likenessOf(word, listed) : found.get(word)?.get(tables.wordIds.get(listed) ?? -1)
      for (const formAt of candidates(tables, bounds, weighted, found, formScoreMin / 100)) {
        const { nameAt, words: listed, isJoined } = forms[formAt] as Form
        const { entry, text } = names[nameAt] as IndexedName<Entry>
        const compared = compareNames(
          weighted,
          listed.map((word) => ({ word: words[word] ?? '', weight: weights[word] ?? 1 })),
          like,
        )
        const before = matches.get(entry)
        const least = isJoined ? Math.max(scoreMin, joinedScoreMin) : formScoreMin
        if (compared.score >= least && compared.score > (before?.score ?? -1))
          matches.set(entry, { ...compared, entry, listedName: text })
      }
    }
    return [...matches.values()].toSorted((a, b) => b.score - a.score)
  }
}

/**
 * The words of the list that share a key with the word and are similar to it. `isAlone`: the name has no other word
 * that could make up for a typing error.
 */
function wordsLike<Entry>({ byKey, words }: Tables<Entry>, word: string, isAlone: boolean): Found {
  const found = new Map<number, Likeness>()
  const looked = new Set<number>()
  for (const key of word.length === 1 ? [initialKey(word)] : [...keysOf(word), initialKey(word)])
    for (const id of byKey.get(key) ?? []) {
      if (looked.has(id)) continue
      looked.add(id)
      const likeness = likenessOf(word, words[id] ?? '')
      if (likeness) found.set(id, isAlone ? likenessAlone(word, likeness) : likeness)
    }
  return found
}

/** Below it, one edit makes the surname of another business too often. */
const aloneLettersMin = 7
const aloneLikeness = 0.88

/** One typing error in the only word of a name, which is long enough, is a hit. */
const likenessAlone = (word: string, { how, likeness }: Likeness): Likeness => {
  const isOneEdit = how === 'misspelt' && likeness >= oneEditLikeness(word.length)
  return { how, likeness: isOneEdit && word.length >= aloneLettersMin ? Math.max(aloneLikeness, likeness) : likeness }
}

type Bounds = {
  /** Bounds by form: the most that the words of the search pair, how many do, and their own weight. Zero between searches. */
  readonly alike: Float64Array
  readonly pairs: Uint8Array
  readonly covered: Float64Array
}

/** The forms that may reach the score: by the words found, and by the most that the others can add. */
function candidates<Entry>(
  { postings, forms, weights }: Tables<Entry>,
  { alike, pairs, covered }: Bounds,
  words: readonly Weighted[],
  found: ReadonlyMap<string, Found>,
  scoreMin: number,
): readonly number[] {
  const touched: number[] = []
  for (const { word, weight } of words) {
    // By the form: the most that this word adds, so that two similar listed words do not count twice.
    const added = new Map<number, number>()
    for (const [id, { likeness }] of found.get(word) ?? []) {
      const worth = likeness * (weights[id] ?? 1)
      for (const formAt of postings[id] ?? []) if (worth > (added.get(formAt) ?? 0)) added.set(formAt, worth)
    }
    for (const [formAt, worth] of added) {
      if (pairs[formAt] === 0) touched.push(formAt)
      alike[formAt] = (alike[formAt] ?? 0) + worth
      pairs[formAt] = (pairs[formAt] ?? 0) + 1
      if (word.length > 1) covered[formAt] = (covered[formAt] ?? 0) + weight
    }
  }
  const initials = words.filter(({ word }) => word.length === 1).length
  const whole = words.reduce((sum, { word, weight }) => sum + (word.length > 1 ? weight : 0), 0)
  // A missing word limits the score of a comparison, and the bound does not know whether one is missing.
  const least = Math.min(scoreMin, incompleteScoreMax)
  const chosen = touched.filter((formAt) => {
    const form = forms[formAt]?.weight ?? 0
    const most = Math.min((alike[formAt] ?? 0) + initials * initialLikenessMax, form)
    // Assumes that every pair is equal: an upper bound of the comparison. A word that is similar to none is additional.
    const additional = Math.max(0, whole - (covered[formAt] ?? 0) - roundingMax)
    const sums = { paired: most, alike: most, missing: Math.max(0, form - most), additional }
    return scoreOf({ ...sums, pairs: (pairs[formAt] ?? 0) + initials, isFirstPaired: true }) >= least
  })
  for (const formAt of touched) {
    alike[formAt] = 0
    pairs[formAt] = 0
    covered[formAt] = 0
  }
  return chosen
}
const roundingMax = 1e-9
