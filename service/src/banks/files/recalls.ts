/** Recalls of payments: the requests, their files, and their letters to banks that take no files of recalls. */
import { Refusal } from '../../kernel/api/index.ts'
import { after, amountText, type Clock, newId, present, secondMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import {
  type InstructionKey,
  readDomestic,
  type RecallOutcome,
  type RecallRequest as PortRecall,
} from '../../rails/index.ts'
import { type BankDeps, type BankRules, byShard } from './deps.ts'
import { filesByIds, insertFile, type OutgoingFile } from './store-instructions.ts'
import * as store from './store-recalls.ts'
import { bankInstructionId, fileNameOf, messageIdOf, type RecallKind } from './ids.ts'
import { type Recall, recallXml } from '../../iso20022/index.ts'
import { executionDateOf, initiatorOf, type Message, messageOf } from './message.ts'
import type { RecalledPayment } from './store-recalls.ts'
import { letterPdf } from '../../typesetting/index.ts'
import { writeAnswers } from './recall-answers.ts'
import { oddity, writeReports } from './reports.ts'
import { sentByReferences } from './store-incoming.ts'

/**
 * ExternalCancellationReason1Code, as SEPA accepts it from the payer: doubled, technical, fraud, by the customer, wrong
 * account, wrong amount.
 */
export const recallReasons = ['DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09'] as const
export type RecallReason = (typeof recallReasons)[number]

const atBank: ReadonlySet<string> = new Set(['Filed', 'Accepted', 'Settled'])

export type RecallRequest = InstructionKey & { readonly reason: RecallReason; readonly staff: string }

/** Refuses: not_found, validation_failed. `id` of the request is that of the instruction. */
export const createRequestRecall =
  ({ db, clock }: { readonly db: Database; readonly clock: Clock }) =>
  ({ partnerId, id, reason, staff }: RecallRequest, also?: (tx: Tx) => Promise<void>): Promise<store.RecallView> =>
    db.transaction(async (tx) => {
      const payment = await store.paymentById(tx, { partnerId, id })
      if (payment === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
      if (!atBank.has(payment.status))
        throw new Refusal(
          'validation_failed',
          `The payment is ${payment.status}: only a payment that is at the bank can be recalled.`,
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
      if ((await store.insertRecall(tx, row)) === 0) throw new Refusal('validation_failed', 'The payment has a recall.')
      const recall = await store.recallOf(tx, { partnerId, id })
      if (recall === undefined) throw new Refusal('not_found', 'No such recall.')
      await also?.(tx)
      return recall
    })

/** How long a file of recalls usually takes to the bank. */
const deliveryMs = 10 * secondMs

/**
 * Stores a partner's request in the table of the operator's, so that a payment has one open request at the bank. A
 * repetition is the same request. If the operator has recalled the payment, that request and its answer count for both.
 */
export const createTakeRecall =
  ({ db, clock, rules }: Pick<BankDeps, 'db' | 'clock' | 'rules'>) =>
  (request: PortRecall): Promise<RecallOutcome> =>
    db.transaction(async (tx) => {
      const { partnerId, instructionId, reason, details, requestedBy } = request
      const payment = await store.paymentById(tx, { partnerId, id: instructionId })
      if (payment?.connector !== rules.id || !atBank.has(payment.status))
        return { taken: false, details: 'The bank does not have the payment.', reasonCode: null }
      const own = await store.recallById(tx, request)
      if (own === undefined) {
        const row = { partnerId, id: request.id, connector: rules.id, instructionId, reason, details, requestedBy }
        await store.insertRecall(tx, { ...row, now: clock.now() })
      }
      const recall = own ?? (await store.recallOf(tx, { partnerId, id: instructionId }))
      if (recall === undefined || (recall.id !== request.id && recall.status === 'Refused'))
        return { taken: false, details: 'The payment has already been recalled.', reasonCode: null }
      const isKept = recall.status === 'Queued' || (recall.status === 'Sent' && !(await isDelivered(tx, recall)))
      return { taken: true, ...(isKept ? { notBefore: after(clock.now(), deliveryMs) } : {}) }
    })

/** A recall without a file went by a letter. */
async function isDelivered(tx: Tx, { fileId }: store.RecallView): Promise<boolean> {
  if (fileId === null) return true
  return (await filesByIds(tx, [fileId])).get(fileId)?.state === 'Delivered'
}

// Makes files of waiting recalls: a recall names one batch of one message of ours.

const recallsPerFileMax = 500

/** Returns how many recalls are in the file that it made. */
export function createMakeRecalls({ db, clock, rules }: BankDeps, kind: RecallKind, onMade: (recalls: number) => void) {
  return async (): Promise<number> => {
    const queued = await store.queuedRecalls(db, rules.id, recallsPerFileMax)
    const originals = await filesByIds(db, [...new Set(queued.map(({ fileId }) => fileId))])
    // A payment whose file is under way is recalled after it.
    const first = queued.find(({ fileId }) => originals.get(fileId)?.state === 'Delivered')
    const original = first && originals.get(first.fileId)
    if (original === undefined) return 0
    const recalls = queued.filter(({ batchId }) => batchId === first?.batchId)
    const id = newId()
    const now = clock.now()
    const made = await db.transaction(async (tx) => {
      const keys = recalls.map(({ partnerId, recallId }) => ({ partnerId, id: recallId }))
      const locked = (await Promise.all(byShard(tx, keys).map((group) => store.lockRecalls(tx, group)))).flat()
      if (locked.length === 0) return 0
      const ids = new Set(locked.map((key) => key.id))
      const messageId = messageIdOf(kind, id)
      const name = fileNameOf(kind, messageId)
      const file = { id, kind, messageId, messageName: `${kind}.001.08`, name, madeAt: now }
      const { contents } = recallMessage(
        file,
        original,
        recalls.filter(({ recallId }) => ids.has(recallId)),
        rules,
      )
      insertFile(tx, rules.id, { ...file, ...contents, state: 'Made', stagedName: null, leaseId: null })
      for (const group of byShard(tx, locked)) store.fileRecalls(tx, group, id, now)
      return locked.length
    })
    if (made > 0) onMade(made)
    return made
  }
}

// Pure: the recall message for payments of one batch.

type File = Pick<OutgoingFile, 'messageId' | 'madeAt'>

/** CxlId: the bank's answer names the recall by it. */
const cancellationIdOf = (recallId: string): string => recallId.replaceAll('-', '')

export function recallMessage(
  file: File & { readonly kind: RecallKind },
  original: File & Pick<OutgoingFile, 'messageName'>,
  recalls: readonly RecalledPayment[],
  rules: BankRules,
): Message {
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
    assigner: initiatorOf(rules),
    assignee: { bic: account.bic },
    caseId: file.messageId,
    originator: { name: account.ownerName },
    originalMessageId: original.messageId,
    originalMessageName: original.messageName,
    originalBatchId: batchId,
    transfers: recalls
      .toSorted((a, b) => (a.recallId < b.recallId ? -1 : 1))
      .map((one) => ({
        cancellationId: cancellationIdOf(one.recallId),
        instructionId: bankInstructionId(one),
        endToEndId: one.endToEndId,
        money: { currency: one.currency, minor: one.amount },
        executionDate: executionDateOf(one, original.madeAt, rules),
        reason: one.reason,
        ...(one.details === null ? {} : { text: one.details }),
      })),
  }
  return messageOf(recallXml, recall, recalls)
}

// Recalls for banks that take no camt.055: a case asks people to send a letter, which has every reference that the bank needs. They record that it
// is sent, and the bank's answer.

const recallsPerStepMax = 100

/** Opens a case for each recall that waits for a letter, and returns how many. */
export const createTellLetters =
  ({ db, clock, rules, operatorId }: BankDeps) =>
  async (): Promise<number> => {
    const waiting = await store.recallsToTell(db, rules.id, recallsPerStepMax)
    if (waiting.length === 0) return 0
    await db.transaction(async (tx) => {
      for (const group of byShard(tx, waiting)) store.noteTold(tx, group, clock.now())
      const reports = waiting.map(({ partnerId, id, instructionId, reason }) => {
        const text = `A recall waits for a letter to the bank: ${reason}, of the payment ${instructionId}. Print it by "bank recall letter", send it, and record that by "bank recall sent".`
        return { ...oddity({ operatorId, connector: rules.id }, 'recall_letter', text, [id], id), partnerId }
      })
      writeReports(tx, rules.id, reports, clock.now())
    })
    return waiting.length
  }

const words: Readonly<Record<string, string>> = {
  DUPL: 'it was paid twice',
  TECH: 'it was made by a technical error',
  FRAD: 'it was made by fraud',
  CUST: 'the payer asks for it',
  AC03: 'the account of the payee is wrong',
  AM09: 'the amount is wrong',
}

type Deps = { readonly db: Database; readonly clock: Clock; readonly banks: readonly BankRules[] }

/** Writes the letter. Refuses: not_found (no payment, or no recall). */
export const createRecallLetter =
  ({ db, banks, clock }: Deps) =>
  async ({ partnerId, id }: InstructionKey): Promise<AsyncGenerator<Uint8Array>> => {
    const payment = await store.paymentById(db, { partnerId, id })
    const recall = await store.recallOf(db, { partnerId, id })
    const rules = banks.find((bank) => bank.id === payment?.connector)
    if (payment === undefined || recall === undefined || rules === undefined)
      throw new Refusal('not_found', 'No file-based bank has a recall of this payment.')
    const [sent] = await sentByReferences(db, payment.connector, [{ id, endToEndId: null }])
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
        `We ask you to recall the payment below, because ${words[recall.reason] ?? 'of the reason below'}, and to credit our account with the money if the payee agrees.`,
        'Please name our reference in your answer. If you know that the payee does not agree, please tell us the reason as its ISO 20022 code.',
      ],
      facts: [
        ['Our reference', recall.id.replaceAll('-', '')],
        ['Reason (ISO 20022)', recall.reason],
        ['Requested on', day(recall.createdAt)],
        ['Amount', money],
        ['Our account', account.iban],
        ['Payee', creditorName],
        ['Account of the payee', accountOf(creditorAccount)],
        ['End-to-end reference', endToEndId],
        ['Instruction', bankInstructionId({ id, attempt })],
        ...(file === undefined ? [] : [['Message', `${file.messageId} of ${day(file.madeAt)}`] as const]),
        ...(settledAt === null ? [] : [['Booked on', day(settledAt)] as const]),
      ],
      closing: ['Yours faithfully,', '', rules.initiator.name],
      createdAt: recall.createdAt,
    })
  }

