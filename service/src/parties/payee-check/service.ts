/** Answers whether a name and an IBAN belong together: by a scheme, or by comparison for IBANs that this service has issued. */
import { beneficiaries, type NotPossibleReason, selectUntrustedFields, Type } from '@partner-payments/wire'
import { type Breaker, createBreaker, withTimeLimit, TimeLimitExceeded, type Log } from '../../kernel/index.ts'
import type { PayeeQuestion, PayeeVerdict, PayeeScheme } from './port.ts'

/** `source`: the id of the scheme, or `own` if this service has issued the IBAN. */
type PayeeAnswer = PayeeVerdict & { readonly source: string; readonly schemeReference: string | null }

/** Reads the names of an account of this service. Empty: its customer does not have a name. Undefined: the service did not issue the IBAN. */
export type ReadHolderNames = (iban: string) => Promise<readonly string[] | undefined>

export type Verification = {
  /**
   * Asks about a name and a valid IBAN without spaces. Must not run inside a database transaction, because a scheme may need its
   * whole time limit. If the scheme fails, the answer is `NotPossible`.
   */
  readonly ask: (question: PayeeQuestion) => Promise<PayeeAnswer>
}

const own = 'own'

const schemeReference = Type.String({ minLength: 1, maxLength: 255 })
/** Validates the answer of a scheme, because it is another system's text even if the connector has checked it. */
const Answer = Type.Union([
  Type.Object({ schemeReference, result: Type.Enum(['Match', 'NoMatch']) }),
  Type.Object({
    ...{ schemeReference, result: Type.Enum(['CloseMatch']) },
    matchedName: Type.String({ minLength: 1, maxLength: 1000 }),
  }),
  Type.Object({
    ...{ schemeReference, result: Type.Enum(['NotPossible']) },
    reason: Type.Enum(beneficiaries.notPossibleReasons),
  }),
])

export function createVerification(deps: {
  readonly log: Log
  /** Null: no scheme is configured. */
  readonly scheme: PayeeScheme | null
  readonly ownNames: ReadHolderNames
  /** Tests pass a breaker with their own clock. */
  readonly breaker?: Breaker
}): Verification {
  const { log, scheme, ownNames, breaker = createBreaker() } = deps
  return {
    ask: async (question) => {
      const names = await ownNames(question.iban)
      if (names !== undefined) return { ...compareWithOwn(question.name, names), source: own, schemeReference: null }
      if (scheme === null) return notPossible('none', 'SchemeNotConfigured')
      if (breaker.state() === 'open') return notPossible(scheme.id, 'SchemeUnavailable')
      try {
        const answer = selectUntrustedFields(
          await withTimeLimit(scheme.timeoutMs, (signal) => scheme.ask(question, signal)),
          Answer,
        )
        if (answer === undefined) throw new Error('the scheme answered with something else')
        breaker.answered()
        return { ...answer, source: scheme.id }
      } catch (error) {
        breaker.failed()
        log.warn({ err: error, scheme: scheme.id }, 'verification of payee failed')
        return notPossible(scheme.id, error instanceof TimeLimitExceeded ? 'SchemeTimeout' : 'SchemeUnavailable')
      }
    },
  }
}

const notPossible = (source: string, reason: NotPossibleReason): PayeeAnswer => ({
  result: 'NotPossible',
  reason,
  source,
  schemeReference: null,
})

/** Compares with all names of the account and returns the best result. A company has a registered and a trading name. */
function compareWithOwn(given: string, names: readonly string[]): PayeeVerdict {
  if (names.length === 0) return { result: 'NotPossible', reason: 'AccountUnknown' }
  const compared = names.map((name) => ({ name, result: compareNames(given, name) }))
  if (compared.some(({ result }) => result === 'Match')) return { result: 'Match' }
  const close = compared.find(({ result }) => result === 'CloseMatch')
  if (close !== undefined) return { result: 'CloseMatch', matchedName: close.name }
  if (compared.some(({ result }) => result === 'NoMatch')) return { result: 'NoMatch' }
  return { result: 'NotPossible', reason: 'NameNotComparable' }
}

