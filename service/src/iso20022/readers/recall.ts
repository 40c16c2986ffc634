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
import type { Limits, Source } from '../source.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import {
  all,
  amountOf,
  at,
  codeOf,
  dateOf,
  decimalText,
  flag,
  given,
  needed,
  neededToken,
  number,
  one,
  readWhole,
  time,
  timeOf,
  token,
} from './nodes.ts'
import { accountOf, agentOf, partyOf, reasonOf, remittanceOf } from './values.ts'
import { amountText, type Minor } from '../../kernel/index.ts'

type Transfer = Recall['transfers'][number]
type Answer = RecallAnswer['transfers'][number]

/** Drops the placeholder for a required text that the sender does not have. */
const given35 = (text: string | undefined): string | undefined => (text === 'NOTPROVIDED' ? undefined : text)

function transferOf(node: Node): Transfer {
  const [reason, ...others] = all(node, 'CxlRsnInf').map(reasonOf)
  if (others.length > 0) refuseAt(node, 'TxInf has more than one CxlRsnInf')
  const text = reason?.texts.join('')
  const requested = one(node, 'OrgnlReqdExctnDt')
  return given<Transfer>({
    cancellationId: neededToken(node, 'CxlId'),
    instructionId: token(node, 'OrgnlInstrId'),
    endToEndId: neededToken(node, 'OrgnlEndToEndId'),
    transactionId: token(node, 'OrgnlTxId'),
    uetr: token(node, 'OrgnlUETR'),
    money: moneyOf(one(node, 'OrgnlInstdAmt') ?? needed(node, 'OrgnlIntrBkSttlmAmt')),
    executionDate: requested ? dateOf(requested) : time(node, 'OrgnlIntrBkSttlmDt'),
    reason: reason?.code ?? refuseAt(node, 'TxInf has no code in CxlRsnInf'),
    text: text === '' ? undefined : text,
  })
}

const originatorOf = (node: Node): Party | undefined => partyOf(at(node, 'CxlRsnInf', 'Orgtr'))

/** A payment of a recall. In camt.056 each payment names its original message. */
type Item = {
  readonly transfer: Transfer
  readonly group: Node | undefined
  readonly originator: Party | undefined
}

/** Finds the element that names the original message: of the batch, of the group, or of the payments, which must agree. */
function originalOf(underlying: Node, batch: Node | undefined, items: readonly Item[]): Node {
  const groups = items.flatMap(({ group }) => group ?? [])
  if (new Set(groups.map((group) => token(group, 'OrgnlMsgId'))).size > 1)
    refuseAt(underlying, 'the payments belong to more than one message')
  return one(batch, 'OrgnlGrpInf') ?? one(underlying, 'OrgnlGrpInfAndCxl') ?? groups[0] ?? underlying
}

function recallOf(message: Node, kind: Recall['kind'], itemsOf: (node: Node) => readonly Item[]): Recall {
  const assignment = needed(message, 'Assgnmt')
  const underlying = needed(message, 'Undrlyg')
  const batch = one(underlying, 'OrgnlPmtInfAndCxl')
  const items = batch ? itemsOf(batch) : itemsOf(underlying)
  const original = originalOf(underlying, batch, items)
  if (items.length === 0) refuseAt(underlying, 'Undrlyg has no TxInf')
  return given<Recall>({
    kind,
    messageId: neededToken(assignment, 'Id'),
    createdAt: new Date(time(assignment, 'CreDtTm') ?? refuseAt(assignment, 'Assgnmt has no CreDtTm')),
    assigner: partyOf(needed(assignment, 'Assgnr')) ?? {},
    assignee: agentOf(at(assignment, 'Assgne', 'Agt')) ?? {},
    caseId: neededToken(needed(message, 'Case'), 'Id'),
    originator: items[0]?.originator,
    originalMessageId: neededToken(original, 'OrgnlMsgId'),
    originalMessageName: neededToken(original, 'OrgnlMsgNmId'),
    originalBatchId: given35(token(batch, 'OrgnlPmtInfId')),
    transfers: items.map(({ transfer }) => transfer),
  })
}

export function readRecall(source: Source, limits?: Partial<Limits>): Promise<Recall> {
  return readWhole<Item, Recall>(
    source,
    {
      kinds: ['camt.055', 'camt.056'],
      item: (node) =>
        node.name === 'TxInf'
          ? { transfer: transferOf(node), group: one(node, 'OrgnlGrpInf'), originator: originatorOf(node) }
          : undefined,
      value: (message, itemsOf, { kind }) => recallOf(message, kind === 'camt.056' ? 'camt.056' : 'camt.055', itemsOf),
    },
    limits,
  )
}

