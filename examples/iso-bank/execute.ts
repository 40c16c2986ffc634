/** Does what is due: books payments, sends them back, tells what was rejected. */
import { book, type Draft, newReference, note, plan, send } from './draft.ts'
import type { Entry, EntryDetail, PaymentRecord, Treatment } from './model.ts'
import type { Late, State, Task } from './state.ts'
import { pain002, type PaymentStatus } from './write.ts'

type TreatedPayment = PaymentRecord & { readonly treatment: Treatment }

export function doTask(draft: Draft, task: Task): void {
  draft.records.push({ t: 'task done', id: task.id })
  if (task.what === 'execute') return execute(draft, knownOf(draft.state, task.instructionIds))
  if (task.what === 'return') return sendBack(draft, task.payments)
  if (task.what === 'reject')
    for (const { instructionId } of task.payments)
      draft.records.push({ t: 'status', instructionId, status: 'rejected', executed: 0 })
  tell(draft, task.payments, 'RJCT')
}

/** A payment that was recalled meanwhile is not executed. */
const knownOf = ({ payments }: State, ids: readonly string[]): readonly TreatedPayment[] =>
  ids.flatMap((id) => payments.get(id) ?? []).filter(({ status }) => status === 'accepted' || status === 'held')

export function execute(draft: Draft, payments: readonly TreatedPayment[]): void {
  const { state, records } = draft
  const isPlain = ({ treatment }: TreatedPayment) => !['double', 'falsify', 'execute silently'].includes(treatment.do)
  const [inBatch, alone] = split(payments, (payment) => payment.batchBooking && isPlain(payment))
  for (const [, batch] of Map.groupBy(inBatch, ({ messageId, batchId }) => `${messageId} ${batchId}`))
    bookBatch(draft, batch)
  for (const payment of alone) bookAlone(draft, payment)
  for (const { instructionId, treatment } of payments)
    records.push({ t: 'status', instructionId, status: 'executed', executed: treatment.do === 'double' ? 2 : 1 })
  const { laterMs, confirms } = state.settings
  const late = (what: 'return' | 'contradict') =>
    payments.flatMap(({ instructionId, treatment }): readonly Late[] =>
      treatment.do !== what
        ? []
        : [
            {
              instructionId,
              code: treatment.code,
              ...('short' in treatment && treatment.short !== undefined ? { short: treatment.short } : {}),
            },
          ],
    )
  const [returned, contradicted] = [late('return'), late('contradict')]
  if (returned.length > 0) plan(draft, laterMs, { what: 'return', payments: returned })
  if (contradicted.length > 0) plan(draft, laterMs, { what: 'contradict', payments: contradicted })
  const told = payments.filter(
    ({ isInstant, treatment }) => (confirms || isInstant) && treatment.do !== 'execute silently',
  )
  tell(draft, told, 'ACSC')
}

function split<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [all.filter((one) => isFirst(one)), all.filter((one) => !isFirst(one))]
}

/** pain.002, one for each message that the payments came in. */
function tell(
  draft: Draft,
  payments: readonly { readonly instructionId: string; readonly code?: string }[],
  status: string,
): void {
  const { state, now } = draft
  const found = payments.flatMap(({ instructionId, code }) => {
    const payment = state.payments.get(instructionId)
    if (payment === undefined) return []
    const { messageId, endToEndId, batchId } = payment
    const told: PaymentStatus = { instructionId, endToEndId, batchId, status, ...(code === undefined ? {} : { code }) }
    return [{ messageId, told }]
  })
  for (const [originalMessageId, some] of Map.groupBy(found, ({ messageId }) => messageId))
    send(draft, 'pain.002', (messageId) =>
      pain002(state.settings.version, {
        messageId,
        at: now,
        originalMessageId,
        payments: some.map(({ told }) => told),
      }),
    )
}

const detailOf = (payment: TreatedPayment, state: State): EntryDetail => ({
  endToEndId: payment.endToEndId,
  instructionId: payment.instructionId,
  messageId: payment.messageId,
  batchId: payment.batchId,
  transactionId: newReference(),
  amount: payment.amount,
  charge: null,
  isCredit: false,
  debtor: {
    name: ownerOf(state, payment),
    iban: payment.account,
    ...(payment.payer === undefined ? {} : { onBehalfOf: payment.payer.name }),
  },
  creditor: {
    name: payment.creditorName,
    iban: payment.creditorAccount,
    ...(payment.creditorBic === null ? {} : { bic: payment.creditorBic }),
  },
  remittance: payment.remittance,
  reference: null,
  returnCode: null,
})
const ownerOf = ({ accounts }: State, { account }: TreatedPayment): string =>
  accounts.find(({ iban }) => iban === account)?.owner ?? ''

const entryOf = (draft: Draft, payment: TreatedPayment, details: readonly EntryDetail[]): Entry => ({
  ref: newReference(),
  account: payment.account,
  currency: payment.currency,
  amount: -details.reduce((sum, { amount }) => sum + amount, 0n),
  at: draft.now.toISOString(),
  isReversal: false,
  codes: ['PMNT', payment.isInstant ? 'IRCT' : 'ICDT', 'ESCT'],
  text: null,
  batch: null,
  details,
  shows: 'at once',
  isSilent: payment.treatment.do === 'execute silently',
})

function bookBatch(draft: Draft, batch: readonly TreatedPayment[]): void {
  const [first] = batch
  if (first === undefined) return
  const { batchDetails } = draft.state.settings
  const entry = entryOf(
    draft,
    first,
    batch.map((payment) => detailOf(payment, draft.state)),
  )
  const { messageId, batchId } = first
  book(draft, {
    ...entry,
    batch: { messageId, batchId, count: batch.length },
    shows: batchDetails ? 'at once' : 'never',
  })
}

function bookAlone(draft: Draft, payment: TreatedPayment): void {
  const { treatment } = payment
  const detail = detailOf(payment, draft.state)
  const { creditorAccount, endToEndId, amount } = treatment.do === 'falsify' ? treatment : {}
  const told: EntryDetail = {
    ...detail,
    ...(amount === undefined ? {} : { amount }),
    ...(endToEndId === undefined ? {} : { endToEndId, instructionId: null, messageId: null, batchId: null }),
    ...(creditorAccount === undefined ? {} : { creditor: { name: payment.creditorName, iban: creditorAccount } }),
  }
  for (let times = 0; times < (treatment.do === 'double' ? 2 : 1); times += 1)
    book(draft, entryOf(draft, payment, [{ ...told, transactionId: newReference() }]))
}

/** The creditor's bank sends executed payments back. */
function sendBack(draft: Draft, payments: readonly Late[]): void {
  for (const { instructionId, code, short = 0n } of payments) {
    const payment = draft.state.payments.get(instructionId)
    if (payment?.status !== 'executed') continue
    const detail = detailOf(payment, draft.state)
    const amount = payment.amount - short
    const back: EntryDetail = {
      ...detail,
      amount,
      isCredit: true,
      messageId: null,
      batchId: null,
      instructionId: null,
      debtor: detail.creditor,
      creditor: detail.debtor,
      returnCode: code,
    }
    const entry = entryOf(draft, payment, [back])
    book(draft, { ...entry, amount, codes: ['PMNT', 'ICDT', 'RRTN'], isSilent: false })
    draft.records.push({ t: 'status', instructionId, status: 'returned', executed: 0 })
    if (short > 0n)
      note(draft, { kind: 'return short', subject: payment.endToEndId, amount, currency: payment.currency })
  }
}