/**
 * Pure: compares the name that a payer gives with the name of an account (EPC 218-23). README.md states the rules. The result never
 * shows why two names differ, because that would reveal the name.
 */
export type NameResult = 'Match' | 'CloseMatch' | 'NoMatch'

/** Titles are not part of a name. */
const titles = new Set(
  'mr mrs ms miss mx dr prof sir dame herr frau hr fr mme mlle monsieur madame sr sra sig don dona'.split(' '),
)

/** Legal forms, each with its short form. */
const legalForms: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ['ltd', 'limited'],
    ['plc'],
    ['llc'],
    ['llp'],
    ['inc', 'incorporated'],
    ['corp', 'corporation'],
    ['gmbh'],
    ['ag'],
    ['ug'],
    ['kg'],
    ['ohg'],
    ['ev'],
    ['se'],
    ['sa'],
    ['sas'],
    ['sarl'],
    ['srl'],
    ['spa'],
    ['bv'],
    ['nv'],
    ['ab'],
    ['as'],
    ['oy'],
    ['aps'],
    ['uab'],
  ].flatMap(([form = '', ...longer]) => [form, ...longer].map((word) => [word, form])),
)

type Name = { readonly words: readonly string[]; readonly form: string | undefined }

/**
 * A word with at most this number of letters may differ by one letter, and a longer word by two: one typing error in
 * each half.
 */
const shortWordChars = 7
/** Names with fewer words, such as those of companies, may differ by at most one letter. */
const wordsMin = 2

/** Compares two names. Undefined: one of them does not have letters or digits to compare. */
export function compareNames(given: string, actual: string): NameResult | undefined {
  const [givenNames, actualNames] = [plainReadings(given), plainReadings(actual)]
  if (givenNames.length === 0 || actualNames.length === 0) return undefined
  let best: NameResult = 'NoMatch'
  for (const one of givenNames)
    for (const other of actualNames) {
      const result = compareReadings(one, other)
      if (result === 'Match') return result
      if (result === 'CloseMatch') best = result
    }
  return best
}

/** Lists the ways to write a name in plain letters: `Müller` as `muller` and `mueller`. */
const plainReadings = (text: string): readonly Name[] =>
  transliterate(text).flatMap((plain) => {
    const name = readName(plain)
    return name.words.length === 0 ? [] : [name]
  })

