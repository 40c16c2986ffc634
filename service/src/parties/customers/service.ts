/** The operations of customers. They treat erased customers as unknown, unless their comments say otherwise. */
import { type Capability, listLimitDefault, type QueryOf, type VerificationState } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, parseTime, Refusal } from '../../kernel/api/index.ts'
import { type Currency, type Log, type Minor, partnerKey, type Sealer, type RowKey } from '../../kernel/index.ts'
import type { AccountState, Ledger } from '../../ledger/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { PayerData } from '../../rails/index.ts'
import type { Rates } from '../../rates/index.ts'
import { partnerParty, type Subject } from '../../screening/index.ts'
import { type Change, createHistory } from './history.ts'
import { type Customer, type CustomerUser, payerDataOf, toCustomer, toCustomerUser } from './customer.ts'
import {
  entriesOf,
  type Gate,
  type GateDefault,
  hasMaximumBalance,
  hasMaximumSum,
  balanceRefusal,
  sumRefusal,
  sumOf,
} from './gate-rules.ts'
import {
  listCapabilities,
  type CapabilityVerdict,
  createGates,
  createStandingReader,
  type Gates,
  type Holding,
  listHoldings,
  requireCapability,
} from './gates.ts'
import { createKycSealer, type KycSealer, parseCustomerRef } from './sealed.ts'
import { createNameIndex, createNameIndexStep, type NameIndex, readNamePrefix, searchedPrefix } from './name-index.ts'
import { accountNames, type KycFields, screenedCountries, screenedData, screenedNames } from './rules.ts'
import { createReviews, type Reviews } from './reviews.ts'
import * as store from './store.ts'
import { assessCustomers, createCustomer, updateCustomer, type Writes, type WritesDeps } from './writes.ts'
import {
  createProofReader,
  createVerificationRefresh,
  createVerificationStep,
  type ReadIdentities,
  type VerificationRefresh,
} from './verification-states.ts'
import { type Verification, verifyKyc } from './verification.ts'

/** The customer of a payment, with only the citizenship of the KYC. */
export type Payer = Pick<Customer, 'id' | 'serviceId' | 'partnerCustomerIdentifier' | 'email'> & {
  readonly citizenshipCountryCode: string | null
  /** True for an erased customer, whose earlier payments may still be returned. */
  readonly isErased: boolean
  readonly accountState: AccountState
  readonly verificationState: VerificationState
  /** The gate of the customer's state of verification. */
  readonly gate: Gate
}

/** The capabilities of a customer, and the verification that decides them. */
export type CustomerCapabilities = {
  readonly customerId: string
  readonly verificationState: VerificationState
  readonly capabilities: readonly CapabilityVerdict[]
  /** The maximum balances of the state, with the current balances. */
  readonly holdUpTo: readonly Holding[]
  /** The maximum sum across all currencies. Undefined: no maximum. `held`: undefined without a recent rate. */
  readonly inAll: { readonly currency: Currency; readonly max: Minor; readonly held: Minor | undefined } | undefined
  /** Fields that are missing or invalid. */
  readonly fields: Verification['fields']
}

