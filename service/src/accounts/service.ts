/** The operations of accounts: IBANs of customers, balances of partners. */
import { notFound, Refusal } from '../kernel/api/index.ts'
import { assert, minuteMs, present, secondMs } from '../kernel/index.ts'
import { inTransaction, type Tx } from '../postgres/index.ts'
import type { Customer, Customers } from '../parties/customers/index.ts'
import {
  createImportedPools,
  type ImportedPools,
  type ImportedPoolsDeps,
  isInImportedPool,
  type PoolLevel,
  quarantineIbans,
  allocateIban,
} from './imported.ts'
import {
  blockSize,
  numberBounds,
  composeIban,
  sortByConfiguredOrder,
  type Issuer,
  findIssuer,
  findIssuersProblem,
} from './rules.ts'
import { type Cancellations, createAccountStates, type AccountStates, type AccountStatesDeps } from './states.ts'
import { createStatements, type Statements, type StatementsDeps } from './statements.ts'
import * as store from './store.ts'
import { createTransfers, type Transfers, type TransfersDeps } from './transfers.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'
import type { Monitors } from './monitors/index.ts'

export type CustomerAccount = {
  readonly customerId: string
  /** The partner's identifier of the customer, or its serviceId if it has none. */
  readonly partnerCustomerId: string
  /** IBANs in configured order, at least one. The BIC is that of the file or the issuer. Null: the BIC is unknown. */
  readonly ibans: readonly [store.IbanRow, ...store.IbanRow[]]
}

export type Accounts = Statements &
  AccountStates &
  Transfers & {
    /**
     * Issues the missing IBANs of a customer, one per configured country: all of them or none. Returns all its IBANs.
     * Refuses: not_found, customer_not_verified, account_blocked (the account is closed), iban_issuer_not_configured,
     * iban_pool_exhausted.
     */
    readonly create: (partnerId: string, customerRef: string, tx?: Tx) => Promise<CustomerAccount>
    /** Reads a customer's IBANs. Refuses: not_found (no such customer, or no IBAN is issued yet). */
    readonly get: (partnerId: string, customerRef: string) => Promise<CustomerAccount>
    /** Closes the IBANs of an erased customer: they accept no credits and are not issued again. */
    readonly close: typeof store.closeIbans
    /** Erases the owner of an erased customer's IBANs. Money that arrives for these IBANs opens a case. */
    readonly erase: (tx: Tx, partnerId: string, customerId: string) => Promise<void>
    /** Reads a customer's IBANs for its data export, oldest first. */
    readonly ibansOf: (tx: Tx, partnerId: string, customerId: string) => Promise<readonly store.IbanRow[]>
    /** Reads the oldest open IBAN of each of these customers, who are on one shard. */
    readonly firstIbansOf: typeof store.readFirstIbans
    /** Reports whether an IBAN has one of our bank codes or is in a pool, issued or not. */
    readonly isOurs: (tx: Tx, iban: string) => Promise<boolean>
    /**
     * Finds the IBANs that this database has issued, including closed ones. `mayHave` sends no statement: it compares
     * bank codes and the countries of pools.
     */
    readonly ownIbans: {
      readonly mayHave: (iban: string) => boolean
      readonly among: typeof store.findIssuedIbans
    }
    /** Pools of IBANs from a bank's file, for operator commands and the worker. */
    readonly pools: ImportedPools
    /** Finds the owners of IBANs. IBANs that this service did not issue are absent. */
    readonly ownersOf: (
      tx: Tx,
      ibans: readonly string[],
    ) => Promise<ReadonlyMap<string, { readonly partnerId: string; readonly customerId: string }>>
    /** Finds the current and earlier holders of an IBAN, newest first, for the operator. */
    readonly holdersOf: typeof store.findHolders
    /** Finds the customer of the partner that has or had the IBAN. Undefined: none. */
    readonly holderIn: (partnerId: string, iban: string) => Promise<string | undefined>
  }

