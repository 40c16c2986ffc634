/** Pure: what a transfer does to its two accounts. */
import { Refusal } from '../api/index.ts'
import { type Currency, type Minor } from '../kernel/index.ts'

/** The partner's money, and the partner's own copies of the system accounts. */
export type AccountName = 'balance' | 'suspense' | 'fees' | 'fx' | `settlement.${string}`
export type TransferKind = 'direct' | 'reserve' | 'post' | 'release'

export type Transfer = {
  readonly partnerId: string
  readonly debit: AccountName
  readonly credit: AccountName
  readonly currency: Currency
  readonly amount: Minor
  /** Whose money moves: a customer's guid, or the partner's own id. */
  readonly partyId: string
  /** The transaction's reference. */
  readonly reference: string
}

/** A request to reserve money of the debit account. */
export type ReservationRequest = Pick<Transfer, 'partnerId' | 'debit' | 'currency' | 'amount'>

/** What one side of a transfer adds to an account row. */
export type Change = { readonly posted: Minor; readonly reserved: Minor }

/**
 * kind      debit account                 credit account
 * direct    posted - amount               posted + amount
 * reserve   reserved + amount             -
 * post      posted - amount, reserved -   posted + amount
 * release   reserved - amount             -
 */
export function effects(kind: TransferKind, amount: Minor): { readonly debit: Change; readonly credit: Change } {
  const nothing = { posted: 0n, reserved: 0n }
  switch (kind) {
    case 'direct':
      return { debit: { posted: -amount, reserved: 0n }, credit: { posted: amount, reserved: 0n } }
    case 'reserve':
      return { debit: { posted: 0n, reserved: amount }, credit: nothing }
    case 'post':
      return { debit: { posted: -amount, reserved: -amount }, credit: { posted: amount, reserved: 0n } }
    case 'release':
      return { debit: { posted: 0n, reserved: -amount }, credit: nothing }
  }
}

/** Only the partner's balance has a lower limit. A system account may fall below zero. */
export function fits(name: AccountName, posted: Minor, reserved: Minor, change: Change): boolean {
  const after = { posted: posted + change.posted, reserved: reserved + change.reserved }
  return after.reserved >= 0n && (name !== 'balance' || after.posted >= after.reserved)
}

export function insufficientFunds(currency: Currency): Refusal {
  return new Refusal('insufficient_funds', `The available ${currency} balance is smaller than the amount.`)
}
