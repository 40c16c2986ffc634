/** The operations of beneficiaries. */
import type { QueryOf } from '@partner-payments/wire'
import { notFound, type Page, parseCurrency, Refusal, catchRefusal } from '../../kernel/api/index.ts'
import { type Currency, newId, partnerKey, present, isUuid, type RowKey } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import {
  isInForce,
  listMissingRequirements,
  chooseRail,
  type RequiredPayee,
  type Requirement,
  listRequirements,
} from '../../rails/index.ts'
import { countriesOfAccount, type Screening, type SecondData, type Subject } from '../../screening/index.ts'
import { type Customers, namePrefixes, readNamePrefix, searchedPrefix } from '../customers/index.ts'
import { type BicDirectory, checkBic, createBicDirectory, resolveBic, readKnownBics } from './bics.ts'
import { createModulusTables, type ModulusTables, refuseWrongModulus, loadModulusCheck } from './modulus.ts'
import {
  type BeneficiaryCreate,
  type BeneficiaryUpdate,
  readDestination,
  requirePayableAddress,
  requireAcceptedCountry,
  type RefusedAddress,
  requireValidUpdate,
} from './rules.ts'
import * as store from './store.ts'
import {
  adoptAnswer,
  createVerifications,
  requestRenewal,
  type Verifications,
  type VerificationsDeps,
} from './verifications.ts'
import { createPartnerTurns } from '../../postgres/jobs/index.ts'
import { answersAbout, type VerificationRow } from './store-verifications.ts'

export type Beneficiary = store.Beneficiary
export type Payee = store.Payee
export type PayeeCheck = store.PayeeCheck
type BeneficiaryList = QueryOf<'listBeneficiaries'>

export type Beneficiaries = Verifications &
  BulkBeneficiaries & {
    readonly bicDirectory: BicDirectory
    /** The tables that check British account numbers. */
    readonly modulusTables: ModulusTables
    /**
     * Creates a beneficiary, and completes an absent BIC from the directory.
     * Refuses: validation_failed (currency, iban, sortCode, routingNumber, accountNumber, bic, walletAddress, vasp, country), not_found (/customerId),
     * wallet_address_not_payable, recipient_blocked, country_not_supported.
     */
    readonly create: (partnerId: string, input: BeneficiaryCreate, tx?: Tx) => Promise<Beneficiary>
    /** Lists beneficiaries, newest first. Empty if the filter names an unknown customer. Refuses: validation_failed (cursor, namePrefix). */
    readonly list: (partnerId: string, query: BeneficiaryList) => Promise<Page<Beneficiary>>
    /** Finds beneficiaries by the beginning of a word of the name, newest first. Empty if the text has too few letters. */
    readonly named: (partnerId: string, text: string, rowsMax: number) => Promise<readonly Beneficiary[]>
    /** Finds beneficiaries by their alias, newest first. */
    readonly byAlias: typeof store.byAlias
    /** Indexes names that processes of an earlier version wrote, and returns how many. */
    readonly indexNamesStep: () => Promise<number>
    /** Reads a beneficiary. Refuses: not_found. */
    readonly get: (partnerId: string, id: string) => Promise<Beneficiary>
    /**
     * Lists the fields that the beneficiary lacks for a payout on an execution day (`YYYY-MM-DD`; default: today).
     * Requirements of individual banks are not included.
     */
    readonly missingFields: (beneficiary: Beneficiary, day?: string) => readonly string[]
    /** Lists the requirements of payments. Refuses: validation_failed (currency). */
    readonly requirements: (query: QueryOf<'listBeneficiaryRequirements'>) => readonly Requirement[]
    /**
     * Sets those of alias, name and address that are given. Refuses: validation_failed (none given, address),
     * not_found.
     */
    readonly update: (partnerId: string, input: BeneficiaryUpdate) => Promise<Beneficiary>
    /** Hides the beneficiary from later requests. Accepted payouts keep their own copy. Refuses: not_found. */
    readonly remove: (partnerId: string, id: string) => Promise<void>
    /**
     * Reads the payee's data that the travel rule requires for an accepted payout, even if the payee was removed
     * meanwhile.
     */
    readonly travelRuleParty: typeof store.partyById
    /** Reads names and account for screening, even of a removed beneficiary, because a payout to it may be in progress. */
    readonly subjectOf: (tx: Tx, partnerId: string, id: string) => Promise<Subject>
    /** Pages through the ids of a partner's beneficiaries, including removed ones, for screening. */
    readonly idsAfter: typeof store.idsAfter
    /**
     * Reads payees for batches of payouts, by `partnerKey(partnerId, id)`. Unknown and removed payees and those of other
     * partners are absent.
     */
    readonly payeesByIds: (tx: Tx, keys: readonly RowKey[]) => Promise<ReadonlyMap<string, Payee>>
    /** Records a bank's result for a name and an account, if the beneficiary still has both. */
    readonly recordCheck: typeof store.recordCheckResult
    /**
     * Deletes the beneficiaries of an erased customer and returns their ids. Payouts keep their own copy of the payee.
     */
    readonly eraseOf: typeof store.eraseOf
    /** Pages through a customer's beneficiaries for its export, including removed ones. */
    readonly ofCustomer: typeof store.ofCustomer
    /** Finds the holders of IBANs and domestic accounts, of the partner and of all its customers. */
    readonly findHolders: typeof store.holdersOf
    /** Finds beneficiaries of a customer, or of the partner itself (null), by IBANs and domestic accounts, oldest first. */
    readonly byAccounts: (
      partnerId: string,
      customerId: string | null,
      accounts: readonly string[],
    ) => Promise<readonly store.Beneficiary[]>
  }

