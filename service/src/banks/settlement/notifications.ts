/** Processes bank notifications: reads them, applies them in the order of each payment, and acknowledges after the commit. */
import { Unreachable } from '../../kernel/api/index.ts'
import { isUuid, type Money } from '../../kernel/index.ts'
import type { BankNotification, Connector } from '../../rails/index.ts'
import {
  withReportedDetails,
  callDeadline,
  callWithDeadline,
  type NotificationOutcome,
  plainBankText,
  type SettlementDeps,
  type NotificationSource,
} from './deps.ts'
import type { AppliedOutcome } from '../../lifecycle/index.ts'
import { type CaseKind, type NewCase, operatorPartnerId } from '../../cases/index.ts'
import type { Tx } from '../../postgres/index.ts'

const notificationsPerStepMax = 5000
const notificationsPerStepMin = 200
/** Notifications that arrive during a step wait for its end, even those of other partners. */
const stepAimMs = 250
/** Small acknowledgements delete processed notifications while the rest of the step still runs. */
const notificationsPerAcknowledgementMax = 500
/** A bank sends at most this many notifications about one payment. */
const notificationsPerSubjectMax = 5
const retryPauseMs = 30_000
const earlyPauseMs = 1000

/** The `performance.now()` until which a failed notification is not retried, by payment or deposit. */
type RetryPauses = Map<string, number>

/** `early`: not processed yet; the bank repeats the notification. */
type ProcessingResult = { readonly notification: BankNotification; readonly early?: true; readonly failure?: unknown }

