/**
 * The names of a list in memory, found by the keys of their words. A search compares a name only with listed names that
 * can reach the score; README.md says what it may miss.
 */
import { areTwoNames, isCommonName } from '../corpus/common-names.ts'
import type { EntryKind } from '../lists/entry.ts'
import {
  compareNames,
  type Comparison,
  incompleteScoreMax,
  isNameBeside,
  scoreOf,
  tellingOf,
  type Weighted,
} from './compare.ts'
import { isArabic } from './arabic.ts'
import { hasSyllables } from './east-asian.ts'
import {
  initialLikeness,
  keysOf,
  type Likeness,
  likenessOf,
  listedKeysOf,
  oneEditLikeness,
  soundOf,
  spellingKey,
} from './spelling.ts'
import { formsOf, isCompany, type TextForm, textFormsOf, textWordsOf, wordsOf } from './words.ts'

/** `kind`: undefined is a person. */
export type IndexedName<Entry> = { readonly entry: Entry; readonly text: string; readonly kind?: EntryKind }

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
/** Percent. */
const joinedLikenessMin = 95

/** A word of another script weighs what the most common one of its likely spellings does. */
const spellingLikenessMin = 0.9

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
  const counts = new Map<string, number>()
  const spelling = tables.words.map(spellingKey)
  for (const [id, key] of spelling.entries())
    counts.set(key, (counts.get(key) ?? 0) + (tables.postings[id]?.length ?? 0))
  tables.weights = spelling.map((key) => Math.max(weightMin, 1 - Math.log(counts.get(key) ?? 1) / total))
  for (const form of tables.forms) form.weight = form.words.reduce((sum, word) => sum + (tables.weights[word] ?? 1), 0)
  return { size: tables.names.length, search: createSearch(tables), searchText: createTextSearch(tables) }
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
/** A form of the screened text. `likely`: the listed words like each of its words. */
type WeightedForm = Pick<TextForm, 'isJoined' | 'isPart'> & {
  readonly weighted: readonly Weighted[]
  readonly likely: readonly Found[]
}

function createSearch<Entry>(tables: Tables<Entry>): NameIndex<Entry>['search'] {
  const { names, forms, words, weights, wordIds } = tables
  const bounds: Bounds = {
    alike: new Float64Array(forms.length),
    pairs: new Uint8Array(forms.length),
    added: new Float64Array(forms.length),
  }
  const isListed = (word: string) => wordIds.has(word)
  const weightOfWord = (word: string, found: Found | undefined) => {
    const known = weights[wordIds.get(word) ?? -1]
    if (known !== undefined || found === undefined || !isArabic(word)) return known ?? 1
    const likely = [...found].filter(([, { likeness }]) => likeness >= spellingLikenessMin)
    return Math.min(1, ...likely.map(([id]) => weights[id] ?? 1))
  }
  return (name, scoreMin) => {
    const written = textFormsOf(name, isListed)
    const found = new Map<string, Found>()
    for (const { words: all } of written)
      for (const word of all) if (!found.has(word)) found.set(word, wordsLike(tables, word))
    const like = (word: string, listed: string) =>
      word.length === 1 ? likenessOf(word, listed) : found.get(word)?.get(wordIds.get(listed) ?? -1)
    const likeAlone = (word: string, listed: string) => {
      const likeness = like(word, listed)
      return likeness && likenessAlone(word, likeness)
    }
    const textForms = written.map(({ words: all, isJoined, isPart }): WeightedForm => ({
      isJoined,
      isPart,
      weighted: all.map((word) => ({ word, weight: weightOfWord(word, found.get(word)) })),
      likely: all.map((word) => found.get(word) ?? new Map()),
    }))
    const isSyllabic = hasSyllables(name)
    const mayBePerson = !isCompany(name)
    const endsInTitle = titleAtEnd.test(name)
    const matches = new Map<Entry, Match<Entry>>()
    for (const formAt of candidates(tables, bounds, textForms, found, scoreMin / 100)) {
      const { nameAt, words: ids, isJoined } = forms[formAt] as Form
      const { entry, text, kind } = names[nameAt] as IndexedName<Entry>
      const listed = ids.map((id) => ({ word: words[id] ?? '', weight: weights[id] ?? 1 }))
      if (ids.length === 1 && endsInTitle) continue
      for (const textForm of textForms) {
        if (mostOf(tables, textForm, ids) * percents < scoreMin) continue
        const { weighted, isPart } = textForm
        const compared = compareNames(weighted, listed, weighted.length === 1 ? likeAlone : like)
        if (compared.score < scoreMin || compared.score <= (matches.get(entry)?.score ?? -1)) continue
        if ((isJoined || textForm.isJoined) && !isExact(compared)) continue
        if (isPart && !isTelling(compared)) continue
        if (isSyllabic && hasStranger(compared)) continue
        if (kind === 'organisation' && mayBePerson && isLikePersons(compared)) continue
        matches.set(entry, { ...compared, entry, listedName: text })
      }
    }
    return [...matches.values()].toSorted((a, b) => b.score - a.score)
  }
}

