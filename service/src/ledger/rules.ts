/** Pure: the effects of a transfer on its two accounts, the limit of an account, and accounts as keys of maps. */
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { amountText, assert, type Currency, idAfter, type Minor, newId, partnerKey } from '../kernel/index.ts'
import { type AccountKey, type AccountName, type AccountState, accountKind } from './account-kinds.ts'

export type TransferKind = 'direct' | 'reserve' | 'post' | 'release'

export type Transfer = {
  readonly partnerId: string
  readonly debit: AccountName
  readonly credit: AccountName
  readonly currency: Currency
  readonly amount: Minor
  /** Party of the money: a customer's guid, or the partner's own id. */
  readonly partyId: string
  /** Reference of the transaction. */
  readonly reference: string
}

/** Transfer of an entry: it moves money at once, or reserves it. */
export type EntryTransfer = Transfer & { readonly kind: Extract<TransferKind, 'direct' | 'reserve'> }

/** Result of `clear`: the parties are not held. */
type ClearedParties = { readonly parties: ReadonlySet<string> }
/**
 * `bank`: a bank has moved the money, or screening has passed its credit. `decision`: staff decided about this money.
 * `waits`: the entry only reserves, and the worker checks again before it instructs the bank.
 */
export type Permit = 'bank' | 'decision' | 'waits' | ClearedParties

/** Transfers of one partner that take effect together or not at all. The first one has the id of the entry. */
export type Entry = {
  readonly id: string
  /** Reason why the entry may change the balances of its parties. */
  readonly permit: Permit
  readonly transfers: readonly EntryTransfer[]
}

/** Request to check the funds of an entry. */
export type EntryRequest = {
  readonly transfers: readonly Omit<EntryTransfer, 'reference'>[]
}

/** Change of an account row by one side of a transfer. */
export type BalanceChange = { readonly posted: Minor; readonly reserved: Minor }

/** More than a payout, its fees and a conversion need. Limits the ids that an entry uses. */
export const entryTransfersMax = 100

/** Creates an entry of one transfer: it reserves money if the permit is `waits`, and moves it at once otherwise. */
export const singleEntry = (permit: Permit, transfer: Transfer): Entry => ({
  id: newId(),
  permit,
  transfers: [{ ...transfer, kind: permit === 'waits' ? 'reserve' : 'direct' }],
})

/** `entryId`: the entry, if it has several transfers. */
type IdentifiedTransfer = EntryTransfer & { readonly id: string; readonly entryId: string | null }

/** Returns the transfers of an entry. An entry of one transfer is that transfer. */
export function entryTransfers({ id, transfers }: Entry): readonly IdentifiedTransfer[] {
  const [first] = transfers
  assert(first !== undefined && transfers.length <= entryTransfersMax, `entry ${id} has ${transfers.length} transfers`)
  if (transfers.length === 1) return [{ ...first, id, entryId: null }]
  assert(
    transfers.every(({ partnerId }) => partnerId === first.partnerId),
    'an entry belongs to one partner',
  )
  return transfers.map((transfer, index) => ({ ...transfer, id: idAfter(id, index), entryId: id }))
}

/**
 * kind      debit account                 credit account
 * direct    posted - amount               posted + amount
 * reserve   reserved + amount             -
 * post      posted - amount, reserved -   posted + amount
 * release   reserved - amount             -
 */
