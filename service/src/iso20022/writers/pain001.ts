/** pain.001.001.09, Customer Credit Transfer Initiation. */
import { amountText, type Currency } from '../../kernel/index.ts'
import { messageElements, namespaceOf } from '../messages.ts'
import type { CreditTransfer, CreditTransferInitiation, PaymentBatch } from '../model.ts'
import { declaration, element, optional, wrapped, xmlText } from '../xml/text.ts'
import { accountXml, agentXml, amountXml, dateXml, flagXml, partyContent, partyXml, remittanceXml } from './values.ts'

/** Size of the parts: a transport gets few of them. */
const partChars = 65_536
const sumDigits = 2

/**
 * The control sum: the exact sum of the amounts regardless of their currencies, as the standard has it. Currencies that
 * are paid have two decimal digits.
 */
function controlSum(transfers: Iterable<CreditTransfer>): { readonly count: number; readonly sum: string } {
  let count = 0
  let sum = 0n
  for (const { money } of transfers) {
    count += 1
    sum += money.minor * 10n ** BigInt(sumDigits - digitsOf(money.currency))
  }
  return { count, sum: amountText(sum, 'EUR') }
}

const digitsOf = (currency: Currency): number => amountText(0n, currency).length - '0.'.length

const transferXml = (transfer: CreditTransfer): string =>
  element(
    'CdtTrfTxInf',
    element(
      'PmtId',
      optional('InstrId', transfer.instructionId) +
        element('EndToEndId', xmlText(transfer.endToEndId)) +
        optional('UETR', transfer.uetr),
    ) +
      element('Amt', amountXml('InstdAmt', transfer.money)) +
      partyXml('UltmtDbtr', transfer.ultimateDebtor) +
      agentXml('CdtrAgt', transfer.creditorAgent) +
      element('Cdtr', partyContent(transfer.creditor)) +
      accountXml('CdtrAcct', transfer.creditorAccount) +
      partyXml('UltmtCdtr', transfer.ultimateCreditor) +
      wrapped('Purp', optional('Cd', transfer.purpose)) +
      remittanceXml(transfer.remittance),
  )

function batchHead(batch: PaymentBatch): string {
  const { count, sum } = controlSum(batch.transfers)
  return (
    element('PmtInfId', xmlText(batch.id)) +
    element('PmtMtd', 'TRF') +
    flagXml('BtchBookg', batch.batchBooking) +
    element('NbOfTxs', String(count)) +
    element('CtrlSum', sum) +
    wrapped(
      'PmtTpInf',
      wrapped('SvcLvl', optional('Cd', batch.serviceLevel)) +
        wrapped('LclInstrm', optional('Cd', batch.localInstrument)) +
        wrapped('CtgyPurp', optional('Cd', batch.categoryPurpose)),
    ) +
    dateXml('ReqdExctnDt', batch.executionDate) +
    element('Dbtr', partyContent(batch.debtor)) +
    accountXml('DbtrAcct', batch.debtorAccount, batch.debtorCurrency) +
    agentXml('DbtrAgt', batch.debtorAgent) +
    partyXml('UltmtDbtr', batch.ultimateDebtor) +
    optional('ChrgBr', batch.chargeBearer)
  )
}

/** The document in parts. The same value has the same bytes. */
export function* pain001Xml(initiation: CreditTransferInitiation): Generator<string> {
  const { messageId, createdAt, initiator, batches } = initiation
  const { count, sum } = controlSum(batches.flatMap(({ transfers }) => transfers))
  const message = messageElements['pain.001']
  let part =
    `${declaration}<Document xmlns="${namespaceOf('pain.001.001.09')}"><${message}>` +
    element(
      'GrpHdr',
      element('MsgId', xmlText(messageId)) +
        element('CreDtTm', createdAt.toISOString()) +
        element('NbOfTxs', String(count)) +
        element('CtrlSum', sum) +
        element('InitgPty', partyContent(initiator)),
    )
  for (const batch of batches) {
    part += `\n<PmtInf>${batchHead(batch)}`
    for (const transfer of batch.transfers) {
      part += `\n${transferXml(transfer)}`
      if (part.length < partChars) continue
      yield part
      part = ''
    }
    part += '</PmtInf>'
  }
  yield `${part}\n</${message}></Document>\n`
}
