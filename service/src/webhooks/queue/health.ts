/** The health of an endpoint queue: breaker, slow start, rests, and the start of continuous failure. Pure. */
import { after } from '../../kernel/index.ts'
import type { DeliveryLimits } from '../limits.ts'
import { type Verdict, withJitter } from './schedule.ts'

/** The kind of an alert email to the partner. */
export type FailingAlert = 'Failing24h' | 'Failing72h'

/** Saved in the row of the endpoint queue, for its next holder. */
export type EndpointHealth = {
  /**
   * No attempt starts before this time, because the endpoint asked for a rest or the next probe of an open breaker is due then.
   */
  readonly pausedUntil: Date | null
  readonly failures: number
  readonly failingSince: Date | null
  /** The pause between two probes while the breaker is open. Null: closed. */
  readonly probeMs: number | null
  /** Largest number of attempts in flight during a slow start. Null: no slow start. */
  readonly slowStart: number | null
  /** The last alert since `failingSince`. */
  readonly lastAlert: FailingAlert | null
}

export const healthy: EndpointHealth = {
  pausedUntil: null,
  failures: 0,
  failingSince: null,
  probeMs: null,
  slowStart: null,
  lastAlert: null,
}

/** Counts of recent attempts in slices of time, so that the size does not grow with the rate. Kept in memory only. */
export type FailureWindow = { readonly slices: { readonly fromMs: number; attempts: number; failures: number }[] }

export const createFailureWindow = (): FailureWindow => ({ slices: [] })
const slicesPerWindow = 10

function countAttempt({ slices }: FailureWindow, failed: boolean, nowMs: number, windowMs: number): void {
  const last = slices.at(-1)
  if (last === undefined || nowMs - last.fromMs >= windowMs / slicesPerWindow)
    slices.push({ fromMs: nowMs, attempts: 0, failures: 0 })
  while ((slices[0]?.fromMs ?? nowMs) <= nowMs - windowMs) slices.shift()
  const current = slices.at(-1)
  if (current !== undefined) {
    current.attempts += 1
    current.failures += failed ? 1 : 0
  }
}

const isMostlyFailing = ({ slices }: FailureWindow, limits: DeliveryLimits): boolean => {
  const attempts = slices.reduce((sum, slice) => sum + slice.attempts, 0)
  const failures = slices.reduce((sum, slice) => sum + slice.failures, 0)
  return attempts >= limits.breakerAttemptsMin && failures * 100 >= attempts * limits.breakerPercent
}

export type HealthChange = {
  readonly health: EndpointHealth
  /** True if the attempt is a step of the delivery's retry schedule. */
  readonly countsAsFailure: boolean
  /** Reason to disable the subscription. */
  readonly disable?: 'Gone' | 'Failing'
  readonly alert?: FailingAlert
}

type EndedAttempt = {
  readonly verdict: Verdict
  /** True if the attempt was the probe of an open breaker. */
  readonly isProbe: boolean
  readonly restMs: number
  readonly now: Date
  /** Random number in [0, 1), for the jitter. */
  readonly fraction: number
}

const later = (a: Date | null, b: Date): Date => (a !== null && a > b ? a : b)

export function nextHealth(
  before: EndpointHealth,
  window: FailureWindow,
  attempt: EndedAttempt,
  limits: DeliveryLimits,
): HealthChange {
  const { verdict, isProbe, restMs, now, fraction } = attempt
  if (verdict !== 'rested') countAttempt(window, verdict !== 'delivered', now.getTime(), limits.breakerWindowMs)
  if (verdict === 'delivered') return { health: afterSuccess(before, window, limits), countsAsFailure: false }
  if (verdict === 'gone') return { health: before, countsAsFailure: true, disable: 'Gone' }
  const failing = { ...before, failingSince: before.failingSince ?? now }
  if (verdict === 'rested') {
    const resting = { ...failing, pausedUntil: later(before.pausedUntil, after(now, restMs)) }
    return { ...withAlert(resting, now, limits), countsAsFailure: false }
  }
  const failures = before.failures + 1
  const open = (probeMs: number): EndpointHealth => ({
    ...failing,
    failures,
    probeMs,
    slowStart: null,
    pausedUntil: later(before.pausedUntil, after(now, withJitter(probeMs, fraction))),
  })
  if (before.probeMs !== null) {
    // Attempts that were in flight when the breaker opened change neither the probe nor its time.
    const health = isProbe ? open(Math.min(before.probeMs * 2, limits.probeMsMax)) : { ...failing, failures }
    return { ...withAlert(health, now, limits), countsAsFailure: !isProbe }
  }
  const opens = failures >= limits.breakerFailures || isMostlyFailing(window, limits)
  const health = opens ? open(limits.probeMsMin) : { ...failing, failures }
  return { ...withAlert(health, now, limits), countsAsFailure: true }
}

/** Closes the breaker. The slow start begins with two attempts in flight and allows one more after each success. */
function afterSuccess(before: EndpointHealth, window: FailureWindow, limits: DeliveryLimits): EndpointHealth {
  if (sameHealth(before, healthy)) return before
  const wasOpen = before.probeMs !== null
  if (wasOpen) window.slices.length = 0
  const allowed = wasOpen ? 2 : before.slowStart === null ? null : before.slowStart + 1
  return {
    pausedUntil: wasOpen ? null : before.pausedUntil,
    failures: 0,
    failingSince: null,
    probeMs: null,
    slowStart: allowed === null || allowed >= limits.inFlightPerEndpointMax ? null : allowed,
    lastAlert: null,
  }
}

/** Alerts the partner once at each step of continuous failure, then disables the subscription. */
function withAlert(health: EndpointHealth, now: Date, limits: DeliveryLimits): Omit<HealthChange, 'countsAsFailure'> {
  const failingMs = now.getTime() - (health.failingSince ?? now).getTime()
  if (failingMs >= limits.failingDisableMs) return { health, disable: 'Failing' }
  const alert =
    failingMs >= limits.failingSecondNoticeMs && health.lastAlert !== 'Failing72h'
      ? 'Failing72h'
      : failingMs >= limits.failingNoticeMs && health.lastAlert === null
        ? 'Failing24h'
        : undefined
  return alert === undefined ? { health } : { health: { ...health, lastAlert: alert }, alert }
}

export const sameHealth = (a: EndpointHealth, b: EndpointHealth): boolean =>
  a === b ||
  (a.pausedUntil?.getTime() === b.pausedUntil?.getTime() &&
    a.failures === b.failures &&
    a.failingSince?.getTime() === b.failingSince?.getTime() &&
    a.probeMs === b.probeMs &&
    a.slowStart === b.slowStart &&
    a.lastAlert === b.lastAlert)