export type Customers = Writes & {
  /**
   * Lists customers, newest first; with `updatedSince`, the latest change first. The filter `email` ignores case. Refuses:
   * validation_failed (cursor, namePrefix).
   */
  readonly list: (partnerId: string, query: CustomerList) => Promise<Page<Customer>>
  /** Lists ids of customers by the filters of `list`, without opening their KYC. Empty if `namePrefix` has too few letters. */
  readonly findIds: (
    partnerId: string,
    query: Pick<CustomerList, 'email' | 'namePrefix' | 'partnerCustomerIdentifier'>,
    rowsMax: number,
  ) => Promise<readonly string[]>
  /** Reads a customer. Refuses: not_found. */
  readonly get: (partnerId: string, ref: string) => Promise<Customer>
  /** Verifies the KYC by the rules at this time. Refuses: not_found. */
  readonly verification: (partnerId: string, ref: string) => Promise<Verification & { readonly customer: Customer }>
  /** Reads the capabilities by the stored state of the verification, like payments. Refuses: not_found. */
  readonly capabilities: (partnerId: string, ref: string) => Promise<CustomerCapabilities>
  /**
   * Reads the customer, and requires that its verification allows the capability, in the currency if given. Refuses:
   * not_found, customer_not_verified (with `pointer` if given), account_blocked (`OpenAccount`: the account is closed).
   */
  readonly requireCapability: (
    tx: Tx,
    partnerId: string,
    id: string,
    capability: Capability,
    where?: { readonly pointer?: string; readonly currency?: Currency },
  ) => Promise<Payer>
  /**
   * Returns the refusal (balance_limit_exceeded) of money that would raise the balance above the maximum of the customer's state. The
   * balance can change meanwhile, unless the caller has locked it (`lockHolders`). Reads the ledger only if there is a maximum.
   */
  readonly refusalAbove: (
    tx: Tx,
    partnerId: string,
    payer: Payer,
    incoming: {
      readonly currency: Currency
      readonly amount: Minor
      readonly pointer: string
      /** True if the customer buys the money with other money, so that the sum of its balances does not grow. */
      readonly isBought?: boolean
    },
  ) => Promise<Refusal | undefined>
  readonly gates: Gates
  readonly reviews: Reviews
  /**
   * Computes the state of the verification after a change of the proofs, and returns it. Undefined: the customer is
   * erased.
   */
  readonly rejudge: VerificationRefresh
  /** Lists the changes of the customer, newest first. Refuses: not_found, validation_failed (cursor). */
  readonly history: (partnerId: string, ref: string, query: QueryOf<'listCustomerChanges'>) => Promise<Page<Change>>
  /**
   * Finds a customer for other modules by `ref`, a guid or a serviceId. Refuses: not_found (with `pointer` if given).
   */
  readonly find: (tx: Tx, partnerId: string, ref: string, pointer?: string) => Promise<Customer>
  /** Finds a customer like `find`, and prevents its erasure until the transaction ends. */
  readonly hold: Customers['find']
  /** Finds the oldest customer with this email address, ignoring case. */
  readonly byEmail: (tx: Tx, partnerId: string, email: string) => Promise<Customer | undefined>
  /**
   * Reads payers for batches of payments, by `partnerKey(partnerId, guid)`. Unknown customers and those of other partners are
   * absent; erased ones are present.
   */
  readonly payersByIds: (tx: Tx, keys: readonly RowKey[]) => Promise<ReadonlyMap<string, Payer>>
  /**
   * Reads the names of customers' accounts (registered, trading and full name), by `partnerKey(partnerId, guid)`. Unknown and
   * erased customers and those of other partners are absent.
   */
  readonly accountNamesOf: (tx: Tx, keys: readonly RowKey[]) => Promise<ReadonlyMap<string, readonly string[]>>
  /**
   * Reads the data of customers for banks, without their accounts, by `partnerKey(partnerId, guid)`. Unknown and erased customers
   * are absent.
   */
  readonly payerDataOf: (tx: Tx, keys: readonly RowKey[]) => Promise<ReadonlyMap<string, Omit<PayerData, 'account'>>>
  /**
   * Reads customers as their transactions show them, by `partnerKey(partnerId, guid)`. Unknown customers are absent. Erased
   * customers have only an `id`, because their retained data is not for readers of payments.
   */
  readonly usersByIds: (
    tx: Tx,
    keys: readonly RowKey[],
  ) => Promise<ReadonlyMap<string, CustomerUser & { readonly isErased: boolean }>>
  /**
   * Locks customers in the order of their ids, before their balances are read and locked, so that two concurrent deposits cannot
   * exceed a maximum balance together.
   */
  readonly lockHolders: typeof store.lockCustomers
  /** Reads payers like `payersByIds`, and prevents their erasure until the transaction ends. */
  readonly heldPayersByIds: Customers['payersByIds']
  /**
   * Sets the state of the customer's account under the lock of its row, and returns the previous state. The same state may
   * be set again. Refuses: not_found, account_blocked (the account is closed).
   */
  readonly setAccountState: (tx: Tx, partnerId: string, id: string, state: AccountState) => Promise<AccountState>
  /** Reads the names of the customer and its owners for screening. */
  readonly subjectOf: (tx: Tx, partnerId: string, id: string) => Promise<Subject>
  /** Pages through the ids of a partner's customers in order, for screening. */
  readonly idsAfter: typeof store.idsAfter
  /**
   * Resolves a guid or serviceId to the guid, for filters, even of an erased customer. Undefined: no such customer.
   * Does not open KYC.
   */
  readonly resolveId: (tx: Tx, partnerId: string, ref: string) => Promise<string | undefined>
  /** Resolves a reference like `idOf`, but not of an erased customer. */
  readonly resolvePresentId: Customers['resolveId']
  /** Indexes names of customers that are not in the index, and returns how many. A step of a job. */
  readonly indexNamesStep: () => Promise<number>
  /** Updates stored states of verification that may be outdated, and returns how many. A step of a job. */
  readonly verifyStep: () => Promise<number>
}