type AccountsDeps = StatementsDeps &
  AccountStatesDeps &
  TransfersDeps &
  ImportedPoolsDeps & {
    readonly customers: Pick<Customers, 'find' | 'hold' | 'requireCapability'>
  }

/** Takes the next number of an issuer from a block of the partner, or from a new block of the pool. */
async function takeAccountNumber(tx: Tx, partnerId: string, issuer: Issuer, now: Date): Promise<number> {
  const bounds = numberBounds(issuer)
  const take = async () => {
    const taken = await store.allocateNumber(tx, partnerId, issuer, bounds)
    return taken && taken.block * blockSize + taken.number
  }
  const index = await take()
  if (index !== undefined) return index
  const nextBlock = present(
    await store.lockPool(tx, issuer, bounds.firstBlock),
    `no pool of account numbers for ${issuer.country}`,
  )
  // Another call of the partner may have taken a block while this call waited for the lock of the pool.
  const concurrent = await take()
  if (concurrent !== undefined) return concurrent
  if (nextBlock * blockSize >= bounds.endIndex)
    throw new Refusal('iban_pool_exhausted', `No account number is left in ${issuer.country}.`)
  await store.allocateBlock(tx, partnerId, issuer, nextBlock, now)
  return present(await take(), `no number in new block ${nextBlock} of ${issuer.country}`)
}

type IssuingDeps = Pick<AccountsDeps, 'clock' | 'issuers' | 'poolCountries'>

/** Lists the countries in which a customer gets an IBAN: those of the issuers as configured, then those that only have pools. */
const issuingCountriesOf = ({
  issuers,
  poolCountries,
}: Pick<IssuingDeps, 'issuers' | 'poolCountries'>): readonly string[] => [
  ...new Set([...issuers.map(({ country }) => country), ...poolCountries]),
]

/** Issues the IBANs that a customer lacks. Returns all IBANs of the customer. */
function createIssueIbans({ clock, issuers, poolCountries }: IssuingDeps) {
  // Pools are locked in the same order for any configuration, so that two calls cannot deadlock.
  const countriesInLockOrder = issuingCountriesOf({ issuers, poolCountries }).toSorted()
  const issue = async (tx: Tx, partnerId: string, country: string, now: Date) => {
    if (poolCountries.includes(country)) return allocateIban(tx, partnerId, country, now)
    const issuer = present(
      issuers.find((each) => each.country === country),
      `no issuer of IBANs for ${country}`,
    )
    return { iban: composeIban(issuer, await takeAccountNumber(tx, partnerId, issuer, now)), bic: null }
  }
  return async (tx: Tx, partnerId: string, customerId: string) => {
    const now = clock.now()
    await store.lockCustomerAccount(tx, partnerId, customerId, now)
    const issued = await store.readIbans(tx, partnerId, customerId)
    for (const country of countriesInLockOrder) {
      if (issued.some((row) => row.country === country)) continue
      const taken = await issue(tx, partnerId, country, now)
      await store.insertIban(tx, partnerId, customerId, { ...taken, country }, now)
    }
    return store.readIbans(tx, partnerId, customerId)
  }
}