type BeneficiariesDeps = VerificationsDeps & {
  readonly customers: Pick<Customers, 'hold' | 'resolveId'>
  readonly refusedAddress: RefusedAddress
  readonly screening: Pick<Screening, 'request' | 'countries'>
}

export function createBeneficiaries(deps: BeneficiariesDeps): Beneficiaries {
  const { db, clock, customers, refusedAddress, screening } = deps
  const find = async (partnerId: string, id: string) => {
    const beneficiary = await store.byId(db, partnerId, id)
    if (beneficiary === undefined) throw notFound('beneficiary')
    return beneficiary
  }

  return {
    create: async (partnerId, input, outerTx) => {
      const destination = readDestination(input)
      requirePayableAddress(destination, refusedAddress)
      const { customerId, name, alias = null } = input
      return inTransaction(db, outerTx, async (tx) => {
        const customer =
          customerId === undefined ? null : await customers.hold(tx, partnerId, customerId, '/customerId')
        const now = clock.now()
        const owner = customer?.id ?? null
        await refuseWrongModulus(tx, destination.domesticAccount)
        const { bic, bicCompletedAt } = await checkBic(tx, destination, now)
        const named = { id: newId(), customerId: owner, alias, name, createdAt: now, updatedAt: now }
        const row: Beneficiary = { ...destination, ...named, bic }
        requireAcceptedCountry(row, input, await screening.countries.recent(tx))
        await store.insert(tx, partnerId, { ...row, bicCompletedAt })
        await indexNames(tx, partnerId, [{ id: row.id, name, isIndexed: false }])
        await adoptAnswer(tx, partnerId, row)
        await screening.request(tx, { partnerId, kind: 'beneficiary', id: row.id })
        return row
      })
    },
    ...createLists(deps),
    missingFields: (beneficiary, day = todayOf(deps)) => missingFields(beneficiary, day),
    requirements: ({ country, currency: given, on = todayOf(deps) }) => {
      const currency = parseCurrency(given)
      return listRequirements({ currency, country, rail: chooseRail(currency, { account: country, bic: null }) }, on)
    },
    indexNamesStep: createNameIndexing(deps),
    get: find,
    update: createUpdate(deps),
    remove: async (partnerId, id) => {
      await db.transaction(async (tx) => {
        if ((await store.remove(tx, partnerId, id, clock.now())) === 0) throw notFound('beneficiary')
        await store.deletePrefixes(tx, partnerId, [id])
      })
    },
    ...createVerifications(deps),
    ...createManyBeneficiaries(deps),
    bicDirectory: createBicDirectory(deps),
    modulusTables: createModulusTables(deps),
    travelRuleParty: store.partyById,
    ofCustomer: store.ofCustomer,
    eraseOf: store.eraseOf,
    byAlias: store.byAlias,
    recordCheck: store.recordCheckResult,
    findHolders: store.holdersOf,
    byAccounts: (partnerId, customerId, accounts) => store.byAccounts(db, partnerId, customerId, accounts),
    subjectOf: async (tx, partnerId, id) => {
      const row = await store.nameById(tx, partnerId, id)
      if (row === undefined) return { names: [], account: null, countries: [] }
      const countries = countriesOfAccount({ ...row, account: row.iban, address: row.addressCountry })
      return {
        names: screenedNames(row),
        account: row.iban ?? row.domesticAccount ?? row.walletAddress ?? null,
        countries,
        ...(row.addressCountry === null ? {} : { data: { name: payeeSecondData(countries) } }),
      }
    },
    idsAfter: store.idsAfter,
    payeesByIds: async (tx, keys) => {
      if (keys.length === 0) return new Map()
      const rows = await store.payeesByIds(tx, keys)
      return new Map(rows.map(({ partnerId, ...row }) => [partnerKey(partnerId, row.id), row]))
    },
  }
}

