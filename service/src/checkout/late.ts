/**
 * Late payments: money that refers to a session but does not match it. It is in suspense with a case, which the
 * operator may decide like any other. For some days the partner may choose instead: accept the money as a separate
 * payment, or return it to the account that paid. The lock of the case serialises choices and decisions.
 */
import type { LatePaymentReason, LatePaymentStatus } from '@partner-payments/wire'
import { type CaseRow, readCaseReport } from '../cases/index.ts'
import type { Deposit, DepositStatus, LatePaymentOffers } from '../deposits/index.ts'
import type { EventOutbox, EventPayload } from '../events/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import { notFound, Refusal } from '../kernel/api/index.ts'
import {
  after,
  type Clock,
  dayMs,
  type Minor,
  partnerKey,
  present,
  toJsonAmount,
  type RowKey,
} from '../kernel/index.ts'
import { inTransaction, type Tx } from '../postgres/index.ts'
import { sumRefundsOfSessions } from './refunds.ts'
import type { CheckoutDeps, LatePayment } from './session.ts'
import { sessionById, type SessionRow } from './store.ts'
import * as store from './store-late.ts'

export type LatePayments = {
  /**
   * Moves the money to the balance as a payment of the customer. Repeating a choice changes nothing. Refuses:
   * not_found, late_payment_decided, account_blocked, balance_limit_exceeded, currency_not_supported,
   * payer_account_unknown, request_in_progress.
   */
  readonly acceptLate: ChooseLatePayment
  /**
   * Sends the money back. Refuses: not_found, late_payment_decided, account_blocked, payer_account_unknown,
   * request_in_progress.
   */
  readonly returnLate: ChooseLatePayment
  /**
   * Sends the partner an event with the outcome of the return of a late payment. Ignores cases that are not late
   * payments.
   */
  readonly returnEnded: (tx: Tx, key: RowKey, status: 'Returned' | 'WithOperator') => Promise<void>
}
/** `customerId`: the customer of the account that received the money. */
type ChosenLatePayment = LatePayment & { readonly customerId: string }
type ChooseLatePayment = (partnerId: string, sessionId: string, id: string, tx?: Tx) => Promise<ChosenLatePayment>

type OfferDeps = {
  readonly clock: Clock
  readonly eventOutbox: EventOutbox
  readonly facts: FactQueue
  readonly choiceDays: number
}

const reasonsByStatus: Readonly<Partial<Record<DepositStatus, LatePaymentReason>>> = {
  Expired: 'AfterEnd',
  Failed: 'AfterEnd',
  Completed: 'SecondPayment',
  Screening: 'SecondPayment',
  Accepted: 'SecondPayment',
}

/** Offers money that has a case to the partner, in the transaction that opens the case. */
export const createLateOffers = ({ clock, eventOutbox, facts, choiceDays }: OfferDeps): LatePaymentOffers => ({
  offer: async (tx, offered) => {
    for (const [partnerId, ofPartner] of Map.groupBy(offered, ({ deposit }) => deposit.partnerId)) {
      const depositIds = [...new Set(ofPartner.map(({ deposit }) => deposit.id))]
      const sessions = await store.sessionsOfDeposits(tx, partnerId, depositIds)
      const sessionOf = new Map(sessions.map(({ depositId, id }) => [depositId, id]))
      const now = clock.now()
      const made = ofPartner.flatMap(({ caseId: id, deposit, reason, money }) => {
        const sessionId = sessionOf.get(deposit.id)
        if (sessionId === undefined || money.amount <= 0n) return []
        const why = reason ?? reasonsByStatus[deposit.status] ?? 'OtherAmount'
        const times = { receivedAt: now, chooseBy: after(now, choiceDays * dayMs) }
        return [{ deposit, row: { partnerId, id, sessionId, reason: why, ...money, ...times } }]
      })
      if (made.length === 0) continue
      await store.insertLatePayments(
        tx,
        made.map(({ row }) => row),
      )
      for (const { row, deposit } of made) appendLatePayment(eventOutbox, tx, row, deposit, 'Waiting', null, now)
      facts.append(
        tx,
        made.map(({ row: { id: subject, sessionId, chooseBy } }) => {
          const said = { sessionId, until: chooseBy.toISOString() }
          return { partnerId, type: 'late.waits', subject, facts: said } as const
        }),
      )
    }
  },
})

function appendLatePayment(
  eventOutbox: EventOutbox,
  tx: Tx,
  row: Pick<store.LatePaymentRow, 'partnerId' | 'id' | 'sessionId' | 'reason' | 'currency' | 'amount' | 'chooseBy'>,
  deposit: Pick<Deposit, 'reference' | 'websiteReference' | 'amount' | 'currency'>,
  status: LatePaymentStatus,
  acceptedReference: string | null,
  now: Date,
): void {
  const { partnerId, id, sessionId, reason, currency, amount, chooseBy } = row
  const { reference, websiteReference, amount: asked, currency: currencyAsked } = deposit
  const data: EventPayload<'checkout.late.payment.updated'> = {
    ...{
      amount: toJsonAmount(asked, currencyAsked),
      currency: currencyAsked,
      customFields: null,
      idempotencyKey: null,
    },
    ...{ lateAmount: toJsonAmount(amount, currency), lateCurrency: currency },
    ...{ reference, websiteReference, acceptedReference, chooseBy: chooseBy.toISOString() },
    ...{ latePaymentId: id, reason, sessionId, status },
  }
  eventOutbox.append(tx, partnerId, 'checkout.late.payment.updated', now, data)
}