/** Maximum number of cached citizenships: about 20 MB. */
const citizenshipsMax = 100_000

type CustomersDeps = Omit<WritesDeps, 'proofsOf'> & {
  /** Reads the proofs of identity providers. */
  readonly identitiesOf: ReadIdentities
  /** The setting IDENTITY_REQUIRED. */
  readonly identityRequired: boolean
  readonly ledger: Pick<Ledger, 'partySumsAt'>
  readonly rates: Pick<Rates, 'converter'>
  readonly sealer: Sealer
  readonly cursors: Cursors
  readonly log: Log
  /** KYC_GATES: the gate of partners without one. */
  readonly gatesByDefault: GateDefault
}

type AllDeps = CustomersDeps & WritesDeps

/** Opens KYC. Undefined if it cannot be decrypted, so that a list or a job does not fail because of one row. Only `get` fails. */
function kycIfReadable(
  log: Log,
  kycSealer: KycSealer,
  partnerId: string,
  { id, kycSealed }: Pick<store.CustomerRow, 'id' | 'kycSealed'>,
): KycFields | undefined {
  try {
    return kycSealer.open(partnerId, id, kycSealed)
  } catch (error) {
    log.error({ err: error, partnerId, customerId: id }, 'KYC cannot be read; lists show the customer without it')
    return undefined
  }
}

/** Creates a reader of payers. It caches only the citizenship of opened KYC, until the KYC changes. */
function createPayerReader(kycSealer: KycSealer, byDefault: GateDefault) {
  const standingOf = createStandingReader(byDefault)
  const citizenships = new Map<string, { readonly mark: string; readonly country: string | null }>()
  return (name: string, row: store.PayerRow): Payer => {
    const { id, serviceId, partnerCustomerIdentifier, email } = row
    const names = { id, serviceId, partnerCustomerIdentifier, email }
    const accountState = row.accountState ?? 'Active'
    const payer = { ...names, ...standingOf(row), isErased: row.erasedAt !== null, accountState }
    const mark = kycSealer.mark(row.kycSealed)
    const cached = citizenships.get(name)
    if (cached?.mark === mark) return { ...payer, citizenshipCountryCode: cached.country }
    const country = kycSealer.open(row.partnerId, id, row.kycSealed).citizenshipCountryCode ?? null
    if (citizenships.size >= citizenshipsMax) citizenships.clear()
    citizenships.set(name, { mark, country })
    return { ...payer, citizenshipCountryCode: country }
  }
}

const createFindBy =
  (kycSealer: KycSealer) =>
  (options: store.RefOptions): Customers['find'] =>
  async (tx, partnerId, ref, pointer) => {
    const kind = parseCustomerRef(ref)
    const row = kind && (await store.byRef(tx, partnerId, kind, options))
    if (row === undefined) throw notFound('customer', pointer)
    return toCustomer(kycSealer, partnerId, row)
  }

const idBy =
  (options: store.RefOptions): Customers['resolveId'] =>
  async (tx, partnerId, ref) => {
    const kind = parseCustomerRef(ref)
    return kind && store.idByRef(tx, partnerId, kind, options)
  }
