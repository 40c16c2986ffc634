/** What one attempt means: for its delivery, by the schedule, and for its endpoint queue, by its health. */
import { randomFraction } from '../../kernel/index.ts'
import { createWindow, type Health, healthy, learn, type Notice, type Window } from './health.ts'
import type { Limits } from '../limits.ts'
import { type AttemptResult, type Next, nextOf, retryAfterMs, type Verdict, verdictOf } from './schedule.ts'

/** What was known when it began; undefined where the endpoint queue was lost meanwhile. */
export type Before =
  | {
      readonly health: Health
      readonly window: Window
      readonly isProbe: boolean
      readonly owed: { readonly failures: number }
    }
  | undefined

export type Judged = {
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: Next | undefined
  readonly health: Health
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly notice: Notice | undefined
}

type Rules = { readonly now: Date; readonly limits: Limits; readonly retryDelaysMs: readonly number[] }

export function evaluateAttempt(before: Before, result: AttemptResult, { now, limits, retryDelaysMs }: Rules): Judged {
  const restMs = retryAfterMs(result.retryAfter, now, limits.retryAfterMsMax)
  const verdict = verdictOf(result, restMs)
  const fraction = randomFraction()
  const learned = { verdict, restMs, now, fraction, isProbe: before?.isProbe ?? false }
  const outcome = learn(before?.health ?? healthy, before?.window ?? createWindow(), learned, limits)
  const { health, spends, disable, notice } = outcome
  const failures = before?.owed.failures ?? 0
  const { pausedUntil } = health
  const unspent = {
    status: 'Pending',
    failures,
    dueAt: pausedUntil !== null && pausedUntil > now ? pausedUntil : now,
  } as const
  const next = verdict === 'delivered' ? undefined : spends ? nextOf(failures, now, fraction, retryDelaysMs) : unspent
  return { verdict, next, health, disable, notice }
}