const wentBack: ReadonlySet<CaseRow['resolution']> = new Set(['returned', 'reversed'])

function latePaymentStatus({ choice, chooseBy }: store.LatePaymentRow, found: CaseRow, now: Date): LatePaymentStatus {
  if (choice === 'Accept') return 'Accepted'
  if (wentBack.has(found.resolution)) return 'Returned'
  if (found.resolution !== null) return 'Decided'
  if (found.returningSince !== null) return 'Returning'
  return choice === null && now < chooseBy ? 'Waiting' : 'WithOperator'
}

/** Reads the late payments of sessions, oldest first. A session without any is absent. `refunded`: sums by late payment. */
export async function readLatePayments(
  { cases, clock, deposits }: Pick<CheckoutDeps, 'cases' | 'clock' | 'deposits'>,
  tx: Tx,
  partnerId: string,
  sessionIds: readonly string[],
  refunded: ReadonlyMap<string, Minor>,
): Promise<ReadonlyMap<string, readonly LatePayment[]>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await store.latePaymentsOfSessions(
    tx,
    sessionIds.map((id) => ({ partnerId, id })),
  )
  if (rows.length === 0) return new Map()
  const found = await cases.byIds(
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  const caseOf = new Map(found.map((each) => [each.id, each]))
  const accepted = await deposits.byIds(
    tx,
    rows.flatMap(({ depositId: id }) => (id === null ? [] : [{ partnerId, id }])),
  )
  const references = new Map(accepted.map(({ id, reference }) => [id, reference]))
  const now = clock.now()
  const shown = rows.flatMap((row) => {
    const each = caseOf.get(row.id)
    if (each === undefined) return []
    const late = toLate(row, each, references.get(row.depositId ?? '') ?? null, now)
    return [row.depositId === null ? late : { ...late, refundedAmount: refunded.get(row.id) ?? 0n }]
  })
  return Map.groupBy(shown, ({ sessionId }) => sessionId)
}

function toLate(row: store.LatePaymentRow, found: CaseRow, acceptedReference: string | null, now: Date): LatePayment {
  const { id, sessionId, amount, currency, reason, receivedAt, chooseBy, chosenAt } = row
  const name = readCaseReport(found).debtor?.name.trim() ?? ''
  return {
    ...{ id, sessionId, amount, currency, reason, receivedAt, chooseBy, chosenAt, acceptedReference },
    status: latePaymentStatus(row, found, now),
    debtorName: name === '' ? null : name,
    refundedAmount: null,
  }
}

type LateChoiceContext = {
  readonly row: store.LatePaymentRow
  readonly found: CaseRow
  readonly session: SessionRow
  readonly deposit: Deposit
}

/** Moves the money. Returns the deposit of accepted money. */
type MoveLateMoney = (
  deps: CheckoutDeps,
  tx: Tx,
  choosing: LateChoiceContext,
) => Promise<{ id: string; reference: string } | undefined>

export function createLatePayments(deps: CheckoutDeps): LatePayments {
  const { db, cases, clock, deposits, eventOutbox } = deps
  const read = async (
    tx: Tx,
    partnerId: string,
    sessionId: string,
  ): Promise<Pick<LateChoiceContext, 'session' | 'deposit'>> => {
    const session = present(await sessionById(tx, partnerId, sessionId), `no session ${sessionId} of a late payment`)
    const [deposit] = await deposits.byIds(tx, [{ partnerId, id: session.depositId }])
    return { session, deposit: present(deposit, `no deposit ${session.depositId} for session ${session.id}`) }
  }
  const choose =
    (choice: store.LatePaymentChoice, move: MoveLateMoney): ChooseLatePayment =>
    (partnerId, sessionId, id, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const named = await store.latePaymentById(tx, partnerId, id)
        if (named === undefined || named.sessionId !== sessionId.toLowerCase()) throw notFound('late payment')
        const found = await cases.hold(tx, partnerId, id)
        if (found === undefined) throw notFound('late payment')
        // Read again under the lock: another choice may have been first.
        const row = present(await store.latePaymentById(tx, partnerId, id), `no late payment ${id}`)
        const now = clock.now()
        const context = await read(tx, partnerId, row.sessionId)
        const { customerId } = context.session
        if (row.choice === choice) return { ...(await readLatePayment(deps, tx, row)), customerId }
        if (row.choice !== null || latePaymentStatus(row, found, now) !== 'Waiting')
          throw new Refusal('late_payment_decided', `The late payment is ${latePaymentStatus(row, found, now)}.`)
        const choosing = { row, found, ...context }
        const accepted = await move(deps, tx, choosing)
        const chosen = { choice, chosenAt: now, depositId: accepted?.id ?? null }
        await store.recordLatePaymentChoice(tx, row, chosen)
        const status = choice === 'Accept' ? 'Accepted' : 'Returning'
        const acceptedReference = accepted?.reference ?? null
        appendLatePayment(eventOutbox, tx, row, choosing.deposit, status, acceptedReference, now)
        const refundedAmount = choice === 'Accept' ? 0n : null
        return { ...toLate(row, found, acceptedReference, now), chosenAt: now, status, refundedAmount, customerId }
      })
  return {
    acceptLate: choose('Accept', acceptMoney),
    returnLate: choose('Return', returnMoney),
    returnEnded: async (tx, { partnerId, id }, status) => {
      const row = await store.latePaymentById(tx, partnerId, id)
      if (row === undefined) return
      const { deposit } = await read(tx, partnerId, row.sessionId)
      appendLatePayment(eventOutbox, tx, row, deposit, status, null, clock.now())
    },
  }
}

