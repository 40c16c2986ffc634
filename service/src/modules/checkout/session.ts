/** A session as the API shows it: the row, the status and the money of its deposit, and the opened link. */
import type { CheckoutStatus } from '@partner-payments/wire'
import type { Currency, Minor } from '../../kernel/index.ts'
import type { Deposit } from '../deposits/index.ts'
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

export type ToSession = (row: store.SessionRow, deposit: Deposit, refundedAmount: Minor) => Session

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
