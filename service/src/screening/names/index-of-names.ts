/**
 * The index of listed names in memory, by the keys of their words. A search compares a name only with listed names that can
 * reach the score. README.md describes what it may miss.
 */
import { areDifferentNames, isCommonName } from '../corpus/common-names.ts'
import type { EntryKind } from '../lists/entry.ts'
import {
  compareNames,
  type Comparison,
  incompleteScoreMax,
  makesDifferentName,
  computeScore,
  identifyingWeight,
  type WeightedWord,
} from './compare.ts'
import { isArabic } from './arabic.ts'
import { findDecoration } from './decorations.ts'
import { hasSyllabicScript } from './east-asian.ts'
import {
  initialLikeness,
  wordKeys,
  type Likeness,
  compareWords,
  listedWordKeys,
  oneEditLikeness,
  phoneticForm,
  spellingKey,
} from './spelling.ts'
import { nameForms, isCompany, type TextForm, textFormsOf, textWords, nameWords } from './words.ts'

/** A listed name. `kind`: undefined for a person. */
export type IndexedName<Entry> = { readonly entry: Entry; readonly text: string; readonly kind?: EntryKind }

export type Match<Entry> = Comparison & { readonly entry: Entry; readonly listedName: string }

export type NameIndex<Entry> = {
  /** Number of names. */
  readonly size: number
  /** Finds the best match of each entry that reaches `scoreMin` (0 to 100), the best first. */
  readonly search: (name: string, scoreMin: number) => readonly Match<Entry>[]
  /** Finds listed names of two or more words that occur completely in a text of up to 500 characters, the best first. */
  readonly searchText: (text: string) => readonly Match<Entry>[]
}

type Form = { readonly nameAt: number; readonly words: readonly number[]; readonly isJoined: boolean; weight: number }

type Tables<Entry> = {
  readonly names: IndexedName<Entry>[]
  readonly forms: Form[]
  readonly words: string[]
  readonly wordIds: Map<string, number>
  /** Forms by the words that they contain. */
  readonly postings: number[][]
  /** Words by their keys. */
  readonly byKey: Map<string, number[]>
  weights: number[]
}

/** Minimum weight, of a word in every hundredth name. */
const weightMin = 0.35
const namesForWeightsMin = 1000
/** Minimum likeness of joined words, in percent. */
const joinedLikenessMin = 95

/** A word of another script weighs as much as the most common of its likely spellings, which have at least this likeness. */
const spellingLikenessMin = 0.9

/** Creates an index. `pause` lets other work of the process run between batches of names. */
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
  for (const form of nameForms(nameWords(name.text))) {
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
  for (const key of word.length === 1 ? [initialKey(word)] : new Set(listedWordKeys(word))) {
    const having = byKey.get(key)
    if (having) having.push(id)
    else byKey.set(key, [id])
  }
  return id
}

const initialKey = (word: string): string => `^${word.slice(0, 1)}`

type SimilarWords = ReadonlyMap<number, Likeness>
/** A form of the screened text. `likely`: the listed words that resemble each of its words. */
type WeightedForm = Pick<TextForm, 'isJoined' | 'isPart'> & {
  readonly weighted: readonly WeightedWord[]
  readonly likely: readonly SimilarWords[]
  /** Number of words that are names. */
  readonly names: number
}

