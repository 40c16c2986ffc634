/** Processes a bank's statuses of our payments and files (pain.002). A repeated status changes nothing. */
import {
  type PayeeResult,
  type Reason,
  explainReason,
  type StatusMeaning,
  findStatus,
  type StatusReport,
  type TransferStatus,
} from '../../iso20022/index.ts'
import { nilId, partnerKey, present } from '../../kernel/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import { joinBankTexts, type InstructionKey, earliestSubmission, withBankText } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import { isRecallFile, formatPaymentLabel, parseInstructionId } from './ids.ts'
import type { Lease } from './lease.ts'
import {
  oddityReport,
  payeeCheckReportId,
  rejectedReportId,
  type Report,
  settledReportId,
  writeReports,
} from './reports.ts'
import { writeAnswers } from './recall-answers.ts'
import * as store from './store-incoming.ts'
import { reachObstacle } from './schemes.ts'
import * as instructions from './store-instructions.ts'

const wordsPerPageMax = 1000

type PaymentWord = {
  readonly meaning: PaymentMeaning
  /** The status of the payment, or of its batch or file. */
  readonly status: string
  readonly reasons: readonly Reason[]
  /** Null: the message does not name the attempt. */
  readonly attempt: number | null
}
type PaymentReport = { readonly sent: store.SentPayment; readonly word: PaymentWord }

export function createStatuses(deps: BankDeps) {
  const { db, rules, operatorId } = deps
  const of = { operatorId, connector: rules.id }
  const requeue = createRequeue(deps)

  const applyPage = (lease: Lease, said: readonly PaymentReport[], file: store.OurFile | undefined) =>
    lease.transaction(async (tx) => {
      const found = new Map(said.map((one) => [partnerKey(one.sent.partnerId, one.sent.id), one]))
      const locked: PaymentReport[] = []
      for (const group of groupByShard(
        tx,
        [...found.values()].map(({ sent }) => sent),
      ))
        for (const sent of await store.lockSentPayments(tx, of.connector, group)) {
          const word = found.get(partnerKey(sent.partnerId, sent.id))?.word
          if (word !== undefined && isAboutPayment(sent, word, file)) locked.push({ sent, word })
        }
      await writeStatuses(tx, deps, await requeueRefused(tx, requeue, locked))
    })

  return async (lease: Lease, messageId: string, report: StatusReport): Promise<void> => {
    const [file] = await store.filesByMessageIds(db, of.connector, [report.originalMessageId])
    const heard = new Set<string>()
    const unknown: string[] = []
    const mismatches: Mismatch[] = []
    for (const page of pagesOf(transfersOf(report))) {
      const { said, lost } = await findPayments(db, of.connector, page, file)
      unknown.push(...lost)
      for (const { sent, word } of said) {
        heard.add(sent.id)
        const payee = readPayeeResult(word)
        if (payee === 'no_match' || payee === 'close_match') mismatches.push({ name: formatPaymentLabel(sent), payee })
      }
      if (said.length > 0) await applyPage(lease, said, file)
    }
    let isUnclear = false
    if (file?.kind === 'pain.001')
      for (const { batchId, word } of readWholeStatuses(report))
        await forEachPage(db, of.connector, file.id, batchId, async (page) => {
          const rest = page.filter(({ id }) => !heard.has(id))
          for (const { id } of rest) heard.add(id)
          if (word.meaning === 'duplicate') isUnclear ||= rest.some(({ status }) => status === 'Filed')
          else
            await applyPage(
              lease,
              rest.map((sent) => ({ sent, word })),
              file,
            )
        })
    await lease.transaction(async (tx) => {
      if (file !== undefined) await recordFileStatus(tx, deps, file, report)
      const reports = reportOddities(of, messageId, report, { file, unknown, isUnclear, mismatches })
      if (reports.length > 0) writeReports(tx, of.connector, reports, deps.clock.now())
    })
  }
}

type TransferReport = { readonly transfer: TransferStatus; readonly word: PaymentWord }

