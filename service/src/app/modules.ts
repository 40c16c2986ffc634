/** Composes everything below the gateway and the workers: ledger, connectors, modules, webhook engine. For `compose.ts` and tests. */
import { createAccess, type Access, type ExpiryListener } from '../access/index.ts'
import { createAudit } from '../audit/index.ts'
import { type Config, usedIsoBanks } from './config.ts'
import { composeDecisions } from './cases.ts'
import {
  checkoutSettings,
  invitationSettings,
  issuingSettings,
  signInSettings,
  signing,
  usesSandboxBank,
  webhookSettings,
} from './derived-settings.ts'
import {
  type ChosenHostsOptions,
  createChosenHosts,
  createTestDeliveries,
  createDeliveryEngine,
  createEndpointAlerts,
  type CreateSampleData,
} from '../webhooks/index.ts'
import { createCursors } from '../kernel/api/index.ts'
import { after, type Clock, createSealer, dayMs, deriveKey, type Log, partnerKey, secondMs } from '../kernel/index.ts'
import { createIdempotency } from '../idempotency/index.ts'
import { createCases, operatorPartnerId } from '../cases/index.ts'
import { createLedger, type MoneyHolds, type MoneyOwner } from '../ledger/index.ts'
import { createFactQueue, type FactQueue, type Inbox } from '../inbox/index.ts'
import { createMailQueue } from '../mail/index.ts'
import { composeInbox } from './inbox.ts'
import { type Observability } from '../edge/observability/index.ts'
import {
  createScreener,
  createScreening,
  type ScreenedParty,
  partnerParty,
  type Subject,
  type SubjectName,
} from '../screening/index.ts'
import { createEventOutbox, formatPayload, sampleEvent } from '../events/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { IdentityProvider } from '../parties/identity-port/index.ts'
import { createIsoBanks, type PayerKey } from '../banks/files/index.ts'
import { createInternalConnector } from '../banks/internal/index.ts'
import { createSandboxBank, type SandboxBank } from '../banks/sandbox/index.ts'
import {
  type BooksAccount,
  type ChooseConnector,
  type Connector,
  createConnectorHealth,
  internalConnectorId,
  lastDayOnStatement,
  type PayerData,
} from '../rails/index.ts'
import { createConfiguredRates } from '../rates/index.ts'
import { createVerification, type ReadHolderNames, payeeScheme } from '../parties/payee-check/index.ts'
import { type Accounts, createAccounts, createCancellations, createMonitors, recordFreeze } from '../accounts/index.ts'
import { type Beneficiaries, createBeneficiaries, createRenewals } from '../parties/beneficiaries/index.ts'
import { createCheckout, createRefundEvents, createLateOffers, createPaymentRefunds } from '../checkout/index.ts'
import { createCustomers, type Customers } from '../parties/customers/index.ts'
import { createDeposits, type Deposits, depositsOfHit } from '../deposits/index.ts'
import { createMonitoring, type Monitoring } from '../monitoring/index.ts'
import { createFx } from '../fx/index.ts'
import { createBulkPayouts } from '../payouts/bulk/index.ts'
import { createPayoutControls, listApprovalRules } from '../payouts/controls/index.ts'
import {
  createPayoutAges,
  createPayoutLife,
  createPayouts,
  type PayoutsDeps,
  unstartedPayoutIds,
  payoutsOfHit,
  subjectOfPayout,
} from '../payouts/index.ts'
import { createRecalls, createRecallReturns } from '../payouts/recalls/index.ts'
import { createReports } from '../reports/index.ts'
import { createDecisionStatistics } from '../reports/decisions/index.ts'
import {
  createStaffChanges,
  requireDecider,
  canToggleRules,
  checkStaffDeciders,
  createCheckTwoStaff,
} from '../people/staff/index.ts'
import { createScheduledPayouts, createStandingOrders } from '../payouts/standing-orders/index.ts'
import { createSimulations } from '../simulations/index.ts'
import { createTransactions } from '../transactions/index.ts'
import {
  createFactors,
  createGuestLinks,
  createFirstAdmin,
  createImpersonationNotice,
  createSavedViews,
  createUploads,
  createPayoutRightCheck,
  createServiceAccounts,
  createUsers,
  memberIdsAfter,
  subjectOfMember,
} from '../people/users/index.ts'
import { createRequests } from '../requests/index.ts'
import { createSignIn } from '../people/sign-in/index.ts'
import { composeIdentity, composeMembers, composeProofs, composeStaff } from './people.ts'
import { composePersonalData } from './personal-data.ts'
import { createSafeguarding, type Safeguarding, type SafeguardingDeps } from '../reports/safeguarding/index.ts'
import { createHoldReader, createStaffQueue } from './waiting.ts'
import { composeTokenPayments, createOwnerReader } from './wallets.ts'

