/** Requests recalls of payments and sends them to the bank, in files or in letters. */
import type { recalls as wire } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { after, amountText, type Clock, newId, present, secondMs } from '../../kernel/index.ts'
import { groupByShard, type Database, type Tx } from '../../postgres/index.ts'
import {
  type InstructionKey,
  parseDomesticAccount,
  type RecallOutcome,
  type RecallRequest as PortRecall,
} from '../../rails/index.ts'
import type { BankDeps, BankRules } from './deps.ts'
import { filesByIds, insertFile, type OutgoingFile } from './store-instructions.ts'
import * as store from './store-recalls.ts'
import { bankInstructionId, formatFileName, formatMessageId, type RecallKind } from './ids.ts'
import { type Recall, recallXml } from '../../iso20022/index.ts'
import { computeExecutionDate, initiatingParty, type FileMessage, buildContents } from './message.ts'
import { letterPdf } from '../../typesetting/index.ts'
import { writeAnswers } from './recall-answers.ts'
import { oddityReport, writeReports } from './reports.ts'
import { sentPaymentsByReferences } from './store-incoming.ts'

const recallableStatuses: ReadonlySet<string> = new Set(['Filed', 'Accepted', 'Settled'])

export type RecallRequest = InstructionKey & { readonly reason: wire.RecallReason; readonly staff: string }

