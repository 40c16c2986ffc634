/** A session as the API shows it: the row, the status and the money of its deposit, and the opened link. */
import type { CheckoutPartStatus, CheckoutStatus } from '@partner-payments/wire'
import type { Currency, Minor } from '../kernel/index.ts'
import { type Deposit, type InParts, paidIn, reportOfPart } from '../deposits/index.ts'
import type { CheckoutDeps } from './deps.ts'
import { type LineItem, lineItemsOf, statusOf } from './rules.ts'
import type * as store from './store.ts'
import { linkContext } from './sealed.ts'

export type Session = {
  readonly id: string
  readonly reference: string
  readonly status: CheckoutStatus
  readonly url: string
  readonly amount: Minor
  readonly currency: Currency
  /** The sum of the payments that count, and what is still missing. */
  readonly paidAmount: Minor
  readonly remainingAmount: Minor
  readonly partialPayments: boolean
  /** Parts of which the partner may know, oldest first. */
  readonly parts: readonly SessionPart[]
  readonly customerId: string
  readonly iban: string
  readonly bic: string | null
  readonly creditorReference: string
  readonly residenceCountry: string | null
  readonly returnUrl: string | null
  readonly description: string | null
  readonly lineItems: readonly LineItem[] | null
  /** The sum of the refunds that are made or on their way. */
  readonly refundedAmount: Minor
  readonly expiresAt: Date
  readonly createdAt: Date
}

export type SessionPart = {
  readonly id: string
  readonly amount: Minor
  readonly status: CheckoutPartStatus
  readonly debtorName: string
  readonly receivedAt: Date
}

/** The money of a deposit. A part whose payer is under review is left out, like the deposit that waits for it. */
export function moneyOf(deposit: InParts): Pick<Session, 'paidAmount' | 'remainingAmount' | 'parts'> {
  const { amount, status, inParts, reversedAt, parts } = deposit
  const isPaid = status === 'Completed' && reversedAt === null
  const paidAmount = inParts ? paidIn(parts) : isPaid ? amount : 0n
  return {
    paidAmount,
    remainingAmount: endedStatuses.has(status) ? 0n : amount - paidAmount,
    parts: parts.flatMap((part) => {
      const { id, amount: counted, receivedAt } = part
      if (part.status === 'Screening') return []
      return [
        { id, amount: counted, status: part.status, debtorName: reportOfPart(part)?.debtor.name ?? '', receivedAt },
      ]
    }),
  }
}

const endedStatuses: ReadonlySet<Deposit['status']> = new Set(['Completed', 'Failed', 'Expired'])

export type ToSession = (row: store.SessionRow, deposit: InParts, refundedAmount: Minor) => Session

export function createToSession({ sealer, publicUrl }: CheckoutDeps): ToSession {
  const base = publicUrl.replace(/\/$/, '')
  return (row, deposit, refundedAmount) => {
    const token = sealer.open(row.tokenSealed, linkContext(row.partnerId, row.id))
    return {
      id: row.id,
      reference: deposit.reference,
      status: statusOf(deposit.status),
      url: `${base}/checkout/${token}`,
      amount: deposit.amount,
      currency: deposit.currency,
      ...moneyOf(deposit),
      partialPayments: deposit.inParts,
      customerId: row.customerId,
      iban: row.iban,
      bic: row.bic,
      creditorReference: row.creditorReference,
      residenceCountry: row.residenceCountry,
      returnUrl: row.returnUrl,
      description: row.description,
      lineItems: lineItemsOf(row.lineItems),
      refundedAmount,
      expiresAt: deposit.expiryDate,
      createdAt: row.createdAt,
    }
  }
}
