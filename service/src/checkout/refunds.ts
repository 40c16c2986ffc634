/** Refunds: money of a paid session goes back to the account that paid, by a payout. */
import { type BodyOf, ownJson, type QueryOf } from '@partner-payments/wire'
import { type Caller, notFound, type Page, parseAmount, Refusal, refuseField } from '../kernel/api/index.ts'
import { amountText, type Currency, type Minor, partnerKey, present, toJsonAmount } from '../kernel/index.ts'
import { toRequestInProgress, replayRow, sqlState, sqlStateOf, type Tx } from '../postgres/index.ts'
import { type DepositWithParts, type Part, type PaymentRefunds, parsePartReport } from '../deposits/index.ts'
import type {
  Creditor,
  RefundEvents,
  PayoutCall,
  PayoutLife,
  PayoutRow,
  Payouts,
  PayoutStatus,
} from '../payouts/index.ts'
import type { CheckoutDeps } from './session.ts'
import * as store from './store.ts'
import { latePaymentById } from './store-late.ts'
import type { EventOutbox, EventPayload } from '../events/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import { type IncomingDebtor, isIban, parseDomesticAccount } from '../rails/index.ts'
import type { Cases } from '../cases/index.ts'

export type RefundResult = Refund & { readonly replayed: boolean }

export type Refunds = {
  /**
   * Sends money of a paid session, or of an accepted late payment, back to the account that paid, by a payout. Refuses:
   * validation_failed, not_found, checkout_session_not_paid, payer_account_unknown, refund_exceeds_payment,
   * insufficient_funds, limit_exceeded, account_blocked, country_not_supported, currency_not_supported,
   * idempotency_key_reused, request_in_progress.
   */
  readonly refund: (
    caller: Caller,
    sessionId: string,
    body: BodyOf<'createCheckoutRefund'>,
    ip: string,
  ) => Promise<RefundResult>
  /** Reads a refund. Refuses: not_found. */
  readonly getRefund: (partnerId: string, sessionId: string, id: string) => Promise<Refund>
  /** Lists refunds, newest first. Refuses: not_found, validation_failed (cursor). */
  readonly listRefunds: (
    partnerId: string,
    sessionId: string,
    query: QueryOf<'listCheckoutRefunds'>,
  ) => Promise<Page<Refund>>
}

/**
 * Sums the refunds that are completed or under way, by session, and those of late payments by their ids. A payment
 * without refunds is absent.
 */
export async function sumRefundsOfSessions(
  { payouts }: Pick<CheckoutDeps, 'payouts'>,
  tx: Tx,
  partnerId: string,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, Minor>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await store.refundsOfSessions(tx, partnerId, sessionIds)
  const refunds = await withPayouts(payouts, tx, partnerId, rows)
  const byPayment = Map.groupBy(refunds, ({ row }) => row.latePaymentId ?? row.sessionId)
  return new Map([...byPayment].map(([id, made]) => [id, sumRefunds(made.map(({ payout }) => payout))]))
}

/** Lists all refunds of a session, newest first. */
export async function refundsOfSession(
  { payouts }: Pick<CheckoutDeps, 'payouts'>,
  tx: Tx,
  partnerId: string,
  sessionId: string,
): Promise<readonly Refund[]> {
  const rows = await store.refundsOfSessions(tx, partnerId, [sessionId])
  return withPayouts(
    payouts,
    tx,
    partnerId,
    rows.toSorted((one, other) => (one.id < other.id ? 1 : -1)),
  )
}

async function withPayouts(
  payouts: CheckoutDeps['payouts'],
  tx: Tx,
  partnerId: string,
  rows: readonly store.RefundRow[],
): Promise<readonly Refund[]> {
  if (rows.length === 0) return []
  const found = await payouts.byIds(
    tx,
    partnerId,
    rows.map(({ id }) => id),
  )
  const byId = new Map(found.map((payout) => [payout.id, payout]))
  return rows.map((row) => ({ row, payout: present(byId.get(row.id), `no payout for refund ${row.id}`) }))
}

