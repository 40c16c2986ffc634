/**
 * Profiles of pain.001, one for each market guideline. A profile is data: the values that the writer sets, and the rules
 * of the market with their sources, which tests check against written files.
 */
import { amountText, type Currency } from '../../kernel/index.ts'
import { messageElements, messageNamespace } from '../messages.ts'
import type { CreditTransfer, CreditTransferInitiation, PaymentBatch } from '../model.ts'
import { declaration, element, optionalElement, wrapElement, xmlText } from '../xml/text.ts'
import {
  accountXml,
  agentXml,
  amountXml,
  dateXml,
  type Edition,
  flagXml,
  isOldEdition,
  partyContent,
  partyXml,
  remittanceXml,
} from '../writers/values.ts'

/** The elements of a batch and of its payments that depend on the kind. */
export type PaymentKindForm = {
  readonly serviceLevel?: string
  readonly localInstrument?: string
  /** `configured`: the bank's setting decides who bears the charges. */
  readonly chargeBearer?: 'SLEV' | 'configured'
  /** True if UltmtDbtr may have a postal address. */
  readonly hasPayerAddress?: boolean
  /** The maximum number of other ids (`Othr`) of UltmtDbtr. Default: one. */
  readonly payerIdsMax?: number
}

export type Pain001Profile = Pain001Form & {
  readonly id: string
  readonly title: string
  /** Files of this profile only support kinds with a form. */
  readonly kinds: Readonly<Partial<Record<PaymentKind, PaymentKindForm>>>
  /** The scheme of the initiating party's id (ExternalOrganisationIdentification1Code), if required. */
  readonly initiatorIdScheme?: string
  /** `hybrid`: structured, or with at most two lines. `none`: the file does not have the debtor's address. */
  readonly debtorAddress: 'hybrid' | 'structured' | 'none'
  /** True if CdtrAcct may have a type. */
  readonly hasAccountType: boolean
  /** The texts of InstrForDbtrAgt that opt in to or out of verification of payee. */
  readonly payeeCheck?: Readonly<Record<'in' | 'out', string>>
  /** The schemas that its files must match: that of ISO, and that of the market if it publishes one. */
  readonly schemas: readonly {
    readonly name: string
    readonly kinds?: readonly PaymentKind[]
    /** The last execution day on which files match the schema. */
    readonly until?: string
  }[]
  readonly sources: Readonly<Record<string, RuleSource>>
  readonly rules: readonly ProfileRule[]
}

// pain.001.001.03 and .09, Customer Credit Transfer Initiation.

/** How the message is written in a market. */
type Pain001Form = {
  readonly message: 'pain.001.001.03' | 'pain.001.001.09'
  /** True if CreDtTm has milliseconds. */
  readonly hasMilliseconds: boolean
  /** The last execution day with addresses of a country and two lines, `YYYY-MM-DD`. Absent: addresses are structured. */
  readonly addressLinesUntil?: string
}
const usualForm: Pain001Form = { message: 'pain.001.001.09', hasMilliseconds: true }

/** Characters of a part of the document: so many that a transport receives few parts. */
const partChars = 65_536
const sumDigits = 2
const dayChars = 'YYYY-MM-DD'.length

/** Computes the control sum: the sum of the amounts regardless of currency, as the standard requires. */
function controlSum(transfers: Iterable<CreditTransfer>): { readonly count: number; readonly sum: string } {
  let count = 0
  let sum = 0n
  for (const { money } of transfers) {
    count += 1
    sum += money.minor * 10n ** BigInt(sumDigits - fractionDigits(money.currency))
  }
  return { count, sum: amountText(sum, 'EUR') }
}

const fractionDigits = (currency: Currency): number => amountText(0n, currency).length - '0.'.length

const transferXml = (transfer: CreditTransfer, edition: Edition): string =>
  element(
    'CdtTrfTxInf',
    element(
      'PmtId',
      optionalElement('InstrId', transfer.instructionId) +
        element('EndToEndId', xmlText(transfer.endToEndId)) +
        (isOldEdition(edition) ? '' : optionalElement('UETR', transfer.uetr)),
    ) +
      element('Amt', amountXml('InstdAmt', transfer.money)) +
      partyXml('UltmtDbtr', transfer.ultimateDebtor, edition) +
      agentXml('CdtrAgt', transfer.creditorAgent, edition) +
      element('Cdtr', partyContent(transfer.creditor, edition)) +
      accountXml('CdtrAcct', transfer.creditorAccount, { type: transfer.creditorAccountType }) +
      partyXml('UltmtCdtr', transfer.ultimateCreditor, edition) +
      wrapElement('Purp', optionalElement('Cd', transfer.purpose)) +
      remittanceXml(transfer.remittance),
  )

