/**
 * The payment modules, composed as in `compose.ts`, on a test database with a manual clock. A test calls the steps of the
 * settlement worker one by one. It can wrap the database and the rail, but replaces none of our modules.
 */
import assert from 'node:assert/strict'
import { permissions, rawNumber } from '@partner-payments/wire'
import { allPartnerIds } from '../../service/src/access/index.ts'
import { composeModules } from '../../service/src/app/modules.ts'
import { readConfig } from '../../service/src/app/config.ts'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { createLog, type Currency, newId } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database } from '../../service/src/postgres/index.ts'
import type { IdentityProvider } from '../../service/src/parties/identity-port/index.ts'
import type { ChosenHostsOptions } from '../../service/src/webhooks/index.ts'
import { createSandboxBank } from '../../service/src/banks/sandbox/index.ts'
import {
  type BooksAccount,
  type ChooseConnector,
  type Connector,
  internalConnectorId,
} from '../../service/src/rails/index.ts'
import { createManualClock } from './clock.ts'
import { createTestDatabase } from './postgres.ts'
import { checkSharding, testsSharded } from './sharded.ts'

export type TestServiceOptions = {
  /** The database of another test service. Without it, a database is created, and dropped by `close`. */
  readonly url?: string
  readonly now?: Date
  readonly stepMs?: number
  readonly connectionsMax?: number
  readonly sharded?: boolean
  /** Wraps the database of the modules. The sandbox bank uses the unwrapped database. */
  readonly wrapDatabase?: (db: Database) => Database
  /** Wraps the sandbox bank of the settlement worker. */
  readonly wrapConnector?: (connector: Connector) => Connector
  /** Further connectors, and which one carries a payout; by default the sandbox bank. */
  readonly connectors?: readonly Connector[]
  readonly chooseConnector?: ChooseConnector
  /** Accounts at file-based banks that are reconciled. */
  readonly bankAccounts?: readonly BooksAccount[]
  /** Reads TXT records. Default: by the name servers of the system. */
  readonly resolveTxt?: ChosenHostsOptions['resolveTxt']
  /** Default: the simulated one, which is not reached. */
  readonly identityProvider?: IdentityProvider
  /** Settings that differ from the defaults. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Shared by all test services and the recorded fixtures, so that each can open what another sealed. Its bytes must not change. */
const masterKey = Buffer.alloc(32, '686f757365', 'hex')
export const masterKeyText = masterKey.toString('base64')
const configOf = (settings: Readonly<Record<string, string>> = {}) =>
  readConfig({}, { MASTER_KEY: masterKeyText, ...settings })
const configDefault = configOf()
export const stepMsDefault = 1000
const euros = 'EUR' as const

export async function createTestService(options: TestServiceOptions = {}) {
  const { now = new Date('2026-01-01T00:00:00Z'), stepMs = stepMsDefault, connectionsMax = 8 } = options
  const own = options.url === undefined ? await createTestDatabase() : undefined
  const url = options.url ?? own?.url ?? ''
  const log = createLog('silent')
  const { sharded = testsSharded } = options
  const opened = createDatabase({ url, connectionsMax, log, sharded, partnerIds: allPartnerIds })
  const { db: plain, verify } = sharded ? checkSharding(opened) : { db: opened, verify: async () => undefined }
  const db = options.wrapDatabase?.(plain) ?? plain
  const clock = createManualClock(now)
  const bank = createSandboxBank({ db: plain, clock, stepMs })
  const { connectors: further = [], chooseConnector, bankAccounts, settings } = options
  const config = settings === undefined ? configDefault : configOf(settings)
  const chosen = {
    ...(chooseConnector ? { chooseConnector } : {}),
    ...(options.identityProvider ? { identityProvider: options.identityProvider } : {}),
    ...(options.resolveTxt ? { resolveTxt: options.resolveTxt } : {}),
  }
  const modules = composeModules({ config, db, clock, log, bank, ...chosen, ...(bankAccounts ? { bankAccounts } : {}) })
  const internal = modules.connectors.find(({ id }) => id === internalConnectorId)
  assert.ok(internal, 'transfers inside have their connector')
  const connectors = [options.wrapConnector?.(bank) ?? bank, internal, ...further]
  const { access, cases, payoutAges, payoutLife: payouts, recalls, deposits, returns } = modules
  const isPartner = async (partnerId: string) => (await access.partnerName(db, partnerId)) !== ''
  const settlement = {
    log,
    connectors,
    payouts,
    payoutAges,
    recalls,
    deposits,
    cases,
    returns,
    isPartner,
    partnerIds: () => access.partnerIds(db),
  }
  const close = async () => {
    try {
      await verify()
    } finally {
      await plain.close()
    }
    await own?.drop()
  }
  return { ...modules, bank, url, db: plain, clock, log, settlement, close }
}

export type Service = Awaited<ReturnType<typeof createTestService>>

export const ip = '203.0.113.7'

/** A partner with a customer, a beneficiary of that customer, a beneficiary of its own, and a float. */
export async function addPartner(service: Service, floatMinor = 0n, id = newId()) {
  const { db, access, deposits, customers, beneficiaries } = service
  const partnerId = await db.transaction((tx) => access.createPartner(tx, 'Test Partner', id))
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'Test account', permissions }
  const customer = await customers.create(partnerId, {
    email: 'ada@example.com',
    kyc: { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB' },
  })
  const account = { iban: 'DE89370400440532013000', currency: euros }
  const beneficiary = await beneficiaries.create(partnerId, {
    ...account,
    name: 'Grace Hopper',
    customerId: customer.id,
  })
  const ownBeneficiary = await beneficiaries.create(partnerId, { ...account, name: 'Joan Clarke' })
  const float = { debit: 'settlement.sandbox' as const, currency: euros, amount: floatMinor }
  if (floatMinor > 0n) await db.transaction((tx) => deposits.creditPartner(tx, partnerId, float))
  return { partnerId, caller, customer, beneficiary, ownBeneficiary }
}

export type TestPartner = Awaited<ReturnType<typeof addPartner>>

/** Creates a payout in euros, by default to the customer's beneficiary. */
export function pay(
  service: Service,
  partner: TestPartner,
  amount: string,
  fields: { readonly idempotencyKey?: string; readonly reference?: string; readonly beneficiaryId?: string } = {},
) {
  const { idempotencyKey = newId(), beneficiaryId = partner.beneficiary.id, ...rest } = fields
  const body = { amount: rawNumber(amount), currency: euros, beneficiaryId, idempotencyKey, ...rest }
  return service.payouts.create(partner.caller, body, ip)
}

/** The partner's balance, zero if the account does not exist. */
export async function balanceOf({ db, ledger }: Service, partnerId: string, currency: Currency = euros) {
  const balance = (await ledger.balances(db, partnerId)).find((row) => row.currency === currency)
  const { posted, reserved, available } = balance ?? { posted: 0n, reserved: 0n, available: 0n }
  return { posted, reserved, available }
}