const operation = 'createCheckoutRefund'
const attemptsMax = 5

export function createRefunds(deps: CheckoutDeps): Refunds {
  const { db, cursors, payouts } = deps
  const requireSession = async (partnerId: string, sessionId: string) => {
    if ((await store.sessionById(db, partnerId, sessionId)) === undefined) throw notFound('checkout session')
  }
  return {
    refund: createRefund(deps),
    getRefund: async (partnerId, sessionId, id) => {
      const [row] = await store.refundsByIds(db, partnerId, [id])
      if (row === undefined || row.sessionId !== sessionId.toLowerCase()) throw notFound('refund')
      const [refund] = await withPayouts(payouts, db, partnerId, [row])
      return present(refund, `no refund ${id}`)
    },
    listRefunds: async (partnerId, sessionId, query) => {
      await requireSession(partnerId, sessionId)
      const list = `checkout-refunds:${partnerId}:${sessionId.toLowerCase()}`
      const request = cursors.read(list, query)
      const page = cursors.page(list, request, await store.listRefunds(db, partnerId, sessionId, request))
      return { ...page, data: await withPayouts(payouts, db, partnerId, page.data) }
    },
  }
}

type RefundRequest = {
  readonly caller: Caller
  readonly session: store.SessionRow
  /** The deposit of the session, or of the accepted late payment. */
  readonly deposit: DepositWithParts
  /** Undefined: the deposit is paid by one payment. */
  readonly part: Part | undefined
  readonly latePaymentId: string | null
  readonly body: BodyOf<'createCheckoutRefund'>
  readonly ip: string
}

function createRefund(deps: CheckoutDeps): Refunds['refund'] {
  const { db, deposits, payouts } = deps
  const { read, work } = payouts.acceptance()

  const make = async (
    tx: Tx,
    asked: RefundRequest,
    fingerprint: string,
    amount: Minor,
  ): Promise<RefundResult | 'again'> => {
    const call = await toPayoutCall(deps, tx, asked, fingerprint, amount)
    const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
    if (outcome instanceof Refusal) throw outcome
    const accepted = present(outcome, `no answer to the refund of session ${asked.session.id}`)
    // A refund of another session has taken the key in the meantime.
    if (accepted === 'resubmit' || accepted.replayed) return 'again'
    return { ...(await storeRefund(deps, tx, asked, accepted.payout)), replayed: false }
  }

  const attempt = (caller: Caller, sessionId: string, body: RefundRequest['body'], ip: string) =>
    db.transaction(async (tx) => {
      const { partnerId } = caller
      const session = await store.sessionById(tx, partnerId, sessionId)
      if (session === undefined) throw notFound('checkout session')
      const { partId = null, reference = null, reason = null, idempotencyKey } = body
      const late = await findAcceptedLate(tx, session, body.latePaymentId ?? null)
      const [id, latePaymentId] = late === undefined ? [session.depositId, null] : [late.depositId, late.id]
      // The lock of the deposit serialises the refunds of a payment, and a reversal by its bank.
      const [locked] = await deposits.withParts(tx, await deposits.lock(tx, [{ partnerId, id }]))
      const deposit = present(locked, `no deposit ${id} for session ${session.id}`)
      const amount = parseAmount(body.amount, deposit.currency)
      const fingerprint = refundFingerprint({ sessionId, partId, latePaymentId, amount, reference, reason })
      const known = await payouts.byKey(tx, { partnerId, operation, idempotencyKey })
      if (known !== undefined) return replay(tx, replayRow(known, fingerprint))
      const part = refundedPart(deposit, partId)
      return make(tx, { caller, session, deposit, part, latePaymentId, body, ip }, fingerprint, amount)
    })

  return async (caller, sessionId, body, ip) => {
    for (let attempts = 1; ; attempts += 1)
      try {
        const made = await attempt(caller, sessionId, body, ip)
        if (made !== 'again') return made
        if (attempts === attemptsMax) throw new Refusal('request_in_progress')
      } catch (error) {
        // Read again what another transaction has changed since the read: a balance, a counter or a customer.
        if (sqlStateOf(error) !== sqlState.checkViolation || attempts === attemptsMax) throw toRequestInProgress(error)
      }
  }
}

