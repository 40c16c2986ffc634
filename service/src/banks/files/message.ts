/** Writes the message of a file. The same payments and configuration give the same bytes. Pure. */
import { createHash } from 'node:crypto'
import { ownJson, type PayeeAddress } from '@partner-payments/wire'
import {
  type CreditTransfer,
  type CreditTransferInitiation,
  toSepaCharacters,
  isCreditorReference,
  pain001Xml,
  type PaymentBatch,
  type PostalAddress,
  type Remittance,
} from '../../iso20022/index.ts'
import { amountText, assert, present } from '../../kernel/index.ts'
import { accountTypeCodes, bankDay, nextWindow, readQrReference, parseDomesticAccount } from '../../rails/index.ts'
import type { BankRules } from './deps.ts'
import { bankInstructionId, formatBatchId } from './ids.ts'
import { ultimateDebtor } from './payer.ts'
import { paymentKind } from './schemes.ts'
import type { FileFigures, OutgoingFile, OutgoingPayment } from './store-instructions.ts'

type File = Pick<OutgoingFile, 'id' | 'messageId' | 'madeAt'>
export type FileMessage = { readonly contents: FileFigures; readonly bytes: Buffer }

/** A payment in a file. Its batch names the debited account. */
export type FiledPayment = OutgoingPayment & { readonly batchId: string }

