/** Pure: the message of a file. The same payments and configuration have the same bytes. */
import { createHash } from 'node:crypto'
import {
  type CreditTransfer,
  type CreditTransferInitiation,
  inSepaCharacters,
  pain001Xml,
  type PaymentBatch,
  type Remittance,
} from '../../iso20022/index.ts'
import { amountText, assert, present } from '../../kernel/index.ts'
import { dayOf, nextWindow } from '../../rails/index.ts'
import type { BankRules, Scheme } from './deps.ts'
import { bankInstructionId, batchIdOf } from './ids.ts'
import { isSepa } from './schemes.ts'
import type { Contents, OutgoingFile } from './store-files.ts'
import type { Payment } from './store-queue.ts'

type File = Pick<OutgoingFile, 'id' | 'messageId' | 'madeAt'>
export type Message = { readonly contents: Contents; readonly bytes: Buffer }

/** A payment in a file: its batch names the debited account. */
export type FiledPayment = Payment & { readonly batchId: string }

/** Each account has a batch, and another one for euro outside SEPA: they are numbered in this order. */
export function withBatches(fileId: string, payments: readonly Payment[]): readonly FiledPayment[] {
  const kindOf = (payment: Payment) => `${payment.currency} ${isSepa(payment) ? 'SEPA' : 'SWIFT'}`
  const used = [...new Set(payments.map(kindOf))].toSorted()
  return payments.map((payment) => ({ ...payment, batchId: batchIdOf(fileId, used.indexOf(kindOf(payment)) + 1) }))
}

/** The message for payments of one scheme. */
export function paymentsMessage(file: File, payments: readonly FiledPayment[], rules: BankRules): Message {
  const [first] = payments
  assert(first !== undefined, 'a file has payments')
  const executionDate = executionDateOf(first.schemeApplied, file.madeAt, rules)
  const initiation: CreditTransferInitiation = {
    messageId: file.messageId,
    createdAt: file.madeAt,
    initiator: initiatorOf(rules),
    batches: [...Map.groupBy(payments, ({ batchId }) => batchId)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([batchId, ofBatch]) => batchOf(batchId, executionDate, ofBatch, rules)),
  }
  return messageOf(pain001Xml, initiation, payments)
}

/**
 * The content of a file: its text, and the facts in its row. All our files are written here, so that every text is
 * converted to the permitted characters.
 */
export function messageOf<Value>(
  write: (message: Value) => Iterable<string>,
  message: Value,
  payments: readonly Pick<Payment, 'amount' | 'currency'>[],
): Message {
  const bytes = Buffer.from([...write(inSepaCharacters(message))].join(''))
  const minor = payments.reduce((sum, { amount }) => sum + amount, 0n)
  return {
    bytes,
    contents: {
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: BigInt(bytes.length),
      payments: BigInt(payments.length),
      // All currencies of banks have two digits, and CtrlSum adds them up without regard to which they are.
      controlSum: amountText(minor, 'EUR'),
    },
  }
}

/**
 * The execution day: for an instant payment the day on which its file is made, for a credit transfer that of its
 * window.
 */
export const executionDateOf = (scheme: Scheme, madeAt: Date, rules: BankRules): string =>
  scheme === 'Instant' ? dayOf(madeAt, rules) : nextWindow(madeAt, rules).date

export const initiatorOf = ({ initiator: { name, id } }: BankRules): CreditTransferInitiation['initiator'] => ({
  name,
  ...(id === undefined ? {} : { id: { kind: 'organisation', others: [{ id }] } }),
})

function batchOf(id: string, executionDate: string, payments: readonly Payment[], rules: BankRules): PaymentBatch {
  const [first] = payments
  assert(first !== undefined, 'a batch has payments')
  const account = present(
    rules.accounts.find(({ currency }) => currency === first.currency),
    'a payment has an account',
  )
  const goesBySepa = payments.some(isSepa)
  return {
    id,
    batchBooking: rules.batchBooking,
    serviceLevel: goesBySepa ? 'SEPA' : 'NURG',
    ...(first.schemeApplied === 'Instant' ? { localInstrument: 'INST' } : {}),
    executionDate,
    debtor: { name: account.ownerName, address: account.ownerAddress },
    debtorAccount: { iban: account.iban },
    debtorCurrency: account.currency,
    debtorAgent: { bic: account.bic },
    chargeBearer: goesBySepa ? 'SLEV' : 'SHAR',
    // Sorted by id, because the database answers in any order.
    transfers: payments.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(transferOf),
  }
}

const transferOf = (payment: Payment): CreditTransfer => ({
  instructionId: bankInstructionId(payment),
  endToEndId: payment.endToEndId,
  money: { currency: payment.currency, minor: payment.amount },
  ...(payment.creditorBic === null ? {} : { creditorAgent: { bic: payment.creditorBic } }),
  creditor: { name: payment.creditorName },
  creditorAccount: { iban: payment.creditorAccount },
  ...remittanceOf(payment.remittance),
})

/** SEPA carries a text or a reference, not both. A text that consists of an ISO 11649 reference is sent as one. */
function remittanceOf(text: string | null): { readonly remittance?: Remittance } {
  if (text === null || text.trim() === '') return {}
  const compact = text.replaceAll(/\s/g, '').toUpperCase()
  const remittance: Remittance = isCreditorReference(compact)
    ? { structured: [{ creditorReference: compact }] }
    : { unstructured: [text] }
  return { remittance }
}

/**
 * ISO 11649: with the first four characters at the end and letters as numbers from 10, the reference is 1 modulo 97.
 */
function isCreditorReference(text: string): boolean {
  if (!/^RF\d{2}[0-9A-Z]{1,21}$/.test(text)) return false
  const digits = [...(text.slice(4) + text.slice(0, 4)).matchAll(/./g)]
    .map(([char]) => Number.parseInt(char, 36))
    .join('')
  return BigInt(digits) % 97n === 1n
}