type ModulesDeps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly observability?: Observability
  /** See `PayoutsDeps`. */
  readonly payoutsPerBatchMax?: number
  /** Default: the sandbox bank on `db`. */
  readonly bank?: SandboxBank
  /** Further connectors. Only `chooseConnector` can select them, because `RAIL_RULES` cannot name them. */
  readonly connectors?: readonly Connector[]
  /** Reconciled accounts at file-based banks. Default: those of the configuration. */
  readonly bankAccounts?: readonly BooksAccount[]
  /** Default: the provider of the configuration. Null: no provider. */
  readonly identityProvider?: IdentityProvider | null
  /** Default: the name servers of the system. */
  readonly resolveTxt?: ChosenHostsOptions['resolveTxt']
  /** Default: by `RAIL_RULES` and `RAIL`. */
  readonly chooseConnector?: ChooseConnector
}

export function composeModules(deps: ModulesDeps) {
  const core = composeCore(deps)
  const inboxOf = (): Inbox => inbox
  const delivery = composeDelivery(deps, core, inboxOf)
  const payments = composePayments(deps, core, delivery)
  const waiting = createStaffQueue({ ...deps, ...core, ...payments, changes: createStaffChanges(deps) })
  const inbox = composeInbox({ ...deps, ...core, ...delivery, ...payments, mail: core.mailQueue })
  return {
    ...core,
    ...delivery,
    ...payments,
    inbox,
    waiting,
    holdOf: createHoldReader({ ...deps, ...core, ...payments }),
    staff: composeStaff({ ...deps, ...core, ...payments, mail: core.mailQueue, waiting, inbox: inboxOf }),
    monitors: composeMonitors(deps, core, delivery),
  }
}

export type Modules = ReturnType<typeof composeModules>

