/**
 * Moves money between the parties of a balance: two customers, or a customer and the partner. A transfer is booked at
 * once without a bank: two completed transactions and one ledger entry.
 */
import type { BodyOf } from '@partner-payments/wire'
import { type Caller, parseAmount, parseCurrency, Refusal, refuseInvalid } from '../kernel/api/index.ts'
import { type Clock, type Currency, type Minor, newId, partnerKey, present } from '../kernel/index.ts'
import {
  getBalanceState,
  blocksInbound,
  blocksOutbound,
  type Entry,
  insufficientFunds,
  type Ledger,
  refuseBlocked,
} from '../ledger/index.ts'
import { type Database, inTransaction, type Tx } from '../postgres/index.ts'
import { type Customers, hasMaximumBalance } from '../parties/customers/index.ts'
import { type NewTransaction, toRequester, type Transactions } from '../transactions/index.ts'

/** A booked transfer. A null customer is the partner itself. */
export type BookedTransfer = {
  readonly amount: Minor
  readonly currency: Currency
  readonly fromCustomerId: string | null
  readonly toCustomerId: string | null
  readonly outwardReference: string
  readonly inwardReference: string
  readonly createdAt: Date
}

/** The partner's caller. Undefined: the operator. */
type TransferCaller = { readonly caller: Caller; readonly ip: string; readonly requestId: string } | undefined

export type Transfers = {
  /**
   * Books a transfer. Refuses: validation_failed (no customer, or the same one twice), not_found,
   * customer_not_verified, account_blocked, balance_limit_exceeded, insufficient_funds.
   */
  readonly transfer: (
    partnerId: string,
    body: BodyOf<'createAccountTransfer'>,
    maker: TransferCaller,
    tx?: Tx,
  ) => Promise<BookedTransfer>
}

export type TransfersDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly customers: Pick<Customers, 'hold' | 'lockHolders' | 'payersByIds' | 'refusalAbove' | 'requireCapability'>
  readonly ledger: Pick<Ledger, 'accountsOf' | 'clear' | 'enterMany' | 'fittingUnderLock' | 'partySumsAt'>
  readonly transactions: Pick<Transactions, 'completeMany' | 'taken'>
}

const transfersAccount = 'transfers' as const

export function createTransfers(deps: TransfersDeps): Transfers {
  const { db, clock, customers, ledger } = deps

  const holdAll = async (tx: Tx, partnerId: string, body: BodyOf<'createAccountTransfer'>) => {
    const { fromCustomerId: from, toCustomerId: to } = body
    if (from === undefined && to === undefined)
      throw refuseInvalid('/fromCustomerId', 'is required unless `toCustomerId` is given')
    const source = from === undefined ? undefined : await customers.hold(tx, partnerId, from, '/fromCustomerId')
    const target = to === undefined ? undefined : await customers.hold(tx, partnerId, to, '/toCustomerId')
    if (source?.id === target?.id) throw refuseInvalid('/toCustomerId', 'must differ from `fromCustomerId`')
    return { from: source?.id ?? null, to: target?.id ?? null }
  }

  return {
    transfer: (partnerId, body, maker, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const currency = parseCurrency(body.currency)
        const amount = parseAmount(body.amount, currency)
        const { from, to } = await holdAll(tx, partnerId, body)
        const movement = { partnerId, currency, debit: 'balance', credit: transfersAccount } as const
        // Read before the customers, because the balances count the changes of their states.
        const accounts = await ledger.accountsOf(tx, [movement])
        const state = getBalanceState(accounts, partnerId, currency)
        if (blocksOutbound(state) || blocksInbound(state)) throw refuseBlocked()
        // Gates do not stop an operator who corrects a balance.
        if (maker !== undefined) await requireOpen(deps, tx, partnerId, { from, to, amount, currency })
        const moved = { partnerId, currency, amount, kind: 'direct' } as const
        const given = { ...moved, debit: 'balance', credit: transfersAccount, partyId: from ?? partnerId } as const
        const got = { ...moved, debit: transfersAccount, credit: 'balance', partyId: to ?? partnerId } as const
        const [permit] = await ledger.clear(tx, [{ transfers: [given, got] }])
        if (permit instanceof Refusal) throw permit
        // Locks the balance first: a concurrent transfer of the party is in its sums, or waits.
        const [fit] = await ledger.fittingUnderLock(tx, [{ transfers: [given, got] }], accounts)
        await requirePartyFunds(deps, tx, partnerId, currency, amount, from, maker?.caller)
        if (fit !== undefined && fit !== true) throw insufficientFunds(fit, maker?.caller)
        const [outward, inward] = await completeTransfer(deps, tx, partnerId, {
          amount,
          currency,
          from,
          to,
          maker,
          body,
        })
        const entry: Entry = {
          id: newId(),
          permit: present(permit, `no permit for a transfer of partner ${partnerId}`),
          transfers: [
            { ...given, reference: outward },
            { ...got, reference: inward },
          ],
        }
        await ledger.enterMany(tx, [entry], accounts)
        const named = { fromCustomerId: from, toCustomerId: to, outwardReference: outward, inwardReference: inward }
        return { amount, currency, ...named, createdAt: clock.now() }
      }),
  }
}

