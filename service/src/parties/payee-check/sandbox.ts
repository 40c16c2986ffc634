/** A scheme whose answers are chosen by the first word of the name (docs/sandbox.md). It knows every IBAN. */
import { createHash } from 'node:crypto'
import type { PayeeQuestion, PayeeResult, PayeeScheme } from './port.ts'

const timeoutMs = 1_000
const referenceChars = 24

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