/** Reads the status of each named payment: its own, or that of its batch or file. */
function* transfersOf({ groupStatus, reasons, batches }: StatusReport): Generator<TransferReport> {
  for (const batch of batches)
    for (const transfer of batch.transfers) {
      const why = [transfer.reasons, batch.reasons, reasons].find((list) => list.length > 0) ?? []
      const status = transfer.status ?? batch.status ?? groupStatus ?? ''
      const meaning = readMeaning(status, why)
      // A duplicate file or batch is handled as a whole.
      if (meaning === undefined || (meaning === 'duplicate' && transfer.status === undefined)) continue
      const attempt = parseInstructionId(transfer.instructionId ?? '')?.attempt ?? null
      yield { transfer, word: { meaning, status, reasons: why, attempt } }
    }
}

/**
 * Reads the statuses of whole batches, then that of the file for batches without a status. `PART` does not apply to
 * payments that are not listed.
 */
function readWholeStatuses({ groupStatus, reasons, batches }: StatusReport) {
  const wholes = batches.flatMap(({ batchId, status, reasons: own }) => {
    const why = own.length > 0 ? own : reasons
    const meaning = readMeaning(status, why)
    return meaning === undefined
      ? []
      : [{ batchId, word: { meaning, status: status ?? '', reasons: why, attempt: null } }]
  })
  const meaning = readMeaning(groupStatus, reasons)
  if (meaning === undefined) return wholes
  return [...wholes, { batchId: null, word: { meaning, status: groupStatus ?? '', reasons, attempt: null } }]
}

function* pagesOf(transfers: Iterable<TransferReport>): Generator<readonly TransferReport[]> {
  let page: TransferReport[] = []
  for (const transfer of transfers) {
    page.push(transfer)
    if (page.length < wordsPerPageMax) continue
    yield page
    page = []
  }
  if (page.length > 0) yield page
}

async function findPayments(
  tx: Tx,
  connector: string,
  page: readonly TransferReport[],
  file: store.OurFile | undefined,
): Promise<{ readonly said: readonly PaymentReport[]; readonly lost: readonly string[] }> {
  const names = page.map(({ transfer: { instructionId = '', endToEndId } }) => ({
    id: parseInstructionId(instructionId)?.id,
    endToEndId,
  }))
  const found = await store.sentPaymentsByReferences(tx, connector, names)
  const byId = new Map(found.map((sent) => [sent.id, sent]))
  const byEndToEnd = Map.groupBy(found, ({ endToEndId }) => endToEndId)
  const said: PaymentReport[] = []
  const lost: string[] = []
  for (const { transfer, word } of page) {
    const { instructionId = '', endToEndId = '', money } = transfer
    const sent =
      byId.get(parseInstructionId(instructionId)?.id ?? '') ??
      findOnlyPayment(byEndToEnd.get(endToEndId) ?? [], file, money)
    if (sent === undefined) lost.push(instructionId || endToEndId || 'a payment without references')
    else said.push({ sent, word })
  }
  return { said, lost }
}

/**
 * Finds the only payment with an end-to-end id. Several may have the id, even payments of other parties, so that it only
 * counts in an answer to our file.
 */
function findOnlyPayment(
  named: readonly store.SentPayment[],
  file: store.OurFile | undefined,
  money: TransferStatus['money'],
): store.SentPayment | undefined {
  if (file === undefined) return undefined
  const alike = named.filter(
    ({ amount, currency }) =>
      money === undefined || (money.currency === currency && (money.minor === null || money.minor === amount)),
  )
  const ofFile = alike.filter(({ fileId }) => fileId === file.id)
  const [sent, another] = ofFile.length > 0 ? ofFile : alike.filter(({ attempt }) => attempt > 1)
  return another === undefined ? sent : undefined
}

async function forEachPage(
  tx: Tx,
  connector: string,
  fileId: string,
  batchId: string | null,
  work: (page: readonly store.SentPayment[]) => Promise<void>,
): Promise<void> {
  let after = nilId
  for (;;) {
    const page = await store.sentPaymentsOfFile(tx, connector, fileId, batchId, after, wordsPerPageMax)
    if (page.length === 0) return
    await work(page)
    after = page.at(-1)?.id ?? after
  }
}