const setAccountState: Customers['setAccountState'] = async (tx, partnerId, id, state) => {
  const before = await store.lockAccountState(tx, partnerId, id)
  if (before === undefined) throw notFound('customer')
  if (before === state) return before
  if (before === 'Closed')
    throw new Refusal('account_blocked', 'The account of the customer is closed and cannot be reopened.')
  await store.setAccountState(tx, partnerId, id, state)
  return before
}

/** Reads the payers of a batch in one statement. */
function createPayersBy(kycSealer: KycSealer, byDefault: GateDefault) {
  const toPayer = createPayerReader(kycSealer, byDefault)
  return (options: { readonly held?: boolean }): Customers['payersByIds'] =>
    async (tx, keys) => {
      if (keys.length === 0) return new Map()
      const rows = await store.payersByIds(tx, keys, options)
      return new Map(
        rows.map((row) => {
          const name = partnerKey(row.partnerId, row.id)
          return [name, toPayer(name, row)]
        }),
      )
    }
}

const moneyOf = ({ currency, posted: amount }: { readonly currency: Currency; readonly posted: Minor }) => ({
  currency,
  amount,
})

function createCapabilities(
  { db, clock, gatesByDefault: byDefault, ledger, proofsOf, rates, screening }: AllDeps,
  find: Customers['find'],
  payersByIds: Customers['payersByIds'],
): Pick<Customers, 'capabilities' | 'requireCapability' | 'refusalAbove' | 'gates' | 'reviews'> {
  const readPayer = async (tx: Tx, partnerId: string, id: string): Promise<Payer> => {
    const payer = (await payersByIds(tx, [{ partnerId, id }])).get(partnerKey(partnerId, id))
    if (payer === undefined) throw notFound('customer')
    return payer
  }
  /** Returns `Blocked` also if the customer or its partner has a confirmed hit. */
  const effectiveState = async (partnerId: string, { id, accountState }: Payer): Promise<AccountState> => {
    if (accountState === 'Closed') return accountState
    const keys = [partnerParty(partnerId, id), { partnerId, kind: 'customer' as const, id }]
    const holdOf = await screening.holdsOf(keys)
    return keys.some((key) => holdOf(key) === 'confirmed') ? 'Blocked' : accountState
  }
  return {
    capabilities: async (partnerId, ref) => {
      const { id, kyc, customerType } = await find(db, partnerId, ref)
      const payer = await readPayer(db, partnerId, id)
      const proofs = (await proofsOf(db, partnerId, [id]))(id)
      const fields = verifyKyc(kyc, customerType, clock.now(), proofs).fields.filter(({ code }) => code !== undefined)
      const { balancesMax, totalMax } = payer.gate
      const [overall] = entriesOf(totalMax)
      const hasMaximum = Object.keys(balancesMax).length > 0 || overall !== undefined
      const sums = hasMaximum ? await ledger.partySumsAt(db, partnerId, id, undefined) : []
      const accountState = await effectiveState(partnerId, payer)
      const judged = {
        capabilities: listCapabilities({ ...payer, accountState }),
        holdUpTo: listHoldings(balancesMax, sums),
      }
      const inAll = overall && {
        currency: overall[0],
        max: overall[1],
        held: sumOf(sums.map(moneyOf), overall[0], await rates.converter(db)),
      }
      return { customerId: id, verificationState: payer.verificationState, ...judged, inAll, fields }
    },
    requireCapability: async (tx, partnerId, id, capability, where = {}) => {
      // Waits for a close in progress, which then closes what this transaction opens, or is seen here.
      if (capability === 'OpenAccount') await store.lockCustomers(tx, [{ partnerId, id }])
      const payer = await readPayer(tx, partnerId, id)
      requireCapability(payer, capability, where)
      return payer
    },
    refusalAbove: async (tx, partnerId, payer, { currency, amount, pointer, isBought = false }) => {
      if (!hasMaximumBalance(payer, currency)) return undefined
      const sums = await ledger.partySumsAt(tx, partnerId, payer.id, undefined)
      const held = sums.find((sum) => sum.currency === currency)?.posted ?? 0n
      const refusal = balanceRefusal(payer, { currency, held, amount }, pointer)
      if (refusal !== undefined || isBought || !hasMaximumSum(payer)) return refusal
      const money = [...sums.map(moneyOf), { currency, amount }]
      return sumRefusal(payer, money, await rates.converter(tx), pointer)
    },
    gates: createGates({ clock, byDefault }),
    reviews: createReviews({ clock }),
  }
}

