/** What a bank answers to requests to take payments back (camt.029). Their money comes as a return. */
import type { RecallAnswer } from '../../iso20022/index.ts'
import { present } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankDeps } from './deps.ts'
import { readInstructionId } from './ids.ts'
import type { Lease } from './lease.ts'
import { oddity, recallAnswer, type Report, writeReports } from './reports.ts'
import { byShard } from './shards.ts'
import * as store from './store-words.ts'

/** Of a payment, and of all of them. */
const meanings: Readonly<Record<string, store.RecallAnswered['status']>> = {
  ACCR: 'Accepted',
  CNCL: 'Accepted',
  RJCR: 'Refused',
  CWFW: 'Pending',
  PACR: 'Pending',
  PDCR: 'Pending',
  UWFW: 'Pending',
  INFO: 'Pending',
}

type Answered = {
  readonly ids: readonly string[]
  readonly instructionIds: readonly string[]
  /** The whole case: all recalls of a file of ours. */
  readonly fileIds: readonly string[]
  readonly status: store.RecallAnswered['status']
  readonly code: string | null
  readonly details: string | null
}

const idsIn = (...texts: readonly (string | undefined)[]): readonly string[] =>
  texts.flatMap((text) => readInstructionId(text ?? '')?.id ?? [])

/** Each payment that is named. Without one, or of a whole batch: the answer is about all recalls of the case, which is a file of ours. */
function answersOf({
  caseId,
  confirmation,
  groupStatus,
  reasons: ofAll,
  transfers,
}: RecallAnswer): readonly Answered[] {
  const named: readonly Partial<RecallAnswer['transfers'][number]>[] = transfers.length > 0 ? transfers : [{}]
  return named.flatMap(({ cancellationId, instructionId, endToEndId, status, reasons: own = [] }) => {
    const told = status ?? groupStatus ?? confirmation
    const meaning = meanings[told ?? '']
    if (meaning === undefined) return []
    const reasons = own.length > 0 ? own : ofAll
    const texts = reasons.flatMap((one) => one.texts).join(' ')
    const isWhole = cancellationId === undefined && instructionId === undefined && endToEndId === undefined
    return [
      {
        ids: idsIn(cancellationId),
        instructionIds: idsIn(instructionId, endToEndId),
        fileIds: isWhole ? idsIn(caseId?.slice(1)) : [],
        status: meaning,
        code: reasons.flatMap(({ code, proprietary }) => code ?? proprietary ?? [])[0] ?? told ?? null,
        details: texts === '' ? null : texts,
      },
    ]
  })
}

/** Those whose ids are named. Otherwise the newest one of each payment that is named, or all of a file. */
function answered(
  rows: readonly store.RecallRow[],
  own: readonly string[],
  paid: readonly string[],
  whole: readonly string[],
): readonly store.RecallRow[] {
  const byId = rows.filter(({ id }) => own.includes(id))
  if (byId.length > 0) return byId
  const ofPayments = paid.flatMap((paidId) => rows.find(({ instructionId }) => instructionId === paidId) ?? [])
  return [...ofPayments, ...rows.filter(({ fileId }) => fileId !== null && whole.includes(fileId))]
}

/** Settlement is told each answer that changes a request. */
export async function writeAnswers(
  tx: Tx,
  connector: string,
  answers: readonly store.RecallAnswered[],
  now: Date,
): Promise<void> {
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  const reports: Report[] = []
  for (const group of byShard(tx, answers))
    for (const recall of await store.answerRecalls(tx, group, now)) {
      const { status, answerCode } = present(byId.get(recall.id), 'an answer changes its own recall')
      if (status === 'Pending') continue
      const isAccepted = status === 'Accepted'
      reports.push(recallAnswer(connector, recall, isAccepted, isAccepted ? null : answerCode))
    }
  if (reports.length > 0) writeReports(tx, connector, reports, now)
}

export function createRecallAnswers({ clock, rules, operatorId }: BankDeps) {
  return (lease: Lease, messageId: string, answer: RecallAnswer): Promise<void> =>
    lease.transaction(async (tx) => {
      const answers = answersOf(answer)
      const ids = answers.flatMap((one) => one.ids)
      const instructionIds = answers.flatMap((one) => one.instructionIds)
      const fileIds = answers.flatMap((one) => one.fileIds)
      const rows = await store.recallsByIds(tx, rules.id, { ids, instructionIds, fileIds })
      const changed = new Map<string, store.RecallAnswered>()
      let lost = answers.length === 0 ? 1 : 0
      for (const { ids: own, instructionIds: paid, fileIds: whole, status, code, details } of answers) {
        const found = answered(rows, own, paid, whole)
        if (found.length === 0) lost += 1
        for (const { partnerId, id } of found)
          changed.set(id, { partnerId, id, status, answerCode: code, answerDetails: details })
      }
      const now = clock.now()
      await writeAnswers(tx, rules.id, [...changed.values()], now)
      if (lost === 0) return
      const text = `The bank answers a recall that is not known: message ${answer.messageId}, case ${answer.caseId ?? 'without id'}.`
      const report = oddity({ operatorId, connector: rules.id }, 'entry_unclear', text, ['recall', messageId])
      writeReports(tx, rules.id, [report], now)
    })
}