function accountOf(text: string): string {
  const account = readDomestic(text)
  if (account === undefined) return text
  const bank = account.system === 'GBDSC' ? `sort code ${account.sortCode}` : `routing number ${account.routingNumber}`
  return `${bank}, account ${account.accountNumber}`
}

/** Records that a letter is sent. Returns the id of the recall. Refuses: not_found, validation_failed (it does not wait for one). */
export const createLetterSent =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, key: InstructionKey): Promise<string> => {
    const recall = await store.recallOf(tx, key)
    if (recall === undefined) throw new Refusal('not_found', 'The payment has no recall.')
    if (!(await store.sendByLetter(tx, { partnerId: key.partnerId, id: recall.id }, clock.now())))
      throw new Refusal('validation_failed', `The recall is ${recall.status} and does not wait for a letter.`)
    return recall.id
  }

type LetterAnswer = InstructionKey & { readonly accepted: boolean; readonly code: string | null }

/**
 * Records the bank's answer to a letter, as a message would give it. Money comes as a return. Refuses: not_found, validation_failed (no letter was
 * sent, or the answer is final).
 */
export const createLetterAnswered =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, { partnerId, id, accepted, code }: LetterAnswer): Promise<void> => {
    const payment = await store.paymentById(tx, { partnerId, id })
    const recall = await store.recallOf(tx, { partnerId, id })
    if (payment === undefined || recall === undefined) throw new Refusal('not_found', 'The payment has no recall.')
    if (recall.fileId !== null || !['Sent', 'Pending', 'Accepted', 'Refused'].includes(recall.status))
      throw new Refusal(
        'validation_failed',
        `The recall is ${recall.status}. Only a recall by letter can be answered by hand.`,
      )
    const status = accepted ? 'Accepted' : 'Refused'
    const answer = { partnerId, id: recall.id, status, answerCode: code, answerDetails: null } as const
    await writeAnswers(tx, payment.connector, [answer], clock.now())
  }
