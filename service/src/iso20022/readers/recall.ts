/** Reads recalls (camt.055 and camt.056), their answers (camt.029), and pain.001. */
import type {
  Amount,
  CreditTransfer,
  CreditTransferInitiation,
  Money,
  Party,
  PaymentBatch,
  Reason,
  Recall,
  RecallAnswer,
} from '../model.ts'
import type { MessageLimits, MessageSource } from '../source.ts'
import { type XmlNode, refuseAt } from '../xml/tree.ts'
import {
  childrenNamed,
  readAmount,
  descendant,
  readCode,
  readDate,
  decimalText,
  childFlag,
  compact,
  requireChild,
  requireToken,
  childNumber,
  onlyChild,
  readWholeMessage,
  childTime,
  readTime,
  childToken,
} from './nodes.ts'
import { readAccount, readAgent, readParty, readReason, readRemittance } from './values.ts'
import { amountText, type Minor } from '../../kernel/index.ts'

type Transfer = Recall['transfers'][number]
type Answer = RecallAnswer['transfers'][number]

/** Drops the placeholder for a required text that the sender does not have. */
const realId = (text: string | undefined): string | undefined => (text === 'NOTPROVIDED' ? undefined : text)

function readTransfer(node: XmlNode): Transfer {
  const [reason, ...others] = childrenNamed(node, 'CxlRsnInf').map(readReason)
  if (others.length > 0) refuseAt(node, 'TxInf has more than one CxlRsnInf')
  const text = reason?.texts.join('')
  const requested = onlyChild(node, 'OrgnlReqdExctnDt')
  return compact<Transfer>({
    cancellationId: requireToken(node, 'CxlId'),
    instructionId: childToken(node, 'OrgnlInstrId'),
    endToEndId: requireToken(node, 'OrgnlEndToEndId'),
    transactionId: childToken(node, 'OrgnlTxId'),
    uetr: childToken(node, 'OrgnlUETR'),
    money: readMoney(onlyChild(node, 'OrgnlInstdAmt') ?? requireChild(node, 'OrgnlIntrBkSttlmAmt')),
    executionDate: requested ? readDate(requested) : childTime(node, 'OrgnlIntrBkSttlmDt'),
    reason: reason?.code ?? refuseAt(node, 'TxInf has no code in CxlRsnInf'),
    text: text === '' ? undefined : text,
  })
}

const readOriginator = (node: XmlNode): Party | undefined => readParty(descendant(node, 'CxlRsnInf', 'Orgtr'))

/** A payment of a recall. In a camt.056 each payment states its original message. */
type RecallItem = {
  readonly transfer: Transfer
  readonly group: XmlNode | undefined
  readonly originator: Party | undefined
}

/**
 * Finds the element that identifies the original message: in the batch, in the group, or in the payments, which must
 * agree.
 */
function findOriginal(underlying: XmlNode, batch: XmlNode | undefined, items: readonly RecallItem[]): XmlNode {
  const groups = items.flatMap(({ group }) => group ?? [])
  if (new Set(groups.map((group) => childToken(group, 'OrgnlMsgId'))).size > 1)
    refuseAt(underlying, 'the payments belong to more than one message')
  return onlyChild(batch, 'OrgnlGrpInf') ?? onlyChild(underlying, 'OrgnlGrpInfAndCxl') ?? groups[0] ?? underlying
}

function readRecallMessage(
  message: XmlNode,
  kind: Recall['kind'],
  itemsOf: (node: XmlNode) => readonly RecallItem[],
): Recall {
  const assignment = requireChild(message, 'Assgnmt')
  const underlying = requireChild(message, 'Undrlyg')
  const batch = onlyChild(underlying, 'OrgnlPmtInfAndCxl')
  const items = batch ? itemsOf(batch) : itemsOf(underlying)
  const original = findOriginal(underlying, batch, items)
  if (items.length === 0) refuseAt(underlying, 'Undrlyg has no TxInf')
  return compact<Recall>({
    kind,
    messageId: requireToken(assignment, 'Id'),
    createdAt: new Date(childTime(assignment, 'CreDtTm') ?? refuseAt(assignment, 'Assgnmt has no CreDtTm')),
    assigner: readParty(requireChild(assignment, 'Assgnr')) ?? {},
    assignee: readAgent(descendant(assignment, 'Assgne', 'Agt')) ?? {},
    caseId: requireToken(requireChild(message, 'Case'), 'Id'),
    originator: items[0]?.originator,
    originalMessageId: requireToken(original, 'OrgnlMsgId'),
    originalMessageName: requireToken(original, 'OrgnlMsgNmId'),
    originalBatchId: realId(childToken(batch, 'OrgnlPmtInfId')),
    transfers: items.map(({ transfer }) => transfer),
  })
}