/**
 * Reports whether a status is about the current attempt of the payment. A report that the bank has paid counts for any
 * attempt.
 */
function isAboutPayment(
  sent: store.SentPayment,
  { attempt, meaning }: PaymentWord,
  file: store.OurFile | undefined,
): boolean {
  if (meaning === 'settled') return true
  if (attempt !== null) return attempt === sent.attempt
  return file === undefined || sent.fileId === file.id
}

const readPayeeResult = ({ status }: PaymentWord): PayeeResult | undefined => findStatus(status)?.payee

const readReasonCode = ({ reasons }: PaymentWord): string | null =>
  reasons.flatMap(({ code, proprietary }) => code ?? proprietary ?? [])[0] ?? null

/**
 * Requeues instant payments as credit transfers, if the refusal only concerns the instant scheme and a credit transfer
 * reaches the payee's bank. Returns the other payments.
 */
async function requeueRefused(
  tx: Tx,
  requeue: ReturnType<typeof createRequeue>,
  said: readonly PaymentReport[],
): Promise<readonly PaymentReport[]> {
  const refused = said.flatMap(({ sent: { partnerId, id, schemeApplied, status }, word }) => {
    const reasonCode = readReasonCode(word)
    const isOpen = status === 'Filed' || status === 'Accepted'
    if (word.meaning !== 'rejected' || !isOpen || schemeApplied !== 'Instant' || reasonCode === null) return []
    return explainReason(reasonCode).retryAsCreditTransfer ? [{ partnerId, id, reasonCode }] : []
  })
  if (refused.length === 0) return said
  const again = new Set((await requeue(tx, refused)).map(({ partnerId, id }) => partnerKey(partnerId, id)))
  return said.filter(({ sent: { partnerId, id } }) => !again.has(partnerKey(partnerId, id)))
}

type StatusDeps = Pick<BankDeps, 'clock' | 'operatorId'> & { readonly rules: Pick<BankDeps['rules'], 'id'> }

/** Applies a written confirmation of the bank to one locked payment, like a status. */
export const applyStatus = (
  tx: Tx,
  deps: StatusDeps,
  sent: store.SentPayment,
  meaning: 'settled' | 'rejected',
): Promise<void> => writeStatuses(tx, deps, [{ sent, word: { meaning, status: '', reasons: [], attempt: null } }])

async function writeStatuses(tx: Tx, deps: StatusDeps, said: readonly PaymentReport[]): Promise<void> {
  const { clock, rules } = deps
  const now = clock.now()
  await reportUnclear(tx, deps, said)
  const written = said.flatMap(({ sent, word }) => statusEffects(sent, word, rules.id, now) ?? [])
  const payees = written.flatMap(({ payee }) => payee ?? [])
  for (const group of groupByShard(tx, payees)) store.recordPayeeChecks(tx, group, now)
  const changes = written.flatMap(({ change }) => change ?? [])
  for (const group of groupByShard(tx, changes)) store.updateSentPayments(tx, group, now)
  const reports = written.flatMap(({ report }) => report ?? [])
  if (reports.length > 0) writeReports(tx, rules.id, reports, now)
}

/**
 * Opens a case for each payment that the bank blocks or refuses as a duplicate: the payment waits for a booking. `DU..`
 * about an accepted payment only reports a repeated submission.
 */
