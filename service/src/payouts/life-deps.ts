/** The dependencies of the life of payouts. */
import type { Cases } from '../cases/index.ts'
import type { EventOutbox } from '../events/index.ts'
import type { Clock, Minor } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Rates } from '../rates/index.ts'
import type { Screening } from '../screening/index.ts'
import type { Beneficiaries } from '../parties/beneficiaries/index.ts'
import type { Customers } from '../parties/customers/index.ts'
import type { Monitoring } from '../monitoring/index.ts'
import type { Transactions } from '../transactions/index.ts'
import type { PayoutRow } from './store.ts'

export type PayoutLifeDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly ledger: Ledger
  readonly eventOutbox: EventOutbox
  readonly customers: Customers
  readonly beneficiaries: Pick<Beneficiaries, 'noteCheck' | 'payeesByIds'>
  readonly transactions: Transactions
  readonly screening: Pick<Screening, 'holdsOf' | 'partiesOfPayments'>
  readonly monitoring: Pick<Monitoring, 'holdsOf'>
  readonly cases: Pick<Cases, 'byId' | 'record' | 'release'>
  /** Reports whether a person or a key of the partner may make and approve payouts now. */
  readonly mayPay: MayPay
  readonly rates: Pick<Rates, 'converter'>
  readonly recalls: ReturnedByRecall
  readonly checkoutRefunds: EndedRefunds
  /** PAYOUT_ATTEMPTS_MAX. */
  readonly attemptsMax: number
}

export type MayPay = (tx: Tx, partnerId: string, id: string) => Promise<boolean>

/** The recalls by which the money of payouts comes back. Their module is above this one, and gives its part of a return. */
export type ReturnedByRecall = {
  /** Locks the recalls of payouts that the caller has locked. By `partnerKey(partnerId, payoutId)`; a payout without a recall is absent. */
  readonly lock: (
    tx: Tx,
    payouts: readonly { readonly partnerId: string; readonly id: string }[],
  ) => Promise<ReadonlyMap<string, { readonly id: string }>>
  /** Settles recalls that the caller has locked, each by the transaction that brings the money back. */
  readonly settle: (tx: Tx, returns: readonly RecallReturn[]) => Promise<void>
}
/** The refunds of checkout sessions that payouts make. Their module is above this one, and gives its part of their end. */
export type EndedRefunds = {
  /** Appends the event of each refund. `ended`: its payout, with the status to which it moves. */
  readonly appendEnded: (tx: Tx, ended: readonly PayoutRow[], now: Date) => Promise<void>
}
export type RecallReturn = {
  readonly partnerId: string
  readonly recallId: string
  readonly amount: Minor
  readonly reference: string
}
