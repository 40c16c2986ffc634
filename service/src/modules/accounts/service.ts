/** The verbs of accounts: IBANs of customers, balances of partners. */
import { notFound, Refusal } from '../../api/index.ts'
import { assert, type Clock, present } from '../../kernel/index.ts'
import type { Balance, Ledger } from '../../ledger/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Customer, Customers } from '../customers/index.ts'
import {
  blockSize,
  capacityOf,
  composeIban,
  inConfiguredOrder,
  type Issuer,
  issuersProblem,
  locateIban,
} from './rules.ts'
import * as store from './store.ts'

export type CustomerAccount = {
  /** The partner's identifier of the customer, else its serviceId. */
  readonly partnerCustomerId: string
  /** In configured order, at least one. */
  readonly ibans: readonly [store.IbanRow, ...store.IbanRow[]]
}

export type Accounts = {
  /**
   * The customer's IBANs, one per configured country; those that are missing are issued, all or none.
   * Refuses: not_found, iban_pool_exhausted.
   */
  readonly create: (partnerId: string, customerRef: string) => Promise<CustomerAccount>
  /** Refuses: not_found (no such customer, or no IBAN issued yet). */
  readonly get: (partnerId: string, customerRef: string) => Promise<CustomerAccount>
  /** The partner's balances, one per currency, at one instant. */
  readonly balances: (partnerId: string) => Promise<{ readonly asOf: Date; readonly balances: readonly Balance[] }>
  /** For incoming payments: whose IBAN this is, among all partners. Spaces and case do not matter. */
  readonly ownerOfIban: (
    tx: Tx,
    iban: string,
  ) => Promise<{ readonly partnerId: string; readonly customerId: string } | undefined>
}

export function createAccounts(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly customers: Pick<Customers, 'find'>
  readonly ledger: Pick<Ledger, 'balances'>
  readonly issuers: readonly Issuer[]
}): Accounts {
  const { db, clock, customers, ledger, issuers } = deps
  const problem = issuersProblem(issuers)
  assert(problem === undefined, `issuers: ${problem}`)
  // Numbers are taken in one order everywhere, whatever the configured order, so that two calls cannot wait for each
  // other.
  const issuersInLockOrder = issuers.toSorted((left, right) => (left.country < right.country ? -1 : 1))

  const takeIndex = async (tx: Tx, partnerId: string, issuer: Issuer): Promise<number> => {
    const bounds = { blockSize, capacity: capacityOf(issuer) }
    const take = async () => {
      const taken = await store.takeNumber(tx, partnerId, issuer, bounds)
      return taken && taken.block * blockSize + taken.number
    }
    const index = await take()
    if (index !== undefined) return index
    const nextBlock = present(await store.lockPool(tx, issuer), 'the pool was just made')
    // While this call waited for the pool, another call of the partner may have brought a block.
    const brought = await take()
    if (brought !== undefined) return brought
    if (nextBlock * blockSize >= bounds.capacity)
      throw new Refusal('iban_pool_exhausted', `No account number is left in ${issuer.country}.`)
    await store.takeBlock(tx, partnerId, issuer, nextBlock, clock.now())
    return present(await take(), 'a new block has numbers')
  }

  const issueMissing = async (tx: Tx, partnerId: string, customerId: string) => {
    const now = clock.now()
    await store.lockCustomerAccount(tx, partnerId, customerId, now)
    const issued = await store.ibansOf(tx, partnerId, customerId)
    for (const issuer of issuersInLockOrder) {
      if (issued.some(({ country }) => country === issuer.country)) continue
      const iban = composeIban(issuer, await takeIndex(tx, partnerId, issuer))
      await store.insertIban(tx, partnerId, customerId, { iban, country: issuer.country }, now)
    }
    return store.ibansOf(tx, partnerId, customerId)
  }

  const toAccount = (customer: Customer, rows: readonly store.IbanRow[]): CustomerAccount | undefined => {
    const [first, ...rest] = inConfiguredOrder(issuers, rows)
    if (first === undefined) return undefined
    return {
      partnerCustomerId: customer.partnerCustomerIdentifier ?? customer.serviceId,
      ibans: [first, ...rest],
    }
  }

  const hasAll = (rows: readonly store.IbanRow[]) =>
    issuers.every((issuer) => rows.some(({ country }) => country === issuer.country))

  return {
    create: (partnerId, customerRef) =>
      db.transaction(async (tx) => {
        const customer = await customers.find(tx, partnerId, customerRef)
        const issued = await store.ibansOf(tx, partnerId, customer.id)
        const rows = hasAll(issued) ? issued : await issueMissing(tx, partnerId, customer.id)
        return present(toAccount(customer, rows), 'at least one country is configured')
      }),
    get: async (partnerId, customerRef) => {
      const customer = await customers.find(db, partnerId, customerRef)
      const account = toAccount(customer, await store.ibansOf(db, partnerId, customer.id))
      if (account === undefined) throw notFound('account')
      return account
    },
    balances: async (partnerId) => ({ asOf: clock.now(), balances: await ledger.balances(db, partnerId) }),
    ownerOfIban: async (tx, iban) => {
      const text = iban.replace(/\s/g, '').toUpperCase()
      const place = locateIban(text)
      if (place === undefined) return undefined
      const partnerId = await store.partnerOfBlock(tx, place, place.block)
      const customerId = partnerId && (await store.customerOfIban(tx, partnerId, text))
      return partnerId && customerId ? { partnerId, customerId } : undefined
    },
  }
}