async function reportUnclear(
  tx: Tx,
  { clock, rules, operatorId }: StatusDeps,
  said: readonly PaymentReport[],
): Promise<void> {
  const unclear = said.filter(({ sent: { status }, word }) => {
    if (word.meaning !== 'duplicate' && word.meaning !== 'blocked') return false
    const isRepeated = word.meaning === 'duplicate' && readReasonCode(word)?.startsWith('DU') === true
    return status === 'Filed' || (status === 'Accepted' && !isRepeated)
  })
  const now = clock.now()
  const named = new Map(unclear.map((one) => [one.sent.id, one]))
  for (const group of groupByShard(
    tx,
    unclear.map(({ sent }) => sent),
  ))
    for (const { partnerId, id } of await store.markMissing(tx, rules.id, group, now, now)) {
      const { sent, word } = present(named.get(id), `payment ${id} was marked without a report about it`)
      const why = reasonText(word.reasons)
      const text =
        word.meaning === 'blocked'
          ? `The bank has blocked the payment ${formatPaymentLabel(sent)} (${word.status}, ${why}): it neither executes nor returns the payment.`
          : `The bank refuses the payment ${formatPaymentLabel(sent)} as a duplicate (${why}) and does not say whether it executes the first submission.`
      const of = { operatorId, connector: rules.id }
      const names = [id, String(sent.attempt), ...(word.meaning === 'blocked' ? [word.status] : [])]
      writeReports(tx, rules.id, [{ ...oddityReport(of, 'payment_missing', text, names, id), partnerId }], now)
    }
}

type StatusEffects = {
  readonly change?: store.PaymentChange
  readonly payee?: store.PayeeCheckResult
  readonly report?: Report
}

/**
 * Computes the effects of a status. The status of an ended payment is only reported: settlement opens a case if it
 * contradicts the outcome.
 */
function statusEffects(
  sent: store.SentPayment,
  word: PaymentWord,
  connector: string,
  now: Date,
): StatusEffects | undefined {
  const { partnerId, id, status, entryId, settledAt } = sent
  const isOpen = status === 'Queued' || status === 'Filed' || status === 'Accepted'
  const same = { partnerId, id, entryId, settledAt, errorKey: null, errorDetails: null, reasonCode: null }
  const subject = { partnerId, subjectId: id }
  if (word.meaning === 'duplicate' || word.meaning === 'blocked') return undefined
  if (word.meaning === 'checked') return isOpen ? payeeCheckEffects(sent, word, connector) : undefined
  if (word.meaning === 'accepted')
    return status === 'Filed' || sent.missingSince !== null
      ? { change: { ...same, status: isOpen ? 'Accepted' : status } }
      : undefined
  if (word.meaning === 'settled') {
    if (status === 'Settled' || status === 'Returned') return undefined
    const report: Report = { ...subject, id: settledReportId(connector, sent), kind: 'payout.settled', facts: {} }
    return isOpen ? { change: { ...same, status: 'Settled', settledAt: now }, report } : { report }
  }
  if (status === 'Rejected' || status === 'Returned' || status === 'Refused') return undefined
  const failure = readFailure(word, sent.payeeCheck)
  const report: Report = {
    ...subject,
    id: rejectedReportId(connector, sent, sent.attempt),
    kind: 'payout.rejected',
    facts: failure,
  }
  const { errorKey, reasonCode } = failure
  const errorDetails = withBankText(failure.details, failure.bankText)
  return isOpen ? { change: { ...same, status: 'Rejected', errorKey, errorDetails, reasonCode }, report } : { report }
}

/** Reports a payee check. It does not end the payment: the bank pays after a release, or sends another status. */
function payeeCheckEffects(sent: store.SentPayment, word: PaymentWord, connector: string): StatusEffects | undefined {
  const { partnerId, id, attempt } = sent
  const payee = readPayeeResult(word)
  if (payee === undefined || payee === sent.payeeCheck) return undefined
  const report: Report = {
    partnerId,
    subjectId: id,
    id: payeeCheckReportId(connector, sent, attempt, payee),
    kind: 'payout.payee_checked',
    facts: { payee, bankText: bankWords(word.reasons) },
  }
  return { payee: { partnerId, id, payee }, report }
}

/** Reasons for rejected payments whose payee did not match, if the bank does not give another reason. */
const payeeFailures = {
  no_match: ['RVNM', 'The name of the recipient does not match the account.'],
  close_match: ['RVMC', 'The name of the recipient is not exactly that of the account.'],
} as const