/** Composes the parts that every module needs. */
function composeCore(deps: ModulesDeps) {
  const { config, db, clock, log } = deps
  const sealer = createSealer(config.MASTER_KEY)
  const cursors = createCursors(deriveKey(config.MASTER_KEY[0], 'cursors'))
  const onNamed = (tx: Tx, partnerId: string, before: readonly SubjectName[]) =>
    screening.request(tx, { partnerId, kind: 'partner', id: partnerId }, before)
  const facts = createFactQueue({ clock })
  const access = createAccess({ db, clock, sealer, onNamed, onExpiring: expiringFact(facts) })
  const holds: MoneyHolds = async (tx, parties) => {
    const keysOf = ({ partnerId, partyId: id }: MoneyOwner): readonly ScreenedParty[] => [
      partnerParty(partnerId, id),
      ...(id === partnerId ? [] : [{ partnerId, kind: 'customer' as const, id }]),
    ]
    const holdOf = await screening.holdsOf(parties.flatMap(keysOf), tx)
    return parties.map((party) => keysOf(party).some((key) => holdOf(key) !== undefined))
  }
  const ledger = createLedger({ clock, segregates: config.CUSTOMER_MONEY === 'segregated', holds })
  const eventOutbox = createEventOutbox()
  const screening = createScreening({
    ...{ db, clock, sealer, facts, textNames: config.SCREENED_TEXTS === 'names' },
    requireDecider: (tx, by) => requireDecider(tx, 'screening_hit', by),
    judgeTwo: (tx, author, approver) => checkStaffDeciders(tx, 'screening_hit', author, approver),
    onFrozen: (tx, frozen) => recordFreeze({ clock, ledger }, tx, frozen),
    peps: {
      hits: config.PEP_HITS,
      onConfirmed: (tx, { customerId: id, ...rest }) => customers.reviews.raise(tx, { ...rest, id }),
    },
  })
  const rates = createConfiguredRates(config, { db, clock, log, observe: deps.observability?.metrics.fxRatesAge })
  const customerRules = {
    gatesByDefault: config.KYC_GATES,
    identifiers: config.CUSTOMER_IDENTIFIERS,
    ...composeProofs(config, sealer),
    ledger,
    rates,
  }
  const customers: Customers = createCustomers({ db, clock, sealer, cursors, log, screening, ...customerRules })
  const audit = createAudit({ db, clock, cursors, sealer })
  return {
    sealer,
    cursors,
    access,
    facts,
    ledger,
    eventOutbox,
    rates,
    customers,
    ...composeIdentity(deps, { sealer, cursors, customers, eventOutbox, audit }),
    screening,
    audit,
    requests: createRequests({ db, clock, log, cursors, partnerIds: access.partnerIds }),
    cases: createCases({ db, clock, log, ledger, facts, addOperator: access.addOperator }),
    idempotency: createIdempotency({ db, clock, sealer, audit }),
    mailQueue: createMailQueue({ clock, sealer }),
    transactions: createTransactions({ db, clock, cursors, eventOutbox, customers, audit, ...clocks(config) }),
  }
}

/** How long before the end of a key the team is notified. */
const keyLeadMs = 14 * dayMs

const expiringFact =
  (facts: FactQueue) =>
  (tx: Tx, { partnerId, serviceAccountId: subject, expiresAt }: Parameters<ExpiryListener>[1]): void => {
    const occasion = `${subject} ${Math.floor(expiresAt.getTime() / secondMs)}`
    facts.append(tx, [{ partnerId, type: 'key.expires', subject, occasion, dueAt: after(expiresAt, -keyLeadMs) }])
  }

/** Returns the permitted clock difference: half a minute in production, where NTP keeps clocks within a second. */
const clocks = ({ REPORT_CLOCK_DIFFERENCE_MS }: Config) => ({ clockDifferenceMsMax: REPORT_CLOCK_DIFFERENCE_MS })
type Core = ReturnType<typeof composeCore>

/** Composes the team of a partner and its webhooks. */
function composeDelivery(deps: ModulesDeps, core: Core, inbox: () => Inbox) {
  const { config, db, clock } = deps
  const { access, mailQueue: mail } = core
  const { partnerName, isClosed } = access
  const users = createUsers({ ...core, db, clock, mail, ...invitationSettings(config) })
  const signIn = createSignIn({ ...core, db, clock, ...signInSettings(config) })
  const chosenHosts = createChosenHosts({
    ...{ clock, allowLoopback: config.WEBHOOK_HTTP, proxy: config.WEBHOOK_PROXY_URL },
    resolveTxt: deps.resolveTxt,
  })
  const decidesByTwo = async (tx: Tx, partnerId: string) => (await listApprovalRules(tx, partnerId)).length > 0
  const members = composeMembers({ ...deps, ...core, mail, signIn, chosenHosts, decidesByTwo, inbox })
  const linkKey = deriveKey(config.MASTER_KEY[0], 'links of first Admins')
  const firstAdmin = createFirstAdmin({ db, clock, mail, partnerName, isClosed, linkKey })
  const { membersWithRoles, invitedWithRoles } = users
  const alerts = createEndpointAlerts({ mail, facts: core.facts, invitedWithRoles })
  const webhooks = createDeliveryEngine({ ...core, db, clock, ...webhookSettings(config), alerts })
  const sample = createSample(access, db)
  const testDeliveries = createTestDeliveries({ ...core, db, clock, send: chosenHosts.sendTest, sample })
  const serviceAccounts = createServiceAccounts({ ...core, db, clock, mail, membersWithRoles })
  const guestLinks = createGuestLinks({ ...core, db, clock, mail, ...signInSettings(config) })
  const savedViews = createSavedViews({ ...core, db, clock })
  const uploads = createUploads({ ...core, db, clock })
  const factors = createFactors({ ...core, db, clock, mail, signIn })
  const tellOfImpersonation = createImpersonationNotice({ mail })
  return {
    tellOfImpersonation,
    users,
    members,
    guestLinks,
    savedViews,
    uploads,
    serviceAccounts,
    firstAdmin,
    factors,
    signIn,
    webhooks,
    testDeliveries,
  }
}