/** Groups payments by kind and currency, one group a file, so that a bank that refuses one kind does not refuse others. */
export const groupByFile = (
  payments: readonly OutgoingPayment[],
  rules: Pick<BankRules, 'profile'>,
): readonly (readonly OutgoingPayment[])[] =>
  [...Map.groupBy(payments, (payment) => `${payment.currency} ${paymentKind(payment, rules)}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => group)

/** Puts the payments of a file into one batch. Files of earlier versions have several. */
export const assignBatch = (fileId: string, payments: readonly OutgoingPayment[]): readonly FiledPayment[] =>
  payments.map((payment) => ({ ...payment, batchId: formatBatchId(fileId, 1) }))

/** Writes the message for payments of one scheme. */
export function buildPaymentMessage(file: File, payments: readonly FiledPayment[], rules: BankRules): FileMessage {
  const [first] = payments
  assert(first !== undefined, 'a file has payments')
  const executionDate = computeExecutionDate(first, file.madeAt, rules)
  const initiation: CreditTransferInitiation = {
    messageId: file.messageId,
    createdAt: file.madeAt,
    initiator: initiatingParty(rules),
    batches: [...Map.groupBy(payments, ({ batchId }) => batchId)]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([batchId, ofBatch]) => buildBatch(batchId, executionDate, ofBatch, rules)),
  }
  return buildContents((message) => pain001Xml(message, rules.profile), initiation, payments)
}

/**
 * Writes the bytes of a file and the columns of its row. All our files are written here, so that every text is converted
 * to the permitted characters.
 */
export function buildContents<Value>(
  write: (message: Value) => Iterable<string>,
  message: Value,
  payments: readonly Pick<OutgoingPayment, 'amount' | 'currency'>[],
): FileMessage {
  const bytes = Buffer.from([...write(toSepaCharacters(message))].join(''))
  const minor = payments.reduce((sum, { amount }) => sum + amount, 0n)
  return {
    bytes,
    contents: {
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: BigInt(bytes.length),
      payments: BigInt(payments.length),
      // All currencies of banks have two digits, and CtrlSum ignores the currency.
      controlSum: amountText(minor, 'EUR'),
    },
  }
}

/** Computes the execution date: for an instant payment the day of its file, for a credit transfer that of its window. */
export const computeExecutionDate = (
  { schemeApplied, currency }: Pick<OutgoingPayment, 'schemeApplied' | 'currency'>,
  madeAt: Date,
  rules: BankRules,
): string => (schemeApplied === 'Instant' ? bankDay(madeAt, rules) : nextWindow(madeAt, rules, currency).date)

export function initiatingParty({
  initiator: { name, id },
  profile: { initiatorIdScheme: code },
}: BankRules): CreditTransferInitiation['initiator'] {
  if (id === undefined) return { name }
  const other = code === undefined ? { id } : { id, scheme: { code } }
  return { name, id: { kind: 'organisation', others: [other] } }
}

function buildBatch(
  id: string,
  executionDate: string,
  payments: readonly OutgoingPayment[],
  rules: BankRules,
): PaymentBatch {
  const [first] = payments
  assert(first !== undefined, 'a batch has payments')
  const account = present(
    rules.accounts.find(({ currency }) => currency === first.currency),
    `no ${first.currency} account at ${rules.id} for payment ${first.id}`,
  )
  const { profile } = rules
  const form = present(
    profile.kinds[paymentKind(first, rules)],
    `profile ${profile.id} cannot carry payment ${first.id} of batch ${id}`,
  )
  const chargeBearer = form.chargeBearer === 'configured' ? rules.chargeBearer : form.chargeBearer
  const payeeCheck = rules.payeeCheck && profile.payeeCheck?.[rules.payeeCheck]
  return {
    id,
    batchBooking: rules.batchBooking,
    ...ifGiven('serviceLevel', form.serviceLevel),
    ...ifGiven('localInstrument', form.localInstrument),
    ...ifGiven('categoryPurpose', rules.categoryPurpose),
    executionDate,
    debtor: { name: account.ownerName, ...(profile.debtorAddress === 'none' ? {} : { address: account.ownerAddress }) },
    debtorAccount: { iban: account.iban },
    debtorCurrency: account.currency,
    debtorAgent: { bic: account.bic },
    ...ifGiven('debtorAgentInstruction', payeeCheck),
    ...ifGiven('chargeBearer', chargeBearer),
    // Sorted by id, because the database returns rows in any order.
    transfers: payments.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((payment) => buildTransfer(payment, rules)),
  }
}

const ifGiven = <Key extends string, Value>(key: Key, value: Value | undefined) =>
  (value === undefined ? {} : { [key]: value }) as Partial<Record<Key, Value>>

const buildTransfer = (payment: OutgoingPayment, rules: BankRules): CreditTransfer => ({
  instructionId: bankInstructionId(payment),
  endToEndId: payment.endToEndId,
  money: { currency: payment.currency, minor: payment.amount },
  ...ifGiven('ultimateDebtor', ultimateDebtor(payment, rules)),
  ...payeeAccount(payment),
  ...ifGiven('creditorAccountType', payeeAccountType(payment, rules)),
  creditor: { name: payment.creditorName, ...ifGiven('address', payeeAddress(payment)) },
  ...ifGiven('purpose', rules.purpose),
  ...((paymentKind(payment, rules) === 'QrBill' ? qrBillRemittance(payment.remittance) : undefined) ??
    sepaRemittance(payment.remittance)),
})

/** Returns the payee's bank and account. The clearing system names the bank of an account without an IBAN. */
function payeeAccount({
  creditorAccount: text,
  creditorBic: bic,
}: OutgoingPayment): Pick<CreditTransfer, 'creditorAgent' | 'creditorAccount'> {
  const account = parseDomesticAccount(text)
  if (account === undefined)
    return { ...(bic === null ? {} : { creditorAgent: { bic } }), creditorAccount: { iban: text } }
  const clearingId = account.system === 'GBDSC' ? account.sortCode : account.routingNumber
  const creditorAgent = { ...(bic === null ? {} : { bic }), clearingSystem: { code: account.system }, clearingId }
  return { creditorAgent, creditorAccount: { other: account.accountNumber } }
}

/** Converts the address of the API to ISO 20022, structured in every profile. */
function payeeAddress({ creditorAddressJson: text }: OutgoingPayment): PostalAddress | undefined {
  if (text === undefined || text === null) return undefined
  const { streetName, buildingNumber, postalCode, city, state, country } = ownJson<PayeeAddress>(text)
  return {
    ...ifGiven('street', streetName),
    ...ifGiven('buildingNumber', buildingNumber),
    ...ifGiven('postCode', postalCode),
    town: city,
    ...ifGiven('countrySubdivision', state),
    country,
  }
}

/** Returns the type of an American account, if the market's format has an element for it. */
const payeeAccountType = ({ creditorAccountType: type }: OutgoingPayment, { profile }: BankRules): string | undefined =>
  type === null || type === undefined || !profile.hasAccountType ? undefined : accountTypeCodes[type]

/** Builds the remittance of a QR bill: its reference, without a text. Undefined: the payment predates bills in the bank's profile. */
function qrBillRemittance(text: string | null): { readonly remittance: Remittance } | undefined {
  const creditorReference = readQrReference(text)
  if (creditorReference === undefined) return undefined
  return { remittance: { structured: [{ creditorReference, referenceType: { proprietary: 'QRR' } }] } }
}

/** Builds the remittance of a SEPA payment: a text or a reference, not both. A text that is an ISO 11649 reference is sent as a reference. */
function sepaRemittance(text: string | null): { readonly remittance?: Remittance } {
  if (text === null || text.trim() === '') return {}
  const compact = text.replaceAll(/\s/g, '').toUpperCase()
  const remittance: Remittance = isCreditorReference(compact)
    ? { structured: [{ creditorReference: compact }] }
    : { unstructured: [text] }
  return { remittance }
}
