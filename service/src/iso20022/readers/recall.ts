/** camt.055 and camt.056, requests to take payments back, and camt.029, the answers to them. */
import type { Party, Reason, Recall, RecallAnswer } from '../model.ts'
import type { Limits, Source } from '../source.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import { all, at, dateOf, given, needed, neededToken, one, time, token } from './nodes.ts'
import { moneyOf } from './pain001.ts'
import { agentOf, partyOf, reasonOf } from './values.ts'
import { readWhole } from './whole.ts'

type Transfer = Recall['transfers'][number]
type Answer = RecallAnswer['transfers'][number]

/** Drops the placeholder for a text that the schema requires and the sender lacks. */
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

/**
 * The element that names the original message: of the batch, of the whole, or of the payments, which all name the same.
 */
function originalOf(underlying: Node, batch: Node | undefined, items: readonly Item[]): Node {
  const groups = items.flatMap(({ group }) => group ?? [])
  if (new Set(groups.map((group) => token(group, 'OrgnlMsgId'))).size > 1)
    refuseAt(underlying, 'the payments are of more than one message')
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

/** The payments of a batch; the batch itself, if it is answered as a whole. */
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

/** Reads versions 03 to 09, and later ones that keep to their elements. */
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
