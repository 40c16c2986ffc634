/** The port of a scheme for verification of payee, and the scheme of the sandbox. README.md describes how to connect another scheme. */
import type { NotPossibleReason } from '@partner-payments/wire'
import { createHash } from 'node:crypto'

export type PayeeQuestion = { readonly name: string; readonly iban: string }

/** A close match contains the name of the account. `NoMatch` never does. */
export type PayeeVerdict =
  | { readonly result: 'Match' | 'NoMatch' }
  | { readonly result: 'CloseMatch'; readonly matchedName: string }
  | { readonly result: 'NotPossible'; readonly reason: NotPossibleReason }

/** `schemeReference`: the reference by which the scheme finds its answer again. */
export type SchemeAnswer = PayeeVerdict & { readonly schemeReference: string }

export type PayeeScheme = {
  /** The name of the scheme in evidence and logs. Not `own`. */
  readonly id: string
  /** How long a payer waits for an answer. */
  readonly timeoutMs: number
  /** Asks the scheme. Throws an Error if it cannot be reached or answers invalidly. `signal` ends a call that takes too long. */
  readonly ask: (question: PayeeQuestion, signal: AbortSignal) => Promise<SchemeAnswer>
}

const timeoutMs = 1_000
const referenceChars = 24

/** The scheme of the sandbox. It knows every IBAN, and answers by the first word of the name (docs/sandbox.md). */
export const sandboxScheme: PayeeScheme = {
  id: 'sandbox',
  timeoutMs,
  ask: async (question, signal) => {
    const [first = '', ...rest] = question.name.trim().split(/\s+/)
    if (first === 'Unanswered') await untilAborted(signal)
    if (first === 'Unreachable') throw new Error('the sandbox scheme is simulated as unreachable')
    return { ...sandboxResult(first, rest.join(' ')), schemeReference: sandboxReference(question) }
  },
}

function sandboxResult(first: string, rest: string): PayeeVerdict {
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

/** Derives the reference from the question, because the sandbox does not store answers. */
const sandboxReference = ({ name, iban }: PayeeQuestion) =>
  createHash('sha256').update(`${iban}\n${name}`).digest('hex').slice(0, referenceChars)

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    const abort = () => reject(new Error('the wait for the sandbox scheme was aborted'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
