/** Writes pain.002.001.10, Customer Payment Status Report. */
import { messageElements, messageNamespace } from '../messages.ts'
import type { BatchStatus, StatusReport, TransferStatus } from '../model.ts'
import { declaration, element, optionalElement, wrapElement, xmlText } from '../xml/text.ts'
import { amountXml, numberXml, reasonXml } from './values.ts'

const transferXml = (transfer: TransferStatus): string =>
  element(
    'TxInfAndSts',
    optionalElement('StsId', transfer.statusId) +
      optionalElement('OrgnlInstrId', transfer.instructionId) +
      optionalElement('OrgnlEndToEndId', transfer.endToEndId) +
      optionalElement('OrgnlUETR', transfer.uetr) +
      optionalElement('TxSts', transfer.status) +
      transfer.reasons.map((reason) => reasonXml('StsRsnInf', reason)).join('') +
      optionalElement('AccptncDtTm', transfer.acceptedAt) +
      optionalElement('AcctSvcrRef', transfer.bankReference) +
      optionalElement('ClrSysRef', transfer.clearingReference) +
      wrapElement('OrgnlTxRef', wrapElement('Amt', amountXml('InstdAmt', transfer.money))),
  )

const batchHead = (batch: BatchStatus): string =>
  element('OrgnlPmtInfId', xmlText(batch.batchId)) +
  numberXml('OrgnlNbOfTxs', batch.originalCount) +
  optionalElement('OrgnlCtrlSum', batch.originalSum) +
  optionalElement('PmtInfSts', batch.status) +
  batch.reasons.map((reason) => reasonXml('StsRsnInf', reason)).join('')

export function* statusReportXml(report: StatusReport): Generator<string> {
  const message = messageElements['pain.002']
  yield `${declaration}<Document xmlns="${messageNamespace('pain.002.001.10')}"><${message}>`
  yield element('GrpHdr', element('MsgId', xmlText(report.messageId)) + element('CreDtTm', report.createdAt))
  yield element(
    'OrgnlGrpInfAndSts',
    element('OrgnlMsgId', xmlText(report.originalMessageId)) +
      element('OrgnlMsgNmId', xmlText(report.originalMessageName)) +
      numberXml('OrgnlNbOfTxs', report.originalCount) +
      optionalElement('OrgnlCtrlSum', report.originalSum) +
      optionalElement('GrpSts', report.groupStatus) +
      report.reasons.map((reason) => reasonXml('StsRsnInf', reason)).join(''),
  )
  for (const batch of report.batches) {
    yield `\n<OrgnlPmtInfAndSts>${batchHead(batch)}`
    for (const transfer of batch.transfers) yield `\n${transferXml(transfer)}`
    yield '</OrgnlPmtInfAndSts>'
  }
  yield `\n</${message}></Document>\n`
}