async function readLatePayment(deps: CheckoutDeps, tx: Tx, { partnerId, sessionId, id }: store.LatePaymentRow) {
  const refunded = await sumRefundsOfSessions(deps, tx, partnerId, [sessionId])
  const found = (await readLatePayments(deps, tx, partnerId, [sessionId], refunded)).get(sessionId)
  return present(
    found?.find((each) => each.id === id),
    `no late payment ${id}`,
  )
}

/** Returns the payer, as the bank reported it. Refuses: payer_account_unknown. */
function requireDebtor(found: CaseRow) {
  const report = readCaseReport(found)
  if (report.debtor !== undefined) return { report, debtor: report.debtor }
  throw new Refusal(
    'payer_account_unknown',
    'The bank did not report the account that paid. Only the operator can decide about the money.',
  )
}

const refuseStopped = () =>
  new Refusal(
    'account_blocked',
    'The account cannot receive money now. Until it can, only the operator can decide about the money.',
  )

/** Checks that the owner's account may receive money, without giving the reason. Refuses: account_blocked. */
async function requireReceiving(
  { deposits }: CheckoutDeps,
  tx: Tx,
  { session, row }: LateChoiceContext,
): Promise<void> {
  const { partnerId, customerId } = session
  const [isStopped] = await deposits.cannotReceive(tx, [{ partnerId, customerId, currency: row.currency }])
  if (isStopped) throw refuseStopped()
}

/**
 * Moves the money out of suspense and books it as a credit of the customer. Screening and the check of the payer apply
 * as to any credit, so the new deposit may be held with its money in suspense.
 */
async function acceptMoney(
  deps: CheckoutDeps,
  tx: Tx,
  choosing: LateChoiceContext,
): Promise<{ id: string; reference: string }> {
  const { cases, customers, deposits, ledger } = deps
  const { row, found, session, deposit } = choosing
  const { partnerId, currency, amount } = row
  if (currency !== deposit.currency)
    throw new Refusal('currency_not_supported', `The session is in ${deposit.currency}. Return the money.`)
  const { report, debtor } = requireDebtor(found)
  await requireReceiving(deps, tx, choosing)
  const payer = (await customers.payersByIds(tx, [{ partnerId, id: session.customerId }])).get(
    partnerKey(partnerId, session.customerId),
  )
  const above =
    payer && (await customers.refusalAbove(tx, partnerId, payer, { currency, amount, pointer: '/latePaymentId' }))
  if (above !== undefined) throw above
  const note = `The partner accepted the money for the checkout session ${session.id}.`
  for (const entry of await cases.accept(tx, found, note)) await ledger.enter(tx, entry)
  const notification = {
    ...({ kind: 'credit.booked', partnerId, id: `case ${found.id}`, money: { currency, amount }, debtor } as const),
    subjectId: report.subjectId ?? `case ${found.id}`,
    account: report.account ?? session.iban,
    remittance: report.remittance ?? null,
    endToEndId: report.endToEndId ?? null,
  }
  const owner = { partnerId, customerId: session.customerId }
  return deposits.acceptCredit(tx, found.connector, owner, notification, { ...deposit, sessionId: session.id })
}

/** Returns the money. Refuses if a party is listed or not screened yet. */
async function returnMoney(deps: CheckoutDeps, tx: Tx, choosing: LateChoiceContext): Promise<undefined> {
  const { cases, screening } = deps
  const { row, found, session } = choosing
  const { report, debtor } = requireDebtor(found)
  await requireReceiving(deps, tx, choosing)
  const { partnerId, customerId } = session
  const texts = [report.remittance, report.endToEndId]
  const hold = await screening.holdOfMoney(tx, { partnerId, customerId, debtor, texts })
  if (hold === 'unscreened') {
    // A process that only answers requests reads a new list here, outside the transaction, for the next request.
    void screening.lists.recent().catch(() => undefined)
    throw new Refusal('request_in_progress', 'The names are not screened yet. Repeat the request in a minute.')
  }
  if (hold !== undefined) throw refuseStopped()
  await cases.sendBack(tx, [row], `The partner returned the money of the checkout session ${session.id}.`)
}