const reasonsOf = (node: Node | undefined): readonly Reason[] => all(node, 'CxlStsRsnInf').map(reasonOf)

const answerOf = (node: Node): Answer =>
  given<Answer>({
    originalBatchId: undefined,
    statusId: token(node, 'CxlStsId'),
    cancellationId: token(one(node, 'RslvdCase'), 'Id'),
    instructionId: token(node, 'OrgnlInstrId'),
    endToEndId: token(node, 'OrgnlEndToEndId'),
    uetr: token(node, 'OrgnlUETR') ?? token(node, 'UETR'),
    status: token(node, 'TxCxlSts'),
    reasons: reasonsOf(node),
  })

/** Reads the answers about the payments of a batch, or the answer about the whole batch. */
function batchAnswers(node: Node, answers: readonly Answer[]): readonly Answer[] {
  const originalBatchId = neededToken(node, 'OrgnlPmtInfId')
  if (answers.length > 0) return answers.map((answer) => ({ originalBatchId, ...answer }))
  return [
    given<Answer>({
      originalBatchId,
      cancellationId: token(node, 'OrgnlPmtInfCxlId'),
      status: token(node, 'PmtInfCxlSts'),
      reasons: reasonsOf(node),
    } as Answer),
  ]
}

function recallAnswerOf(message: Node, itemsOf: (node: Node) => readonly Answer[]): RecallAnswer {
  const assignment = needed(message, 'Assgnmt')
  const details = all(message, 'CxlDtls')
  const groups = details.flatMap((node) => one(node, 'OrgnlGrpInfAndSts') ?? [])
  const group = groups[0]
  return given<RecallAnswer>({
    messageId: neededToken(assignment, 'Id'),
    createdAt: time(assignment, 'CreDtTm') ?? refuseAt(assignment, 'Assgnmt has no CreDtTm'),
    caseId: token(one(message, 'RslvdCase'), 'Id'),
    confirmation: token(one(message, 'Sts'), 'Conf'),
    originalMessageId: given35(token(group, 'OrgnlMsgId')),
    originalMessageName: given35(token(group, 'OrgnlMsgNmId')),
    groupStatus: token(group, 'GrpCxlSts'),
    reasons: reasonsOf(group),
    transfers: details.flatMap((node) => [
      ...all(node, 'OrgnlPmtInfAndSts').flatMap((batch) => batchAnswers(batch, itemsOf(batch))),
      ...itemsOf(node),
    ]),
  })
}

/** Reads versions 03 to 09, and later ones with the same elements. */
export function readRecallAnswer(source: Source, limits?: Partial<Limits>): Promise<RecallAnswer> {
  return readWhole<Answer, RecallAnswer>(
    source,
    {
      kinds: ['camt.029'],
      item: (node) => (node.name === 'TxInfAndSts' ? answerOf(node) : undefined),
      value: recallAnswerOf,
    },
    limits,
  )
}

// pain.001.001.09 and .03, Customer Credit Transfer Initiation. Counts and control sums must match.

function moneyOf(node: Node): Money {
  const amount: Amount = amountOf(node)
  return amount.minor === null ? refuseAt(node, `the currency ${amount.currency} is not supported`) : amount
}

/** Reads a code. The guideline does not allow proprietary codes. */
function listedCode(node: Node | undefined, name: string): string | undefined {
  const found = one(node, name)
  const code = codeOf(found)
  if (found && code && 'proprietary' in code) refuseAt(found, `${name} is a proprietary code`)
  return code && 'code' in code ? code.code : undefined
}

const known = new Set('PmtId Amt UltmtDbtr CdtrAgt Cdtr CdtrAcct UltmtCdtr Purp RmtInf'.split(' '))

/** Lists the elements that the model does not have, including those of PmtTpInf. */
function othersOf(node: Node): readonly string[] | undefined {
  const names = node.children.flatMap(({ name, children }) =>
    name === 'PmtTpInf' ? children.map((child) => child.name) : known.has(name) ? [] : [name],
  )
  return names.length === 0 ? undefined : names
}

