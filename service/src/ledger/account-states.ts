/** What a balance, or the account of a customer, lets pass. Pure. `Closed` lets nothing pass and is final. */
import type { accounts } from '@partner-payments/wire'

export type AccountState = (typeof accounts.accountStates)[number]

export const blocksInbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedOutbound'
export const blocksOutbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedInbound'
