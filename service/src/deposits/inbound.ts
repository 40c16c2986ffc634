/** Decides whether the partner's balance and the customer's account accept the money of a deposit. */
import { Refusal } from '../kernel/api/index.ts'
import { type Currency, type Minor, partnerKey } from '../kernel/index.ts'
import { type AccountSnapshots, getBalanceState, blocksInbound, type Movement } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  exceedsBalance,
  exceedsSum,
  hasMaximumBalance,
  findLackingCapability,
  type Payer,
} from '../parties/customers/index.ts'
import { type AccountOwner, creditAccounts, type DepositsDeps } from './deps.ts'
import type { Deposit } from './store.ts'

export type InboundAccounts = {
  /**
   * Accounts of the credits, with the states on which the decisions of the batch are based. If a state changes before
   * the commit, the batch runs again.
   */
  readonly accounts: AccountSnapshots
  /** The customers of the deposits in the batch. */
  readonly owners: ReadonlyMap<string, Payer>
  /** Returns why the accounts of a deposit refuse its money. Undefined: they accept it. */
  readonly blockOf: (deposit: Deposit) => BlockReason | undefined
}

/** `account_blocked`: the balance, or the account of the customer. */
export type BlockReason = 'account_blocked' | 'customer_not_verified'

export const withoutBlocks: InboundAccounts = { accounts: new Map(), owners: new Map(), blockOf: () => undefined }

/** Reads the accounts of accepted deposits and of those whose money has waited in suspense: only these can be credited. */
export async function readInboundAccounts(
  { ledger, customers, rates }: DepositsDeps,
  tx: Tx,
  deposits: readonly Deposit[],
  connectorOf: (deposit: Deposit) => string | undefined,
): Promise<InboundAccounts> {
  // Read before the customers, because the balances count the changes of the customers' states.
  const accounts = await ledger.accountsOf(
    tx,
    deposits.flatMap((deposit): readonly Movement[] => {
      const { partnerId, currency, status } = deposit
      if (status === 'Screening') return [{ partnerId, currency, debit: 'suspense', credit: 'balance' }]
      const connector = status === 'Accepted' || deposit.inParts ? connectorOf(deposit) : undefined
      return connector === undefined ? [] : [{ ...creditAccounts(connector, partnerId), currency }]
    }),
  )
  const owners = await customers.payersByIds(
    tx,
    deposits.flatMap(({ partnerId, customerId: id }) => (id === null ? [] : [{ partnerId, id }])),
  )
  const isPaid = (deposit: Deposit) =>
    deposit.status === 'Accepted' ||
    deposit.status === 'Screening' ||
    (deposit.inParts && connectorOf(deposit) !== undefined)
  const isAbove = await findAboveLargestBalance({ ledger, customers, rates }, tx, deposits.filter(isPaid), owners)
  const blockOf = (deposit: Deposit): BlockReason | undefined => {
    const { partnerId, customerId, currency } = deposit
    if (blocksInbound(getBalanceState(accounts, partnerId, currency))) return 'account_blocked'
    const block = ownerBlock(owners.get(partnerKey(partnerId, customerId ?? '')), currency)
    return block ?? (isAbove(deposit) ? 'customer_not_verified' : undefined)
  }
  return { accounts, owners, blockOf }
}

/**
 * Finds deposits that would raise the money of their customer above the maximum balance of its gate, in the order of
 * the batch. Reads rates once, and one row for each customer with such a gate.
 */
