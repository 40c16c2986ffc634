/** Processes a bank's answers to recalls (camt.029). The money arrives separately, as a return. */
import type { RecallAnswer } from '../../iso20022/index.ts'
import { present } from '../../kernel/index.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import { joinBankTexts } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import { parseInstructionId } from './ids.ts'
import type { Lease } from './lease.ts'
import { oddityReport, recallAnswerReport, type Report, writeReports } from './reports.ts'
import * as store from './store-incoming.ts'

/** The meaning of the status of one payment or of the whole case. */
const meanings: Readonly<Record<string, store.RecallAnswerChange['status']>> = {
  ACCR: 'Accepted',
  CNCL: 'Accepted',
  RJCR: 'Refused',
  CWFW: 'Pending',
  PACR: 'Pending',
  PDCR: 'Pending',
  UWFW: 'Pending',
  INFO: 'Pending',
}

type RecallAnswerItem = {
  readonly ids: readonly string[]
  readonly payment: store.PaymentReferences
  /** Our files, if the answer is about all of their recalls. */
  readonly fileIds: readonly string[]
  readonly status: store.RecallAnswerChange['status']
  readonly code: string | null
  readonly details: string | null
}

const readId = (text = ''): string | undefined => parseInstructionId(text)?.id
const readIds = (text: string | undefined): readonly string[] => {
  const id = readId(text)
  return id === undefined ? [] : [id]
}

/**
 * Reads the answer about each named payment. Without a named payment, the answer is about the whole case: all recalls of
 * one of our files.
 */
function readAnswers({
  caseId,
  confirmation,
  groupStatus,
  reasons: ofAll,
  transfers,
}: RecallAnswer): readonly RecallAnswerItem[] {
  const named: readonly Partial<RecallAnswer['transfers'][number]>[] = transfers.length > 0 ? transfers : [{}]
  return named.flatMap(({ cancellationId, instructionId, endToEndId, status, reasons: own = [] }) => {
    const told = status ?? groupStatus ?? confirmation
    const meaning = meanings[told ?? '']
    if (meaning === undefined) return []
    const reasons = own.length > 0 ? own : ofAll
    const isWhole = cancellationId === undefined && instructionId === undefined && endToEndId === undefined
    return [
      {
        ids: readIds(cancellationId),
        payment: { id: readId(instructionId), endToEndId },
        fileIds: isWhole ? readIds(caseId?.slice(1)) : [],
        status: meaning,
        code: reasons.flatMap(({ code, proprietary }) => code ?? proprietary ?? [])[0] ?? told ?? null,
        details: joinBankTexts(reasons.flatMap(({ texts }) => texts)),
      },
    ]
  })
}

/**
 * Finds the recalls that an answer is about: by their ids, or the newest recall of the named payment, or all of a file.
 * If several payments have the end-to-end id, none of their recalls counts.
 */
function findRecalls(
  { ids, payment, fileIds }: RecallAnswerItem,
  rows: readonly store.RecallRow[],
  sent: readonly store.SentPayment[],
): readonly store.RecallRow[] {
  const byId = rows.filter(({ id }) => ids.includes(id))
  if (byId.length > 0) return byId
  const named = sent.some(({ id }) => id === payment.id)
    ? [payment.id]
    : sent.flatMap(({ id, endToEndId }) => (endToEndId === payment.endToEndId ? [id] : []))
  const [first, ...others] = named.flatMap((paidId) => rows.find(({ instructionId }) => instructionId === paidId) ?? [])
  const ofPayment = first === undefined || others.length > 0 ? [] : [first]
  return [...ofPayment, ...rows.filter(({ fileId }) => fileId !== null && fileIds.includes(fileId))]
}

/** Stores answers, and reports to settlement each answer that changes a recall. */
export async function writeAnswers(
  tx: Tx,
  connector: string,
  answers: readonly store.RecallAnswerChange[],
  now: Date,
): Promise<void> {
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  const reports: Report[] = []
  for (const group of groupByShard(tx, answers))
    for (const recall of await store.answerRecalls(tx, group, now)) {
      const {
        status,
        answerCode,
        answerDetails: bankText,
      } = present(byId.get(recall.id), `recall ${recall.id} changed without an answer to it`)
      if (status === 'Pending') continue
      const accepted = status === 'Accepted'
      const answer = { accepted, reasonCode: accepted ? null : answerCode, bankText }
      reports.push(recallAnswerReport(connector, recall, answer))
    }
  if (reports.length > 0) writeReports(tx, connector, reports, now)
}

export function createRecallAnswers({ clock, rules, operatorId }: BankDeps) {
  return (lease: Lease, messageId: string, message: RecallAnswer): Promise<void> =>
    lease.transaction(async (tx) => {
      const answers = readAnswers(message)
      const ids = answers.flatMap((one) => one.ids)
      const sent = await store.sentPaymentsByReferences(
        tx,
        rules.id,
        answers.map(({ payment }) => payment),
      )
      const instructionIds = sent.map(({ id }) => id)
      const fileIds = answers.flatMap((one) => one.fileIds)
      const rows = await store.recallsByIds(tx, rules.id, { ids, instructionIds, fileIds })
      const changed = new Map<string, store.RecallAnswerChange>()
      let lost = answers.length === 0 ? 1 : 0
      for (const answer of answers) {
        const { status, code, details } = answer
        const found = findRecalls(answer, rows, sent)
        if (found.length === 0) lost += 1
        for (const { partnerId, id } of found)
          changed.set(id, { partnerId, id, status, answerCode: code, answerDetails: details })
      }
      const now = clock.now()
      await writeAnswers(tx, rules.id, [...changed.values()], now)
      if (lost === 0) return
      const text = `The bank answers an unknown recall: message ${message.messageId}, case ${message.caseId ?? 'without id'}.`
      const report = oddityReport({ operatorId, connector: rules.id }, 'entry_unclear', text, ['recall', messageId])
      writeReports(tx, rules.id, [report], now)
    })
}
