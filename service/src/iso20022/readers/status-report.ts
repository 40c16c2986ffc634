/** Reads pain.002, Customer Payment Status Report: the bank's statuses of a file, its batches and its payments. */
import type { BatchStatus, StatusReport, TransferStatus } from '../model.ts'
import type { MessageLimits, MessageSource } from '../source.ts'
import { type XmlNode, refuseAt } from '../xml/tree.ts'
import {
  childrenNamed,
  descendant,
  compact,
  requireChild,
  requireToken,
  onlyChild,
  readWholeMessage,
  childInformativeAmount,
  childInformativeNumber,
  childTime,
  childToken,
} from './nodes.ts'
import { readReason } from './values.ts'

/** Reads the amount of the original payment. Some banks only state the interbank amount. */
const originalAmount = (node: XmlNode | undefined): TransferStatus['money'] =>
  childInformativeAmount(onlyChild(node, 'Amt'), 'InstdAmt') ??
  childInformativeAmount(descendant(node, 'Amt', 'EqvtAmt'), 'Amt') ??
  childInformativeAmount(node, 'IntrBkSttlmAmt')

const readTransferStatus = (node: XmlNode): TransferStatus =>
  compact<TransferStatus>({
    statusId: childToken(node, 'StsId'),
    instructionId: childToken(node, 'OrgnlInstrId'),
    endToEndId: childToken(node, 'OrgnlEndToEndId'),
    uetr: childToken(node, 'OrgnlUETR'),
    status: childToken(node, 'TxSts'),
    reasons: childrenNamed(node, 'StsRsnInf').map(readReason),
    acceptedAt: childTime(node, 'AccptncDtTm'),
    bankReference: childToken(node, 'AcctSvcrRef'),
    clearingReference: childToken(node, 'ClrSysRef'),
    money: originalAmount(onlyChild(node, 'OrgnlTxRef')),
  })

const readBatchStatus = (node: XmlNode, transfers: readonly TransferStatus[]): BatchStatus =>
  compact<BatchStatus>({
    batchId: requireToken(node, 'OrgnlPmtInfId'),
    originalCount: childInformativeNumber(node, 'OrgnlNbOfTxs'),
    originalSum: childToken(node, 'OrgnlCtrlSum'),
    status: childToken(node, 'PmtInfSts'),
    reasons: childrenNamed(node, 'StsRsnInf').map(readReason),
    transfers,
  })

function readReport(message: XmlNode, itemsOf: (node: XmlNode) => readonly TransferStatus[]): StatusReport {
  const head = requireChild(message, 'GrpHdr')
  const original = requireChild(message, 'OrgnlGrpInfAndSts')
  return compact<StatusReport>({
    messageId: requireToken(head, 'MsgId'),
    createdAt: childTime(head, 'CreDtTm') ?? refuseAt(head, 'GrpHdr has no CreDtTm'),
    originalMessageId: requireToken(original, 'OrgnlMsgId'),
    originalMessageName: requireToken(original, 'OrgnlMsgNmId'),
    originalCount: childInformativeNumber(original, 'OrgnlNbOfTxs'),
    originalSum: childToken(original, 'OrgnlCtrlSum'),
    groupStatus: childToken(original, 'GrpSts'),
    reasons: childrenNamed(original, 'StsRsnInf').map(readReason),
    batches: childrenNamed(message, 'OrgnlPmtInfAndSts').map((node) => readBatchStatus(node, itemsOf(node))),
  })
}

/** Reads versions 03 to 10, and later ones with the same elements. */
export function readStatusReport(source: MessageSource, limits?: Partial<MessageLimits>): Promise<StatusReport> {
  const item = (node: XmlNode) =>
    node.name === 'TxInfAndSts' && node.parent?.name === 'OrgnlPmtInfAndSts' ? readTransferStatus(node) : undefined
  return readWholeMessage<TransferStatus, StatusReport>(
    source,
    { kinds: ['pain.002'], item, value: readReport },
    limits,
  )
}