/** Processes unacknowledged notifications of every connector and returns the number of successes. */
export async function processBankNotifications(deps: SettlementDeps): Promise<number> {
  const counts = await Promise.all(deps.connectors.map((connector) => processConnector(deps, connector, new Map())))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Adapts the size of a connector's steps so that each takes about a quarter of a second. */
export function createNotificationStep(
  deps: SettlementDeps,
  connector: Connector,
  monotonicMs = () => performance.now(),
): () => Promise<number> {
  const retryPauses: RetryPauses = new Map()
  let notificationsMax = notificationsPerStepMin
  return async () => {
    const startMs = monotonicMs()
    const processed = await processConnector(deps, connector, retryPauses, notificationsMax)
    const isSlow = monotonicMs() - startMs > stepAimMs
    if (isSlow) notificationsMax = Math.max(notificationsPerStepMin, Math.floor(notificationsMax / 2))
    else if (processed >= notificationsMax) notificationsMax = Math.min(notificationsPerStepMax, notificationsMax * 2)
    return processed
  }
}

/**
 * Processes unacknowledged notifications of a connector and returns the number of successes. A failed notification stays
 * unacknowledged and only pauses its own payment or deposit.
 */
async function processConnector(
  deps: SettlementDeps,
  connector: Connector,
  retryPauses: RetryPauses,
  notificationsMax = notificationsPerStepMax,
): Promise<number> {
  const source = { deps, connector }
  const processable = await readProcessable(source, retryPauses, notificationsMax)
  const bySubject = Map.groupBy(processable, ({ subjectId }) => subjectId)
  let processed = 0
  for (let round = 0; bySubject.size > 0; round += 1) {
    const next = [...bySubject.values()].flatMap((notifications) => notifications[round] ?? [])
    for (const { notification, early, failure } of await processRound(source, next)) {
      const { subjectId } = notification
      if (failure instanceof Unreachable) throw failure
      if (failure !== undefined) retryPauses.set(subjectId, performance.now() + retryPauseMs)
      // The notification for which an early one waits often arrives next, so that the first pause is short.
      else if (early) pauseEarly(retryPauses, subjectId)
      else {
        retryPauses.delete(subjectId)
        processed += 1
      }
      const isLast = (bySubject.get(subjectId)?.length ?? 0) <= round + 1
      if (failure !== undefined || isLast) bySubject.delete(subjectId)
    }
  }
  return processed
}

function pauseEarly(retryPauses: RetryPauses, subjectId: string): void {
  const pauseMs = retryPauses.has(subjectId) ? retryPauseMs : earlyPauseMs
  retryPauses.set(subjectId, performance.now() + pauseMs)
}

/** Reads notifications without the paused ones. These are among the oldest, so that the limit grows by their number. */
async function readProcessable(
  { deps, connector }: NotificationSource,
  retryPauses: RetryPauses,
  notificationsMax: number,
) {
  const pausedMax = retryPauses.size * notificationsPerSubjectMax
  const unacknowledged = await callWithDeadline(callDeadline(connector), (options) =>
    connector.notifications(notificationsMax + pausedMax, options),
  ).catch((error: unknown) => {
    deps.observe?.failed(connector.id, error)
    throw error
  })
  if (unacknowledged.length > 0) deps.observe?.answered(connector.id)
  // Another worker may have processed a paused notification: its pause would enlarge each read.
  const subjectIds = new Set(unacknowledged.map(({ subjectId }) => subjectId))
  for (const subjectId of retryPauses.keys()) if (!subjectIds.has(subjectId)) retryPauses.delete(subjectId)
  return unacknowledged.filter(({ subjectId }) => (retryPauses.get(subjectId) ?? 0) <= performance.now())
}

/**
 * Processes at most one notification of each payment, concurrently, because they share transactions in batches. The
 * money of a notification with a case is already in the ledger, so that the notification is not applied to a payment
 * that became known later.
 */
async function processRound(
  source: NotificationSource,
  next: readonly BankNotification[],
): Promise<readonly ProcessingResult[]> {
  const { deps, connector } = source
  const withCase = await deps.cases.idsWithCase(
    connector.id,
    next.map(({ id }) => id),
  )
  const chunks = splitList(next, notificationsPerAcknowledgementMax)
  return (await Promise.all(chunks.map((chunk) => processChunk(source, chunk, withCase)))).flat()
}

async function processChunk(
  source: NotificationSource,
  notifications: readonly BankNotification[],
  withCase: ReadonlySet<string>,
): Promise<readonly ProcessingResult[]> {
  const processed = notifications.map((one) => processOne(source, one, withCase.has(one.id)))
  return acknowledge(source, await Promise.all(processed))
}

async function processOne(
  source: NotificationSource,
  notification: BankNotification,
  hasCase: boolean,
): Promise<ProcessingResult> {
  const { log, observe } = source.deps
  const { id: connector } = source.connector
  const { id: notificationId, subjectId, kind } = notification
  try {
    const outcome = hasCase ? 'duplicate' : await process(source, notification)
    observe?.bankNotification(connector, outcome)
    if (outcome === 'early')
      log.warn({ connector, notificationId, subjectId, kind }, 'bank notification arrived too early; will retry')
    // Usually a repetition after a crash.
    if (outcome === 'duplicate')
      log.warn({ connector, notificationId, subjectId, kind }, 'duplicate bank notification ignored')
    return outcome === 'early' ? { notification, early: true } : { notification }
  } catch (error) {
    observe?.bankNotification(connector, 'failed')
    if (!(error instanceof Unreachable))
      log.error({ err: error, connector, notificationId, kind }, 'bank notification failed')
    return { notification, failure: error }
  }
}

async function process(source: NotificationSource, notification: BankNotification): Promise<NotificationOutcome> {
  const { applied, partnerId, depositId } = await apply(source, notification)
  if (applied === 'early') return 'early'
  if (applied === 'contradiction' || applied === 'unknown')
    return openCase(source, { ...notification, partnerId }, applied, depositId)
  return applied ? 'applied' : 'duplicate'
}

/** Applies a notification. Returns the owner as `partnerId`: a bank only knows accounts, so that a credit does not name it. */
async function apply(
  { deps, connector: { id: connector } }: NotificationSource,
  notification: BankNotification,
): Promise<{ readonly applied: AppliedOutcome; readonly partnerId: string; readonly depositId?: string }> {
  const { kind, partnerId } = notification
  if (kind === 'credit.booked') return deps.deposits.processCredit(connector, notification)
  if (kind === 'credit.reversed') return deps.deposits.processReversal(connector, notification)
  if (kind === 'payout.payee_checked') return { applied: await applyPayeeCheck(deps, notification), partnerId }
  if (kind === 'recall.answered') return { applied: await applyToRecall(deps, notification), partnerId }
  // Always open a case.
  if (kind === 'debit.booked' || kind === 'oddity') return { applied: 'unknown', partnerId }
  const applied = await applyToSubject(deps, connector, notification)
  return { applied: applied === 'unknown' ? await applyToReturn(deps, connector, notification) : applied, partnerId }
}

type RecallAnswer = Extract<BankNotification, { readonly kind: 'recall.answered' }>

/** Applies the answer to a partner's recall, which does not move money. Ignores answers to recalls of the operator. */
async function applyToRecall({ recalls }: SettlementDeps, notification: RecallAnswer): Promise<boolean> {
  const { partnerId, subjectId: recallId, instructionId, accepted, reasonCode } = notification
  const bankText = plainBankText(notification.bankText)
  if (![partnerId, recallId, instructionId].every(isUuid)) return false
  return recalls.answered({ partnerId, recallId, instructionId, accepted, reasonCode, bankText })
}

type PayeeCheck = Extract<BankNotification, { readonly kind: 'payout.payee_checked' }>

/** Applies a payee check, which does not move money. Ignores checks of returns and ended payouts. */
async function applyPayeeCheck(
  { payouts }: SettlementDeps,
  { partnerId, subjectId: instructionId, payee, bankText }: PayeeCheck,
): Promise<boolean> {
  if (![partnerId, instructionId].every(isUuid)) return false
  return payouts.payeeChecked({ partnerId, instructionId }, payee, plainBankText(bankText))
}

/** Applies a report to the return of a case. */
async function applyToReturn(
  { returns }: SettlementDeps,
  connector: string,
  notification: SubjectNotification,
): Promise<AppliedOutcome> {
  const { kind, partnerId, id, subjectId } = notification
  if (kind !== 'payout.settled' && kind !== 'payout.rejected' && kind !== 'payout.returned') return 'unknown'
  if (!isUuid(subjectId) || !isUuid(partnerId)) return 'unknown'
  const { money } = notification
  const told = 'errorKey' in notification ? { details: withReportedDetails(notification).details } : {}
  return returns.reported({ kind, partnerId, id, subjectId, connector, ...(money ? { money } : {}), ...told })
}

type SubjectNotification = Exclude<
  BankNotification,
  { readonly kind: `credit.${string}` | 'debit.booked' | 'oddity' | 'recall.answered' | 'payout.payee_checked' }
>

async function applyToSubject(
  { payouts, deposits }: SettlementDeps,
  connector: string,
  notification: SubjectNotification,
): Promise<AppliedOutcome> {
  const { partnerId, subjectId, id: notificationId } = notification
  if (!isUuid(subjectId) || !isUuid(partnerId)) return 'unknown'
  const { money } = notification.kind === 'payout.settled' || 'errorKey' in notification ? notification : {}
  const hash = 'transactionHash' in notification ? { transactionHash: notification.transactionHash } : {}
  const report = { connector, notificationId, ...hash, ...(money === undefined ? {} : { money }) }
  const reporting = { partnerId, instructionId: subjectId, report }
  switch (notification.kind) {
    case 'payout.settled':
      return payouts.settled({ ...reporting, transactionHash: notification.transactionHash })
    case 'payout.rejected':
      return payouts.rejected(reporting, withReportedDetails(notification))
    case 'payout.returned':
      return payouts.returned(reporting, withReportedDetails(notification))
    case 'deposit.initiated':
    case 'deposit.submitted':
    case 'deposit.accepted':
    case 'deposit.settled':
      return deposits.processNotification(connector, notification)
    case 'deposit.failed':
      return deposits.processNotification(connector, withReportedDetails(notification))
  }
}

/** Acknowledges notifications. If that fails, the bank repeats them, and they are ignored as duplicates. */
async function acknowledge(
  { deps: { log }, connector }: NotificationSource,
  results: readonly ProcessingResult[],
): Promise<readonly ProcessingResult[]> {
  if (results.length === 0) return results
  try {
    const succeeded = results.filter(({ failure, early }) => failure === undefined && !early)
    const notifications = succeeded.map(({ notification }) => notification)
    await callWithDeadline(callDeadline(connector), (options) => connector.acknowledge(notifications, options))
    return results
  } catch (error) {
    log.error(
      { err: error, connector: connector.id, notifications: results.length },
      'bank notifications not acknowledged',
    )
    return results.map(({ notification, failure = error }) => ({ notification, failure }))
  }
}

function splitList<T>(list: readonly T[], sizeMax: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / sizeMax) }, (_none, index) =>
    list.slice(index * sizeMax, (index + 1) * sizeMax),
  )
}

