/** Pure: how a case is booked, and how it is resolved. */
import type { AccountName } from '../ledger/index.ts'
import type { Currency, Minor } from '../kernel/index.ts'

/** In whose ledger money is booked that belongs to no partner as far as we know (RFC 9562, version 8). */
export const operatorPartnerId = '00000000-0000-8000-8000-000000000000'

export type CaseKind = 'unknown_payment' | 'contradiction' | 'amount_differs' | 'credit_reversed'

/**
 * `credit`: a partner gets the money. `reverse`: the money went back the way it came, outside this service. `write-off`: the
 * operator keeps the gain or bears the loss, in `fees`. `note`: there is no money.
 */
export const caseActions = ['credit', 'reverse', 'write-off', 'note'] as const
export type CaseAction = (typeof caseActions)[number]

export const resolutions = {
  credit: 'credited',
  reverse: 'reversed',
  'write-off': 'written_off',
  note: 'noted',
} as const satisfies Readonly<Record<CaseAction, string>>
export type Resolution = (typeof resolutions)[CaseAction]

export type Booked = { readonly currency: Currency; readonly amount: Minor }

/** Moves `amount` from one account to another; an amount below zero moves the other way. */
function between(debit: AccountName, credit: AccountName, amount: Minor) {
  return amount > 0n ? { debit, credit, amount } : { debit: credit, credit: debit, amount: -amount }
}

/** Money that came in stands in suspense; money that left is owed by suspense. */
export const openingTransfer = (connector: string, amount: Minor) =>
  between(`settlement.${connector}`, 'suspense', amount)

export const reversingTransfer = (connector: string, amount: Minor) => openingTransfer(connector, -amount)

export const writeOffTransfer = (amount: Minor) => between('suspense', 'fees', amount)