function pain001TransferOf(node: Node): CreditTransfer {
  const id = needed(node, 'PmtId')
  const account = needed(node, 'CdtrAcct')
  return given<CreditTransfer>({
    instructionId: token(id, 'InstrId'),
    endToEndId: neededToken(id, 'EndToEndId'),
    uetr: token(id, 'UETR'),
    money: moneyOf(needed(needed(node, 'Amt'), 'InstdAmt')),
    ultimateDebtor: partyOf(one(node, 'UltmtDbtr')),
    creditorAgent: agentOf(one(node, 'CdtrAgt')),
    creditor: partyOf(needed(node, 'Cdtr')) ?? {},
    creditorAccount: accountOf(account) ?? refuseAt(account, 'CdtrAcct has no Id'),
    creditorAccountType: listedCode(account, 'Tp'),
    ultimateCreditor: partyOf(one(node, 'UltmtCdtr')),
    purpose: listedCode(node, 'Purp'),
    remittance: remittanceOf(one(node, 'RmtInf')),
    others: othersOf(node),
  })
}

/** Reads ReqdExctnDt: a date in version 03, a choice in 09. */
function executionDateOf(node: Node): string {
  const requested = needed(node, 'ReqdExctnDt')
  const found = requested.children.length > 0 ? dateOf(requested) : timeOf(requested)
  return found ?? refuseAt(requested, 'ReqdExctnDt is empty')
}

function batchOf(node: Node, transfers: readonly CreditTransfer[]): PaymentBatch {
  const type = one(node, 'PmtTpInf')
  const account = needed(node, 'DbtrAcct')
  if (neededToken(node, 'PmtMtd') !== 'TRF') refuseAt(node, 'PmtMtd is not TRF')
  if (transfers.length === 0) refuseAt(node, 'PmtInf has no CdtTrfTxInf')
  checkSums(node, transfers)
  return given<PaymentBatch>({
    id: neededToken(node, 'PmtInfId'),
    batchBooking: flag(node, 'BtchBookg'),
    serviceLevel: listedCode(type, 'SvcLvl'),
    localInstrument: listedCode(type, 'LclInstrm'),
    categoryPurpose: listedCode(type, 'CtgyPurp'),
    executionDate: executionDateOf(node),
    debtor: partyOf(needed(node, 'Dbtr')) ?? {},
    debtorAccount: accountOf(account) ?? refuseAt(account, 'DbtrAcct has no Id'),
    debtorCurrency: token(account, 'Ccy'),
    debtorAgent: agentOf(needed(node, 'DbtrAgt')) ?? {},
    debtorAgentInstruction: token(node, 'InstrForDbtrAgt'),
    ultimateDebtor: partyOf(one(node, 'UltmtDbtr')),
    chargeBearer: token(node, 'ChrgBr'),
    transfers,
  })
}

/** Normalises decimals, so that `12.5` equals `12.50`. */
const plain = (decimal: string): string =>
  decimal
    .replace(/^\+?0*(?=\d)/, '')
    .replace(/\.0*$|(?<=\.\d*[1-9])0+$/, '')
    .replace(/^\+?(?=\.)/, '0')

/** Checks NbOfTxs and CtrlSum if they are present. */
function checkSums(node: Node, transfers: readonly CreditTransfer[]): void {
  const [count, sum] = [number(node, 'NbOfTxs'), decimalText(node, 'CtrlSum')]
  if (count !== undefined && count !== transfers.length)
    refuseAt(node, `NbOfTxs is ${count}, and there are ${transfers.length}`)
  const total = amountText(
    transfers.reduce<Minor>((before, { money }) => before + money.minor, 0n),
    'EUR',
  )
  if (sum !== undefined && plain(sum) !== plain(total)) refuseAt(node, `CtrlSum is ${sum}, and the sum is ${total}`)
}

export function readPain001(source: Source, limits?: Partial<Limits>): Promise<CreditTransferInitiation> {
  return readWhole<CreditTransfer, CreditTransferInitiation>(
    source,
    {
      kinds: ['pain.001'],
      item: (node) => (node.name === 'CdtTrfTxInf' ? pain001TransferOf(node) : undefined),
      value: (message, itemsOf) => {
        const head = needed(message, 'GrpHdr')
        const batches = all(message, 'PmtInf').map((node) => batchOf(node, itemsOf(node)))
        if (batches.length === 0) refuseAt(message, 'the message has no PmtInf')
        checkSums(
          head,
          batches.flatMap(({ transfers }) => transfers),
        )
        return {
          messageId: neededToken(head, 'MsgId'),
          createdAt: new Date(time(head, 'CreDtTm') ?? refuseAt(head, 'GrpHdr has no CreDtTm')),
          initiator: partyOf(needed(head, 'InitgPty')) ?? {},
          batches,
        }
      },
    },
    limits,
  )
}