export function readRecall(source: MessageSource): Promise<Recall> {
  return readWholeMessage<RecallItem, Recall>(source, {
    kinds: ['camt.055', 'camt.056'],
    item: (node) =>
      node.name === 'TxInf'
        ? { transfer: readTransfer(node), group: onlyChild(node, 'OrgnlGrpInf'), originator: readOriginator(node) }
        : undefined,
    value: (message, itemsOf, { kind }) =>
      readRecallMessage(message, kind === 'camt.056' ? 'camt.056' : 'camt.055', itemsOf),
  })
}

const readReasons = (node: XmlNode | undefined): readonly Reason[] =>
  childrenNamed(node, 'CxlStsRsnInf').map(readReason)

const readAnswer = (node: XmlNode): Answer =>
  compact<Answer>({
    originalBatchId: undefined,
    statusId: childToken(node, 'CxlStsId'),
    cancellationId: childToken(onlyChild(node, 'RslvdCase'), 'Id'),
    instructionId: childToken(node, 'OrgnlInstrId'),
    endToEndId: childToken(node, 'OrgnlEndToEndId'),
    uetr: childToken(node, 'OrgnlUETR') ?? childToken(node, 'UETR'),
    status: childToken(node, 'TxCxlSts'),
    reasons: readReasons(node),
  })

/** Reads the answers about the payments of a batch, or the answer about the whole batch. */
function readBatchAnswers(node: XmlNode, answers: readonly Answer[]): readonly Answer[] {
  const originalBatchId = requireToken(node, 'OrgnlPmtInfId')
  if (answers.length > 0) return answers.map((answer) => ({ originalBatchId, ...answer }))
  return [
    compact<Answer>({
      originalBatchId,
      cancellationId: childToken(node, 'OrgnlPmtInfCxlId'),
      status: childToken(node, 'PmtInfCxlSts'),
      reasons: readReasons(node),
    } as Answer),
  ]
}

function readRecallAnswerMessage(message: XmlNode, itemsOf: (node: XmlNode) => readonly Answer[]): RecallAnswer {
  const assignment = requireChild(message, 'Assgnmt')
  const details = childrenNamed(message, 'CxlDtls')
  const groups = details.flatMap((node) => onlyChild(node, 'OrgnlGrpInfAndSts') ?? [])
  const group = groups[0]
  return compact<RecallAnswer>({
    messageId: requireToken(assignment, 'Id'),
    createdAt: childTime(assignment, 'CreDtTm') ?? refuseAt(assignment, 'Assgnmt has no CreDtTm'),
    caseId: childToken(onlyChild(message, 'RslvdCase'), 'Id'),
    confirmation: childToken(onlyChild(message, 'Sts'), 'Conf'),
    originalMessageId: realId(childToken(group, 'OrgnlMsgId')),
    originalMessageName: realId(childToken(group, 'OrgnlMsgNmId')),
    groupStatus: childToken(group, 'GrpCxlSts'),
    reasons: readReasons(group),
    transfers: details.flatMap((node) => [
      ...childrenNamed(node, 'OrgnlPmtInfAndSts').flatMap((batch) => readBatchAnswers(batch, itemsOf(batch))),
      ...itemsOf(node),
    ]),
  })
}

/** Reads versions 03 to 09, and later ones with the same elements. */
export function readRecallAnswer(source: MessageSource, limits?: Partial<MessageLimits>): Promise<RecallAnswer> {
  return readWholeMessage<Answer, RecallAnswer>(
    source,
    {
      kinds: ['camt.029'],
      item: (node) => (node.name === 'TxInfAndSts' ? readAnswer(node) : undefined),
      value: readRecallAnswerMessage,
    },
    limits,
  )
}

// pain.001.001.09 and .03, Customer Credit Transfer Initiation. Counts and control sums must match.

function readMoney(node: XmlNode): Money {
  const amount: Amount = readAmount(node)
  return amount.minor === null ? refuseAt(node, `the currency ${amount.currency} is not supported`) : amount
}

/** Reads a code. The guideline does not allow proprietary codes. */
function listedCode(node: XmlNode | undefined, name: string): string | undefined {
  const found = onlyChild(node, name)
  const code = readCode(found)
  if (found && code && 'proprietary' in code) refuseAt(found, `${name} is a proprietary code`)
  return code && 'code' in code ? code.code : undefined
}

const known = new Set('PmtId Amt UltmtDbtr CdtrAgt Cdtr CdtrAcct UltmtCdtr Purp RmtInf'.split(' '))

/** Lists the elements that the model does not have, including those of PmtTpInf. */
function listOtherElements(node: XmlNode): readonly string[] | undefined {
  const names = node.children.flatMap(({ name, children }) =>
    name === 'PmtTpInf' ? children.map((child) => child.name) : known.has(name) ? [] : [name],
  )
  return names.length === 0 ? undefined : names
}

