/** The operations of the payment page and of the sandbox bank's page. The token in the link is the only credential. */
import type { CheckoutStatus } from '@partner-payments/wire'
import { linkTokenPartnerId } from '../access/index.ts'
import { notFound, type Refusal } from '../kernel/api/index.ts'
import type { Logo } from '../branding/index.ts'
import { type Currency, type Minor, newId, partnerKey, present, type RowKey, tokenHash } from '../kernel/index.ts'
import { createBatcher, type Tx, withoutTransaction } from '../postgres/index.ts'
import type { PayerStep } from '../rails/index.ts'
import type { DepositStatus, DepositWithParts } from '../deposits/index.ts'
import { type CheckoutDeps, depositAmounts, type SessionPart } from './session.ts'
import { type PayerRefundState, payerRefundState, refundsOfSession } from './refunds.ts'
import { type LineItem, parseLineItems, checkoutStatus } from './rules.ts'
import * as store from './store.ts'
import { latePaymentsOfSessions } from './store-late.ts'

/** A payment as the pages show it. */
export type PaymentPage = {
  readonly key: RowKey
  readonly depositId: string
  readonly status: CheckoutStatus
  /** Status of the deposit, for the progress on the page. */
  readonly depositStatus: Exclude<DepositStatus, 'Screening'>
  readonly amount: Minor
  /** The amount that is still to be paid. */
  readonly due: Minor
  readonly inParts: boolean
  /** Parts that count, oldest first. */
  readonly parts: readonly SessionPart[]
  readonly currency: Currency
  /** Name of the partner that payers see. */
  readonly payee: string
  readonly description: string | null
  readonly lineItems: readonly LineItem[] | null
  readonly branding: store.PageBranding | undefined
  /** Account holder of the IBAN, which the payer's bank verifies: the partner, if its customer has no name. */
  readonly accountHolder: string
  readonly iban: string
  readonly bic: string | null
  readonly creditorReference: string
  readonly reference: string
  readonly returnUrl: string | null
  readonly expiresAt: Date
  readonly paymentCountry: string | null
  /** Preselected country of the payer's bank. */
  readonly proposedCountry: string
  /** Countries of banks with a page. Empty: the payer uses the bank's own app. */
  readonly bankCountries: readonly string[]
  /** True while the payer can pay: the payment has not ended or expired, and the account accepts money. */
  readonly mayPay: boolean
  /** Unmatched money, oldest first. */
  readonly late: readonly PayerLatePayment[]
  /** Visit to the sandbox bank's page, after the payer has chosen a bank. */
  readonly visit: Pick<store.VisitRow, 'payerName' | 'decision' | 'bankCountry'> | undefined
}

/** Unmatched money as the payer's page shows it. The operator's decisions are not shown. */
export type PayerLatePayment = {
  readonly amount: Minor
  readonly currency: Currency
  readonly state: 'waiting' | 'accepted' | 'returned'
}

/** A refund as the payer's page shows it. */
export type PayerRefund = {
  readonly amount: Minor
  readonly state: PayerRefundState
  /** When the refund was created, or when it ended. */
  readonly at: Date
}

export type PaymentReceipt = {
  readonly payment: PaymentPage
  readonly paidAt: Date
  /** Newest first. */
  readonly refunds: readonly PayerRefund[]
}

export type PaymentPages = {
  /** Reads the payment of a page. Concurrent reads share statements. Refuses: not_found. */
  readonly payment: (token: string) => Promise<PaymentPage>
  /**
   * Reads a payment that has arrived, with its time and its refunds. Refuses: not_found, also before the payment
   * arrives and after the bank reverses it.
   */
  readonly receipt: (token: string) => Promise<PaymentReceipt>
  /** Reads the logo of the partner. Refuses: not_found. */
  readonly logo: (token: string) => Promise<Logo>
  /**
   * Records that the payer continues at the bank; only the first call counts. False: the session has ended. Refuses:
   * not_found.
   */
  readonly begin: (token: string, ip: string, bankCountry: string | undefined) => Promise<boolean>
  /** Signs the payer in at the sandbox bank under any name. Refuses: not_found. */
  readonly signIn: (token: string, name: string) => Promise<void>
  /**
   * Records the payer's decision; only the first counts. A decision about an ended session changes nothing. Refuses:
   * not_found.
   */
  readonly decide: (token: string, decision: store.VisitDecision) => Promise<void>
}

const pageReadsPerBatchMax = 64
const batchesUnderWayMax = 4

