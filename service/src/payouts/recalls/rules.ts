/**
 * Pure: the periods of a recall, and what may be recalled. Source: EPC SEPA Credit Transfer rulebook (EPC125-05),
 * sections on the recall and on the request for recall by the originator (docs/guides/recalls.md says what was cited
 * from memory).
 */
import { Refusal } from '../../kernel/api/index.ts'
import { internalConnectorId, isTargetDay } from '../../rails/index.ts'
import type { PayoutRow } from '../index.ts'
import type { RecallReason, RecallRow } from './store.ts'

/** Periods for a request: banking business days after the execution, or months. */
const requestPeriods: Readonly<Record<RecallReason, { readonly days: number } | { readonly months: number }>> = {
  DUPL: { days: 10 },
  TECH: { days: 10 },
  FRAD: { months: 13 },
  CUST: { months: 13 },
  AC03: { months: 13 },
  AM09: { months: 13 },
}
const answerDays = 15
/** TARGET business days follow the time in Frankfurt. */
const timeZone = 'Europe/Berlin'

/** Returns the last day for a request. In a month without the day of the execution: the last day of the month. */
function requestDueOn(reason: RecallReason, executedAt: Date): Temporal.PlainDate {
  const period = requestPeriods[reason]
  const executedOn = dayOf(executedAt)
  return 'days' in period ? businessDaysAfter(executedOn, period.days) : executedOn.add({ months: period.months })
}

/**
 * Returns the last day on which the bank can answer a request that it received at `sentAt`, and the end of that day.
 */
export function answerDeadline(sentAt: Date): { readonly on: string; readonly at: Date } {
  const day = businessDaysAfter(dayOf(sentAt), answerDays)
  const end = day.add({ days: 1 }).toZonedDateTime({ timeZone })
  return { on: day.toString(), at: new Date(end.epochMilliseconds) }
}

const isPast = (day: Temporal.PlainDate, now: Date): boolean => Temporal.PlainDate.compare(dayOf(now), day) > 0

const dayOf = (at: Date): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZone).toPlainDate()

function businessDaysAfter(from: Temporal.PlainDate, days: number): Temporal.PlainDate {
  let day = from
  for (let left = days; left > 0;) {
    day = day.add({ days: 1 })
    if (isTargetDay(day)) left -= 1
  }
  return day
}

/**
 * Checks that a payout can be recalled now, and returns the last day for the request. `executedAt` is the time of
 * settlement, which is the last change of a completed payout's status. Refuses: recall_not_supported,
 * payout_not_recallable, recall_exists, recall_deadline_passed.
 */
export function requireRecallable(
  { status, rail, connector, updatedAt: executedAt }: PayoutRow,
  reason: RecallReason,
  recallsBefore: readonly RecallRow[],
  { canRecall, now }: { readonly canRecall: boolean; readonly now: Date },
): string {
  if (connector === internalConnectorId)
    throw new Refusal(
      'recall_not_supported',
      'The payee has its account with this service, so there is no bank to ask: ask the payee to pay the money back.',
    )
  if (rail !== 'Sepa') throw new Refusal('recall_not_supported', `The rail ${rail} does not support recalls.`)
  if (!canRecall) throw new Refusal('recall_not_supported', 'The bank of the payout does not support recalls.')
  if (status !== 'Completed') throw new Refusal('payout_not_recallable', `The payout is ${status}, not Completed.`)
  const open = recallsBefore.find((recall) => ['Requested', 'Sent', 'Accepted'].includes(recall.status))
  if (open !== undefined)
    throw new Refusal('recall_exists', `The payout already has a recall, with the status ${open.status}.`)
  const same = recallsBefore.find((recall) => recall.reason === reason)
  if (same !== undefined)
    throw new Refusal('recall_exists', `The payout already has a recall for ${reason}, with the status ${same.status}.`)
  const dueOn = requestDueOn(reason, executedAt)
  if (isPast(dueOn, now))
    throw new Refusal(
      'recall_deadline_passed',
      `The last day to request a recall for ${reason} was ${dueOn.toString()}.`,
    )
  return dueOn.toString()
}
