/** Pure: when a verification is asked for again, and which answer is worse than another. */
import { hourMs, minuteMs } from '../../kernel/index.ts'
import type { VerificationRow } from './store-verifications.ts'

type Result = VerificationRow['result']

/** Delays between attempts while the scheme does not answer. After the last one the answer is `NotPossible`. */
const retryDelaysMs = [minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 4 * hourMs, 12 * hourMs]

/** `attempts`: the number that failed. Undefined: it is not tried again. */
export const retryDelayAfter = (attempts: number): number | undefined => retryDelaysMs[attempts - 1]

/** The scheme did not answer, and may answer later. */
export const isUnanswered = ({ reason }: Pick<VerificationRow, 'reason'>): boolean =>
  reason === 'SchemeTimeout' || reason === 'SchemeUnavailable'

const goodness: Readonly<Record<Result, number | undefined>> = {
  Match: 2,
  CloseMatch: 1,
  NoMatch: 0,
  NotPossible: undefined,
}

/** `NotPossible` says nothing about the payee: it is neither worse nor better. */
export function isWorse(answer: Result, before: Result): boolean {
  const [now, then] = [goodness[answer], goodness[before]]
  return now !== undefined && then !== undefined && now < then
}
