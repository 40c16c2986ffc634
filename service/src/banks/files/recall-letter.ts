/**
 * Recalls for banks that take no camt.055: a case asks people to send a letter, which has every reference that the bank needs. They record that it
 * is sent, and the bank's answer.
 */
import { Refusal } from '../../kernel/api/index.ts'
import { amountText, type Clock, present } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import { type InstructionKey, readDomestic } from '../../rails/index.ts'
import { letterPdf } from '../../typesetting/index.ts'
import type { BankDeps, BankRules } from './deps.ts'
import { bankInstructionId } from './ids.ts'
import { writeAnswers } from './recall-answers.ts'
import { oddity, writeReports } from './reports.ts'
import { byShard } from './shards.ts'
import { filesByIds } from './store-instructions.ts'
import * as store from './store-recalls.ts'
import { sentByReferences } from './store-incoming.ts'

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
    const { creditorName, creditorAccount, attempt } = present(sent, 'a payment that was found exists')
    const { currency, amount, endToEndId, settledAt } = payment
    const account = present(
      rules.accounts.find((each) => each.currency === currency),
      'a payment has an account',
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
