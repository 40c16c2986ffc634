/** Pure: what a endpoint queue learns from its attempts. The breaker, slow start, rests, and since when nothing has succeeded. */
import { after } from '../../kernel/index.ts'
import type { Limits } from '../limits.ts'
import { type Verdict, withJitter } from './schedule.ts'

export type Notice = 'Failing24h' | 'Failing72h'

/** What the row of a endpoint queue remembers. */
export type Health = {
  /** No attempt before: the endpoint asked for a rest, or the breaker is open and this is when its probe goes. */
  readonly pausedUntil: Date | null
  /** In a row. */
  readonly failures: number
  readonly failingSince: Date | null
  /** The breaker is open, and waits so long between probes. */
  readonly probeMs: number | null
  /** Attempts at once that a slow start allows. */
  readonly slowStart: number | null
  /** The last step of the notices sent since `failingSince`. */
  readonly noticed: Notice | null
}

export const healthy: Health = {
  pausedUntil: null,
  failures: 0,
  failingSince: null,
  probeMs: null,
  slowStart: null,
  noticed: null,
}

/** Attempts of the last minutes in slices, so that it stays small however many there are. Only in memory. */
export type Window = { readonly slices: { readonly from: number; made: number; failed: number }[] }

export const createWindow = (): Window => ({ slices: [] })
const slicesPerWindow = 10

function note({ slices }: Window, failed: boolean, nowMs: number, windowMs: number): void {
  const last = slices.at(-1)
  if (last === undefined || nowMs - last.from >= windowMs / slicesPerWindow)
    slices.push({ from: nowMs, made: 0, failed: 0 })
  while ((slices[0]?.from ?? nowMs) <= nowMs - windowMs) slices.shift()
  const current = slices.at(-1)
  if (current !== undefined) {
    current.made += 1
    current.failed += failed ? 1 : 0
  }
}

const isMostlyFailing = ({ slices }: Window, limits: Limits): boolean => {
  const made = slices.reduce((sum, slice) => sum + slice.made, 0)
  const failed = slices.reduce((sum, slice) => sum + slice.failed, 0)
  return made >= limits.breakerAttemptsMin && failed * 100 >= made * limits.breakerPercent
}

export type Outcome = {
  readonly health: Health
  /** Whether it is a step of the delivery's schedule. */
  readonly spends: boolean
  /** The subscription is to be disabled. */
  readonly disable?: 'Gone' | 'Failing'
  readonly notice?: Notice
}

export type Learned = {
  readonly verdict: Verdict
  /** It was the probe of an open breaker. */
  readonly isProbe: boolean
  readonly restMs: number
  readonly now: Date
  /** In [0, 1). */
  readonly fraction: number
}

const later = (a: Date | null, b: Date): Date => (a !== null && a > b ? a : b)

export function learn(before: Health, window: Window, learned: Learned, limits: Limits): Outcome {
  const { verdict, isProbe, restMs, now, fraction } = learned
  if (verdict !== 'rested') note(window, verdict !== 'delivered', now.getTime(), limits.breakerWindowMs)
  if (verdict === 'delivered') return { health: afterSuccess(before, window, limits), spends: false }
  if (verdict === 'gone') return { health: before, spends: true, disable: 'Gone' }
  const failing = { ...before, failingSince: before.failingSince ?? now }
  if (verdict === 'rested')
    return {
      ...judge({ ...failing, pausedUntil: later(before.pausedUntil, after(now, restMs)) }, now, limits),
      spends: false,
    }
  const failures = before.failures + 1
  const pause = (probeMs: number): Health => ({
    ...failing,
    failures,
    probeMs,
    slowStart: null,
    pausedUntil: later(before.pausedUntil, after(now, withJitter(probeMs, fraction))),
  })
  if (before.probeMs !== null) {
    // What was under way when the breaker opened fails by itself; only the probe tells something new.
    const health = isProbe ? pause(Math.min(before.probeMs * 2, limits.probeMsMax)) : { ...failing, failures }
    return { ...judge(health, now, limits), spends: !isProbe }
  }
  const opens = failures >= limits.breakerFailures || isMostlyFailing(window, limits)
  return { ...judge(opens ? pause(limits.probeMsMin) : { ...failing, failures }, now, limits), spends: true }
}

/** Closes the breaker: from then on one at once more for each success, as far as it goes. */
function afterSuccess(before: Health, window: Window, limits: Limits): Health {
  if (sameHealth(before, healthy)) return before
  const opened = before.probeMs !== null
  if (opened) window.slices.length = 0
  const allowed = opened ? 2 : before.slowStart === null ? null : before.slowStart + 1
  return {
    pausedUntil: opened ? null : before.pausedUntil,
    failures: 0,
    failingSince: null,
    probeMs: null,
    slowStart: allowed === null || allowed >= limits.inFlightPerEndpointMax ? null : allowed,
    noticed: null,
  }
}

function judge(health: Health, now: Date, limits: Limits): Omit<Outcome, 'spends'> {
  const failingMs = now.getTime() - (health.failingSince ?? now).getTime()
  if (failingMs >= limits.failingDisableMs) return { health, disable: 'Failing' }
  const notice =
    failingMs >= limits.failingSecondNoticeMs && health.noticed !== 'Failing72h'
      ? 'Failing72h'
      : failingMs >= limits.failingNoticeMs && health.noticed === null
        ? 'Failing24h'
        : undefined
  return notice === undefined ? { health } : { health: { ...health, noticed: notice }, notice }
}

export const sameHealth = (a: Health, b: Health): boolean =>
  a === b ||
  (a.pausedUntil?.getTime() === b.pausedUntil?.getTime() &&
    a.failures === b.failures &&
    a.failingSince?.getTime() === b.failingSince?.getTime() &&
    a.probeMs === b.probeMs &&
    a.slowStart === b.slowStart &&
    a.noticed === b.noticed)