function readName(plain: string): Name {
  // `G.m.b.H.` and `O'Neill` are one word each, and `Jean-Pierre` two.
  const all = plain
    .replace(/['’`´]/g, '')
    .replace(/\b(?:[a-z]\.){2,}/g, (letters) => letters.replaceAll('.', ''))
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
  const isForm = (word: string) => Object.hasOwn(legalForms, word)
  const named = all.filter((word) => !titles.has(word))
  const last = named.length > 1 ? named.at(-1) : undefined
  if (last !== undefined && isForm(last)) return { words: named.slice(0, -1), form: legalForms[last] }
  // A name may consist only of titles, for example that of a Mr Sir.
  return { words: named.length > 0 ? named : all, form: undefined }
}

function compareReadings(given: Name, actual: Name): NameResult {
  const result = compareWords(given.words, actual.words)
  const contradict = given.form !== undefined && actual.form !== undefined && given.form !== actual.form
  return result === 'Match' && contradict ? 'CloseMatch' : result
}

function compareWords(given: readonly string[], actual: readonly string[]): NameResult {
  if (sameWords(given, actual) || given.join('') === actual.join('')) return 'Match'
  const [fewer, more] = given.length <= actual.length ? [given, actual] : [actual, given]
  return isClose(fewer, more) ? 'CloseMatch' : 'NoMatch'
}

const sameWords = (given: readonly string[], actual: readonly string[]) =>
  given.length === actual.length && given.toSorted().join(' ') === actual.toSorted().join(' ')

/**
 * Reports whether each word of the shorter name matches a different word of the longer one: an equal word, a word of which it is
 * the initial, or, once, a word with similar spelling. At least one word must be equal.
 */
function isClose(fewer: readonly string[], more: readonly string[]): boolean {
  const left = [...more]
  const unpaired = fewer.filter((word) => !take(left, (other) => other === word))
  const same = fewer.length - unpaired.length
  const isOneWord = fewer.length < wordsMin
  if (isOneWord) return more.length === 1 && same === 0 && isAlmost(fewer[0] ?? '', more[0] ?? '', 1)
  if (same === 0) return false
  const wholes = unpaired.filter((word) => !take(left, (other) => isInitial(word, other) || isInitial(other, word)))
  return (
    wholes.length === 0 || (wholes.length === 1 && wholes.every((word) => take(left, (other) => isAlmost(word, other))))
  )
}

function take(words: string[], fits: (word: string) => boolean): boolean {
  const at = words.findIndex(fits)
  if (at >= 0) words.splice(at, 1)
  return at >= 0
}

const isInitial = (short: string, long: string) => short.length === 1 && long.length > 1 && long.startsWith(short)

function isAlmost(one: string, other: string, most = Infinity): boolean {
  const chars = Math.max(one.length, other.length)
  // A word of three letters with one changed letter is another name: Kim and Tim.
  if (Math.min(one.length, other.length) <= 3) return false
  return distance(one, other) <= Math.min(most, chars <= shortWordChars ? 1 : 2)
}

/** Counts inserted, removed, replaced and swapped letters (optimal string alignment). */
function distance(one: string, other: string): number {
  let before: readonly number[] = []
  let row: readonly number[] = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const changed = Number(one[i - 1] !== other[j - 1])
      let least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + changed)
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      next.push(least)
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}

// Transliteration of Latin, Greek and Cyrillic names into the letters a to z. Other letters are left out.

/** Letters other than Latin letters with marks. Cyrillic as in passports (ICAO 9303), Greek as in ELOT 743. */
const letters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i', ħ: 'h', ŋ: 'n' },
  ...{ а: 'a', б: 'b', в: 'v', г: 'g', д: 'd', е: 'e', ж: 'zh', з: 'z', и: 'i', к: 'k', л: 'l', м: 'm', н: 'n' },
  ...{ о: 'o', п: 'p', р: 'r', с: 's', т: 't', у: 'u', ф: 'f', х: 'kh', ц: 'ts', ч: 'ch', ш: 'sh', щ: 'shch' },
  ...{ ъ: 'ie', ы: 'y', ь: '', э: 'e', ю: 'iu', я: 'ia', і: 'i', є: 'ie', ґ: 'g', ђ: 'd', ј: 'j', љ: 'lj', њ: 'nj' },
  ...{ α: 'a', β: 'v', γ: 'g', δ: 'd', ε: 'e', ζ: 'z', η: 'i', θ: 'th', ι: 'i', κ: 'k', λ: 'l', μ: 'm', ν: 'n' },
  ...{ ξ: 'x', ο: 'o', π: 'p', ρ: 'r', σ: 's', ς: 's', τ: 't', υ: 'y', φ: 'f', χ: 'ch', ψ: 'ps', ω: 'o' },
}

/** Letters with marks that are also written as two letters in German, Danish, Norwegian and Swedish. */
const doubled: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' }

/** Returns a name in lower case in plain letters, and a second form if letters can be written in two ways. */
function transliterate(name: string): readonly string[] {
  const text = name.normalize('NFC').toLowerCase()
  const second = text.replace(/[äöüåø]/g, (letter) => doubled[letter] ?? letter)
  return [...new Set([plain(text), plain(second)])]
}

const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/\p{L}/gu, (letter) => letters[letter] ?? letter)