export function createCustomers(given: CustomersDeps): Customers {
  const proofsOf = createProofReader(given.identitiesOf, given.identityRequired)
  const deps = { ...given, proofsOf }
  const { db, clock, log } = deps
  const kycSealer = createKycSealer(deps.sealer)
  const names = createNameIndex(deps)
  const history = createHistory(deps)
  const records = { names, history }
  const listRows = createList({ ...deps, names })

  const findBy = createFindBy(kycSealer)
  const find = findBy({})
  const payersBy = createPayersBy(kycSealer, deps.gatesByDefault)

  return {
    create: createCustomer(deps, kycSealer, records),
    list: async (partnerId, query) => {
      const page = await listRows(partnerId, query)
      const data = page.data.map(({ kycSealed, ...row }) => ({
        ...row,
        kyc: kycIfReadable(log, kycSealer, partnerId, { id: row.id, kycSealed }) ?? {},
      }))
      return { ...page, data }
    },
    findIds: async (partnerId, query, rowsMax) => {
      if (query.namePrefix !== undefined && searchedPrefix(query.namePrefix) === undefined) return []
      return (await listRows(partnerId, { ...query, limit: String(rowsMax) })).data.map(({ id }) => id)
    },
    get: (partnerId, ref) => find(db, partnerId, ref),
    verification: async (partnerId, ref) => {
      const customer = await find(db, partnerId, ref)
      const proofs = (await proofsOf(db, partnerId, [customer.id]))(customer.id)
      return { customer, ...verifyKyc(customer.kyc, customer.customerType, clock.now(), proofs) }
    },
    ...createCapabilities(deps, find, payersBy({})),
    history: async (partnerId, ref, query) => {
      const id = await idBy({})(db, partnerId, ref)
      if (id === undefined) throw notFound('customer')
      return history.list(partnerId, id, query)
    },
    update: updateCustomer(deps, kycSealer, records),
    assess: assessCustomers(deps),
    find,
    hold: findBy({ held: true }),
    byEmail: async (tx, partnerId, email) => {
      const row = await store.oldestByEmail(tx, partnerId, email)
      return row && toCustomer(kycSealer, partnerId, row)
    },
    payersByIds: payersBy({}),
    ...createNamesByIds(deps, kycSealer),
    lockHolders: store.lockCustomers,
    heldPayersByIds: payersBy({ held: true }),
    setAccountState,
    subjectOf: async (tx, partnerId, id) => {
      const row = await store.byRef(tx, partnerId, { kind: 'guid', value: id }, {})
      const kyc = row === undefined ? {} : toCustomer(kycSealer, partnerId, row).kyc
      return {
        names: screenedNames(kyc),
        account: null,
        countries: screenedCountries(kyc),
        data: screenedData(kyc),
      }
    },
    idsAfter: store.idsAfter,
    resolveId: idBy({ erased: true }),
    resolvePresentId: idBy({}),
    ...createSteps(deps, kycSealer, names),
  }
}

function createNamesByIds(
  { log }: CustomersDeps,
  kycSealer: KycSealer,
): Pick<Customers, 'accountNamesOf' | 'payerDataOf' | 'usersByIds'> {
  const read = async (...[tx, keys]: Parameters<Customers['usersByIds']>) =>
    keys.length === 0 ? [] : store.payersByIds(tx, keys)
  const kycOf = (row: store.PayerRow) => kycIfReadable(log, kycSealer, row.partnerId, row) ?? {}
  return {
    accountNamesOf: async (tx, keys) =>
      new Map(
        (await read(tx, keys))
          .filter(({ erasedAt }) => erasedAt === null)
          .map((row) => [partnerKey(row.partnerId, row.id), accountNames(kycOf(row))]),
      ),
    payerDataOf: async (tx, keys) =>
      new Map(
        (await read(tx, keys))
          .filter(({ erasedAt }) => erasedAt === null)
          .map((row) => [partnerKey(row.partnerId, row.id), payerDataOf({ ...row, kyc: kycOf(row) })]),
      ),
    usersByIds: async (tx, keys) =>
      new Map(
        (await read(tx, keys)).map((row) => [
          partnerKey(row.partnerId, row.id),
          row.erasedAt === null
            ? { ...toCustomerUser({ ...row, kyc: kycOf(row) }), isErased: false }
            : { id: row.serviceId, isErased: true },
        ]),
      ),
  }
}