function createSearch<Entry>(tables: Tables<Entry>): NameIndex<Entry>['search'] {
  const { names, forms, words, weights, wordIds } = tables
  const bounds: Bounds = {
    alike: new Float64Array(forms.length),
    pairs: new Uint8Array(forms.length),
    added: new Float64Array(forms.length),
  }
  const isListed = (word: string) => wordIds.has(word)
  const weightOfWord = (word: string, found: SimilarWords | undefined) => {
    const known = weights[wordIds.get(word) ?? -1]
    if (known !== undefined || found === undefined || !isArabic(word)) return known ?? 1
    const likely = [...found].filter(([, { likeness }]) => likeness >= spellingLikenessMin)
    return Math.min(1, ...likely.map(([id]) => weights[id] ?? 1))
  }
  return (name, scoreMin) => {
    const written = textFormsOf(name, isListed)
    const found = new Map<string, SimilarWords>()
    for (const { words: all } of written.flat())
      for (const word of all) if (!found.has(word)) found.set(word, findSimilarWords(tables, word))
    const like = (word: string, listed: string) =>
      word.length === 1 ? compareWords(word, listed) : found.get(word)?.get(wordIds.get(listed) ?? -1)
    const likeAlone = (word: string, listed: string) => {
      const likeness = like(word, listed)
      return likeness && likenessAlone(word, likeness)
    }
    const toWeighted = ({ words: all, isJoined, isPart }: TextForm): WeightedForm => ({
      isJoined,
      isPart,
      weighted: all.map((word) => ({ word, weight: weightOfWord(word, found.get(word)) })),
      likely: all.map((word) => found.get(word) ?? new Map()),
      names: all.filter((word) => findDecoration(word).kind === 'name').length,
    })
    const isSyllabic = hasSyllabicScript(name)
    const mayBePerson = !isCompany(name)
    const endsInTitle = titleAtEnd.test(name)
    const matches = new Map<Entry, Match<Entry>>()
    const compareParty = (textForms: readonly WeightedForm[]) => {
      for (const formAt of candidates(tables, bounds, textForms, scoreMin / 100)) {
        const { nameAt, words: ids, isJoined } = forms[formAt] as Form
        const { entry, text, kind } = names[nameAt] as IndexedName<Entry>
        const listed = ids.map((id) => ({ word: words[id] ?? '', weight: weights[id] ?? 1 }))
        if (ids.length === 1 && endsInTitle) continue
        for (const textForm of textForms) {
          const isOneJoined = isJoined || textForm.isJoined
          // A name more than the listed words is one that does not fit, which `isExact` refuses.
          if (isOneJoined && textForm.names > ids.length) continue
          if (scoreBound(tables, textForm, ids) * percents < scoreMin) continue
          const { weighted, isPart } = textForm
          const compared = compareNames(weighted, listed, weighted.length === 1 ? likeAlone : like)
          if (compared.score < scoreMin || compared.score <= (matches.get(entry)?.score ?? -1)) continue
          if (isOneJoined && !isExact(compared)) continue
          if (isPart && !isTelling(compared)) continue
          if (isSyllabic && hasStranger(compared)) continue
          if (kind === 'organisation' && mayBePerson && isLikePersons(compared)) continue
          matches.set(entry, { ...compared, entry, listedName: text })
        }
      }
    }
    // Each party has its own candidates: together, the words of many parties are those of many more listed names.
    for (const party of written) if (party.length > 0) compareParty(party.map(toWeighted))
    return [...matches.values()].toSorted((a, b) => b.score - a.score)
  }
}