function createLists({ db, cursors, customers }: BeneficiariesDeps): Pick<Beneficiaries, 'list' | 'named'> {
  const listName = (partnerId: string) => `beneficiaries:${partnerId}`
  return {
    list: async (partnerId, { customerId: ref, iban, namePrefix, incompleteOn, ...rest }) => {
      const given = incompleteOn === undefined ? rest : { ...rest, incompleteOn }
      const query = iban === undefined ? given : { ...given, iban: iban.replaceAll(/\s/g, '').toUpperCase() }
      const request = cursors.read(listName(partnerId), query)
      const customerId = ref === undefined ? undefined : await customers.resolveId(db, partnerId, ref)
      if (ref !== undefined && customerId === undefined) return { data: [], nextCursor: null, hasMore: false }
      const prefix = namePrefix === undefined ? undefined : readNamePrefix(namePrefix)
      const filter = {
        ...query,
        ...(customerId === undefined ? {} : { customerId }),
        ...(prefix === undefined ? {} : { prefix }),
      }
      if (incompleteOn === undefined)
        return cursors.page(listName(partnerId), request, await store.list(db, partnerId, filter, request))
      const incomplete = (await listCorridors(db, partnerId)).filter((key) => isIncomplete(key, incompleteOn))
      const rows = await store.listOfCorridors(db, partnerId, incomplete, filter, request)
      return cursors.page(listName(partnerId), request, rows)
    },
    named: async (partnerId, text, rowsMax) => {
      const prefix = searchedPrefix(text)
      return prefix === undefined ? [] : store.list(db, partnerId, { prefix }, { limit: rowsMax - 1, afterId: null })
    },
  }
}

const todayOf = ({ clock }: Pick<BeneficiariesDeps, 'clock'>): string =>
  clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)

/** Lists the missing fields. If the whole address is missing, the field is `address`. */
function missingFields({ iban, domesticAccount, walletAddress, country, ...payee }: Beneficiary, day: string) {
  const account = iban ?? domesticAccount
  if (walletAddress !== null || account === null || country === null) return []
  return missingRequirements({ ...payee, account, country }, day)
}

function missingRequirements(payee: RequiredPayee, day: string): readonly string[] {
  const fields = listMissingRequirements(payee, day)
    .filter((one) => isInForce(one, day))
    .map(({ field }) => (payee.address === null ? field.replace(/^address\..*/, 'address') : field))
  return [...new Set(fields)]
}