export function createPaymentPages(deps: CheckoutDeps): PaymentPages {
  const { db, clock, bank } = deps
  const readBatch = createBatcher({
    db: withoutTransaction(db),
    work: (tx: Tx, keys: readonly store.SessionTokenKey[]) => readPayments(deps, tx, keys),
    callsMax: pageReadsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }) => partnerId,
  })
  const payment: PaymentPages['payment'] = async (token) => {
    const partnerId = linkTokenPartnerId(token)
    if (partnerId === undefined) throw notFound('payment page')
    return readBatch({ partnerId, hash: tokenHash(token) })
  }
  return {
    payment,
    receipt: async (token) => {
      const found = await payment(token)
      const paidAt = await deps.deposits.creditedAt(db, found.key.partnerId, found.depositId)
      if (paidAt === undefined) throw notFound('receipt')
      const { partnerId, id } = found.key
      return { payment: found, paidAt, refunds: await payerRefunds(deps, partnerId, id) }
    },
    logo: async (token) => {
      const { key } = await payment(token)
      return readLogo(db, key.partnerId)
    },
    begin: async (token, ip, chosen) => {
      const found = await payment(token)
      if (bank === undefined || !found.mayPay) return false
      const { key, bankCountries, proposedCountry, paymentCountry } = found
      const bankCountry = paymentCountry ?? (chosen && bankCountries.includes(chosen) ? chosen : proposedCountry)
      const visit = { partnerId: key.partnerId, sessionId: key.id, ipAddress: ip, bankCountry, startedAt: clock.now() }
      await db.transaction(async (tx) => {
        if (await store.insertVisit(tx, visit)) schedule(deps, tx, found, { ...visit, payerName: null }, ['initiate'])
      })
      return true
    },
    signIn: async (token, name) => {
      const { key } = await payment(token)
      if (bank !== undefined) await store.storeVisitorName(db, key, name)
    },
    decide: async (token, decision) => {
      const found = await payment(token)
      if (bank === undefined || !found.mayPay) return
      await db.transaction(async (tx) => {
        const visit = await store.decideVisit(tx, found.key, decision, clock.now())
        if (visit) conclude(deps, tx, found, visit, decision)
      })
    },
  }
}

/** Reads the logo of a partner. Refuses: not_found. */
export async function readLogo(tx: Tx, partnerId: string): Promise<Logo> {
  const { logo: bytes = null, logoType: type = null } = (await store.readBranding(tx, partnerId)) ?? {}
  if (bytes === null || type === null) throw notFound('logo')
  return { bytes: Buffer.from(bytes), type }
}

/** A session with more refunds is a mistake or an attack. */
const payerRefundsMax = 100

async function payerRefunds(deps: CheckoutDeps, partnerId: string, sessionId: string): Promise<readonly PayerRefund[]> {
  const refunds = await refundsOfSession(deps, deps.db, partnerId, sessionId)
  // The receipt is about the payment of the session.
  const shown = refunds.flatMap(({ row, payout }): readonly PayerRefund[] => {
    const { status, amount, createdAt, updatedAt } = payout
    const state = row.latePaymentId === null ? payerRefundState(status) : undefined
    return state === undefined ? [] : [{ amount, state, at: state === 'underWay' ? createdAt : updatedAt }]
  })
  return shown.slice(0, payerRefundsMax)
}

/** The sandbox bank settles approved payments. */
const stepsAfter: Readonly<Record<store.VisitDecision, readonly PayerStep[]>> = {
  approved: ['submit', 'accept', 'settle'],
  rejected: ['submit', 'fail'],
}

/**
 * Starts the bank's steps for the payer's decision. In a payment by parts, a payer who accepts makes a transfer. A payer who rejects can
 * still pay in another way.
 */
function conclude(
  deps: CheckoutDeps,
  tx: Tx,
  payment: PaymentPage,
  visit: Pick<store.VisitRow, 'payerName' | 'ipAddress' | 'bankCountry'>,
  decision: store.VisitDecision,
): void {
  const { key, inParts, iban: account, creditorReference: remittance, currency, due: amount } = payment
  if (!inParts) return schedule(deps, tx, payment, visit, stepsAfter[decision])
  if (decision === 'rejected') return
  const bank = present(deps.bank, `no sandbox bank for deposit ${payment.depositId}`)
  const debtor = bank.debtorOf({ name: visit.payerName ?? '', countryCode: visit.bankCountry })
  bank.sendCredit(tx, key.partnerId, newId(), {
    account,
    money: { currency, amount },
    debtor,
    remittance,
    endToEndId: null,
  })
}

function schedule(
  { bank }: CheckoutDeps,
  tx: Tx,
  { key: { partnerId }, depositId, currency, amount }: PaymentPage,
  { payerName, ipAddress, bankCountry }: Pick<store.VisitRow, 'payerName' | 'ipAddress' | 'bankCountry'>,
  steps: readonly PayerStep[],
): void {
  const payer = { name: payerName ?? '', ipAddress, countryCode: bankCountry, money: { currency, amount } }
  present(bank, `no sandbox bank for deposit ${depositId}`).scheduleSteps(
    tx,
    { partnerId, id: depositId },
    steps,
    payer,
  )
}

const endedStatuses: ReadonlySet<DepositStatus> = new Set(['Completed', 'Failed', 'Expired'])