/** Computes an upper bound of the score: every listed word pairs with the word that resembles it most. */
function scoreBound<Entry>(
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
      telling += identifyingWeight({ likeness: best }, { word: words[id] ?? '', weight })
    }
  }
  for (const [at, { word, weight }] of weighted.entries()) {
    if (!makesDifferentName(word, ids.length) || ids.some((id) => likely[at]?.has(id))) continue
    additional += weight
    strangers += 1
  }
  return computeScore({
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
 * Reports whether everything fits without misspellings. Joined words count only then, because otherwise any two short words could
 * make a third.
 */
const isExact = (compared: Comparison): boolean =>
  compared.words.every(({ how, likeness }) => how === 'additional' || likeness >= joinedLikenessMin) &&
  !hasStranger(compared)

/** Reports whether there is an additional word. In Chinese and Korean an additional character makes another name. */
const hasStranger = ({ words }: Comparison): boolean =>
  words.some(({ how, kind }) => how === 'additional' && kind === 'name')

/** A title at the end, which counts as a family name if the listed name has only one word. */
const titleAtEnd = /\S\s+sh(?:ei|ai|ay)kh?\s*$/iu

/** Reports whether a match of a company has only common names of people (`WEI TA LEE COMPANY`), which do not identify a company. */
const isLikePersons = ({ words }: Comparison): boolean =>
  words.every(({ word, how }) => word === null || how === 'additional' || isCommonName(word)) &&
  words.some(({ how, likeness }) => how === 'missing' || (how !== 'additional' && likeness < joinedLikenessMin))

/** Reports whether a match of one of several people is strong enough, because their given names occur in many listed names. */
const isTelling = ({ words }: Comparison): boolean =>
  words.every(({ how }) => how !== 'missing') ||
  words.reduce((sum, { likeness, weight }) => sum + (likeness > 0 ? weight : 0), 0) >= partWeightMin
const partWeightMin = 130

/** Finds the listed words that share a key with the word and resemble it. */
function findSimilarWords<Entry>({ byKey, words }: Tables<Entry>, word: string): SimilarWords {
  const found = new Map<number, Likeness>()
  const looked = new Set<number>()
  for (const key of word.length === 1 ? [initialKey(word)] : [...wordKeys(word), initialKey(word)])
    for (const id of byKey.get(key) ?? []) {
      if (looked.has(id)) continue
      looked.add(id)
      const listed = words[id] ?? ''
      const likeness = compareWords(word, listed)
      if (likeness === undefined) continue
      const isSpelling = likeness.likeness >= spellingLikenessMin || likeness.how === 'initial'
      if (isSpelling || !areDifferentNames(word, listed)) found.set(id, likeness)
    }
  return found
}

/** Minimum length of a single word for one edit. With one edit, a shorter word is too often the surname of another business. */
const aloneLettersMin = 7
const aloneLikeness = 0.88

/** Raises the likeness of a single long word with one typing error, so that it is a hit. */
const likenessAlone = (word: string, { how, likeness }: Likeness): Likeness => {
  const isOneEdit = how === 'misspelt' && likeness >= oneEditLikeness(word.length)
  return { how, likeness: isOneEdit && word.length >= aloneLettersMin ? Math.max(aloneLikeness, likeness) : likeness }
}

type Bounds = {
  /** Bounds by form: the maximum weight of pairs, their number, and the weight that the current word adds. Zero between searches. */
  readonly alike: Float64Array
  readonly pairs: Uint8Array
  readonly added: Float64Array
}

/** Finds the listed forms that may reach the score, by the words found and the maximum that the others can add. */
function candidates<Entry>(
  { postings, forms, weights }: Tables<Entry>,
  { alike, pairs, added }: Bounds,
  textForms: readonly WeightedForm[],
  scoreMin: number,
): readonly number[] {
  const touched: number[] = []
  const found = new Map<string, SimilarWords>()
  for (const { weighted, likely } of textForms)
    for (const [at, { word }] of weighted.entries()) found.set(word, likely[at] ?? new Map())
  const isAlone = textForms.some(({ weighted }) => weighted.length === 1)
  for (const [word, likely] of found) {
    const own: number[] = []
    for (const [id, each] of likely) {
      const { likeness } = isAlone ? likenessAlone(word, each) : each
      const worth = likeness * (weights[id] ?? 1)
      for (const formAt of postings[id] ?? []) {
        const before = added[formAt] ?? 0
        if (before === 0) own.push(formAt)
        // The maximum that this word adds, so that two similar listed words do not count twice.
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
  // A missing word limits the score of a comparison, but the bound does not know whether a word is missing.
  const least = Math.min(scoreMin, incompleteScoreMax)
  const chosen = touched.filter((formAt) => {
    const form = forms[formAt]?.weight ?? 0
    const most = Math.min((alike[formAt] ?? 0) + initials * initialLikeness, form)
    if (most >= least * form) return true
    // An upper bound of the comparison: assumes that all pairs are equal and there are no additional words.
    const sums = { paired: most, alike: most, missing: form - most, additional: 0, strangers: 0, telling: most }
    return (
      computeScore({ ...sums, pairs: (pairs[formAt] ?? 0) + initials, isFirstPaired: true, isInOrder: true }) >= least
    )
  })
  for (const formAt of touched) {
    alike[formAt] = 0
    pairs[formAt] = 0
  }
  return chosen
}

/** Minimum weight of a listed name in a text. Texts contain lighter names by chance. */
const textWeightMin = 1.1
/** Maximum number of other words between the words of a name, such as an initial. */
const betweenMax = 1
const textScoreMin = 95

/** Creates the search in texts. It finds names by their rarest word, because most words of a text are not names. */
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
    const telling = listed.reduce((sum, each) => sum + identifyingWeight({ likeness: 1 }, each), 0)
    if (listed.length < 2 || telling < textWeightMin || listed.some(({ word }) => word.length === 1)) continue
    const rarest = Math.max(...listed.map(({ weight }) => weight))
    const id = form.words[listed.findIndex(({ weight }) => weight === rarest)] ?? 0
    byRarest.set(id, [...(byRarest.get(id) ?? []), formAt])
  }
  /** Finds listed words that are equal or sound equal. */
  const sameWords = (word: string): readonly number[] => {
    const id = wordIds.get(word)
    const sound = isArabic(word) ? word : phoneticForm(word)
    const alike = (byKey.get(sound) ?? []).filter(
      (other) => other !== id && (compareWords(word, words[other] ?? '')?.likeness ?? 0) * percents >= textScoreMin,
    )
    return id === undefined ? alike : [id, ...alike]
  }
  return (text) => {
    const all = textWords(text)
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

// Cached searches in the lists in memory, because the same payers recur.

const rememberedMax = 10_000

export function createCachedSearch(scoreMin: number) {
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
