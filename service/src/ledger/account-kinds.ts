/** Properties of each kind of account. The constraint `accounts_never_negative` repeats `mayFallBelowZero`. */
import type { Currency } from '../kernel/index.ts'
import type { accounts } from '@partner-payments/wire'

export type AccountKind = {
  /** True: the posted sum may fall below zero. False: it never falls below the reserved part. */
  readonly mayFallBelowZero: boolean
  /**
   * `customers`: money of the partner and its customers. `bank`: our money at a bank. `own`: income and positions of
   * the operator.
   */
  readonly holds: 'customers' | 'bank' | 'own'
}

/**
 * An account name is a kind, or `settlement.` and the id of a connector: a partner has one settlement account for each
 * bank.
 */
export const accountKinds = {
  balance: { mayFallBelowZero: false, holds: 'customers' },
  /** Counterpart of our money at a bank: negative by the amount that is at the bank. */
  settlement: { mayFallBelowZero: true, holds: 'bank' },
  /** Money that has arrived and is not assigned yet. */
  suspense: { mayFallBelowZero: true, holds: 'customers' },
  /** Money on its way between two parties of a balance. Every entry leaves its sum unchanged. */
  transfers: { mayFallBelowZero: true, holds: 'customers' },
  /** Money of deposits that are paid in parts, until the sum is complete. */
  parts: { mayFallBelowZero: false, holds: 'customers' },
  fees: { mayFallBelowZero: true, holds: 'own' },
  /** Open position of conversions: one currency above zero, the other below. */
  fx: { mayFallBelowZero: true, holds: 'own' },
} as const satisfies Readonly<Record<string, AccountKind>>

type SingleName = Exclude<keyof typeof accountKinds, 'settlement'>
/** The partner's money, and the partner's own copies of the system accounts. */
export type AccountName = SingleName | `settlement.${string}`

const isSingle = (name: AccountName): name is SingleName => Object.hasOwn(accountKinds, name)

export const accountKind = (name: AccountName): AccountKind =>
  isSingle(name) ? accountKinds[name] : accountKinds.settlement

/** Reports whether an account may have this name. */
export const isAccountName = (name: string): name is AccountName =>
  (Object.hasOwn(accountKinds, name) && name !== 'settlement') || /^settlement\../.test(name)

export type AccountKey = { readonly partnerId: string; readonly currency: Currency; readonly name: AccountName }

/** State of a balance or of a customer's account. `Closed` permits no movement and is final. */
export type AccountState = (typeof accounts.accountStates)[number]

export const blocksInbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedOutbound'
export const blocksOutbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedInbound'
