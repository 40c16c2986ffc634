/** The accounts that transfers name, as keys of maps. Pure. */
import { type Currency, type Minor, partnerKey } from '../kernel/index.ts'
import type { AccountKey } from './account-kinds.ts'
import type { AccountState } from './account-states.ts'
import type { Transfer } from './rules.ts'

export type Movement = Pick<Transfer, 'partnerId' | 'currency' | 'debit' | 'credit'>

/** Account snapshots by account: the id, which never changes, and the available balance at the time of the read. */
export type AccountSnapshots = ReadonlyMap<string, AccountSnapshot>
type AccountSnapshot = {
  readonly id: string
  readonly available: Minor
  /**
   * How often the operator has changed the rules for money that leaves the account; absent: no rules. The module that
   * moves the money stores the rules.
   */
  readonly controls?: number
  /** Absent: Active. */
  readonly state?: AccountState
  /** How often the state of this balance or of a customer of the partner was changed. Absent: never. */
  readonly blocks?: number
  /** True: each party has an account of its own in this balance, with its snapshot under `partyMapKey`. */
  readonly segregated?: true
}

/** The part of a balance that belongs to a customer, or to the partner itself. */
export type PartyKey = Pick<AccountKey, 'partnerId' | 'currency'> & { readonly partyId: string }

export const partyMapKey = ({ partnerId, currency, partyId }: PartyKey): string =>
  partnerKey(partnerId, currency, `balance ${partyId}`)

export const mapKey = ({ partnerId, currency, name }: AccountKey): string => partnerKey(partnerId, currency, name)

/**
 * The version of the rules for money that leaves the partner's balance, at the time of the read. Undefined: no rules.
 */
export const controlsVersion = (
  accounts: AccountSnapshots,
  partnerId: string,
  currency: Currency,
): number | undefined => accounts.get(mapKey({ partnerId, currency, name: 'balance' }))?.controls

/** The state of the partner's balance, at the time of the read. */
export const balanceStateIn = (accounts: AccountSnapshots, partnerId: string, currency: Currency): AccountState =>
  accounts.get(mapKey({ partnerId, currency, name: 'balance' }))?.state ?? 'Active'

export const debitAccount = ({ partnerId, currency, debit }: Omit<Movement, 'credit'>): AccountKey => ({
  partnerId,
  currency,
  name: debit,
})

export const creditAccount = ({ partnerId, currency, credit }: Omit<Movement, 'debit'>): AccountKey => ({
  partnerId,
  currency,
  name: credit,
})

/** Reports whether both accounts of a movement were read. */
export const areRead = (accounts: AccountSnapshots, movement: Movement): boolean =>
  accounts.has(mapKey(debitAccount(movement))) && accounts.has(mapKey(creditAccount(movement)))

/** Each account once: the transfers of a batch name the same few accounts again and again. */
export const distinctAccounts = (accounts: readonly AccountKey[]): readonly AccountKey[] => [
  ...new Map(accounts.map((account) => [mapKey(account), account])).values(),
]

export const accountsNamed = (movements: readonly Movement[]): readonly AccountKey[] =>
  distinctAccounts([...movements.map(debitAccount), ...movements.map(creditAccount)])