/** An upper bound of the score of a form against a listed one: every listed word pairs with the word most like it. */
function mostOf<Entry>(
  { words, weights }: Tables<Entry>,
  { weighted, likely }: WeightedForm,
  ids: readonly number[],
): number {
  let [pairs, paired, alike, missing, additional, strangers, telling] = [0, 0, 0, 0, 0, 0, 0]
  for (const id of ids) {
    let best = 0
    for (const [at, found] of likely.entries()) {
      const isInitial = weighted[at]?.word.length === 1 && weighted[at].word === words[id]?.[0]
      best = Math.max(best, found.get(id)?.likeness ?? 0, isInitial ? initialLikeness : 0)
    }
    const weight = weights[id] ?? 1
    if (best === 0) missing += weight
    else {
      pairs += 1
      paired += weight
      alike += weight * best
      telling += tellingOf({ likeness: best }, { word: words[id] ?? '', weight })
    }
  }
  for (const [at, { word, weight }] of weighted.entries()) {
    if (!isNameBeside(word, ids.length) || ids.some((id) => likely[at]?.has(id))) continue
    additional += weight
    strangers += 1
  }
  return scoreOf({
    pairs,
    isFirstPaired: true,
    isInOrder: true,
    paired,
    alike: weighted.length === 1 ? paired : alike,
    missing,
    additional,
    strangers,
    telling,
  })
}
const percents = 100

/**
 * Two words count as one only if everything else fits: with misspellings in addition, any two short words would make a
 * third.
 */
const isExact = (compared: Comparison): boolean =>
  compared.words.every(({ how, likeness }) => how === 'additional' || likeness >= joinedLikenessMin) &&
  !hasStranger(compared)

/** A sign more of a Chinese or Korean name makes another name: its words are syllables. */
const hasStranger = ({ words }: Comparison): boolean =>
  words.some(({ how, kind }) => how === 'additional' && kind === 'name')

/** A title at the end is a family name beside the only word of a listed name. */
const titleAtEnd = /\S\s+sh(?:ei|ai|ay)kh?\s*$/iu

/** Companies are named as persons (`WEI TA LEE COMPANY`). Common names of persons that are a part of such a name, or like it, name no company. */
const isLikePersons = ({ words }: Comparison): boolean =>
  words.every(({ word, how }) => word === null || how === 'additional' || isCommonName(word)) &&
  words.some(({ how, likeness }) => how === 'missing' || (how !== 'additional' && likeness < joinedLikenessMin))

/** Given names of one of several persons are parts of many listed names: what is left out has to weigh little. */
const isTelling = ({ words }: Comparison): boolean =>
  words.every(({ how }) => how !== 'missing') ||
  words.reduce((sum, { likeness, weight }) => sum + (likeness > 0 ? weight : 0), 0) >= partWeightMin
const partWeightMin = 130

