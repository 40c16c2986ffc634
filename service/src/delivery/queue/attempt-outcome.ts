/**
 * Applies the result of an attempt to its delivery, by the retry schedule, and to its endpoint queue, by its health.
 */
import { randomFraction } from '../../kernel/index.ts'
import { createWindow, type FailingAlert, type Health, healthy, nextHealth, type Window } from './health.ts'
import type { Limits } from '../limits.ts'
import { type AttemptResult, type Next, nextAfterFailure, retryAfterMs, type Verdict, verdictOf } from './schedule.ts'

/** State that the worker holds in memory. Undefined if it has lost the endpoint queue since the attempt began. */
export type AttemptContext =
  | {
      readonly health: Health
      readonly window: Window
      readonly isProbe: boolean
      readonly delivery: { readonly failures: number }
    }
  | undefined

export type AttemptOutcome = {
  readonly verdict: Verdict
  /** Undefined: delivered. */
  readonly next: Next | undefined
  readonly health: Health
  readonly disable: 'Gone' | 'Failing' | undefined
  readonly alert: FailingAlert | undefined
}

type Rules = { readonly now: Date; readonly limits: Limits; readonly retryDelaysMs: readonly number[] }

export function evaluateAttempt(
  context: AttemptContext,
  result: AttemptResult,
  { now, limits, retryDelaysMs }: Rules,
): AttemptOutcome {
  const restMs = retryAfterMs(result.retryAfter, now, limits.retryAfterMsMax)
  const verdict = verdictOf(result, restMs)
  const fraction = randomFraction()
  const { health, countsAsFailure, disable, alert } = nextHealth(
    context?.health ?? healthy,
    context?.window ?? createWindow(),
    { verdict, restMs, now, fraction, isProbe: context?.isProbe ?? false },
    limits,
  )
  const failures = context?.delivery.failures ?? 0
  const { pausedUntil } = health
  const next =
    verdict === 'delivered'
      ? undefined
      : countsAsFailure
        ? nextAfterFailure(failures, now, fraction, retryDelaysMs)
        : ({
            status: 'Pending',
            failures,
            dueAt: pausedUntil !== null && pausedUntil > now ? pausedUntil : now,
          } as const)
  return { verdict, next, health, disable, alert }
}
