/** Refunds: money of a paid session goes back to the account that paid, by a payout. */
import type { BodyOf, QueryOf } from '@partner-payments/wire'
import { type Caller, notFound, type Page, readAmount, Refusal } from '../kernel/api/index.ts'
import { type Minor, partnerKey, present } from '../kernel/index.ts'
import { asInProgress, replayOf, sqlState, stateOf, type Tx } from '../postgres/index.ts'
import { type InParts, type Part, reportOfPart } from '../deposits/index.ts'
import type { PayoutCall, PayoutRow } from '../payouts/index.ts'
import type { CheckoutDeps } from './deps.ts'
import { appendRefunds, type Refund } from './refund-events.ts'
import { payerOf, refundedOf, refundedPart, refundFingerprintOf, requireLeft } from './refund-rules.ts'
import { sessionById, type SessionRow } from './store.ts'
import * as store from './store.ts'

export type MadeRefund = Refund & { readonly replayed: boolean }

export type Refunds = {
  /**
   * Sends money of a paid session back to the account that paid, by a payout. Refuses: validation_failed, not_found,
   * checkout_session_not_paid, payer_account_unknown, refund_exceeds_payment, insufficient_funds, limit_exceeded,
   * account_blocked, customer_not_verified, currency_not_supported, idempotency_key_reused, request_in_progress.
   */
  readonly refund: (
    caller: Caller,
    sessionId: string,
    body: BodyOf<'createCheckoutRefund'>,
    ip: string,
  ) => Promise<MadeRefund>
  /** Refuses: not_found. */
  readonly getRefund: (partnerId: string, sessionId: string, id: string) => Promise<Refund>
  /** Newest first. Refuses: not_found, validation_failed (cursor). */
  readonly listRefunds: (
    partnerId: string,
    sessionId: string,
    query: QueryOf<'listCheckoutRefunds'>,
  ) => Promise<Page<Refund>>
}

/** The sums of the refunds that are made or on their way, by session. A session without refunds is absent. */
export async function refundedOfSessions(
  { payouts }: Pick<CheckoutDeps, 'payouts'>,
  tx: Tx,
  partnerId: string,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, Minor>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await store.refundsOfSessions(tx, partnerId, sessionIds)
  const refunds = await withPayouts(payouts, tx, partnerId, rows)
  const bySession = Map.groupBy(refunds, ({ row }) => row.sessionId)
  return new Map([...bySession].map(([id, made]) => [id, refundedOf(made.map(({ payout }) => payout))]))
}

/** Every refund of a session, newest first. */
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
  return rows.map((row) => ({ row, payout: present(byId.get(row.id), 'a refund has a payout') }))
}

const operation = 'createCheckoutRefund'
const attemptsMax = 5