/** Lists the partner's corridors, with one statement for each. Most partners have a few, and none more than a few hundred. */
async function listCorridors(tx: Tx, partnerId: string): Promise<readonly string[]> {
  const corridors: string[] = []
  for (let last: string | undefined = ''; last !== undefined;) {
    last = await store.corridorAfter(tx, partnerId, last)
    if (last !== undefined) corridors.push(last)
  }
  return corridors
}

/** Reports whether the payees of a corridor lack fields. The key of the corridor says which fields they have. */
function isIncomplete(key: string, day: string): boolean {
  const [currency = '', country = '', bank = '', fields = ''] = key.split('/')
  const has = (letter: string): boolean => fields.includes(letter)
  const part = (letter: string, name: string) => (has(letter) ? { [name]: 'given' } : {})
  const optional = {
    ...part('s', 'streetName'),
    ...part('b', 'buildingNumber'),
    ...part('p', 'postalCode'),
    ...part('t', 'state'),
  }
  const payee: RequiredPayee = {
    currency: currency as Currency,
    account: country,
    bic: bank === '' ? null : `XXXX${bank}XX`,
    country,
    accountType: has('c') ? 'Checking' : null,
    address: has('a') ? { city: 'given', country, ...optional } : null,
  }
  return country !== '' && missingRequirements(payee, day).length > 0
}

/**
 * Builds the secondary data for screening a payee with an address. The country of the account counts too; one matching
 * country is enough for a hit.
 */
const payeeSecondData = (countries: Subject['countries']): SecondData => ({
  births: [],
  documents: [],
  countries: countries.map(({ country }) => country),
})

const screenedNames = ({ name, vasp }: Pick<Beneficiary, 'name' | 'vasp'>) => [
  { role: 'name', name },
  ...(vasp === null ? [] : [{ role: 'vasp', name: vasp }]),
]

/** Creates the operation that updates a beneficiary. It locks the row, so that the name and its verification change together. */
function createUpdate({ db, clock, screening }: BeneficiariesDeps): Beneficiaries['update'] {
  return async (partnerId, input) => {
    requireValidUpdate(input)
    const { id, alias = null, name = null, address = null } = input
    return db.transaction(async (tx) => {
      const before = await store.lockName(tx, partnerId, id)
      if (before === undefined) throw notFound('beneficiary')
      const now = clock.now()
      const namedAt = name === null || name === before.name ? null : now
      const row = await store.update(tx, partnerId, id, { alias, name, address, namedAt }, now)
      const beneficiary = present(row, `no beneficiary ${id} under its lock`)
      if (namedAt !== null) await indexNames(tx, partnerId, [{ id, name, isIndexed: before.isIndexed }])
      if (namedAt !== null) await requestRenewal(tx, partnerId, beneficiary, before.name, now)
      // Screening judges the country of the address like that of the account.
      if (namedAt !== null || address !== null)
        await screening.request(
          tx,
          { partnerId, kind: 'beneficiary', id },
          namedAt === null ? [] : [{ role: 'name', name: before.name }],
        )
      return beneficiary
    })
  }
}

// The index of the beginnings of payees' names (docs/decisions/0123-payees-by-the-beginnings-of-their-names.md).

/** Replaces the indexed prefixes of payees' names. The caller has locked the payees. */
async function indexNames(tx: Tx, partnerId: string, payees: readonly store.NamedPayee[]): Promise<void> {
  await store.deletePrefixes(
    tx,
    partnerId,
    payees.flatMap(({ id, isIndexed }) => (isIndexed ? [id] : [])),
  )
  await store.insertPrefixes(
    tx,
    partnerId,
    payees.flatMap(({ id, name }) => namePrefixes(name ?? '').map((prefix) => ({ id, prefix }))),
  )
}

const payeesPerStepMax = 100

/** Creates the step that indexes names which a process of an earlier version wrote or removed. It returns how many. */
const createNameIndexing = ({ db }: { readonly db: Database }): (() => Promise<number>) =>
  createPartnerTurns(
    (afterId) => store.partnerWithNamesDue(db, afterId),
    (partnerId) =>
      db.transaction(async (tx) => {
        const payees = await store.claimNamesDue(tx, partnerId, payeesPerStepMax)
        await indexNames(tx, partnerId, payees)
        await store.markIndexed(tx, partnerId, payees)
        return payees.length
      }),
  )