function batchHead(batch: PaymentBatch, edition: Edition): string {
  const isOld = isOldEdition(edition)
  const { count, sum } = controlSum(batch.transfers)
  return (
    element('PmtInfId', xmlText(batch.id)) +
    element('PmtMtd', 'TRF') +
    flagXml('BtchBookg', batch.batchBooking) +
    element('NbOfTxs', String(count)) +
    element('CtrlSum', sum) +
    wrapElement(
      'PmtTpInf',
      wrapElement('SvcLvl', optionalElement('Cd', batch.serviceLevel)) +
        wrapElement('LclInstrm', optionalElement('Cd', batch.localInstrument)) +
        wrapElement('CtgyPurp', optionalElement('Cd', batch.categoryPurpose)),
    ) +
    (isOld
      ? element('ReqdExctnDt', batch.executionDate.slice(0, dayChars))
      : dateXml('ReqdExctnDt', batch.executionDate)) +
    element('Dbtr', partyContent(batch.debtor, edition)) +
    accountXml('DbtrAcct', batch.debtorAccount, { currency: batch.debtorCurrency }) +
    agentXml('DbtrAgt', batch.debtorAgent, edition) +
    (isOld ? '' : optionalElement('InstrForDbtrAgt', batch.debtorAgentInstruction)) +
    partyXml('UltmtDbtr', batch.ultimateDebtor, edition) +
    optionalElement('ChrgBr', batch.chargeBearer)
  )
}

/** Formats a time such as `2026-11-25T09:00:00Z`. */
const withoutMilliseconds = (at: Date): string => at.toISOString().replace(/\.\d{3}Z$/, 'Z')

function messageEdition({ message, addressLinesUntil = '' }: Pain001Form, { executionDate }: PaymentBatch): Edition {
  if (message === 'pain.001.001.09') return '2019'
  return executionDate.slice(0, dayChars) <= addressLinesUntil ? '2009 lines' : '2009'
}

/**
 * Writes the document in parts. The same value and form give the same bytes. Version 03 leaves out UETR, the instruction
 * to the debtor's bank and LEIs of banks, which it does not have.
 */
export function* pain001Xml(initiation: CreditTransferInitiation, form: Pain001Form = usualForm): Generator<string> {
  const { messageId, createdAt, initiator, batches } = initiation
  const { count, sum } = controlSum(batches.flatMap(({ transfers }) => transfers))
  const message = messageElements['pain.001']
  let part =
    `${declaration}<Document xmlns="${messageNamespace(form.message)}"><${message}>` +
    element(
      'GrpHdr',
      element('MsgId', xmlText(messageId)) +
        element('CreDtTm', form.hasMilliseconds ? createdAt.toISOString() : withoutMilliseconds(createdAt)) +
        element('NbOfTxs', String(count)) +
        element('CtrlSum', sum) +
        element('InitgPty', partyContent(initiator, form.message === 'pain.001.001.03' ? '2009' : '2019')),
    )
  for (const batch of batches) {
    const edition = messageEdition(form, batch)
    part += `\n<PmtInf>${batchHead(batch, edition)}`
    for (const transfer of batch.transfers) {
      part += `\n${transferXml(transfer, edition)}`
      if (part.length < partChars) continue
      yield part
      part = ''
    }
    part += '</PmtInf>'
  }
  yield `${part}\n</${message}></Document>\n`
}

/**
 * `Sepa`: a credit transfer in euro within SEPA. `Instant`: the same as an instant payment. `Other`: another currency, or euro
 * outside SEPA. `QrBill`: a Swiss bill to a QR-IBAN.
 */
export type PaymentKind = 'Sepa' | 'Instant' | 'Other' | 'QrBill'

/** The document that a rule comes from. `quoted`: we read only another document that quotes it. */
export type RuleSource = {
  readonly title: string
  readonly edition: string
  readonly publisher: string
  /** The place at which we found the copy. */
  readonly found: string
  readonly read: 'whole' | 'quoted'
}

/** A requirement for the element in each of its contexts. */
type RuleDemand =
  | { readonly is: 'present' }
  | { readonly is: 'absent' }
  | { readonly is: 'oneOf'; readonly values: readonly string[] }
  | { readonly is: 'noneOf'; readonly values: readonly string[] }
  | { readonly is: 'form'; readonly pattern: string }
  | { readonly is: 'count'; readonly max: number }

/** A rule of a market about an element of pain.001. */
export type ProfileRule = {
  /** The path of the contexts below the message: `PmtInf/CdtTrfTxInf`. */
  readonly within: string
  /** The path of the element or attribute in a context: `Amt/InstdAmt/@Ccy`. */
  readonly element: string
  readonly demand: RuleDemand
  /** The kinds of payments to which the rule applies. Absent: all. */
  readonly kinds?: readonly PaymentKind[]
  /** The first and last execution day of the rule, `YYYY-MM-DD`. Absent: unlimited. */
  readonly from?: string
  readonly until?: string
  /** A key of the profile's sources, and the place in that document. */
  readonly source: string
  readonly place: string
}