/** Checks that the transfer's parties may pay and receive. Refuses: customer_not_verified, account_blocked, balance_limit_exceeded. */
async function requireOpen(
  { customers }: TransfersDeps,
  tx: Tx,
  partnerId: string,
  { from, to, amount, currency }: Pick<TransferToComplete, 'from' | 'to' | 'amount' | 'currency'>,
): Promise<void> {
  if (from !== null)
    await customers.requireCapability(tx, partnerId, from, 'Pay', { pointer: '/fromCustomerId', currency })
  if (to !== null)
    await customers.requireCapability(tx, partnerId, to, 'Receive', { pointer: '/toCustomerId', currency })
  const keys = [from, to].flatMap((id) => (id === null ? [] : [{ partnerId, id }]))
  const payers = await customers.payersByIds(tx, keys)
  const stateOf = (id: string | null) => (id === null ? 'Active' : payers.get(partnerKey(partnerId, id))?.accountState)
  if (blocksOutbound(stateOf(from) ?? 'Active')) throw refuseBlocked()
  if (blocksInbound(stateOf(to) ?? 'Active')) throw refuseBlocked()
  const target = payers.get(partnerKey(partnerId, to ?? ''))
  if (target === undefined || !hasMaximumBalance(target, currency)) return
  await customers.lockHolders(tx, [{ partnerId, id: target.id }])
  const refusal = await customers.refusalAbove(tx, partnerId, target, { currency, amount, pointer: '/toCustomerId' })
  if (refusal !== undefined) throw refusal
}

/** Checks the money of the party by its movements so far. The caller holds the lock of the balance. Refuses: insufficient_funds. */
async function requirePartyFunds(
  { ledger }: TransfersDeps,
  tx: Tx,
  partnerId: string,
  currency: Currency,
  amount: Minor,
  from: string | null,
  caller: Caller | undefined,
): Promise<void> {
  const sums = await ledger.partySumsAt(tx, partnerId, from ?? partnerId, undefined)
  const part = sums.find((sum) => sum.currency === currency)
  const available = part === undefined ? 0n : part.posted - part.reserved
  if (available < amount)
    throw insufficientFunds({ currency, available, of: from === null ? 'partner' : 'customer' }, caller)
}

type TransferToComplete = Pick<BookedTransfer, 'amount' | 'currency'> & {
  readonly from: string | null
  readonly to: string | null
  readonly maker: TransferCaller
  readonly body: BodyOf<'createAccountTransfer'>
}

/** Inserts the two transactions. Returns their references, outward first. */
async function completeTransfer(
  { transactions }: TransfersDeps,
  tx: Tx,
  partnerId: string,
  { amount, currency, from, to, maker, body }: TransferToComplete,
): Promise<readonly [string, string]> {
  const requested = maker && {
    requestedBy: toRequester(maker.caller, maker.ip),
    requestId: maker.requestId,
  }
  const shared = { partnerId, amount, currency, rail: null, ...requested } as const
  const made = { steps: ['Created'], actor: maker === undefined ? 'operator' : 'partner' } as const
  const outward: NewTransaction = {
    ...shared,
    ...made,
    reference: body.reference ?? null,
    category: 'Withdrawal',
    direction: 'Outward',
    type: from === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
    customerId: from,
  }
  const taken = await transactions.taken(tx, [outward])
  const [{ reference }] = single(transactions.completeMany(tx, [outward], taken, ['Settled']))
  const inward: NewTransaction = {
    ...shared,
    ...made,
    reference: null,
    category: 'Deposit',
    direction: 'Inward',
    type: to === null ? 'PartnerDeposit' : 'PartnerCustomerDeposit',
    customerId: to,
    originatingReference: reference,
    description: `Transfer ${reference}`,
  }
  const [{ reference: inwardReference }] = single(
    transactions.completeMany(tx, [inward], new Set(), ['Settled', 'Credited']),
  )
  return [reference, inwardReference]
}

const single = <T>(rows: readonly T[]): readonly [T] => [present(rows[0], 'no transaction was opened')]