/** Requests a recall for the operator. `id` is that of the instruction. Refuses: not_found, validation_failed. */
export const createRequestRecall =
  ({ db, clock }: { readonly db: Database; readonly clock: Clock }) =>
  ({ partnerId, id, reason, staff }: RecallRequest, also?: (tx: Tx) => Promise<void>): Promise<store.RecallView> =>
    db.transaction(async (tx) => {
      const payment = await store.paymentById(tx, { partnerId, id })
      if (payment === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
      if (!recallableStatuses.has(payment.status))
        throw new Refusal(
          'validation_failed',
          `The payment is ${payment.status}. Only a payment that the bank has can be recalled.`,
        )
      const { connector } = payment
      const row = {
        partnerId,
        id: newId(),
        connector,
        instructionId: id,
        reason,
        details: null,
        requestedBy: staff,
        now: clock.now(),
      }
      if ((await store.insertRecall(tx, row)) === 0)
        throw new Refusal('validation_failed', 'The payment already has a recall. Wait for its answer.')
      const recall = await store.newestRecall(tx, { partnerId, id })
      if (recall === undefined) throw new Refusal('not_found', 'No such recall.')
      await also?.(tx)
      return recall
    })

/** The usual time until the bank has a file of recalls. */
const deliveryMs = 10 * secondMs

/**
 * Stores a partner's recall in the same table as the operator's, so that a payment has one open recall at the bank. If
 * the operator has already recalled the payment, that recall and its answer count for both. Idempotent.
 */
export const createRecallIntake =
  ({ db, clock, rules }: Pick<BankDeps, 'db' | 'clock' | 'rules'>) =>
  (request: PortRecall): Promise<RecallOutcome> =>
    db.transaction(async (tx) => {
      const { partnerId, instructionId, reason, details, requestedBy } = request
      const payment = await store.paymentById(tx, { partnerId, id: instructionId })
      if (payment?.connector !== rules.id || !recallableStatuses.has(payment.status))
        return { taken: false, details: 'The bank does not have the payment.', reasonCode: null }
      const own = await store.recallById(tx, request)
      if (own === undefined) {
        const row = { partnerId, id: request.id, connector: rules.id, instructionId, reason, details, requestedBy }
        await store.insertRecall(tx, { ...row, now: clock.now() })
      }
      const recall = own ?? (await store.newestRecall(tx, { partnerId, id: instructionId }))
      if (recall === undefined || (recall.id !== request.id && recall.status === 'Refused'))
        return { taken: false, details: 'The payment has already been recalled.', reasonCode: null }
      const isKept = recall.status === 'Queued' || (recall.status === 'Sent' && !(await isDelivered(tx, recall)))
      return { taken: true, ...(isKept ? { notBefore: after(clock.now(), deliveryMs) } : {}) }
    })

/** Reports whether the bank has the recall. A recall without a file was sent in a letter. */
async function isDelivered(tx: Tx, { fileId }: store.RecallView): Promise<boolean> {
  if (fileId === null) return true
  return (await filesByIds(tx, [fileId])).get(fileId)?.state === 'Delivered'
}

// Writes waiting recalls into files. A recall message names one batch of one of our messages.

const recallsPerFileMax = 500

/** Writes one file of recalls and returns their number. */
export function createWriteRecallFiles(
  { db, clock, rules }: BankDeps,
  kind: RecallKind,
  onMade: (recalls: number) => void,
) {
  return async (): Promise<number> => {
    const queued = await store.queuedRecalls(db, rules.id, recallsPerFileMax)
    const originals = await filesByIds(db, [...new Set(queued.map(({ fileId }) => fileId))])
    // A payment is recalled once its file is delivered.
    const first = queued.find(({ fileId }) => originals.get(fileId)?.state === 'Delivered')
    const original = first && originals.get(first.fileId)
    if (original === undefined) return 0
    const recalls = queued.filter(({ batchId }) => batchId === first?.batchId)
    const id = newId()
    const now = clock.now()
    const made = await db.transaction(async (tx) => {
      const keys = recalls.map(({ partnerId, recallId }) => ({ partnerId, id: recallId }))
      const locked = (await Promise.all(groupByShard(tx, keys).map((group) => store.lockRecalls(tx, group)))).flat()
      if (locked.length === 0) return 0
      const ids = new Set(locked.map((key) => key.id))
      const messageId = formatMessageId(kind, id)
      const name = formatFileName(kind, messageId)
      const file = { id, kind, messageId, messageName: `${kind}.001.08`, name, madeAt: now }
      const { contents } = buildRecallMessage(
        file,
        original,
        recalls.filter(({ recallId }) => ids.has(recallId)),
        rules,
      )
      insertFile(tx, rules.id, { ...file, ...contents, state: 'Made', stagedName: null, leaseId: null })
      for (const group of groupByShard(tx, locked)) store.assignRecallsToFile(tx, group, id, now)
      return locked.length
    })
    if (made > 0) onMade(made)
    return made
  }
}

// Writes the recall message for payments of one batch. Pure.

type File = Pick<OutgoingFile, 'messageId' | 'madeAt'>

/** Formats the CxlId, by which the bank's answer names the recall. */
const formatCancellationId = (recallId: string): string => recallId.replaceAll('-', '')

export function buildRecallMessage(
  file: File & { readonly kind: RecallKind },
  original: File & Pick<OutgoingFile, 'messageName'>,
  recalls: readonly store.RecalledPayment[],
  rules: BankRules,
): FileMessage {
  const [first] = recalls
  const { currency, batchId } = present(first, `recall message ${file.messageId} has no recalls`)
  const account = present(
    rules.accounts.find((each) => each.currency === currency),
    `no ${currency} account at ${rules.id} for recalled batch ${batchId}`,
  )
  const recall: Recall = {
    kind: file.kind,
    messageId: file.messageId,
    createdAt: file.madeAt,
    assigner: initiatingParty(rules),
    assignee: { bic: account.bic },
    caseId: file.messageId,
    originator: { name: account.ownerName },
    originalMessageId: original.messageId,
    originalMessageName: original.messageName,
    originalBatchId: batchId,
    transfers: recalls
      .toSorted((a, b) => (a.recallId < b.recallId ? -1 : 1))
      .map((one) => ({
        cancellationId: formatCancellationId(one.recallId),
        instructionId: bankInstructionId(one),
        endToEndId: one.endToEndId,
        money: { currency: one.currency, minor: one.amount },
        executionDate: computeExecutionDate(one, original.madeAt, rules),
        reason: one.reason,
        ...(one.details === null ? {} : { text: one.details }),
      })),
  }
  return buildContents(recallXml, recall, recalls)
}

// Recalls for banks that do not accept files of recalls. A case asks people to send a letter with every reference that
// the bank needs. They record that it was sent, and the bank's answer.

const recallsPerStepMax = 100

/** Opens a case for each recall that waits for a letter, and returns their number. */
export const createLetterCases =
  ({ db, clock, rules, operatorId }: BankDeps) =>
  async (): Promise<number> => {
    const waiting = await store.recallsWithoutCase(db, rules.id, recallsPerStepMax)
    if (waiting.length === 0) return 0
    await db.transaction(async (tx) => {
      for (const group of groupByShard(tx, waiting)) store.markLetterCases(tx, group, clock.now())
      const reports = waiting.map(({ partnerId, id, instructionId, reason }) => {
        const text = `A recall of the payment ${instructionId} (${reason}) must go to the bank by letter. Print it with "bank recall letter", send it, and record it with "bank recall sent".`
        return { ...oddityReport({ operatorId, connector: rules.id }, 'recall_letter', text, [id], id), partnerId }
      })
      writeReports(tx, rules.id, reports, clock.now())
    })
    return waiting.length
  }

const reasonTexts: Readonly<Record<string, string>> = {
  DUPL: 'it was paid twice',
  TECH: 'it was made by a technical error',
  FRAD: 'it was made by fraud',
  CUST: 'the payer asks for it',
  AC03: 'the account of the payee is wrong',
  AM09: 'the amount is wrong',
}

type RecallLetterDeps = { readonly db: Database; readonly clock: Clock; readonly banks: readonly BankRules[] }

/** Writes the letter of a recall. Refuses: not_found (no payment, or no recall). */
export const createRecallLetter =
  ({ db, banks, clock }: RecallLetterDeps) =>
  async ({ partnerId, id }: InstructionKey): Promise<AsyncGenerator<Uint8Array>> => {
    const payment = await store.paymentById(db, { partnerId, id })
    const recall = await store.newestRecall(db, { partnerId, id })
    const rules = banks.find((bank) => bank.id === payment?.connector)
    if (payment === undefined || recall === undefined || rules === undefined)
      throw new Refusal('not_found', 'No file-based bank has a recall of this payment.')
    const [sent] = await sentPaymentsByReferences(db, payment.connector, [{ id, endToEndId: null }])
    const { creditorName, creditorAccount, attempt } = present(sent, `${rules.id} has no instruction ${id}`)
    const { currency, amount, endToEndId, settledAt } = payment
    const account = present(
      rules.accounts.find((each) => each.currency === currency),
      `no ${currency} account at ${rules.id} for payment ${id}`,
    )
    const file = payment.fileId === null ? undefined : (await filesByIds(db, [payment.fileId])).get(payment.fileId)
    const day = (at: Date) => at.toISOString().slice(0, 10)
    const money = `${amountText(amount, currency)} ${currency}`
    return letterPdf({
      sender: [rules.initiator.name],
      recipient: [`To the bank ${account.bic}`, 'Payment investigations'],
      date: day(clock.now()),
      subject: `Request to recall a payment of ${money}`,
      paragraphs: [
        `We ask you to recall the payment below, because ${reasonTexts[recall.reason] ?? 'of the reason below'}, and to credit our account with the money if the payee agrees.`,
        'Please name our reference in your answer. If you know that the payee does not agree, please tell us the reason as its ISO 20022 code.',
      ],
      facts: [
        ['Our reference', recall.id.replaceAll('-', '')],
        ['Reason (ISO 20022)', recall.reason],
        ['Requested on', day(recall.createdAt)],
        ['Amount', money],
        ['Our account', account.iban],
        ['Payee', creditorName],
        ['Account of the payee', accountText(creditorAccount)],
        ['End-to-end reference', endToEndId],
        ['Instruction', bankInstructionId({ id, attempt })],
        ...(file === undefined ? [] : [['Message', `${file.messageId} of ${day(file.madeAt)}`] as const]),
        ...(settledAt === null ? [] : [['Booked on', day(settledAt)] as const]),
      ],
      closing: ['Yours faithfully,', '', rules.initiator.name],
      createdAt: recall.createdAt,
    })
  }

function accountText(text: string): string {
  const account = parseDomesticAccount(text)
  if (account === undefined) return text
  const bank = account.system === 'GBDSC' ? `sort code ${account.sortCode}` : `routing number ${account.routingNumber}`
  return `${bank}, account ${account.accountNumber}`
}

/** Records that a letter was sent. Returns the id of the recall. Refuses: not_found, validation_failed (not waiting for a letter). */
export const createRecordLetterSent =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, key: InstructionKey): Promise<string> => {
    const recall = await store.newestRecall(tx, key)
    if (recall === undefined) throw new Refusal('not_found', 'The payment has no recall.')
    if (!(await store.markSentByLetter(tx, { partnerId: key.partnerId, id: recall.id }, clock.now())))
      throw new Refusal('validation_failed', `The recall is ${recall.status} and does not wait for a letter.`)
    return recall.id
  }

type LetterAnswer = InstructionKey & { readonly accepted: boolean; readonly code: string | null }

/**
 * Records the bank's answer to a letter. The money arrives separately, as a return. Refuses: not_found,
 * validation_failed (the recall was not sent by letter).
 */
export const createRecordLetterAnswer =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, { partnerId, id, accepted, code }: LetterAnswer): Promise<void> => {
    const payment = await store.paymentById(tx, { partnerId, id })
    const recall = await store.newestRecall(tx, { partnerId, id })
    if (payment === undefined || recall === undefined) throw new Refusal('not_found', 'The payment has no recall.')
    if (recall.fileId !== null || !['Sent', 'Pending', 'Accepted', 'Refused'].includes(recall.status))
      throw new Refusal(
        'validation_failed',
        `The recall is ${recall.status}. Only an answer to a sent letter can be recorded manually.`,
      )
    const status = accepted ? 'Accepted' : 'Refused'
    const answer = { partnerId, id: recall.id, status, answerCode: code, answerDetails: null } as const
    await writeAnswers(tx, payment.connector, [answer], clock.now())
  }
