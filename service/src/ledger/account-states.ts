/**
 * States of a balance or of a customer's account, and the movements that each permits. Pure. `Closed` permits none
 * and is final.
 */
import type { accounts } from '@partner-payments/wire'

export type AccountState = (typeof accounts.accountStates)[number]

export const blocksInbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedOutbound'
export const blocksOutbound = (state: AccountState): boolean => state !== 'Active' && state !== 'BlockedInbound'