function readCreditTransfer(node: XmlNode): CreditTransfer {
  const id = requireChild(node, 'PmtId')
  const account = requireChild(node, 'CdtrAcct')
  return compact<CreditTransfer>({
    instructionId: childToken(id, 'InstrId'),
    endToEndId: requireToken(id, 'EndToEndId'),
    uetr: childToken(id, 'UETR'),
    money: readMoney(requireChild(requireChild(node, 'Amt'), 'InstdAmt')),
    ultimateDebtor: readParty(onlyChild(node, 'UltmtDbtr')),
    creditorAgent: readAgent(onlyChild(node, 'CdtrAgt')),
    creditor: readParty(requireChild(node, 'Cdtr')) ?? {},
    creditorAccount: readAccount(account) ?? refuseAt(account, 'CdtrAcct has no Id'),
    creditorAccountType: listedCode(account, 'Tp'),
    ultimateCreditor: readParty(onlyChild(node, 'UltmtCdtr')),
    purpose: listedCode(node, 'Purp'),
    remittance: readRemittance(onlyChild(node, 'RmtInf')),
    others: listOtherElements(node),
  })
}

/** Reads ReqdExctnDt: a date in version 03, a choice in 09. */
function readExecutionDate(node: XmlNode): string {
  const requested = requireChild(node, 'ReqdExctnDt')
  const found = requested.children.length > 0 ? readDate(requested) : readTime(requested)
  return found ?? refuseAt(requested, 'ReqdExctnDt is empty')
}

function readPaymentBatch(node: XmlNode, transfers: readonly CreditTransfer[]): PaymentBatch {
  const type = onlyChild(node, 'PmtTpInf')
  const account = requireChild(node, 'DbtrAcct')
  if (requireToken(node, 'PmtMtd') !== 'TRF') refuseAt(node, 'PmtMtd is not TRF')
  if (transfers.length === 0) refuseAt(node, 'PmtInf has no CdtTrfTxInf')
  checkSums(node, transfers)
  return compact<PaymentBatch>({
    id: requireToken(node, 'PmtInfId'),
    batchBooking: childFlag(node, 'BtchBookg'),
    serviceLevel: listedCode(type, 'SvcLvl'),
    localInstrument: listedCode(type, 'LclInstrm'),
    categoryPurpose: listedCode(type, 'CtgyPurp'),
    executionDate: readExecutionDate(node),
    debtor: readParty(requireChild(node, 'Dbtr')) ?? {},
    debtorAccount: readAccount(account) ?? refuseAt(account, 'DbtrAcct has no Id'),
    debtorCurrency: childToken(account, 'Ccy'),
    debtorAgent: readAgent(requireChild(node, 'DbtrAgt')) ?? {},
    debtorAgentInstruction: childToken(node, 'InstrForDbtrAgt'),
    ultimateDebtor: readParty(onlyChild(node, 'UltmtDbtr')),
    chargeBearer: childToken(node, 'ChrgBr'),
    transfers,
  })
}

/** Normalises decimals, so that `12.5` equals `12.50`. */
const normaliseDecimal = (decimal: string): string =>
  decimal
    .replace(/^\+?0*(?=\d)/, '')
    .replace(/\.0*$|(?<=\.\d*[1-9])0+$/, '')
    .replace(/^\+?(?=\.)/, '0')

/** Checks NbOfTxs and CtrlSum if they are present. */
function checkSums(node: XmlNode, transfers: readonly CreditTransfer[]): void {
  const [count, sum] = [childNumber(node, 'NbOfTxs'), decimalText(node, 'CtrlSum')]
  if (count !== undefined && count !== transfers.length)
    refuseAt(node, `NbOfTxs is ${count}, and there are ${transfers.length}`)
  const total = amountText(
    transfers.reduce<Minor>((before, { money }) => before + money.minor, 0n),
    'EUR',
  )
  if (sum !== undefined && normaliseDecimal(sum) !== normaliseDecimal(total))
    refuseAt(node, `CtrlSum is ${sum}, and the sum is ${total}`)
}

export function readPain001(source: MessageSource, limits?: Partial<MessageLimits>): Promise<CreditTransferInitiation> {
  return readWholeMessage<CreditTransfer, CreditTransferInitiation>(
    source,
    {
      kinds: ['pain.001'],
      item: (node) => (node.name === 'CdtTrfTxInf' ? readCreditTransfer(node) : undefined),
      value: (message, itemsOf) => {
        const head = requireChild(message, 'GrpHdr')
        const batches = childrenNamed(message, 'PmtInf').map((node) => readPaymentBatch(node, itemsOf(node)))
        if (batches.length === 0) refuseAt(message, 'the message has no PmtInf')
        checkSums(
          head,
          batches.flatMap(({ transfers }) => transfers),
        )
        return {
          messageId: requireToken(head, 'MsgId'),
          createdAt: new Date(childTime(head, 'CreDtTm') ?? refuseAt(head, 'GrpHdr has no CreDtTm')),
          initiator: readParty(requireChild(head, 'InitgPty')) ?? {},
          batches,
        }
      },
    },
    limits,
  )
}
