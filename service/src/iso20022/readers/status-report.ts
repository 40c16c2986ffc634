/** Reads pain.002, Customer Payment Status Report: the bank's statuses of a file, its batches and its payments. */
import type { BatchStatus, StatusReport, TransferStatus } from '../model.ts'
import type { Limits, Source } from '../source.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import {
  all,
  at,
  given,
  needed,
  neededToken,
  one,
  readWhole,
  statedAmount,
  statedNumber,
  time,
  token,
} from './nodes.ts'
import { reasonOf } from './values.ts'

/** Reads the amount of the original payment. Some banks only state the interbank amount. */
const originalAmount = (node: Node | undefined): TransferStatus['money'] =>
  statedAmount(one(node, 'Amt'), 'InstdAmt') ??
  statedAmount(at(node, 'Amt', 'EqvtAmt'), 'Amt') ??
  statedAmount(node, 'IntrBkSttlmAmt')

const transferOf = (node: Node): TransferStatus =>
  given<TransferStatus>({
    statusId: token(node, 'StsId'),
    instructionId: token(node, 'OrgnlInstrId'),
    endToEndId: token(node, 'OrgnlEndToEndId'),
    uetr: token(node, 'OrgnlUETR'),
    status: token(node, 'TxSts'),
    reasons: all(node, 'StsRsnInf').map(reasonOf),
    acceptedAt: time(node, 'AccptncDtTm'),
    bankReference: token(node, 'AcctSvcrRef'),
    clearingReference: token(node, 'ClrSysRef'),
    money: originalAmount(one(node, 'OrgnlTxRef')),
  })

const batchOf = (node: Node, transfers: readonly TransferStatus[]): BatchStatus =>
  given<BatchStatus>({
    batchId: neededToken(node, 'OrgnlPmtInfId'),
    originalCount: statedNumber(node, 'OrgnlNbOfTxs'),
    originalSum: token(node, 'OrgnlCtrlSum'),
    status: token(node, 'PmtInfSts'),
    reasons: all(node, 'StsRsnInf').map(reasonOf),
    transfers,
  })

function reportOf(message: Node, itemsOf: (node: Node) => readonly TransferStatus[]): StatusReport {
  const head = needed(message, 'GrpHdr')
  const original = needed(message, 'OrgnlGrpInfAndSts')
  return given<StatusReport>({
    messageId: neededToken(head, 'MsgId'),
    createdAt: time(head, 'CreDtTm') ?? refuseAt(head, 'GrpHdr has no CreDtTm'),
    originalMessageId: neededToken(original, 'OrgnlMsgId'),
    originalMessageName: neededToken(original, 'OrgnlMsgNmId'),
    originalCount: statedNumber(original, 'OrgnlNbOfTxs'),
    originalSum: token(original, 'OrgnlCtrlSum'),
    groupStatus: token(original, 'GrpSts'),
    reasons: all(original, 'StsRsnInf').map(reasonOf),
    batches: all(message, 'OrgnlPmtInfAndSts').map((node) => batchOf(node, itemsOf(node))),
  })
}

/** Reads versions 03 to 10, and later ones with the same elements. */
export function readStatusReport(source: Source, limits?: Partial<Limits>): Promise<StatusReport> {
  const item = (node: Node) =>
    node.name === 'TxInfAndSts' && node.parent?.name === 'OrgnlPmtInfAndSts' ? transferOf(node) : undefined
  return readWhole<TransferStatus, StatusReport>(source, { kinds: ['pain.002'], item, value: reportOf }, limits)
}
