/** Writes recalls (camt.055, camt.056) and their answers (camt.029). */
import { messageElements, messageNamespace } from '../messages.ts'
import type { Agent, Party, Recall, RecallAnswer } from '../model.ts'
import { declaration, element, optionalElement, wrapElement, xmlText } from '../xml/text.ts'
import { agentContent, amountXml, dateXml, partyContent, reasonXml } from './values.ts'

type Transfer = Recall['transfers'][number]
type Answer = RecallAnswer['transfers'][number]

/** The placeholder for a required text that is missing. */
const absent = 'NOTPROVIDED'
/** The length of AddtlInf: Max105Text. */
const infoChars = 105

const assignment = (id: string, assigner: string, assignee: string, createdAt: string): string =>
  element(
    'Assgnmt',
    element('Id', xmlText(id)) +
      element('Assgnr', assigner) +
      element('Assgne', assignee) +
      element('CreDtTm', createdAt),
  )
const partyChoice = (party: Party): string => element('Pty', partyContent(party))
const agentChoice = (agent: Agent): string => element('Agt', agentContent(agent))

const originalGroup = ({ originalMessageId, originalMessageName }: Recall): string =>
  element('OrgnlMsgId', xmlText(originalMessageId)) + element('OrgnlMsgNmId', xmlText(originalMessageName))

/** Writes the reason. Splits a longer text into several lines, which a reader joins. */
function recallReasonXml({ originator }: Recall, { reason, text = '' }: Transfer): string {
  const characters = Array.from(text)
  const lines = Array.from({ length: Math.ceil(characters.length / infoChars) }, (_, index) =>
    characters.slice(index * infoChars, (index + 1) * infoChars).join(''),
  )
  return reasonXml('CxlRsnInf', { code: reason, texts: lines, ...(originator && { originator }) })
}

/** Writes PaymentTransaction109: a request to our bank. */
const customerTransfer = (recall: Recall, transfer: Transfer): string =>
  element(
    'TxInf',
    element('CxlId', xmlText(transfer.cancellationId)) +
      optionalElement('OrgnlInstrId', transfer.instructionId) +
      element('OrgnlEndToEndId', xmlText(transfer.endToEndId)) +
      optionalElement('OrgnlUETR', transfer.uetr) +
      amountXml('OrgnlInstdAmt', transfer.money) +
      dateXml('OrgnlReqdExctnDt', transfer.executionDate) +
      recallReasonXml(recall, transfer),
  )

/** Writes PaymentTransaction106: a request between banks. */
const bankTransfer = (recall: Recall, transfer: Transfer): string =>
  element(
    'TxInf',
    element('CxlId', xmlText(transfer.cancellationId)) +
      element('OrgnlGrpInf', originalGroup(recall)) +
      optionalElement('OrgnlInstrId', transfer.instructionId) +
      element('OrgnlEndToEndId', xmlText(transfer.endToEndId)) +
      optionalElement('OrgnlTxId', transfer.transactionId) +
      optionalElement('OrgnlUETR', transfer.uetr) +
      amountXml('OrgnlIntrBkSttlmAmt', transfer.money) +
      optionalElement('OrgnlIntrBkSttlmDt', transfer.executionDate) +
      recallReasonXml(recall, transfer),
  )

/** Writes camt.055.001.08 or camt.056.001.08. */
export function* recallXml(recall: Recall): Generator<string> {
  const { kind, messageId, assigner, assignee, createdAt, caseId, transfers } = recall
  const message = messageElements[kind]
  yield `${declaration}<Document xmlns="${messageNamespace(`${kind}.001.08`)}"><${message}>`
  yield assignment(messageId, partyChoice(assigner), agentChoice(assignee), createdAt.toISOString())
  yield element('Case', element('Id', xmlText(caseId)) + element('Cretr', partyChoice(assigner)))
  yield element('CtrlData', element('NbOfTxs', String(transfers.length)))
  yield '<Undrlyg>'
  if (kind === 'camt.055') {
    yield `<OrgnlPmtInfAndCxl>${element('OrgnlPmtInfId', xmlText(recall.originalBatchId ?? absent))}`
    yield element('OrgnlGrpInf', originalGroup(recall))
    for (const transfer of transfers) yield `\n${customerTransfer(recall, transfer)}`
    yield '</OrgnlPmtInfAndCxl>'
  } else for (const transfer of transfers) yield `\n${bankTransfer(recall, transfer)}`
  yield `</Undrlyg>\n</${message}></Document>\n`
}

const answerXml = (answer: Answer): string =>
  element(
    'TxInfAndSts',
    optionalElement('CxlStsId', answer.statusId) +
      (answer.cancellationId === undefined
        ? ''
        : element('RslvdCase', element('Id', xmlText(answer.cancellationId)) + unnamedCreator)) +
      optionalElement('OrgnlInstrId', answer.instructionId) +
      optionalElement('OrgnlEndToEndId', answer.endToEndId) +
      optionalElement(answer.originalBatchId === undefined ? 'OrgnlUETR' : 'UETR', answer.uetr) +
      optionalElement('TxCxlSts', answer.status) +
      answer.reasons.map((reason) => reasonXml('CxlStsRsnInf', reason)).join(''),
  )
const unnamedCreator = element('Cretr', partyChoice({ name: absent }))

/** Groups consecutive payments of one batch. */
function splitByBatch(transfers: readonly Answer[]): readonly (readonly Answer[])[] {
  const found: Answer[][] = []
  for (const transfer of transfers) {
    const last = found.at(-1)
    if (last?.[0]?.originalBatchId === transfer.originalBatchId && last !== undefined) last.push(transfer)
    else found.push([transfer])
  }
  return found
}

function groupXml(answer: RecallAnswer): string {
  const { originalMessageId, originalMessageName, groupStatus, reasons } = answer
  if ((originalMessageId ?? originalMessageName ?? groupStatus) === undefined && reasons.length === 0) return ''
  return element(
    'OrgnlGrpInfAndSts',
    element('OrgnlMsgId', xmlText(originalMessageId ?? absent)) +
      element('OrgnlMsgNmId', xmlText(originalMessageName ?? absent)) +
      optionalElement('GrpCxlSts', groupStatus) +
      reasons.map((reason) => reasonXml('CxlStsRsnInf', reason)).join(''),
  )
}

/** Writes camt.029.001.09. */
export function* recallAnswerXml(answer: RecallAnswer): Generator<string> {
  const message = messageElements['camt.029']
  const unnamed = partyChoice({ name: absent })
  yield `${declaration}<Document xmlns="${messageNamespace('camt.029.001.09')}"><${message}>`
  yield assignment(answer.messageId, unnamed, unnamed, answer.createdAt)
  if (answer.caseId !== undefined) yield element('RslvdCase', element('Id', xmlText(answer.caseId)) + unnamedCreator)
  yield element('Sts', optionalElement('Conf', answer.confirmation))
  let group = groupXml(answer)
  for (const run of splitByBatch(answer.transfers)) {
    const batchId = run[0]?.originalBatchId
    const transfers = run.map((transfer) => `\n${answerXml(transfer)}`).join('')
    const content =
      batchId === undefined
        ? transfers
        : element('OrgnlPmtInfAndSts', element('OrgnlPmtInfId', xmlText(batchId)) + transfers)
    yield element('CxlDtls', group + content)
    group = ''
  }
  yield wrapElement('CxlDtls', group)
  yield `\n</${message}></Document>\n`
}