async function replay(tx: Tx, payout: PayoutRow): Promise<RefundResult> {
  const [row] = await store.refundsByIds(tx, payout.partnerId, [payout.id])
  return { row: present(row, `no refund for payout ${payout.id}`), payout, replayed: true }
}

/** Builds the payout of a refund. Refuses: checkout_session_not_paid, payer_account_unknown, refund_exceeds_payment. */
async function toPayoutCall(
  { customers, deposits, payouts }: CheckoutDeps,
  tx: Tx,
  { caller, session, deposit, part, latePaymentId, body, ip }: RefundRequest,
  requestFingerprint: string,
  amount: Minor,
): Promise<PayoutCall> {
  const { partnerId, customerId, id: sessionId } = session
  const { currency } = deposit
  if (part === undefined && (await deposits.creditedAt(tx, partnerId, deposit.id)) === undefined)
    throw new Refusal('checkout_session_not_paid')
  const payers = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
  const debtor = part === undefined ? deposit.debtor : JSON.stringify(parsePartReport(part)?.debtor ?? null)
  const creditor = readCreditor(debtor, payers.get(partnerKey(partnerId, customerId))?.isErased !== false)
  const refunds = await refundsOfSession({ payouts }, tx, partnerId, sessionId)
  const same = refunds.filter(
    ({ row }) => row.latePaymentId === latePaymentId && (part === undefined || row.partId === part.id),
  )
  const refunded = sumRefunds(same.map(({ payout }) => payout))
  requireRefundable(amount, { paid: (part ?? deposit).amount, refunded, currency })
  return {
    caller,
    nonce: undefined,
    operation,
    idempotencyKey: body.idempotencyKey,
    requestFingerprint,
    amount,
    currency,
    reference: body.reference ?? null,
    originatingReference: deposit.reference,
    ip,
    payee: { customerId, creditor },
  }
}

async function storeRefund(
  { clock, eventOutbox }: CheckoutDeps,
  tx: Tx,
  { session, part, latePaymentId, body }: RefundRequest,
  payout: PayoutRow,
): Promise<Refund> {
  const { partnerId, id: sessionId } = session
  const now = clock.now()
  const row = {
    partnerId,
    id: payout.id,
    sessionId,
    partId: part?.id ?? null,
    latePaymentId,
    reason: body.reason ?? null,
    createdAt: payout.createdAt,
  }
  await store.insertRefund(tx, row)
  appendRefunds(eventOutbox, tx, [{ row, payout }], now)
  return { row, payout }
}

export type Refund = { readonly row: store.RefundRow; readonly payout: PayoutRow }

const toRefundEvent = ({ row: { id, sessionId }, payout }: Refund): EventPayload<'checkout.refund.updated'> => ({
  amount: toJsonAmount(payout.amount, payout.currency),
  currency: payout.currency,
  customFields: null,
  idempotencyKey: payout.idempotencyKey,
  reference: payout.reference,
  websiteReference: null,
  refundId: id,
  sessionId,
  status: payout.status,
})

function appendRefunds(eventOutbox: EventOutbox, tx: Tx, refunds: readonly Refund[], now: Date): void {
  eventOutbox.appendMany(
    tx,
    refunds.map((refund) => ({
      partnerId: refund.row.partnerId,
      type: 'checkout.refund.updated' as const,
      occurredAt: now,
      data: toRefundEvent(refund),
    })),
  )
}