export function createRefunds(deps: CheckoutDeps): Refunds {
  const { db, cursors, payouts } = deps
  const requireSession = async (partnerId: string, sessionId: string) => {
    if ((await sessionById(db, partnerId, sessionId)) === undefined) throw notFound('checkout session')
  }
  return {
    refund: createRefund(deps),
    getRefund: async (partnerId, sessionId, id) => {
      const [row] = await store.refundsByIds(db, partnerId, [id])
      if (row === undefined || row.sessionId !== sessionId.toLowerCase()) throw notFound('refund')
      const [refund] = await withPayouts(payouts, db, partnerId, [row])
      return present(refund, 'a row has a refund')
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

type Asked = {
  readonly caller: Caller
  readonly session: SessionRow
  readonly deposit: InParts
  /** Undefined: the session takes one payment. */
  readonly part: Part | undefined
  readonly body: BodyOf<'createCheckoutRefund'>
  readonly ip: string
}

function createRefund(deps: CheckoutDeps): Refunds['refund'] {
  const { db, deposits, payouts } = deps
  const { read, work } = payouts.acceptance()

  const make = async (tx: Tx, asked: Asked, fingerprint: string, amount: Minor): Promise<MadeRefund | 'again'> => {
    const call = await callOf(deps, tx, asked, fingerprint, amount)
    const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
    if (outcome instanceof Refusal) throw outcome
    const accepted = present(outcome, 'each call has an answer')
    // Another session's refund has taken the key meanwhile.
    if (accepted === 'resubmit' || accepted.replayed) return 'again'
    return { ...(await keep(deps, tx, asked, accepted.payout)), replayed: false }
  }

  const attempt = (caller: Caller, sessionId: string, body: Asked['body'], ip: string) =>
    db.transaction(async (tx) => {
      const { partnerId } = caller
      const session = await sessionById(tx, partnerId, sessionId)
      if (session === undefined) throw notFound('checkout session')
      // The lock of the deposit makes refunds of a session wait for each other, and for a bank that takes the money back.
      const [locked] = await deposits.withParts(tx, await deposits.lock(tx, [{ partnerId, id: session.depositId }]))
      const deposit = present(locked, 'a session has a deposit')
      const amount = readAmount(body.amount, deposit.currency)
      const { partId = null, reference = null, reason = null, idempotencyKey } = body
      const fingerprint = refundFingerprintOf({ sessionId, partId, amount, reference, reason })
      const known = await payouts.byKey(tx, { partnerId, operation, idempotencyKey })
      if (known !== undefined) return replay(tx, replayOf(known, fingerprint))
      const part = refundedPart(deposit, partId)
      return make(tx, { caller, session, deposit, part, body, ip }, fingerprint, amount)
    })

  return async (caller, sessionId, body, ip) => {
    for (let attempts = 1; ; attempts += 1)
      try {
        const made = await attempt(caller, sessionId, body, ip)
        if (made !== 'again') return made
        if (attempts === attemptsMax) throw new Refusal('request_in_progress')
      } catch (error) {
        // Read again what another transaction has changed since it was read: a balance, a counter, or a customer.
        if (stateOf(error) !== sqlState.checkViolation || attempts === attemptsMax) throw asInProgress(error)
      }
  }
}

async function replay(tx: Tx, payout: PayoutRow): Promise<MadeRefund> {
  const [row] = await store.refundsByIds(tx, payout.partnerId, [payout.id])
  return { row: present(row, 'the payout of a refund has its refund'), payout, replayed: true }
}

/** Refuses: checkout_session_not_paid, payer_account_unknown, refund_exceeds_payment. */
async function callOf(
  { customers, deposits, payouts }: CheckoutDeps,
  tx: Tx,
  { caller, session, deposit, part, body, ip }: Asked,
  requestFingerprint: string,
  amount: Minor,
): Promise<PayoutCall> {
  const { partnerId, customerId, id: sessionId } = session
  const { currency } = deposit
  if (part === undefined && (await deposits.creditedAt(tx, partnerId, deposit.id)) === undefined)
    throw new Refusal('checkout_session_not_paid')
  const payers = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
  const debtor = part === undefined ? deposit.debtor : JSON.stringify(reportOfPart(part)?.debtor ?? null)
  const creditor = payerOf(debtor, payers.get(partnerKey(partnerId, customerId))?.isErased !== false)
  const refunds = await refundsOfSession({ payouts }, tx, partnerId, sessionId)
  const same = refunds.filter(({ row }) => part === undefined || row.partId === part.id)
  const refunded = refundedOf(same.map(({ payout }) => payout))
  requireLeft(amount, { paid: (part ?? deposit).amount, refunded, currency })
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

async function keep(
  { clock, eventOutbox }: CheckoutDeps,
  tx: Tx,
  { session, part, body }: Asked,
  payout: PayoutRow,
): Promise<Refund> {
  const { partnerId, id: sessionId } = session
  const now = clock.now()
  const row = {
    partnerId,
    id: payout.id,
    sessionId,
    partId: part?.id ?? null,
    reason: body.reason ?? null,
    createdAt: payout.createdAt,
  }
  await store.insertRefund(tx, row)
  appendRefunds(eventOutbox, tx, [{ row, payout }], now)
  return { row, payout }
}