export function createAccounts(deps: AccountsDeps): Accounts {
  const { clock, db, customers, issuers, poolCountries } = deps
  const countries = issuingCountriesOf(deps)
  const problem = findIssuersProblem(issuers)
  assert(problem === undefined, `issuers: ${problem}`)
  const issueMissing = createIssueIbans(deps)

  const toAccount = (customer: Customer, rows: readonly store.IbanRow[]): CustomerAccount | undefined => {
    const [first, ...rest] = sortByConfiguredOrder(countries, rows).map((row) => ({
      ...row,
      bic: row.bic ?? findIssuer(issuers, row.iban)?.bic ?? null,
    }))
    if (first === undefined) return undefined
    return {
      customerId: customer.id,
      partnerCustomerId: customer.partnerCustomerIdentifier ?? customer.serviceId,
      ibans: [first, ...rest],
    }
  }

  const hasAll = (rows: readonly store.IbanRow[]) =>
    countries.every((country) => rows.some((row) => row.country === country))

  return {
    create: (partnerId, customerRef, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const customer = await customers.hold(tx, partnerId, customerRef)
        const issued = await store.readIbans(tx, partnerId, customer.id)
        if (countries.length === 0 && issued.length === 0) throw new Refusal('iban_issuer_not_configured')
        if (!hasAll(issued)) await customers.requireCapability(tx, partnerId, customer.id, 'OpenAccount')
        const rows = hasAll(issued) ? issued : await issueMissing(tx, partnerId, customer.id)
        return present(toAccount(customer, rows), `no IBAN for customer ${customer.id}`)
      }),
    get: async (partnerId, customerRef) => {
      const customer = await customers.find(db, partnerId, customerRef)
      const account = toAccount(customer, await store.readIbans(db, partnerId, customer.id))
      if (account === undefined) throw notFound('account')
      return account
    },
    ibansOf: store.readIbans,
    firstIbansOf: store.readFirstIbans,
    close: async (tx, partnerId, customerId, now) => {
      const ibans = (await store.readIbans(tx, partnerId, customerId)).map(({ iban }) => iban)
      await store.closeIbans(tx, partnerId, customerId, now)
      await quarantineIbans(tx, partnerId, ibans, now)
    },
    erase: store.eraseIbans,
    isOurs: async (tx, iban) =>
      findIssuer(issuers, iban) !== undefined ||
      (poolCountries.some((country) => iban.startsWith(country)) && (await isInImportedPool(tx, iban))),
    ownIbans: {
      mayHave: (iban) =>
        findIssuer(issuers, iban) !== undefined || poolCountries.some((country) => iban.startsWith(country)),
      among: store.findIssuedIbans,
    },
    ownersOf: async (tx, ibans) =>
      new Map((await store.findOwners(tx, ibans)).map(({ iban, ...owner }) => [iban, owner])),
    holdersOf: store.findHolders,
    holderIn: (partnerId, iban) => store.findHolder(db, partnerId, iban),
    ...createStatements(deps),
    ...createTransfers(deps),
    ...createAccountStates({
      ...deps,
      closeIbans: (tx, partnerId, ibans) => quarantineIbans(tx, partnerId, ibans, clock.now()),
    }),
    pools: createImportedPools(deps),
  }
}

/** One statement checks 500 unchanged balances. */
const monitorEveryMs = 2 * secondMs

export const accountJobs = ({
  accounts,
  cancellations,
  monitors,
  clockDifferenceMsMax,
  observePools,
}: {
  readonly accounts: Pick<Accounts, 'pools'>
  readonly cancellations: Cancellations
  readonly monitors: Monitors
  /** The monitors do not evaluate transfers younger than this. */
  readonly clockDifferenceMsMax: number
  readonly observePools: ((levels: readonly PoolLevel[]) => void) | undefined
}): readonly Job[] => [
  defineJob({
    name: 'accounts.cancellations',
    due: store.nextCancellationDue,
    run: cancellations.step,
    age: { queue: 'cancellations', since: cancellations.oldestBlock },
  }),
  defineJob({
    name: 'accounts.monitors',
    wokenBy: ['ledger.transfers', 'accounts.monitors'],
    restMs: monitorEveryMs,
    everyMs: monitorEveryMs,
    quietAfterMs: clockDifferenceMsMax + 2 * monitorEveryMs,
    run: monitors.monitorStep,
    age: { queue: 'monitors', since: async () => monitors.evaluatedUntil() },
  }),
  defineJob({ name: 'accounts.pools', everyMs: minuteMs, run: () => accounts.pools.lookStep(observePools) }),
]