/** The words of the list that share a key with the word and are similar to it. */
function wordsLike<Entry>({ byKey, words }: Tables<Entry>, word: string): Found {
  const found = new Map<number, Likeness>()
  const looked = new Set<number>()
  for (const key of word.length === 1 ? [initialKey(word)] : [...keysOf(word), initialKey(word)])
    for (const id of byKey.get(key) ?? []) {
      if (looked.has(id)) continue
      looked.add(id)
      const listed = words[id] ?? ''
      const likeness = likenessOf(word, listed)
      if (likeness === undefined) continue
      const isSpelling = likeness.likeness >= spellingLikenessMin || likeness.how === 'initial'
      if (isSpelling || !areTwoNames(word, listed)) found.set(id, likeness)
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
  /** Bounds by form: the most that the words of the search pair, how many do, and what one word adds. Zero between searches. */
  readonly alike: Float64Array
  readonly pairs: Uint8Array
  readonly added: Float64Array
}

/** The listed forms that may reach the score: by the words found, and by the most that the others can add. */
function candidates<Entry>(
  { postings, forms, weights }: Tables<Entry>,
  { alike, pairs, added }: Bounds,
  textForms: readonly WeightedForm[],
  found: ReadonlyMap<string, Found>,
  scoreMin: number,
): readonly number[] {
  const touched: number[] = []
  const isAlone = textForms.some(({ weighted }) => weighted.length === 1)
  for (const [word, likely] of found) {
    const own: number[] = []
    for (const [id, each] of likely) {
      const { likeness } = isAlone ? likenessAlone(word, each) : each
      const worth = likeness * (weights[id] ?? 1)
      for (const formAt of postings[id] ?? []) {
        const before = added[formAt] ?? 0
        if (before === 0) own.push(formAt)
        // The most that this word adds, so that two similar listed words do not count twice.
        if (worth > before) added[formAt] = worth
      }
    }
    for (const formAt of own) {
      if (pairs[formAt] === 0) touched.push(formAt)
      alike[formAt] = (alike[formAt] ?? 0) + (added[formAt] ?? 0)
      pairs[formAt] = (pairs[formAt] ?? 0) + 1
      added[formAt] = 0
    }
  }
  const initials = Math.max(
    0,
    ...textForms.map(({ weighted }) => weighted.filter(({ word }) => word.length === 1).length),
  )
  // A missing word limits the score of a comparison, and the bound does not know whether one is missing.
  const least = Math.min(scoreMin, incompleteScoreMax)
  const chosen = touched.filter((formAt) => {
    const form = forms[formAt]?.weight ?? 0
    const most = Math.min((alike[formAt] ?? 0) + initials * initialLikeness, form)
    if (most >= least * form) return true
    // Assumes that every pair is equal, and that no word is additional: an upper bound of the comparison.
    const sums = { paired: most, alike: most, missing: form - most, additional: 0, strangers: 0, telling: most }
    return scoreOf({ ...sums, pairs: (pairs[formAt] ?? 0) + initials, isFirstPaired: true, isInOrder: true }) >= least
  })
  for (const formAt of touched) {
    alike[formAt] = 0
    pairs[formAt] = 0
  }
  return chosen
}

/** Words of a listed name weigh this much together if a text may say them by chance otherwise. */
const textWeightMin = 1.1
/** A word between those of a name, such as an initial. */
const betweenMax = 1
const textScoreMin = 95

/** Finds names by their rarest word: a text has many words, and most are in no name. */
function createTextSearch<Entry>({
  names,
  forms,
  words,
  wordIds,
  byKey,
  weights,
}: Tables<Entry>): NameIndex<Entry>['searchText'] {
  const byRarest = new Map<number, number[]>()
  const listedOf = ({ words: ids }: Form) => ids.map((id) => ({ word: words[id] ?? '', weight: weights[id] ?? 1 }))
  for (const [formAt, form] of forms.entries()) {
    const listed = listedOf(form)
    const telling = listed.reduce((sum, each) => sum + tellingOf({ likeness: 1 }, each), 0)
    if (listed.length < 2 || telling < textWeightMin || listed.some(({ word }) => word.length === 1)) continue
    const rarest = Math.max(...listed.map(({ weight }) => weight))
    const id = form.words[listed.findIndex(({ weight }) => weight === rarest)] ?? 0
    byRarest.set(id, [...(byRarest.get(id) ?? []), formAt])
  }
  /** The listed words that are the same or sound the same. */
  const sameWords = (word: string): readonly number[] => {
    const id = wordIds.get(word)
    const sound = isArabic(word) ? word : soundOf(word)
    const alike = (byKey.get(sound) ?? []).filter(
      (other) => other !== id && (likenessOf(word, words[other] ?? '')?.likeness ?? 0) * percents >= textScoreMin,
    )
    return id === undefined ? alike : [id, ...alike]
  }
  return (text) => {
    const all = textWordsOf(text)
    const same = all.map((word) => (word.length === 1 ? [] : sameWords(word)))
    const matches = new Map<Entry, Match<Entry>>()
    for (const [at, ids] of same.entries())
      for (const formAt of ids.flatMap((id) => byRarest.get(id) ?? [])) {
        const form = forms[formAt] as Form
        const reach = form.words.length - 1 + betweenMax
        const near = Array.from({ length: 2 * reach + 1 }, (_none, index) => at - reach + index)
        const found = form.words.map((id) => near.filter((each) => same[each]?.includes(id)))
        if (found.some((places) => places.length === 0)) continue
        const places = found.map((each) => each.toSorted((a, b) => Math.abs(a - at) - Math.abs(b - at))[0] ?? at)
        const [from, to] = [Math.min(...places), Math.max(...places)]
        if (to - from > reach) continue
        const said = all.slice(from, to + 1).map((word) => ({ word, weight: weights[wordIds.get(word) ?? -1] ?? 1 }))
        const compared = compareNames(said, listedOf(form))
        const { entry, text: listedName } = names[form.nameAt] as IndexedName<Entry>
        if (compared.score >= textScoreMin && compared.score > (matches.get(entry)?.score ?? -1))
          matches.set(entry, { ...compared, entry, listedName })
      }
    return [...matches.values()].toSorted((a, b) => b.score - a.score)
  }
}

// Decides whether a name is on the lists in memory. It caches names, because frequent payers recur.

const rememberedMax = 10_000

export function createMatches(scoreMin: number) {
  let remembered = new Map<string, boolean>()
  let generationOf = 0
  return <Entry>(
    { generation, index }: { readonly generation: number; readonly index: NameIndex<Entry> },
    name: string,
  ): boolean => {
    if (generation !== generationOf || remembered.size >= rememberedMax) remembered = new Map()
    generationOf = generation
    const known = remembered.get(name)
    if (known !== undefined) return known
    const isFound = index.search(name, scoreMin).length > 0
    remembered.set(name, isFound)
    return isFound
  }
}