/** Composes the balance monitors, which mail the team. */
const composeMonitors = (
  { config, db, clock, log }: ModulesDeps,
  core: Core,
  { users }: ReturnType<typeof composeDelivery>,
) => {
  const { membersByAddress } = users
  return createMonitors({ ...core, ...clocks(config), db, clock, log, mail: core.mailQueue, membersByAddress })
}

/** Composes banks and chains, and the modules whose payments they carry. */
function composePayments(deps: ModulesDeps, core: Core, { users }: ReturnType<typeof composeDelivery>) {
  const { config, db, clock, log, payoutsPerBatchMax } = deps
  const bank = deps.bank ?? createSandboxBank({ db, clock, stepMs: config.SANDBOX_BANK_DELAY_MS })
  const partyOf: Beneficiaries['travelRuleParty'] = (tx, partnerId, id) =>
    beneficiaries.travelRuleParty(tx, partnerId, id)
  const { converter } = core.rates
  const chosen = { partyOf, converter, chooseConnector: deps.chooseConnector }
  const tokens = composeTokenPayments({ ...core, config, db, clock, log, ...chosen })
  const { chains, chooseConnector, refusedAddress, wallets } = tokens
  const connectorHealth = createConnectorHealth({ clock })
  const banksDeps = { db, clock, log, operatorId: operatorPartnerId, health: connectorHealth }
  const observe = deps.observability?.metrics.banks
  const readPayers = createReadPayers(db, core, () => accounts)
  const payers = { sealer: core.sealer, read: readPayers }
  const isoBanks = createIsoBanks({ ...banksDeps, observe, payers, banks: usedIsoBanks(config) })
  const connectors = [
    ...(usesSandboxBank(config) ? [bank] : []),
    composeInternal(deps, core, { accountsOf: () => accounts, depositsOf: () => deposits }),
    ...isoBanks.connectors,
    ...chains.connectors,
    ...(deps.connectors ?? []),
  ]
  const shared = { ...core, db, clock }
  const accounts = createAccounts({ ...shared, log, ...issuingSettings(config) })
  const ownNames = createOwnNames(db, core.access, accounts, core.customers)
  const verification = createVerification({ log, scheme: payeeScheme(config.PAYEE_SCHEME), ownNames })
  const beneficiaries = createBeneficiaries({ ...shared, refusedAddress, verification })
  const verificationDaysMax = config.PAYEE_VERIFICATION_DAYS_MAX
  const renewals = createRenewals({ ...shared, log, verification, verificationDaysMax })
  const fx = createFx({ ...shared, terms: config })
  const connectorOf: PayoutsDeps['connectorOf'] = (id) => connectors.find((connector) => connector.id === id)
  const { ownIbans } = accounts
  const monitoring = createMonitoring({
    ...shared,
    judgeTwo: createCheckTwoStaff(canToggleRules),
    partnerIds: core.access.partnerIds,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
  const outgoing = composePayouts(
    {
      ...shared,
      log,
      monitoring,
      mayPay: createPayoutRightCheck(core.access, core.screening),
      proofsMissing: wallets.ownership.findMissing,
      beneficiaries,
      quotes: fx,
      chooseConnector,
      connectorOf,
      readPayers,
      ownIbans,
      payoutsPerBatchMax,
      duplicateDays: config.DUPLICATE_PAYMENT_DAYS,
      scheduledPayouts: createScheduledPayouts({ beneficiaries }),
    },
    config,
  )
  const { payoutLife, payouts } = outgoing
  const cancelPayout = (partnerId: string, id: string) => payoutLife.cancel(partnerId, id, 'operator')
  const cancellations = createCancellations({ db, clock, log, waitingPayouts: unstartedPayoutIds, cancelPayout })
  const ownersOf = createOwnerReader(accounts, wallets)
  const refunds = createPaymentRefunds({ ...shared, ...outgoing })
  const proofsMissing = wallets.ownership.findMissing
  const late = createLateOffers({ ...shared, choiceDays: config.CHECKOUT_CHOICE_DAYS })
  const deposits = createDeposits({ ...shared, ownersOf, proofsMissing, refunds, late })
  const screener = composeScreener({ ...shared, log, beneficiaries, deposits, secondDatum: config.SECOND_DATUM })
  const { membersByAddress } = users
  const reports = createReports({ ...shared, membersByAddress, keptDays: config.REPORT_KEPT_DAYS })
  const opening = { ...shared, accounts, deposits, payouts, wallets }
  const checkout = createCheckout({ ...opening, ...checkoutSettings(config, bank) })
  const simulated = { bank, simulatedChain: chains.simulated, checkout }
  const simulations = createSimulations({ ...opening, ...simulated, ...signing(config) })
  const bankAccounts = deps.bankAccounts ?? accountsOfBanks(config)
  const books = { bankAccounts, banks: config.ISO20022_BANKS }
  const decided = composeDecisions({
    ...shared,
    log,
    monitoring,
    payoutLife,
    deposits,
    checkout,
    findOwners: ownersOf,
    ...books,
  })
  const numbers = createDecisionStatistics({ ...shared, monitoring })
  const safeguarding = composeSafeguarding({ ...shared, config, bankAccounts, reconciliation: decided.reconciliation })
  const movements = { monitoring, numbers, safeguarding, renewals, ...outgoing, deposits, fx, checkout, ...decided }
  const holders = { accounts, beneficiaries, checkout, deposits, fx, ...outgoing, reports, wallets }
  const personalData = composePersonalData({ ...shared, ...holders, retentionYears: config.CUSTOMER_RETENTION_YEARS })
  const customerParts = { accounts, beneficiaries, cancellations, screener, personalData }
  return { ...tokens, isoBanks, connectors, connectorHealth, ...customerParts, ...movements, reports, simulations }
}

/** Modules that are composed later. */
type PayeesDeps = { readonly accountsOf: () => Accounts; readonly depositsOf: () => Deposits }

/**
 * Composes internal transfers: finds whether the payee's account accepts money, and describes the payer as a bank
 * would.
 */
const composeInternal = (
  { db, clock }: ModulesDeps,
  { access, customers }: Core,
  { accountsOf, depositsOf }: PayeesDeps,
) =>
  createInternalConnector({
    db,
    clock,
    findProblems: async (payees) => {
      const owners = await accountsOf().ownersOf(
        db,
        payees.map(({ account }) => account),
      )
      // One by one, because the payees' partners may be on several shards.
      return Promise.all(
        payees.map(async ({ account, currency }) => {
          const owner = owners.get(account)
          if (owner === undefined) return closedAccount
          const [isRefused] = await depositsOf().cannotReceive(db, [{ ...owner, currency }])
          return isRefused ? blockedAccount : undefined
        }),
      )
    },
    readDebtors: (payers) =>
      Promise.all(
        payers.map(async ({ partnerId, customerId: id }) => {
          const names = id === null ? undefined : await customers.accountNamesOf(db, [{ partnerId, id }])
          const ibans = id === null ? [] : await accountsOf().ibansOf(db, partnerId, id)
          const [name = await access.partnerName(db, partnerId)] = names?.get(partnerKey(partnerId, id ?? '')) ?? []
          const { iban: account = '', bic = null, country: countryCode = '' } = ibans[0] ?? {}
          return { account, bic: bic ?? '', name, countryCode, address: null }
        }),
      ),
  })

const closedAccount = {
  errorKey: 'InvalidAccountDetails',
  details: "The payee's account does not exist, or is closed.",
  reasonCode: 'AC04',
} as const
const blockedAccount = {
  errorKey: 'RecipientBlocked',
  details: "The payee's account accepts no payments.",
  reasonCode: 'AC06',
} as const

type OutgoingDeps = Omit<PayoutsDeps, 'life'> & Core & Pick<ModulesDeps, 'log'> & { readonly monitoring: Monitoring }

/** Composes payouts, their controls, and the modules that create or recall payouts. */
function composePayouts(
  deps: OutgoingDeps,
  { PAYOUT_ATTEMPTS_MAX: attemptsMax, STANDING_ORDERS_MAX: ordersMax }: Config,
) {
  const recalls = createRecallReturns(deps)
  const payoutLife = createPayoutLife({ ...deps, recalls, checkoutRefunds: createRefundEvents(deps), attemptsMax })
  const payouts = createPayouts({ ...deps, life: payoutLife })
  return {
    payoutLife,
    payouts,
    payoutAges: createPayoutAges(deps),
    payoutControls: createPayoutControls(deps),
    bulkPayouts: createBulkPayouts({ ...deps, payouts }),
    standingOrders: createStandingOrders({ ...deps, payouts, ordersMax }),
    recalls: createRecalls({ ...deps, payouts }),
  }
}

type ScreeningParts = Core &
  Pick<ModulesDeps, 'db' | 'clock' | 'log'> & {
    readonly beneficiaries: Beneficiaries
    readonly deposits: Deposits
    readonly secondDatum: Config['SECOND_DATUM']
  }

/** Composes the screening worker, which reads names from the modules that store them. */
const composeScreener = ({
  db,
  clock,
  log,
  sealer,
  facts,
  screening,
  access,
  customers,
  beneficiaries,
  deposits,
  secondDatum,
}: ScreeningParts) => {
  const people = { subjectOf: subjectOfMember, idsAfter: memberIdsAfter }
  const partner = {
    subjectOf: async (tx: Tx, partnerId: string): Promise<Subject> => ({
      ...{ names: await access.partnerNamesByRole(tx, partnerId), account: null, countries: [] },
    }),
    idsAfter: async (_tx: Tx, partnerId: string, afterId: string) => (afterId < partnerId ? [partnerId] : []),
  }
  const modules = { customer: customers, beneficiary: beneficiaries, partner, person: people }
  return createScreener({
    db,
    clock,
    log,
    sealer,
    facts,
    secondDatum,
    lists: screening.lists,
    partnerIds: access.partnerIds,
    subjectOf: (tx, { partnerId, kind, id }) => {
      if (kind === 'payer') return deposits.payerOf(tx, partnerId, id)
      return kind === 'payout' ? subjectOfPayout(tx, partnerId, id) : modules[kind].subjectOf(tx, partnerId, id)
    },
    heldPayments: async (tx, hit, rowsMax) => {
      const payouts = (await payoutsOfHit(tx, hit, rowsMax)).map((row) => ({ kind: 'payout' as const, ...row }))
      const held = (await depositsOfHit(tx, hit, rowsMax)).map((row) => ({ kind: 'deposit' as const, ...row }))
      return [...payouts, ...held].toSorted((a, b) => a.since.getTime() - b.since.getTime())
    },
    idsAfter: (tx, partnerId, kind, afterId, idsMax) => modules[kind].idsAfter(tx, partnerId, afterId, idsMax),
  })
}

const accountsOfBanks = (config: Config): readonly BooksAccount[] =>
  usedIsoBanks(config).flatMap(({ id: connector, accounts }) =>
    accounts.map(({ iban: account, currency }) => ({ connector, account, currency })),
  )

/** Reads the payers of payments for the banks: customers with their IBANs, or the partner itself. */
const createReadPayers =
  (db: Database, { access, customers }: Core, accountsOf: () => Accounts) =>
  async (keys: readonly PayerKey[]): Promise<readonly (PayerData | undefined)[]> => {
    const found = new Map<string, PayerData>()
    for (const [partnerId, group] of Map.groupBy(keys, (key) => key.partnerId)) {
      const asked = [...new Set(group.flatMap(({ customerId }) => customerId ?? []))].map((id) => ({ partnerId, id }))
      const data = await customers.payerDataOf(db, asked)
      const ibans = asked.length === 0 ? [] : await accountsOf().firstIbansOf(db, asked)
      const ibanOf = new Map(ibans.map(({ customerId, iban }) => [customerId, iban]))
      for (const { id } of asked) {
        const known = data.get(partnerKey(partnerId, id))
        if (known !== undefined) found.set(partnerKey(partnerId, id), { ...known, account: ibanOf.get(id) ?? null })
      }
      if (group.some(({ customerId }) => customerId === null))
        found.set(partnerKey(partnerId, ''), partnerAsPayer(partnerId, await access.partnerName(db, partnerId)))
    }
    return keys.map(({ partnerId, customerId }) => found.get(partnerKey(partnerId, customerId ?? '')))
  }

/** Describes the partner as a payer. Its address is not recorded, and an id of `Othr` has up to 35 characters. */
const partnerAsPayer = (partnerId: string, name: string): PayerData => ({
  isPerson: false,
  name: name === '' ? null : name,
  account: null,
  customerNumber: partnerId.replaceAll('-', ''),
  address: { lines: [], postCode: null, town: null, country: null },
  documentNumber: null,
  lei: null,
})

/** Reads the names of the customer that holds one of our IBANs. None for an IBAN that is not assigned. */
function createOwnNames(db: Database, access: Access, accounts: Accounts, customers: Customers): ReadHolderNames {
  return async (iban) => {
    const owner = (await accounts.ownersOf(db, [iban])).get(iban)
    if (owner === undefined) return (await accounts.isOurs(db, iban)) ? [] : undefined
    const { partnerId, customerId: id } = owner
    const names = (await customers.accountNamesOf(db, [{ partnerId, id }])).get(partnerKey(partnerId, id))
    // The payment page names the partner for a customer without a name.
    return names?.length === 0 ? [await access.partnerName(db, partnerId)] : (names ?? [])
  }
}

/** Builds the payload of a sample event as the event outbox would store it. */
const createSample =
  (access: Access, db: Database): CreateSampleData =>
  async (partnerId, type, now) => {
    const partnerName = await access.partnerName(db, partnerId)
    return formatPayload(type, now, sampleEvent(type, { partnerId, partnerName, now }))
  }

/** Safeguarding uses the calendars of the configured banks. */
type SafeguardingParts = Omit<
  SafeguardingDeps,
  'addOperator' | 'clockDifferenceMsMax' | 'dueOn' | 'internalConnector' | 'partnerIds' | 'waitMs'
> & {
  readonly config: Config
  readonly access: {
    readonly partnerIds: SafeguardingDeps['partnerIds']
    readonly addOperator: SafeguardingDeps['addOperator']
  }
}

function composeSafeguarding(deps: SafeguardingParts): Safeguarding {
  const { config, access } = deps
  const closedDays = new Map(usedIsoBanks(config).map((bank) => [bank.id, bank.closedDays]))
  return createSafeguarding({
    ...deps,
    partnerIds: access.partnerIds,
    addOperator: access.addOperator,
    dueOn: ({ connector, currency }, day) =>
      lastDayOnStatement(day, { closedDays: closedDays.get(connector) ?? new Set() }, currency),
    internalConnector: internalConnectorId,
    // Until noon of the next day.
    waitMs: dayMs / 2,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
}