// Hundreds of payees at once, for bulks and imports: finds them by texts and accounts, and judges new ones without creating them.

export type BulkBeneficiaries = {
  /** Finds the partner's own payees by alias or name, ignoring case, and any payee by id. Oldest first. */
  readonly byTexts: (partnerId: string, texts: readonly string[]) => Promise<readonly store.Beneficiary[]>
  /**
   * Checks payees as `create` would now, in a bounded number of statements, without creating them. Returns for each the
   * payee that `create` would return, with a new id each time, or the refusal.
   */
  readonly assess: (inputs: readonly BeneficiaryCreate[]) => Promise<readonly (store.Beneficiary | Refusal)[]>
  /** Reads the newest answers about names and IBANs. Pairs without an answer are absent. */
  readonly answersAbout: (
    partnerId: string,
    payees: readonly { readonly name: string; readonly iban: string }[],
  ) => Promise<readonly VerificationRow[]>
  /** Finds payees of the partner and its customers by their accounts, oldest first. */
  readonly atAccounts: (partnerId: string, accounts: readonly string[]) => Promise<readonly store.Beneficiary[]>
  /** Reads payees by id, including removed ones, because earlier bulks refer to them. */
  readonly withIds: (partnerId: string, ids: readonly string[]) => Promise<readonly store.StoredPayee[]>
  /** Finds payees of the partner and its customers with an account, including removed ones, newest first. */
  readonly withAccount: (partnerId: string, account: string, rowsMax: number) => Promise<readonly store.StoredPayee[]>
}

function createManyBeneficiaries({ db, clock, refusedAddress, screening }: BeneficiariesDeps): BulkBeneficiaries {
  return {
    byTexts: (partnerId, texts) => {
      const ids = texts.map((text) => text.toLowerCase()).filter(isUuid)
      return texts.length === 0 ? Promise.resolve([]) : store.byTexts(db, partnerId, texts, ids)
    },
    assess: async (inputs) => {
      const read = inputs.map((input) =>
        catchRefusal(() => {
          const destination = readDestination(input)
          requirePayableAddress(destination, refusedAddress)
          return { input, destination }
        }),
      )
      const destinations = read.flatMap((each) => (each instanceof Refusal ? [] : [each.destination]))
      const [bicOf, refuseModulus, countries] = await Promise.all([
        readKnownBics(
          db,
          destinations.flatMap(({ iban }) => iban ?? []),
        ),
        loadModulusCheck(
          db,
          destinations.flatMap(({ domesticAccount }) => domesticAccount ?? []),
        ),
        screening.countries.recent(db),
      ])
      const now = clock.now()
      return read.map((each) =>
        each instanceof Refusal
          ? each
          : catchRefusal(() => {
              const { input, destination } = each
              if (destination.domesticAccount !== null) refuseModulus(destination.domesticAccount)
              const { bic } = resolveBic(destination, bicOf, now)
              const named = { id: newId(), customerId: null, alias: input.alias ?? null, name: input.name }
              const row = { ...destination, ...named, bic, createdAt: now, updatedAt: now }
              requireAcceptedCountry(row, input, countries)
              return row
            }),
      )
    },
    answersAbout: (partnerId, payees) =>
      payees.length === 0 ? Promise.resolve([]) : answersAbout(db, partnerId, payees),
    atAccounts: (partnerId, accounts) =>
      accounts.length === 0 ? Promise.resolve([]) : store.byAccountsOfAnyHolder(db, partnerId, accounts),
    withIds: (partnerId, ids) => (ids.length === 0 ? Promise.resolve([]) : store.withIds(db, partnerId, ids)),
    withAccount: (partnerId, account, rowsMax) => store.withAccount(db, partnerId, account, rowsMax),
  }
}
