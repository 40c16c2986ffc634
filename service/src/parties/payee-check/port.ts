/** The port of a scheme for verification of payee, and the scheme of the sandbox. README.md says how to connect another one. */
import type { NotPossibleReason } from '@partner-payments/wire'
import { createHash } from 'node:crypto'

export type PayeeQuestion = { readonly name: string; readonly iban: string }

/** A close match has the name of the account. `NoMatch` never has one. */
export type PayeeResult =
  | { readonly result: 'Match' | 'NoMatch' }
  | { readonly result: 'CloseMatch'; readonly matchedName: string }
  | { readonly result: 'NotPossible'; readonly reason: NotPossibleReason }

/** `schemeReference`: the reference under which the scheme finds its answer. */
export type SchemeAnswer = PayeeResult & { readonly schemeReference: string }

export type PayeeScheme = {
  /** Names the scheme in evidence and logs. Not `own`. */
  readonly id: string
  /** How long a payer waits for an answer. The service stops waiting after it. */
  readonly timeoutMs: number
  /** Throws an Error if the scheme cannot be reached or answers invalidly. `signal` ends a call that takes too long. */
  readonly ask: (question: PayeeQuestion, signal: AbortSignal) => Promise<SchemeAnswer>
}

const timeoutMs = 1_000
const referenceChars = 24

/** Answers by the first word of the name (docs/sandbox.md). It knows every IBAN. */
export const sandboxScheme: PayeeScheme = {
  id: 'sandbox',
  timeoutMs,
  ask: async (question, signal) => {
    const [first = '', ...rest] = question.name.trim().split(/\s+/)
    if (first === 'Unanswered') await untilAborted(signal)
    if (first === 'Unreachable') throw new Error('the sandbox scheme is simulated as unreachable')
    return { ...resultOf(first, rest.join(' ')), schemeReference: referenceOf(question) }
  },
}

function resultOf(first: string, rest: string): PayeeResult {
  switch (first) {
    case 'CloseMatch':
      return { result: 'CloseMatch', matchedName: rest === '' ? 'Grace Hopper' : rest }
    case 'NoMatch':
      return { result: 'NoMatch' }
    case 'NotPossible':
      return { result: 'NotPossible', reason: 'AccountUnknown' }
    default:
      return { result: 'Match' }
  }
}

/** Equal questions have equal references: the sandbox stores nothing. */
const referenceOf = ({ name, iban }: PayeeQuestion) =>
  createHash('sha256').update(`${iban}\n${name}`).digest('hex').slice(0, referenceChars)

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const abort = () => reject(new Error('the wait for the sandbox scheme was aborted'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