export function transferEffects(
  kind: TransferKind,
  amount: Minor,
): { readonly debit: BalanceChange; readonly credit: BalanceChange } {
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

export const addChanges = (a: BalanceChange, b: BalanceChange): BalanceChange => ({
  posted: a.posted + b.posted,
  reserved: a.reserved + b.reserved,
})

/** Reports whether an account permits a change: no reserved part falls below zero, and no limited account below that part. */
export function fitsLimits(name: AccountName, balance: BalanceChange, change: BalanceChange): boolean {
  const { posted, reserved } = addChanges(balance, change)
  return reserved >= 0n && (accountKind(name).mayFallBelowZero || posted >= reserved)
}

/** True, or the balance that the entry exceeds. */
export type FundsResult = true | FundsShortage
/** `of`: whose part of a segregated balance is too small. Undefined: the whole balance is. */
export type FundsShortage = {
  readonly currency: Currency
  readonly available: Minor
  readonly of?: 'customer' | 'partner'
}

/** Describes a shortage of funds. `partyId`: the party of a segregated balance that is short. Undefined: the whole account is short. */
export function findShortage(
  { partnerId, currency }: AccountKey,
  partyId: string | undefined,
  available: Minor,
): FundsShortage {
  if (partyId === undefined) return { currency, available }
  return { currency, available, of: partyId === partnerId ? 'partner' : 'customer' }
}

const shortBalances = {
  whole: (currency: Currency) => `The available ${currency} balance`,
  customer: (currency: Currency) => `The customer's part of the available ${currency} balance`,
  partner: (currency: Currency) => `Your own part of the available ${currency} balance, without your customers' money,`,
}

/** Builds the refusal insufficient_funds. States the available amount to a caller who may read balances. */
export function insufficientFunds(
  { currency, available, of }: FundsShortage,
  caller: Pick<Caller, 'permissions'> | undefined,
  costs = 'the amount',
): Refusal {
  const mayRead = caller?.permissions.includes('accounts:read') === true
  const told = mayRead ? ` ${amountText(available, currency)} ${currency} is available.` : ''
  return new Refusal('insufficient_funds', `${shortBalances[of ?? 'whole'](currency)} is smaller than ${costs}.${told}`)
}

export type Movement = Pick<Transfer, 'partnerId' | 'currency' | 'debit' | 'credit'>

/** Account snapshots by account: the id, which never changes, and the available balance at the time of the read. */
export type AccountSnapshots = ReadonlyMap<string, AccountSnapshot>
type AccountSnapshot = {
  readonly id: string
  readonly available: Minor
  /**
   * Number of changes of the operator's rules for outgoing money. Absent: no rules. The module that moves the money
   * stores the rules.
   */
  readonly controls?: number
  /** Absent: Active. */
  readonly state?: AccountState
  /** Number of state changes of this balance or of a customer of the partner. Absent: none. */
  readonly blocks?: number
  /** True: each party has an account of its own in this balance, with its snapshot under `partyMapKey`. */
  readonly segregated?: true
}

/** Part of a balance that belongs to a customer, or to the partner itself. */
export type PartyKey = Pick<AccountKey, 'partnerId' | 'currency'> & { readonly partyId: string }

export const partyMapKey = ({ partnerId, currency, partyId }: PartyKey): string =>
  partnerKey(partnerId, currency, `balance ${partyId}`)

export const accountMapKey = ({ partnerId, currency, name }: AccountKey): string =>
  partnerKey(partnerId, currency, name)

/** Returns the version of the rules for outgoing money of the partner's balance, at the time of the read. Undefined: no rules. */
export const controlsVersion = (
  accounts: AccountSnapshots,
  partnerId: string,
  currency: Currency,
): number | undefined => accounts.get(accountMapKey({ partnerId, currency, name: 'balance' }))?.controls

/** Returns the state of the partner's balance, at the time of the read. */
export const getBalanceState = (accounts: AccountSnapshots, partnerId: string, currency: Currency): AccountState =>
  accounts.get(accountMapKey({ partnerId, currency, name: 'balance' }))?.state ?? 'Active'

/** Returns the available money of the partner's balance, at the time of the read. */
export const getAvailableBalance = (accounts: AccountSnapshots, partnerId: string, currency: Currency): Minor =>
  accounts.get(accountMapKey({ partnerId, currency, name: 'balance' }))?.available ?? 0n

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
export const hasBothAccounts = (accounts: AccountSnapshots, movement: Movement): boolean =>
  accounts.has(accountMapKey(debitAccount(movement))) && accounts.has(accountMapKey(creditAccount(movement)))

/** Removes duplicates: the transfers of a batch use the same few accounts. */
export const distinctAccounts = (accounts: readonly AccountKey[]): readonly AccountKey[] => [
  ...new Map(accounts.map((account) => [accountMapKey(account), account])).values(),
]

export const accountsOfMovements = (movements: readonly Movement[]): readonly AccountKey[] =>
  distinctAccounts([...movements.map(debitAccount), ...movements.map(creditAccount)])