function readFailure(word: PaymentWord, payee: PayeeResult | null) {
  const [payeeCode, mismatch] =
    (payee === 'no_match' || payee === 'close_match' ? payeeFailures[payee] : undefined) ?? []
  const [reasonCode, bankText] = [readReasonCode(word), bankWords(word.reasons)]
  if (reasonCode === null)
    return mismatch === undefined
      ? ({ errorKey: 'BankRejection', details: 'The bank rejected the payment.', reasonCode, bankText } as const)
      : ({ errorKey: 'InvalidAccountDetails', details: mismatch, reasonCode: payeeCode, bankText } as const)
  const { errorKey, details } = explainReason(reasonCode)
  return { errorKey, details: mismatch === undefined ? details : `${details} ${mismatch}`, reasonCode, bankText }
}

/** Records the status of a file. A refused file of recalls refuses all its recalls. */
async function recordFileStatus(
  tx: Tx,
  { clock, rules }: BankDeps,
  file: store.OurFile,
  { groupStatus, reasons }: StatusReport,
): Promise<void> {
  if (groupStatus === undefined || readMeaning(groupStatus, reasons) === 'duplicate') return
  store.setBankStatus(tx, file.id, groupStatus)
  if (!isRecallFile(file) || findStatus(groupStatus)?.meaning !== 'rejected') return
  const code = reasons.flatMap((reason) => reason.code ?? reason.proprietary ?? [])[0] ?? null
  const refused = await store.recallsByIds(tx, rules.id, { ids: [], instructionIds: [], fileIds: [file.id] })
  const answer = { status: 'Refused', answerCode: code, answerDetails: bankWords(reasons) } as const
  const answered = refused.map(({ partnerId, id }) => ({ partnerId, id, ...answer }))
  await writeAnswers(tx, rules.id, answered, clock.now())
}

// The cases that a status report opens as a whole.

const listedMax = 5
const codeCharsMax = 35

type ReportFindings = {
  readonly file: store.OurFile | undefined
  readonly unknown: readonly string[]
  /** The bank refused a duplicate without saying whether it executes the first submission. */
  readonly isUnclear: boolean
  readonly mismatches: readonly Mismatch[]
}

/** Creates the cases about a status report as a whole. */
function reportOddities(
  of: { readonly operatorId: string; readonly connector: string },
  messageId: string,
  report: StatusReport,
  { file, unknown, isUnclear, mismatches }: ReportFindings,
): readonly Report[] {
  const { originalMessageId, groupStatus, reasons, batches } = report
  const found: Report[] = []
  const meaning = readMeaning(groupStatus, reasons)
  const isRecallUnclear =
    isRecallFile(file) && meaning === 'duplicate' && readMeaning(file?.bankStatus ?? undefined, []) === undefined
  if (file === undefined) {
    const text = `The bank answers the message ${originalMessageId}, which is unknown here.`
    found.push(oddityReport(of, 'entry_unclear', text, ['answer', originalMessageId]))
  } else if (meaning === 'rejected') {
    const text = `The bank has refused the file ${originalMessageId}: ${reasonText(reasons)}.`
    found.push(oddityReport(of, 'file_refused', text, [originalMessageId], file.id))
  } else if (isUnclear || isRecallUnclear) {
    const why = reasonText([...reasons, ...batches.flatMap((batch) => batch.reasons)])
    const text = `The bank refuses ${originalMessageId} as a duplicate: ${why}. It does not say whether it executes the first submission. The payments have not failed: they wait for its booking.`
    found.push(oddityReport(of, 'file_refused', text, [originalMessageId, 'duplicate'], file.id))
  }
  if (unknown.length > 0 && file !== undefined) {
    const text = `The bank names ${unknown.length} unknown payments: ${unknown.slice(0, listedMax).join(', ')}.`
    found.push(oddityReport(of, 'entry_unclear', text, ['payments', messageId]))
  }
  const codes = listUnknownStatuses(report)
  if (codes.length > 0) {
    const text = `The bank answers ${originalMessageId} with an unknown status: ${codes.join(', ')}. The status was ignored.`
    found.push(oddityReport(of, 'entry_unclear', text, ['status', originalMessageId, ...codes]))
  }
  if (file !== undefined && mismatches.length > 0) {
    const text = `The bank has checked the payees of ${originalMessageId}: ${mismatchText(mismatches)}. If your agreement requires a release, release or withdraw the file at the bank.`
    found.push(oddityReport(of, 'payee_mismatch', text, [messageId], file.id))
  }
  return found
}