// Reports that do not match anything known: their money goes to suspense, with a case.

/** Opens a case. Returns `duplicate` if the notification already has one. */
async function openCase(
  { deps: { cases, deposits, isPartner }, connector }: NotificationSource,
  notification: BankNotification,
  why: 'contradiction' | 'unknown',
  depositId: string | undefined,
): Promise<'case' | 'duplicate'> {
  const { partnerId, id: notificationId, subjectId: subject } = notification
  const money = nullIfZero(movedMoney(notification))
  const owner = isUuid(partnerId) && (await isPartner(partnerId)) ? partnerId : operatorPartnerId
  const credit = notification.kind === 'credit.booked' ? notification : undefined
  // The people who decide about names learn of it. Late money of a deposit is offered to the partner, whose choice is
  // screened.
  const isListed =
    credit !== undefined &&
    depositId === undefined &&
    (await deposits.isListedSender(owner, credit.debtor, [credit.remittance, credit.endToEndId]))
  const offer = async (tx: Tx, caseId: string) => {
    if (depositId === undefined || money === null || credit === undefined) return
    await deposits.offerUnmatched(tx, { partnerId, id: depositId }, { caseId, money })
  }
  const found: NewCase = {
    partnerId: owner,
    kind: isListed ? 'sanctions_hold' : caseKind(notification, why),
    connector: connector.id,
    notificationId,
    subject,
    report: notification,
    // A report without an amount did not move money.
    booked: money,
  }
  return (await cases.open(found, offer)) ? 'case' : 'duplicate'
}

function caseKind(notification: BankNotification, why: 'contradiction' | 'unknown'): CaseKind {
  if (notification.kind === 'debit.booked') return notification.why
  if (notification.kind === 'oddity') return notification.what
  return why === 'unknown' ? 'unknown_payment' : 'contradiction'
}

/** Returns the money that a report moved on the account at the bank; negative for outgoing money. */
function movedMoney(notification: BankNotification): Money | null {
  switch (notification.kind) {
    case 'payout.settled':
      return notification.money === undefined ? null : negative(notification.money)
    case 'credit.reversed':
    case 'debit.booked':
      return negative(notification.money)
    case 'payout.rejected':
    case 'payout.returned':
    case 'deposit.settled':
    case 'credit.booked':
      return notification.money ?? null
    case 'payout.payee_checked':
    case 'deposit.initiated':
    case 'deposit.submitted':
    case 'deposit.accepted':
    case 'deposit.failed':
    case 'recall.answered':
    case 'oddity':
      return null
  }
}

const nullIfZero = (money: Money | null): Money | null => (money?.amount === 0n ? null : money)

const negative = ({ currency, amount }: Money): Money => ({ currency, amount: -amount })