/** Reads the late payments of sessions. */
async function readLatePaymentsOf(
  tx: Tx,
  sessions: readonly store.SessionRow[],
): Promise<(session: store.SessionRow) => readonly PayerLatePayment[]> {
  const rows = sessions.length === 0 ? [] : await latePaymentsOfSessions(tx, sessions)
  const bySession = Map.groupBy(rows, ({ partnerId, sessionId }) => partnerKey(partnerId, sessionId))
  const states = { Accept: 'accepted', Return: 'returned', none: 'waiting' } as const
  return ({ partnerId, id }) =>
    (bySession.get(partnerKey(partnerId, id)) ?? []).map(({ amount, currency, choice }) => {
      return { amount, currency, state: states[choice ?? 'none'] }
    })
}

/** Refuses each read separately: not_found. */
async function readPayments(
  { bank, clock, customers, deposits }: CheckoutDeps,
  tx: Tx,
  keys: readonly store.SessionTokenKey[],
): Promise<readonly (PaymentPage | Refusal)[]> {
  const sessions = await store.sessionsByTokens(tx, keys)
  const keysOfDeposits = sessions.map(({ partnerId, depositId }) => ({ partnerId, id: depositId }))
  const rows = await deposits.withParts(tx, await deposits.byIds(tx, keysOfDeposits))
  const visits = bank === undefined || sessions.length === 0 ? [] : await store.visitsBySessions(tx, sessions)
  const partnerIds = [...new Set(sessions.map(({ partnerId }) => partnerId))]
  const brandings = partnerIds.length === 0 ? [] : await store.readPageBrandings(tx, partnerIds)
  const names = await customers.accountNamesOf(
    tx,
    sessions.map(({ partnerId, customerId }) => ({ partnerId, id: customerId })),
  )
  const stopped = await deposits.cannotReceive(tx, rows)
  // Unmatched money needs a session that has ended or is paid.
  const ended = new Set(rows.filter(({ status }) => endedStatuses.has(status)).map(({ id }) => id))
  const late = await readLatePaymentsOf(
    tx,
    sessions.filter(({ depositId }) => ended.has(depositId)),
  )
  const isStopped = new Map(rows.map((row, index) => [row, stopped[index] === true]))
  const byToken = new Map(
    sessions.map((row) => [partnerKey(row.partnerId, Buffer.from(row.tokenHash).toString('hex')), row]),
  )
  const depositOf = new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row]))
  const visitOf = new Map(visits.map((row) => [partnerKey(row.partnerId, row.sessionId), row]))
  const now = clock.now()
  return keys.map(({ partnerId, hash }) => {
    const session = byToken.get(partnerKey(partnerId, Buffer.from(hash).toString('hex')))
    if (session === undefined) return notFound('payment page')
    const deposit = present(
      depositOf.get(partnerKey(partnerId, session.depositId)),
      `no deposit ${session.depositId} for session ${session.id}`,
    )
    const visit = visitOf.get(partnerKey(partnerId, session.id))
    const accountHolder = names.get(partnerKey(partnerId, session.customerId))?.[0] ?? session.payee
    const bankCountries = bank?.countries ?? []
    const branding = brandings.find((each) => each.partnerId === partnerId)
    const isOver = isStopped.get(deposit) === true
    const given = { now, bankCountries, accountHolder, branding, isStopped: isOver, late: late(session) }
    return toPaymentPage(session, deposit, visit, given)
  })
}

function toPaymentPage(
  session: store.SessionRow,
  deposit: DepositWithParts,
  visit: store.VisitRow | undefined,
  {
    now,
    bankCountries,
    accountHolder,
    branding,
    isStopped,
    late,
  }: {
    readonly now: Date
    readonly bankCountries: readonly string[]
    readonly accountHolder: string
    readonly branding: store.PageBranding | undefined
    readonly isStopped: boolean
    readonly late: readonly PayerLatePayment[]
  },
): PaymentPage {
  const { partnerId, id, depositId, payee, iban, bic, paymentCountry, residenceCountry } = session
  const proposed = [visit?.bankCountry, paymentCountry, residenceCountry, iban.slice(0, 2)]
  const [fallback = ''] = bankCountries
  const money = depositAmounts(deposit)
  return {
    key: { partnerId, id },
    depositId,
    status: checkoutStatus(deposit.status),
    // The payer does not learn that a name is under review.
    depositStatus: deposit.status === 'Screening' ? 'Accepted' : deposit.status,
    amount: deposit.amount,
    due: money.remainingAmount,
    inParts: deposit.inParts,
    parts: money.parts.filter(({ status }) => status === 'Held' || status === 'Credited'),
    currency: deposit.currency,
    payee: branding?.name ?? payee,
    description: session.description,
    lineItems: parseLineItems(session.lineItems),
    branding,
    accountHolder,
    iban,
    bic,
    creditorReference: session.creditorReference,
    reference: deposit.reference,
    returnUrl: session.returnUrl,
    expiresAt: deposit.expiryDate,
    paymentCountry,
    proposedCountry: proposed.find((country) => country && bankCountries.includes(country)) ?? fallback,
    bankCountries,
    late,
    // `expiresAt` is null for a deposit that can no longer expire.
    mayPay:
      deposit.expiresAt !== null && deposit.expiresAt > now && (deposit.inParts || !visit?.decision) && !isStopped,
    visit,
  }
}
