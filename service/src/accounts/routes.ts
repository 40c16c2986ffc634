/** Maps API operations to module operations and response shapes. */
import { accounts as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../kernel/api/index.ts'
import { toJsonAmount } from '../kernel/index.ts'
import type { Idempotency } from '../idempotency/index.ts'
import type { AccountName, PartySum } from '../ledger/index.ts'
import type { Accounts, CustomerAccount } from './service.ts'
import type { BalanceWithMode, StatementEntry } from './statements.ts'
import type { StateChange } from './store.ts'
import type { BookedTransfer } from './transfers.ts'

const writeAccount = createRecordWriter(wire.CustomerAccount)
/** Maps to the documented account: `iban` and `country` are those of the first item of `ibans`. */
const toWire = (account: CustomerAccount) => writeAccount({ ...account.ibans[0], ...account })

export function accountsRoutes(accounts: Accounts, idempotency: Idempotency): Handlers<'accounts'> {
  return {
    createCustomerAccount: idempotency.handler('createCustomerAccount', async ({ caller, params }, tx) => {
      const account = await accounts.create(caller.partnerId, params.id, tx)
      const { customerId } = account
      return { body: toWire(account), created: `the account of the customer ${params.id}`, customerId }
    }),
    getCustomerAccount: async ({ caller, params }) => ({
      body: toWire(await accounts.get(caller.partnerId, params.id)),
    }),
    listAccounts: async ({ caller, query }) => {
      const { asOf, balances } = await accounts.balances(caller.partnerId, query)
      return { body: singlePage(balances.map((balance) => toModalBalance(balance, asOf))) }
    },
    createAccountTransfer: idempotency.handler('createAccountTransfer', async ({ caller, body, ip, requestId }, tx) => {
      const moved = await accounts.transfer(caller.partnerId, body, { caller, ip, requestId }, tx)
      const { outwardReference, fromCustomerId, toCustomerId } = moved
      const created = `the transfer ${outwardReference}`
      return { body: toTransfer(moved), created, customerId: fromCustomerId ?? toCustomerId }
    }),
    listAccountEntries: async ({ caller, params, query }) => {
      const { data, ...page } = await accounts.entries(caller.partnerId, params.id, query)
      const isOwn = ({ partyId }: StatementEntry) => partyId === caller.partnerId
      const toItem = (entry: StatementEntry) => ({
        ...toEntry(entry),
        ...(isOwn(entry) ? {} : { customerId: entry.partyId }),
      })
      return { body: { ...page, data: data.map(toItem) } }
    },
    listAccountStateChanges: async ({ caller, query }) =>
      writePage(await accounts.stateChanges(caller.partnerId, query), toStateChange),
    listCustomerBalances: async ({ caller, params, query }) => {
      const { asOf, balances } = await accounts.customerBalances(caller.partnerId, params.id, query)
      return { body: singlePage(balances.map((balance) => toBalance(balance, asOf))) }
    },
    listCustomerAccountEntries: async ({ caller, params, query }) =>
      writePage(await accounts.customerEntries(caller.partnerId, params.id, params.currency, query), toEntry),
  }
}

const writeTransfer = createRecordWriter(wire.AccountTransfer)
const toTransfer = (moved: BookedTransfer) =>
  writeTransfer({ ...moved, amount: toJsonAmount(moved.amount, moved.currency) })

const writeChange = createRecordWriter(wire.AccountStateChange)
/** Omits the note and the name of the person, which are internal to the operator. */
const toStateChange = ({ changedAt: at, fromState: from, toState: state, ...change }: StateChange) =>
  writeChange({ ...change, at, from, state })

/** Wraps a complete list as its only page. */
const singlePage = <T>(data: T[]) => ({ data, nextCursor: null, hasMore: false })

function toModalBalance({ id, segregated, own, ...balance }: BalanceWithMode, asOf: Date) {
  const { currency } = balance
  const part = own && {
    posted: toJsonAmount(own.posted, currency),
    reserved: toJsonAmount(own.reserved, currency),
    available: toJsonAmount(own.posted - own.reserved, currency),
  }
  const payoutsUse = segregated ? ('OwnPart' as const) : ('WholeBalance' as const)
  return { id, ...toBalance(balance, asOf), segregated, payoutsUse, ...(part === undefined ? {} : { own: part }) }
}

function toBalance({ currency, posted, reserved }: Omit<PartySum, 'id'>, asOf: Date) {
  return {
    currency,
    posted: toJsonAmount(posted, currency),
    reserved: toJsonAmount(reserved, currency),
    available: toJsonAmount(posted - reserved, currency),
    asOf: asOf.toISOString(),
  }
}

function toEntry({ id, at, amount, posted, currency, counterAccount, reference }: StatementEntry) {
  return {
    id,
    at: at.toISOString(),
    direction: amount < 0n ? ('Outward' as const) : ('Inward' as const),
    amount: toJsonAmount(amount < 0n ? -amount : amount, currency),
    currency,
    balance: toJsonAmount(posted, currency),
    counterAccount: counterKinds[counterAccount] ?? ('Settlement' as const),
    reference,
  }
}

/** Returns only the kind of the actor. The connector that carried a payment is not part of the contract. */
const counterKinds: Readonly<Partial<Record<AccountName, 'Suspense' | 'Transfers' | 'Fees' | 'Fx'>>> = {
  transfers: 'Transfers',
  suspense: 'Suspense',
  fees: 'Fees',
  fx: 'Fx',
}