function createSteps(
  { db, clock, log, proofsOf }: AllDeps,
  kycSealer: KycSealer,
  index: NameIndex,
): Pick<Customers, 'indexNamesStep' | 'verifyStep' | 'rejudge'> {
  const kycOf = (partnerId: string, row: Pick<store.CustomerRow, 'id' | 'kycSealed'>) =>
    kycIfReadable(log, kycSealer, partnerId, row)
  return {
    indexNamesStep: createNameIndexStep({ db, index, kycOf: (partnerId, row) => kycOf(partnerId, row) ?? {} }),
    verifyStep: createVerificationStep({ db, clock, kycOf, proofsOf }),
    rejudge: createVerificationRefresh({ clock, kycOf, proofsOf }),
  }
}

/** `id`: restricts the search to one customer. */
type CustomerList = Omit<QueryOf<'listCustomers'>, 'iban'> & { readonly id?: string | undefined }

/** Creates the function that lists stored rows. Refuses: validation_failed (cursor, namePrefix). */
function createList(deps: {
  readonly db: Database
  readonly cursors: Cursors
  readonly names: NameIndex
}): (partnerId: string, query: CustomerList) => Promise<Page<store.CustomerRow>> {
  const { db, cursors, names } = deps
  return async (partnerId, query) => {
    const isByChange = query.updatedSince !== undefined
    const list = `customers${isByChange ? '-by-change' : ''}:${partnerId}`
    const limit = query.limit === undefined ? listLimitDefault : Number(query.limit)
    const after = query.cursor === undefined ? null : readPosition(cursors.open(list, query.cursor, '/query/cursor'))
    const filter = readFilter(query)
    const nameToken = filter.prefix === undefined ? undefined : await names.computeToken(db, partnerId, filter.prefix)
    if (filter.prefix !== undefined && nameToken === undefined) return { data: [], nextCursor: null, hasMore: false }
    const rows = await store.list(db, partnerId, { ...filter.columns, nameToken }, after, limit + 1)
    const data = rows.slice(0, limit)
    const hasMore = rows.length > limit
    const last = data.at(-1)
    const nextCursor = hasMore && last ? cursors.write(list, writePosition(last, isByChange)) : null
    return { data, nextCursor, hasMore }
  }
}

function readFilter(query: CustomerList) {
  const { id, email, partnerCustomerIdentifier, serviceId, customerType, verificationState } = query
  const timeIfGiven = (text: string | undefined) => (text === undefined ? undefined : parseTime(text))
  const columns = {
    id,
    email,
    partnerCustomerIdentifier,
    serviceId,
    customerType,
    verificationState,
    createdFrom: timeIfGiven(query.createdFrom),
    createdTo: timeIfGiven(query.createdTo),
    updatedSince: timeIfGiven(query.updatedSince),
  }
  return { columns, prefix: query.namePrefix === undefined ? undefined : readNamePrefix(query.namePrefix) }
}

/**
 * Writes the position in a list. In the order of changes it contains the time of the change, so that rows which change
 * meanwhile do not shift the others.
 */
const writePosition = ({ id, updatedAt }: store.CustomerRow, isByChange: boolean) =>
  isByChange ? `${id} ${updatedAt.toISOString()}` : id

function readPosition(position: string): store.ListPosition {
  const [id = '', updatedAt] = position.split(' ')
  return { id, updatedAt: updatedAt === undefined ? null : new Date(updatedAt) }
}
