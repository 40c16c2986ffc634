/** Takes a message of the company: checks it, answers it, and plans what is to be done. */
import { type Draft, note, plan, send } from './draft.ts'
import { isIban } from './iban.ts'
import type { Initiation, Payment, PaymentRecord, Treatment } from './model.ts'
import { accountOf, type Late } from './state.ts'
import { treatmentOf } from './treatments.ts'
import { camt029, pain002, type PaymentStatus, type StatusReport } from './write.ts'
import { type CompanyMessage, readMessage, type RecallRequest, Unreadable } from './xml.ts'

export function take(draft: Draft, inbox: string, name: string, text: string): void {
  const message = understood(text)
  const messageId = message === undefined ? null : messageIdOf(message)
  draft.records.push({ t: 'received', inbox, name, messageId })
  if (message === undefined) {
    // A message without an id has no name that an answer could use.
    answer(draft, { originalMessageId: 'NOTPROVIDED', groupStatus: 'RJCT', code: 'FF01', payments: [] })
  } else if (message.kind === 'pain.001') takeInitiation(draft, message.initiation)
  else takeRecall(draft, message.recall)
}

function understood(text: string): CompanyMessage | undefined {
  try {
    return readMessage(text)
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const messageIdOf = (message: CompanyMessage): string =>
  message.kind === 'pain.001' ? message.initiation.messageId : message.recall.messageId

function answer(draft: Draft, report: Omit<StatusReport, 'messageId' | 'at'>): void {
  const { version, answerMs } = draft.state.settings
  send(draft, 'pain.002', (messageId) => pain002(version, { ...report, messageId, at: draft.now }), answerMs)
}

function takeInitiation(draft: Draft, initiation: Initiation): void {
  const { records, state } = draft
  const { messageId: originalMessageId, batches } = initiation
  const payments = batches.flatMap((batch) => batch.payments)
  const refusal = state.messageIds.has(originalMessageId) ? 'DU01' : wrongSum(initiation)
  if (refusal !== undefined) {
    if (refusal === 'DU01') records.push({ t: 'duplicate', text: `message ${originalMessageId}` })
    for (const { instructionId } of payments)
      if (state.payments.has(instructionId)) records.push({ t: 'again', instructionId })
    answer(draft, { originalMessageId, groupStatus: 'RJCT', code: refusal, payments: [] })
    return
  }
  const judged = judgeAll(draft, payments)
  const { answers, answerMs, bookMs } = state.settings
  const refused = judged.filter(({ code }) => code !== undefined)
  const groupStatus = refused.length === 0 ? 'ACCP' : refused.length === judged.length ? 'RJCT' : 'PART'
  const named = judged.filter(({ treatment, code }) =>
    code !== undefined
      ? true
      : answers === 'all' && treatment.do !== 'hold' && !(treatment.do === 'lose' && treatment.silent),
  )
  const isAnswered =
    named.length > 0 || judged.every(({ treatment }) => treatment.do !== 'hold' && treatment.do !== 'lose')
  if (answers !== 'none' && isAnswered) answer(draft, { originalMessageId, groupStatus, payments: named.map(statusOf) })
  planAll(draft, judged, answerMs + bookMs)
}

type PaymentVerdict = { readonly payment: Payment; readonly treatment: Treatment; readonly code?: string }

const statusOf = ({ payment: { instructionId, endToEndId, batchId }, code }: PaymentVerdict): PaymentStatus => ({
  instructionId,
  endToEndId,
  batchId,
  ...(code === undefined ? { status: 'ACSP' } : { status: 'RJCT', code }),
})

function wrongSum({ count, controlSum, batches }: Initiation): string | undefined {
  const sum = (payments: readonly Payment[]) => payments.reduce((total, { amount }) => total + amount, 0n)
  const all = batches.flatMap(({ payments }) => payments)
  if (count !== all.length || batches.some((batch) => (batch.count ?? batch.payments.length) !== batch.payments.length))
    return 'AM18'
  const isWrong = (stated: bigint | null, payments: readonly Payment[]) => stated !== null && stated !== sum(payments)
  return isWrong(controlSum, all) || batches.some((batch) => isWrong(batch.controlSum, batch.payments))
    ? 'AM10'
    : undefined
}

function judgeAll(draft: Draft, payments: readonly Payment[]): readonly PaymentVerdict[] {
  const { records, state } = draft
  const spent = new Map<string, bigint>()
  const seen = new Set<string>()
  return payments.map((payment): PaymentVerdict => {
    const { instructionId, account: iban, currency, amount } = payment
    const judged = judge(draft, payment, seen, spent)
    seen.add(instructionId)
    const { treatment, code } = judged
    if (code === 'DU05') {
      records.push({ t: 'duplicate', text: `instruction ${instructionId}` })
      if (state.payments.has(instructionId)) records.push({ t: 'again', instructionId })
      return judged
    }
    const key = `${iban} ${currency}`
    if (code === undefined) spent.set(key, (spent.get(key) ?? 0n) + amount)
    records.push({ t: 'payment', payment, treatment, status: firstStatus(judged) })
    if (treatment.do !== 'settle' && code === undefined)
      note(draft, { kind: treatment.do, subject: payment.endToEndId, amount, currency })
    return judged
  })
}

const firstStatus = ({ treatment, code }: PaymentVerdict): PaymentRecord['status'] =>
  code !== undefined ? 'refused' : treatment.do === 'hold' ? 'held' : treatment.do === 'lose' ? 'lost' : 'accepted'

function judge(
  { state, ...draft }: Draft,
  payment: Payment,
  seen: ReadonlySet<string>,
  spent: ReadonlyMap<string, bigint>,
): PaymentVerdict {
  const { account: iban, currency, instructionId, amount } = payment
  const refused = (code: string): PaymentVerdict => ({ payment, treatment: { do: 'settle' }, code })
  if (seen.has(instructionId) || state.payments.has(instructionId)) return refused('DU05')
  const account = accountOf(state, iban, currency)
  if (account === undefined) return refused(state.accounts.some((each) => each.iban === iban) ? 'AM03' : 'AC02')
  if (!isIban(payment.creditorAccount)) return refused('AC01')
  if (account.balance - (spent.get(`${iban} ${currency}`) ?? 0n) < amount) return refused('AM04')
  const treatment = treatmentOf({ state, ...draft }, payment)
  return treatment.do === 'reject' ? { payment, treatment, code: treatment.code } : { payment, treatment }
}

function planAll(draft: Draft, judged: readonly PaymentVerdict[], ms: number): void {
  const accepted = judged.filter(({ code }) => code === undefined)
  const soon = accepted.filter(({ treatment }) => !['hold', 'lose', 'delay', 'reject later'].includes(treatment.do))
  if (soon.length > 0)
    plan(draft, ms, { what: 'execute', instructionIds: soon.map(({ payment }) => payment.instructionId) })
  for (const { payment, treatment } of accepted)
    if (treatment.do === 'delay')
      plan(draft, ms + treatment.ms, { what: 'execute', instructionIds: [payment.instructionId] })
  const rejected = accepted.flatMap(({ payment, treatment }): readonly Late[] =>
    treatment.do === 'reject later' ? [{ instructionId: payment.instructionId, code: treatment.code }] : [],
  )
  if (rejected.length > 0) plan(draft, ms, { what: 'reject', payments: rejected })
}

/** An executed payment is asked back from its creditor; one that waits is cancelled. */
function takeRecall(draft: Draft, recall: RecallRequest): void {
  const { state, records } = draft
  const { recalls, version, laterMs } = state.settings
  if (recalls === 'unanswered') return
  const cancelled: PaymentRecord[] = []
  const answered = recall.payments.map(({ cancellationId, instructionId, endToEndId, reason }) => {
    const found = [...state.payments.values()].find(
      (payment) => payment.instructionId === instructionId || payment.endToEndId === endToEndId,
    )
    const code = recallCode(found, recalls)
    if (code === null && found?.status === 'executed')
      plan(draft, laterMs, { what: 'return', payments: [{ instructionId: found.instructionId, code: 'FOCR' }] })
    else if (code === null && found) {
      records.push({ t: 'status', instructionId: found.instructionId, status: 'rejected', executed: 0 })
      cancelled.push(found)
    }
    records.push({ t: 'recall', endToEndId, reason, answer: code ?? 'accepted' })
    return { cancellationId, instructionId, endToEndId, code }
  })
  const isAccepted = answered.every(({ code }) => code === null)
  send(draft, 'camt.029', (messageId) =>
    camt029({ messageId, at: draft.now, caseId: recall.caseId, isAccepted, payments: answered }),
  )
  for (const [originalMessageId, payments] of Map.groupBy(cancelled, ({ messageId }) => messageId))
    send(draft, 'pain.002', (messageId) =>
      pain002(version, {
        messageId,
        at: draft.now,
        originalMessageId,
        payments: payments.map((payment) => ({ ...payment, status: 'CANC', code: 'CUST' })),
      }),
    )
}

function recallCode(found: PaymentRecord | undefined, recalls: 'accepted' | 'refused'): string | null {
  if (found === undefined || found.status === 'lost') return 'NOOR'
  if (found.status === 'returned') return 'ARDT'
  if (found.status === 'rejected' || found.status === 'refused') return 'NOOR'
  return recalls === 'refused' ? 'CUST' : null
}
