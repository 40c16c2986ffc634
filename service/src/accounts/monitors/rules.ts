/** Pure: which monitors a partner may create, and how monitors are evaluated against the movements of a balance. */
import type { BodyOf, Decimal } from '@partner-payments/wire'
import { parseBalance, refuseInvalid } from '../../kernel/api/index.ts'
import { type Currency, type Minor, idTime, present } from '../../kernel/index.ts'
import type { AccountMovement } from '../../ledger/index.ts'
import type { BalanceRow, CrossingRow, MonitorRow } from './store.ts'

/** Fields of a monitor that a request sets. */
export type MonitorTerms = Pick<
  MonitorRow,
  'direction' | 'measure' | 'threshold' | 'rearmAt' | 'emails' | 'sendsEvent' | 'description'
>

/**
 * Parses a new monitor. Refuses (400, with pointers): amounts, a `rearmAt` on the wrong side of the threshold, no
 * recipient.
 */
export function parseTerms(body: BodyOf<'createAccountMonitor'>, currency: Currency): MonitorTerms {
  return applyTermChanges(noTerms, body, currency)
}
const noTerms: MonitorTerms = {
  direction: 'Below',
  measure: 'Posted',
  threshold: 0n,
  rearmAt: null,
  emails: [],
  sendsEvent: true,
  description: null,
}

/** Applies the fields of the body to the terms, with the checks of `parseTerms`. */
export function applyTermChanges(
  terms: MonitorTerms,
  body: BodyOf<'updateAccountMonitor'>,
  currency: Currency,
): MonitorTerms {
  const { direction = terms.direction, measure = terms.measure, notify = {}, description = terms.description } = body
  const threshold =
    body.threshold === undefined ? terms.threshold : parseBalance(body.threshold, currency, '/threshold')
  const rearmAt = body.rearmAt === undefined ? terms.rearmAt : readRearmAt(body.rearmAt, currency)
  const { emails = terms.emails, event: sendsEvent = terms.sendsEvent } = notify
  const changed = { direction, measure, threshold, rearmAt, emails, sendsEvent, description }
  refuseBadTerms(changed)
  return changed
}

const readRearmAt = (value: Decimal | null, currency: Currency): Minor | null =>
  value === null ? null : parseBalance(value, currency, '/rearmAt')

function refuseBadTerms({ direction, threshold, rearmAt, emails, sendsEvent }: MonitorTerms): void {
  if (direction === 'Below' && threshold === 0n)
    throw refuseInvalid('/threshold', 'must be greater than 0 with `Below`: a balance never falls below 0')
  if (rearmAt !== null && (direction === 'Below' ? rearmAt < threshold : rearmAt > threshold))
    throw refuseInvalid(
      '/rearmAt',
      `must be ${direction === 'Below' ? 'at least' : 'at most'} the threshold with \`${direction}\``,
    )
  if (emails.length === 0 && !sendsEvent)
    throw refuseInvalid('/notify', 'must have an address in `emails`, or `event` must be true')
}

/** Reports whether a change restarts the monitor at the current balance. */
export const restartsMonitor = (before: MonitorTerms, after: MonitorTerms): boolean =>
  before.direction !== after.direction ||
  before.measure !== after.measure ||
  before.threshold !== after.threshold ||
  before.rearmAt !== after.rearmAt

type Sums = { readonly posted: Minor; readonly reserved: Minor }
export const measuredAmount = ({ measure }: Pick<MonitorRow, 'measure'>, { posted, reserved }: Sums): Minor =>
  measure === 'Posted' ? posted : posted - reserved
export const rearmThreshold = ({ rearmAt, threshold }: Pick<MonitorRow, 'rearmAt' | 'threshold'>): Minor =>
  rearmAt ?? threshold

/** Decides whether a balance triggers or rearms a monitor. Undefined: neither. */
function crossingKind(monitor: MonitorRow, balance: Minor): CrossingRow['kind'] | undefined {
  const { direction, state, threshold } = monitor
  const isAcross = direction === 'Below' ? balance < threshold : balance > threshold
  if (state === 'Armed') return isAcross ? 'Triggered' : undefined
  const isBack = direction === 'Below' ? balance >= rearmThreshold(monitor) : balance <= rearmThreshold(monitor)
  return state === 'Triggered' && isBack ? 'Rearmed' : undefined
}

/** `reference` is null if there is no single transaction. */
type Movement = Omit<AccountMovement, 'reference'> & { readonly reference: string | null }

/** A balance with the movements and monitors that a worker has read after its position. */
export type BalanceMovements = {
  readonly balance: BalanceRow
  /** Monitors that have not ended. */
  readonly monitors: readonly MonitorRow[]
  readonly movements: readonly Movement[]
  /** The last transfer up to which the movements are complete. */
  readonly readTo: string
}
export type BalanceEvaluation = {
  /** The balance with its new position and sums. */
  readonly balance: BalanceRow
  /** Monitors that have changed. */
  readonly monitors: readonly MonitorRow[]
  readonly crossings: readonly Crossing[]
  /** True: movements remain to be evaluated. */
  readonly isPartial: boolean
}
/** `monitor`: its state after the crossing. */
export type Crossing = CrossingRow & { readonly monitor: MonitorRow }

/**
 * Evaluates each monitor against the balance at its start, and after each later movement. Transfers that take effect
 * together are evaluated as one. Stops after the movement that reaches `crossingsMax` crossings.
 */
export function evaluateMonitors(
  { balance, monitors, movements, readTo }: BalanceMovements,
  crossingsMax: number,
): BalanceEvaluation {
  const now = new Map(monitors.map((monitor) => [monitor.id, monitor]))
  const waiting = monitors
    .filter(({ startsAfter }) => startsAfter > balance.position)
    .toSorted((one, other) => (one.startsAfter < other.startsAfter ? -1 : 1))
  const started = monitors.filter(({ startsAfter }) => startsAfter <= balance.position)
  const crossings: Crossing[] = []
  let sums: Sums = balance
  const observe = ({ id }: MonitorRow, position: string, reference: string | null) => {
    const monitor = present(now.get(id), `no monitor ${id}`)
    const value = measuredAmount(monitor, sums)
    const kind = crossingKind(monitor, value)
    if (kind === undefined) return
    const crossedAt = idTime(position)
    const changed: MonitorRow =
      kind === 'Triggered' ? { ...monitor, state: kind, lastTriggeredAt: crossedAt } : { ...monitor, state: 'Armed' }
    now.set(id, changed)
    const { partnerId } = monitor
    crossings.push({ partnerId, monitorId: id, position, kind, balance: value, reference, crossedAt, monitor: changed })
  }
  const startUntil = (position: string) => {
    for (let next = waiting[0]; next !== undefined && next.startsAfter <= position; next = waiting[0]) {
      waiting.shift()
      observe(next, next.startsAfter, null)
      started.push(next)
    }
  }
  let evaluatedTo = readTo
  for (const [index, { id, posted, reserved, reference, together }] of movements.entries()) {
    startUntil(id)
    sums = { posted: sums.posted + posted, reserved: sums.reserved + reserved }
    if (together !== undefined && movements[index + 1]?.together === together) continue
    for (const monitor of started) observe(monitor, id, reference)
    if (crossings.length < crossingsMax || index === movements.length - 1) continue
    evaluatedTo = id
    break
  }
  startUntil(evaluatedTo)
  return {
    balance: { ...balance, ...sums, position: evaluatedTo },
    monitors: [...now.values()].filter((monitor) => !monitors.includes(monitor)),
    crossings,
    isPartial: evaluatedTo !== readTo,
  }
}
