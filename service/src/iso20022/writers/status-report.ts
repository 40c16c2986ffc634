/** Writes pain.002.001.10, Customer Payment Status Report. */
import { messageElements, messageNamespace } from '../messages.ts'
import type { BatchStatus, StatusReport, TransferStatus } from '../model.ts'
import { declaration, element, optional, wrapElement, xmlText } from '../xml/text.ts'
import { amountXml, numberXml, reasonXml } from './values.ts'

const transferXml = (transfer: TransferStatus): string =>
  element(
    'TxInfAndSts',
    optional('StsId', transfer.statusId) +
      optional('OrgnlInstrId', transfer.instructionId) +
      optional('OrgnlEndToEndId', transfer.endToEndId) +
      optional('OrgnlUETR', transfer.uetr) +
      optional('TxSts', transfer.status) +
      transfer.reasons.map((reason) => reasonXml('StsRsnInf', reason)).join('') +
      optional('AccptncDtTm', transfer.acceptedAt) +
      optional('AcctSvcrRef', transfer.bankReference) +
      optional('ClrSysRef', transfer.clearingReference) +
      wrapElement('OrgnlTxRef', wrapElement('Amt', amountXml('InstdAmt', transfer.money))),
  )

const batchHead = (batch: BatchStatus): string =>
  element('OrgnlPmtInfId', xmlText(batch.batchId)) +
  numberXml('OrgnlNbOfTxs', batch.originalCount) +
  optional('OrgnlCtrlSum', batch.originalSum) +
  optional('PmtInfSts', batch.status) +
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
      optional('OrgnlCtrlSum', report.originalSum) +
      optional('GrpSts', report.groupStatus) +
      report.reasons.map((reason) => reasonXml('StsRsnInf', reason)).join(''),
  )
  for (const batch of report.batches) {
    yield `\n<OrgnlPmtInfAndSts>${batchHead(batch)}`
    for (const transfer of batch.transfers) yield `\n${transferXml(transfer)}`
    yield '</OrgnlPmtInfAndSts>'
  }
  yield `\n</${message}></Document>\n`
}