/** Payments whose payee does not match, or matches only closely. */
type Mismatch = { readonly name: string; readonly payee: PayeeResult }

function mismatchText(mismatches: readonly Mismatch[]): string {
  const count = (payee: PayeeResult) => mismatches.filter((one) => one.payee === payee).length
  const names = mismatches.slice(0, listedMax).map(({ name }) => name)
  return `${count('no_match')} names do not match and ${count('close_match')} match closely (${names.join(', ')})`
}

const listUnknownStatuses = ({ groupStatus, batches }: StatusReport): readonly string[] => {
  const given = [
    groupStatus,
    ...batches.flatMap(({ status, transfers }) => [status, ...transfers.map((one) => one.status)]),
  ]
  return [
    ...new Set(given.flatMap((code) => (code === undefined || findStatus(code) ? [] : [code.slice(0, codeCharsMax)]))),
  ]
    .toSorted()
    .slice(0, listedMax)
}

// The meaning of the statuses and reasons of a bank for a payment.

/** `duplicate`: the bank refuses a repeated payment and does not report the status of the first one. */
type PaymentMeaning = Exclude<StatusMeaning, 'part'> | 'duplicate'

/**
 * Reads the meaning of a status. Undefined: the status is unknown, or does not apply to payments that are not listed.
 */
function readMeaning(status: string | undefined, reasons: readonly Reason[]): PaymentMeaning | undefined {
  const meaning = findStatus(status ?? '')?.meaning
  if (meaning === 'part') return undefined
  const isRepetition = reasons.some(({ code, proprietary }) => explainReason(code ?? proprietary ?? '').isDuplicate)
  return meaning === 'rejected' && isRepetition ? 'duplicate' : meaning
}

const reasonText = (reasons: readonly Reason[]): string =>
  reasons
    .map(({ code, proprietary, texts }) => joinBankTexts([code ?? proprietary ?? '', ...texts]) ?? '')
    .filter((text) => text !== '')
    .join('; ') || 'without a reason'

/** Returns the bank's text about a payment. The code is a separate field. */
const bankWords = (reasons: readonly Reason[]): string | null => joinBankTexts(reasons.flatMap(({ texts }) => texts))

// Requeues instant payments as credit transfers.

/** `reasonCode`: the bank's reason. */
type RefusedInstant = InstructionKey & { readonly reasonCode: string }

/**
 * Requeues refused instant payments and returns their keys. Skips payments that were not instant, are not at the bank, or
 * whose bank a credit transfer does not reach. The caller decides which reasons allow it.
 */
export function createRequeue({ clock, rules }: Pick<BankDeps, 'clock' | 'rules'>) {
  return async (tx: Tx, refused: readonly RefusedInstant[]): Promise<readonly InstructionKey[]> => {
    const now = clock.now()
    const times = { dueAt: earliestSubmission(now, rules, 'EUR'), now }
    const again: InstructionKey[] = []
    for (const group of groupByShard(tx, refused)) {
      const codes = new Map(group.map((each) => [partnerKey(each.partnerId, each.id), each.reasonCode]))
      const instants = await instructions.lockInstantsAtBank(tx, rules.id, group)
      const rows = instants
        .filter((row) => reachObstacle('CreditTransfer', row, rules) === null)
        .map(({ partnerId, id }) => ({
          partnerId,
          id,
          schemeReason: `refused as an instant payment: ${codes.get(partnerKey(partnerId, id)) ?? ''}`,
        }))
      if (rows.length > 0) await instructions.requeueAsCreditTransfer(tx, rows, times)
      again.push(...rows)
    }
    return again
  }
}