type RefundEventDeps = { readonly eventOutbox: EventOutbox; readonly facts: FactQueue }

/** Writes the event of a refund when its payout ends, in the transaction that moves the payout. */
export const createRefundEvents = ({ eventOutbox, facts }: RefundEventDeps): RefundEvents => ({
  appendEnded: async (tx, ended, now) => {
    for (const [partnerId, payouts] of Map.groupBy(ended, (payout) => payout.partnerId)) {
      const rows = await store.refundsByIds(
        tx,
        partnerId,
        payouts.map(({ id }) => id),
      )
      const byId = new Map(rows.map((row) => [row.id, row]))
      const refunds = payouts.flatMap((payout): readonly Refund[] => {
        const row = byId.get(payout.id)
        return row === undefined ? [] : [{ row, payout }]
      })
      appendRefunds(eventOutbox, tx, refunds, now)
      facts.append(
        tx,
        refunds.map(({ row: { id: subject, sessionId }, payout: { status } }) => ({
          ...{ partnerId, subject, occasion: `${subject} ${status}`, facts: { sessionId } },
          type: status === 'Completed' ? 'refund.completed' : 'refund.failed',
        })),
      )
    }
  },
})

/** Statuses in which the money did not reach the payer, or came back. */
const unpaidStatuses: ReadonlySet<PayoutStatus> = new Set(['Failed', 'Returned', 'Cancelled'])

/** Sums the refunds that are completed or under way. */
const sumRefunds = (refunds: readonly { readonly status: PayoutStatus; readonly amount: Minor }[]): Minor =>
  refunds.reduce((sum, { status, amount }) => (unpaidStatuses.has(status) ? sum : sum + amount), 0n)

/** State of a refund on the payer's page. `failed`: the money did not arrive, and the partner has it. */
export type PayerRefundState = 'underWay' | 'sent' | 'failed'

/**
 * Undefined: the payer does not see the refund, because the partner has not approved it, or has rejected it. A refund
 * that is held for screening or monitoring is under way, as for the partner.
 */
const payerStates: Readonly<Record<PayoutStatus, PayerRefundState | undefined>> = {
  PendingApproval: undefined,
  Cancelled: undefined,
  Pending: 'underWay',
  Processing: 'underWay',
  Sent: 'underWay',
  Completed: 'sent',
  Failed: 'failed',
  Returned: 'failed',
}
export const payerRefundState = (status: PayoutStatus): PayerRefundState | undefined => payerStates[status]

/** Checks that the amount can still be refunded. Refuses: refund_exceeds_payment. */
function requireRefundable(amount: Minor, { paid, refunded, currency }: RefundablePayment): void {
  const left = paid - refunded
  if (amount <= left) return
  const message = `must be at most ${amountText(left, currency)} ${currency}, which is not refunded yet`
  throw refuseField({ pointer: '/amount', code: 'out_of_range', message }, 'refund_exceeds_payment')
}
type RefundablePayment = { readonly paid: Minor; readonly refunded: Minor; readonly currency: Currency }

/** Returns the account that paid, as the bank reported it. Refuses: payer_account_unknown. */
function readCreditor(debtor: string | null, isErased: boolean): Creditor {
  if (isErased) throw new Refusal('payer_account_unknown', 'The customer was erased and cannot be paid.')
  const payer = debtor === null ? null : ownJson<IncomingDebtor | null>(debtor)
  const name = payer?.name.trim() ?? ''
  const account = payer?.account ?? ''
  if (payer === null || name === '' || (!isIban(account) && parseDomesticAccount(account) === undefined))
    throw new Refusal(
      'payer_account_unknown',
      'The bank did not report an account that can be paid. Send the money by a payout to a beneficiary.',
    )
  return { name, account, bic: payer.bic === '' ? null : payer.bic, country: payer.countryCode }
}