async function findAboveLargestBalance(
  { ledger, customers, rates }: Pick<DepositsDeps, 'ledger' | 'customers' | 'rates'>,
  tx: Tx,
  deposits: readonly Deposit[],
  owners: ReadonlyMap<string, Payer>,
): Promise<(deposit: Deposit) => boolean> {
  const limited = deposits.filter(({ partnerId, customerId, currency }) => {
    const owner = owners.get(partnerKey(partnerId, customerId ?? ''))
    return owner !== undefined && hasMaximumBalance(owner, currency)
  })
  if (limited.length === 0) return () => false
  const keys = new Map(
    limited.flatMap(({ partnerId, customerId: id }) =>
      id === null ? [] : [[partnerKey(partnerId, id), { partnerId, id }] as const],
    ),
  )
  await customers.lockHolders(tx, [...keys.values()])
  const convert = await rates.converter(tx)
  const held = new Map<string, ReadonlyMap<Currency, Minor>>()
  for (const [name, { partnerId, id }] of keys) {
    const sums = await ledger.partySumsAt(tx, partnerId, id, undefined)
    held.set(name, new Map(sums.map(({ currency, posted }) => [currency, posted])))
  }
  const above = new Set<string>()
  for (const { partnerId, customerId, id, currency, amount } of limited) {
    const name = partnerKey(partnerId, customerId ?? '')
    const gate = owners.get(name)?.gate
    const sums = held.get(name) ?? new Map<Currency, Minor>()
    const before = sums.get(currency) ?? 0n
    const afterwards = new Map([...sums, [currency, before + amount]])
    const money = [...afterwards].map(([of, sum]) => ({ currency: of, amount: sum }))
    if (gate && (exceedsBalance(gate, { currency, held: before, amount }) || exceedsSum(gate, money, convert)))
      above.add(partnerKey(partnerId, id))
    else held.set(name, afterwards)
  }
  return ({ partnerId, id }) => above.has(partnerKey(partnerId, id))
}

function ownerBlock(owner: Payer | undefined, currency: Currency): BlockReason | undefined {
  if (owner === undefined) return undefined
  if (blocksInbound(owner.accountState)) return 'account_blocked'
  return findLackingCapability(owner.gate, 'Receive', currency) === undefined ? undefined : 'customer_not_verified'
}

/** A request for money: the customer to be asked, and the currency. */
export type MoneyRequest = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly currency: Currency
}

/**
 * Reports for each request, in order, whether the customer must not be asked for money: its balance or account is
 * blocked, its verification does not let it receive, it is erased, or a sanctions match freezes it.
 */
export async function cannotReceive(
  { ledger, customers, screening }: Pick<DepositsDeps, 'ledger' | 'customers' | 'screening'>,
  tx: Tx,
  asked: readonly MoneyRequest[],
): Promise<readonly boolean[]> {
  if (asked.length === 0) return []
  const movements = asked.map(({ partnerId, currency }): Movement => {
    return { partnerId, currency, debit: 'suspense', credit: 'balance' }
  })
  const keys = asked.flatMap(({ partnerId, customerId: id }) => (id === null ? [] : [{ partnerId, id }]))
  const accounts = await ledger.accountsOf(tx, movements)
  const owners = await customers.payersByIds(tx, keys)
  const holds = await screening.holdsOfCredits(
    tx,
    asked.map(({ partnerId, customerId: id }) => {
      const customer = id === null ? undefined : { partnerId, kind: 'customer' as const, id }
      return {
        partnerId,
        customer,
        payer: undefined,
        payerName: '',
        payerAccount: '',
        payerCountries: [],
        craftText: null,
      }
    }),
  )
  return asked.map(({ partnerId, customerId, currency }, index) => {
    const owner = owners.get(partnerKey(partnerId, customerId ?? ''))
    const isBlocked =
      blocksInbound(getBalanceState(accounts, partnerId, currency)) || ownerBlock(owner, currency) !== undefined
    return isBlocked || owner?.isErased === true || holds[index] === 'confirmed'
  })
}

/**
 * Refuses money that an operator gives to an owner whose account is closed. A block does not prevent it. Refuses:
 * account_blocked.
 */
export async function requireOpenAccount(
  { ledger, customers }: Pick<DepositsDeps, 'ledger' | 'customers'>,
  tx: Tx,
  { partnerId, customerId }: AccountOwner,
  currency: Currency,
): Promise<void> {
  const accounts = await ledger.accountsOf(tx, [{ partnerId, currency, debit: 'suspense', credit: 'balance' }])
  if (getBalanceState(accounts, partnerId, currency) === 'Closed')
    throw new Refusal('account_blocked', `The ${currency} balance is closed: return the money.`)
  if (customerId === null) return
  const payers = await customers.payersByIds(tx, [{ partnerId, id: customerId }])
  if (payers.get(partnerKey(partnerId, customerId))?.accountState === 'Closed')
    throw new Refusal('account_blocked', 'The account of the customer is closed: return the money.')
}