/**
 * Finds the part to refund: the named part, or the only one. Undefined: the session is paid by one payment. Refuses:
 * checkout_session_not_paid, validation_failed.
 */
function refundedPart({ inParts, status, parts }: DepositWithParts, partId: string | null): Part | undefined {
  const credited = parts.filter((part) => part.status === 'Credited')
  const [only, ...others] = credited
  if (inParts && (status !== 'Completed' || only === undefined)) throw new Refusal('checkout_session_not_paid')
  if (partId === null) {
    if (others.length === 0) return only
    throw refuseField({ pointer: '/partId', code: 'required', message: 'is required: several parts paid the session' })
  }
  const named = credited.find(({ id }) => id === partId.toLowerCase())
  if (named !== undefined) return named
  throw refuseField({
    pointer: '/partId',
    code: 'invalid_value',
    message: 'must be a received part that the bank has not reversed',
  })
}

/**
 * Reads the named late payment with its deposit. Undefined: the request names none. Refuses: checkout_session_not_paid,
 * validation_failed.
 */
async function findAcceptedLate(tx: Tx, { partnerId, id: sessionId }: store.SessionRow, latePaymentId: string | null) {
  if (latePaymentId === null) return undefined
  const late = await latePaymentById(tx, partnerId, latePaymentId)
  if (late === undefined || late.sessionId !== sessionId)
    throw refuseField({
      pointer: '/latePaymentId',
      code: 'invalid_value',
      message: 'must be a late payment of the session',
    })
  if (late.depositId !== null) return { id: late.id, depositId: late.depositId }
  throw new Refusal('checkout_session_not_paid', 'You have not accepted the late payment.')
}

/** Returns the same text for requests of the same refund: `5` and `5.00` are one amount. */
const refundFingerprint = (request: {
  readonly sessionId: string
  readonly partId: string | null
  readonly latePaymentId: string | null
  readonly amount: Minor
  readonly reference: string | null
  readonly reason: string | null
}): string =>
  JSON.stringify([
    ...[request.sessionId.toLowerCase(), request.amount.toString(), request.reference, request.reason],
    // Absent in fingerprints of the previous version.
    ...(request.partId === null ? [] : [request.partId.toLowerCase()]),
    ...(request.latePaymentId === null ? [] : ['late', request.latePaymentId]),
  ])

// Stops the refunds of a payment that its bank takes back, so that the money does not leave twice.

type PaymentRefundsDeps = {
  readonly cases: Pick<Cases, 'openAbout'>
  readonly payouts: Pick<Payouts, 'byIds'>
  readonly payoutLife: Pick<PayoutLife, 'stopRefunds'>
}

const undone: ReadonlySet<string> = new Set(['Cancelled', 'Failed', 'Returned'])

export const createPaymentRefunds = ({ cases, payouts, payoutLife }: PaymentRefundsDeps): PaymentRefunds => ({
  stop: async (tx, { partnerId, id: depositId, partId }) => {
    const ids = await store.refundsOfDeposit(tx, partnerId, depositId, partId)
    if (ids.length === 0) return []
    const made = (await payouts.byIds(tx, partnerId, ids)).filter(({ status }) => !undone.has(status))
    // The money of a listed party stays reserved until two operators close its case, which has the id of the payout.
    const frozen = new Set((await cases.openAbout(tx, partnerId, ids)).map(({ id }) => id))
    const waiting = made
      .filter(({ id, status }) => (status === 'Pending' || status === 'PendingApproval') && !frozen.has(id))
      .map(({ id }) => id)
    if (waiting.length > 0) await payoutLife.stopRefunds(tx, partnerId, waiting)
    const now = await payouts.byIds(
      tx,
      partnerId,
      made.map(({ id }) => id),
    )
    return now
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      .map(({ id: payoutId, reference, status, currency, amount }) => ({
        payoutId,
        reference,
        status,
        currency,
        amount,
      }))
  },
})
