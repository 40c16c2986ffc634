/** Composes the export and the erasure of a customer's personal data in all modules. A part of the composition root. */
import { ownJsonExactly } from '@partner-payments/wire'
import type { Access } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import { retainedCases } from '../cases/index.ts'
import type { Idempotency, CreatedResource } from '../idempotency/index.ts'
import { type Clock, isUuid, nilId, type Sealer } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Accounts } from '../accounts/index.ts'
import { type Beneficiaries, keptVerifications, toBeneficiary } from '../parties/beneficiaries/index.ts'
import { keptBulks } from '../payouts/bulk/index.ts'
import { type Checkout, toSession } from '../checkout/index.ts'
import {
  createCustomerExports,
  createErasures,
  createRecordRetention,
  type CustomerExports,
  type Erasures,
  type Customers,
  type ExportLine,
  type ExportSection,
  type ModuleErasures,
  type RecordRetention,
  pagesBehind,
  pagesOfList,
  toChange,
  toCustomer,
} from '../parties/customers/index.ts'
import type { Deposit, Deposits } from '../deposits/index.ts'
import { type Fx, toQuote } from '../fx/index.ts'
import { eraseHits, keptAlerts } from '../monitoring/index.ts'
import { erasePayouts, instructionIdOf, type Payouts, toPayoutRecord } from '../payouts/index.ts'
import { eraseRecalls } from '../payouts/recalls/index.ts'
import { createIdentityErasure, type IdentityChecks, toVerification } from '../parties/identity-checks/index.ts'
import type { Reports } from '../reports/index.ts'
import { eraseNotes, keptAssignments, keptNotes } from '../people/staff/index.ts'
import { eraseUploads } from '../people/users/index.ts'
import { retainedOrders, type StandingOrders } from '../payouts/standing-orders/index.ts'
import { toTransaction, type Transactions } from '../transactions/index.ts'
import { toOwnershipProof, toWallet, type Wallets } from '../chains/wallets/index.ts'
import type { Database, RetainedTable, Tx } from '../postgres/index.ts'
import { eraseTransfers } from '../chains/evm/index.ts'
import { eraseInternalTransfers } from '../banks/internal/index.ts'
import { eraseInstructions, keptIsoEntries } from '../banks/files/index.ts'
import type { Screening } from '../screening/index.ts'

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly access: Pick<Access, 'partnerIds'>
  readonly accounts: Pick<Accounts, 'close' | 'erase' | 'ibansOf'>
  readonly audit: Pick<Audit, 'about' | 'append'>
  readonly beneficiaries: Pick<Beneficiaries, 'eraseOf' | 'ofCustomer'>
  readonly checkout: Pick<Checkout, 'eraseSessions' | 'forgetEmail' | 'list'>
  readonly customers: Customers
  readonly deposits: Pick<Deposits, 'byReferences' | 'eraseFields'>
  readonly fx: Pick<Fx, 'deleteOpenQuotesOf' | 'quotesOf'>
  readonly payouts: Pick<Payouts, 'decisionsOf' | 'list' | 'notes'>
  readonly idempotency: Idempotency
  readonly identityChecks: Pick<IdentityChecks, 'list'>
  readonly ledger: Ledger
  readonly reports: Pick<Reports, 'eraseOf'>
  /** The setting CUSTOMER_RETENTION_YEARS. */
  readonly retentionYears: number
  readonly screening: Pick<Screening, 'forget' | 'holdsOf' | 'screenedAt'>
  readonly sealer: Sealer
  readonly standingOrders: Pick<StandingOrders, 'eraseOrders'>
  readonly transactions: Pick<Transactions, 'erasure' | 'list' | 'withUsers'>
  readonly wallets: Pick<Wallets, 'close' | 'list' | 'ownership'>
}

type PersonalData = {
  readonly exports: CustomerExports
  readonly erasures: Erasures
  readonly keptRecords: RecordRetention
}

export function composePersonalData(deps: Deps): PersonalData {
  const sections = [...identity(deps), ...payees(deps), ...payments(deps), ...handling(deps)]
  return {
    exports: createCustomerExports({ ...deps, sections }),
    erasures: createErasures({ ...deps, held: heldByModules(deps) }),
    keptRecords: createRecordRetention({ ...deps, places: keptTables, partnerIds: deps.access.partnerIds }),
  }
}

async function* mapped<T>(pages: AsyncIterable<readonly T[]>, line: (item: T) => ExportLine) {
  for await (const page of pages) yield page.map(line)
}

const identity = ({ db, accounts, customers, identityChecks, wallets }: Deps): readonly ExportSection[] => [
  async function* (_partnerId, customer) {
    yield [{ type: 'customer', data: toCustomer(customer) }]
  },
  (partnerId, { id }) =>
    mapped(
      pagesOfList((query) => customers.history(partnerId, id, query)),
      (change) => ({ type: 'change', data: toChange(change) }),
    ),
  (partnerId, { id }) =>
    mapped(
      pagesOfList((query) => identityChecks.list(partnerId, id, query)),
      (verification) => {
        // The URL of the page is a credential.
        const { url: _url, ...shown } = toVerification(verification)
        return { type: 'identityVerification', data: shown }
      },
    ),
  async function* (partnerId, { id }) {
    yield (await accounts.ibansOf(db, partnerId, id)).map((row) => ({ type: 'account', data: given(row) }))
  },
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => wallets.list(partnerId, { ...query, customerId })),
      (wallet) => ({ type: 'wallet', data: toWallet(wallet) }),
    ),
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => wallets.ownership.list(partnerId, { ...query, customerId })),
      (proof) => ({ type: 'ownershipProof', data: toOwnershipProof(proof) }),
    ),
]

const payees = ({ db, beneficiaries }: Deps): readonly ExportSection[] => [
  (partnerId, { id }) =>
    mapped(
      pagesBehind(nilId, (afterId, rowsMax) => beneficiaries.ofCustomer(db, partnerId, id, afterId, rowsMax)),
      ({ removedAt, ...row }) => ({
        type: 'beneficiary',
        data: { ...toBeneficiary(row), ...(removedAt === null ? {} : { removedAt: removedAt.toISOString() }) },
      }),
    ),
]

const payments = ({ db, checkout, deposits, fx, payouts, transactions }: Deps): readonly ExportSection[] => [
  async function* (partnerId, { id: customerId }) {
    for await (const page of pagesOfList((query) => transactions.list(partnerId, { ...query, customerId }))) {
      const shown = await transactions.withUsers(page)
      yield shown.map((transaction) => ({ type: 'transaction', data: toTransaction(transaction) }))
      const incoming = page.filter(({ row }) => row.category === 'Deposit').map(({ row }) => row.reference)
      yield (await deposits.byReferences(db, partnerId, incoming)).map(toDepositLine)
    }
  },
  async function* (partnerId, { id: customerId }) {
    for await (const page of pagesOfList((query) => payouts.list(partnerId, { ...query, customerId }))) {
      const decisions = await payouts.decisionsOf(partnerId, page)
      const notes = await payouts.notes(partnerId, page)
      yield page.map((payout) => ({
        type: 'payout',
        data: { ...toPayoutRecord(payout, decisions.get(payout.id)), ...given({ note: notes.get(payout.id) ?? null }) },
      }))
    }
  },
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => checkout.list(partnerId, { ...query, customerId })),
      (session) => {
        // The URL of the page is a credential.
        const { url: _url, ...shown } = toSession(session)
        const { residenceCountry: residenceCountryCode, returnUrl } = session
        return { type: 'checkoutSession', data: { ...shown, ...given({ residenceCountryCode, returnUrl }) } }
      },
    ),
  (partnerId, { id }) =>
    mapped(
      pagesBehind(nilId, async (afterId, rowsMax) =>
        (await fx.quotesOf(db, partnerId, id, afterId, rowsMax)).map((quote) => ({ ...quote, id: quote.row.id })),
      ),
      (quote) => ({ type: 'quote', data: toQuote(quote) }),
    ),
]

/** Creates an export line with the fields of a deposit that its transaction lacks. */
const toDepositLine = (deposit: Deposit): ExportLine => ({
  type: 'deposit',
  data: {
    reference: deposit.reference,
    status: deposit.status,
    paymentMethod: deposit.paymentMethod,
    ...given({
      paymentCountryCode: deposit.paymentCountry === '' ? null : deposit.paymentCountry,
      ipAddress: deposit.ipAddress === '' ? null : deposit.ipAddress,
      customFields: deposit.customFields === null ? null : ownJsonExactly<unknown>(deposit.customFields),
    }),
  },
})

const given = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** Builds the export sections about the handling of the data: when names were screened, and who requested the data. */
const handling = ({ db, audit, screening }: Deps): readonly ExportSection[] => [
  async function* (partnerId, { id }) {
    const at = await screening.screenedAt(db, { partnerId, kind: 'customer', id })
    const data = { lists: ['UN', 'EU', 'OFAC'], ...given({ screenedAt: at?.toISOString() ?? null }) }
    yield [{ type: 'screening', data }]
  },
  async function* (partnerId, { id, serviceId }) {
    const refs = [id, serviceId]
    const newestFirst = (beforeId: string, rowsMax: number) =>
      audit.about(db, partnerId, refs, { beforeId: beforeId === '' ? null : beforeId, rowsMax })
    yield* mapped(pagesBehind('', newestFirst), (record) => ({ type: 'auditRecord', data: record }))
  },
]

/** Rows erased in one transaction. */
const erasedPerPageMax = 500

function heldByModules(deps: Deps): ModuleErasures {
  const { accounts, beneficiaries, checkout, reports, screening, transactions, wallets } = deps
  const verifications = createIdentityErasure(deps)
  return {
    pendingOf: transactions.erasure.pendingReferences,
    lastPaymentAt: transactions.erasure.lastPaymentAt,
    holdsOf: (tx, partnerId, customerId) => readHolds(deps, tx, partnerId, customerId),
    forgetEmail: checkout.forgetEmail,
    endOpen: async (tx, partnerId, customerId, now) => {
      await deps.standingOrders.eraseOrders(tx, partnerId, await readPayeeIds(deps, tx, partnerId, customerId), now)
      await deps.fx.deleteOpenQuotesOf(tx, partnerId, customerId)
    },
    eraseLinked: async (tx, partnerId, { id, serviceId }, now) => {
      const erased = await beneficiaries.eraseOf(tx, partnerId, id)
      const payeeIds = erased.map((payee) => payee.id)
      await screening.forget(tx, partnerId, payeeIds)
      await eraseNotes(tx, partnerId, 'payee', payeeIds)
      await reports.eraseOf(tx, partnerId, id)
      await eraseUploads(tx, partnerId)
      const accountSince = await accounts.close(tx, partnerId, id, now)
      const closed = await wallets.close(tx, partnerId, id, now)
      await verifications.end(tx, partnerId, id)
      const issued = accountSince === undefined ? [] : [{ createdAt: accountSince }]
      return [
        ...erased.map((row) => made('createBeneficiary', row, `the beneficiary ${row.id}`)),
        ...closed.map((row) => made('createWallet', row, `the wallet ${row.id}`)),
        // The request path contains either identifier of the customer.
        ...issued.flatMap((row) =>
          [id, serviceId].map((ref) => made('createCustomerAccount', row, `the account of the customer ${ref}`)),
        ),
      ]
    },
    eraseClosed: async (tx, partnerId, customerId) => {
      await accounts.erase(tx, partnerId, customerId)
      await verifications.erase(tx, partnerId, customerId)
      await wallets.ownership.erase(tx, partnerId, customerId)
      await screening.forget(tx, partnerId, [customerId])
      await eraseNotes(tx, partnerId, 'customer', [customerId])
    },
    erasePayments: (tx, page) => erasePayments(deps, tx, page),
    erasePayouts: async (tx, page) => {
      const erased = await erasePayouts(tx, page, erasedPerPageMax)
      const recalls = await eraseRecalls(
        tx,
        page.partnerId,
        erased.map(({ id }) => id),
      )
      // A payout with a screening hit in its texts is a screening subject with its id.
      await deps.screening.forget(
        tx,
        page.partnerId,
        erased.map(({ id }) => id),
      )
      // The instruction id is derived. In early versions it was the payout id.
      const ids = [...new Set(erased.flatMap((payout) => [payout.id, instructionIdOf(payout)]))]
      await eraseInstructions(tx, page.partnerId, ids)
      await eraseInternalTransfers(tx, page.partnerId, ids)
      await eraseTransfers(tx, deps.sealer, page.partnerId, ids)
      // Recalls requested after the erasure, and answers that versions before 0.1.0 stored without a customer.
      const asked = recalls.map(({ id, requestedAt: createdAt }) =>
        made('createPayoutRecall', { createdAt }, `the recall ${id}`),
      )
      await deps.idempotency.eraseAnswers(tx, page.partnerId, page.customerId, asked)
      return erased.length < erasedPerPageMax ? undefined : erased.at(-1)?.id
    },
  }
}

/** Describes a created resource by its name in the operation's answer. */
const made = (
  operation: CreatedResource['operation'],
  { createdAt }: { readonly createdAt: Date },
  created: string,
): CreatedResource => ({
  operation,
  createdAt,
  created,
})

/** Reads the ids of a customer's payees, including removed payees. */
async function readPayeeIds({ beneficiaries }: Deps, tx: Tx, partnerId: string, customerId: string) {
  const ids: string[] = []
  const pages = pagesBehind(nilId, (afterId, rowsMax) =>
    beneficiaries.ofCustomer(tx, partnerId, customerId, afterId, rowsMax),
  )
  for await (const page of pages) ids.push(...page.map(({ id }) => id))
  return ids
}

async function readHolds(deps: Deps, tx: Tx, partnerId: string, customerId: string) {
  const ids = await readPayeeIds(deps, tx, partnerId, customerId)
  const keys = [
    { partnerId, kind: 'customer' as const, id: customerId },
    ...ids.map((id) => ({ partnerId, kind: 'beneficiary' as const, id })),
  ]
  return keys.map(await deps.screening.holdsOf(keys))
}

const keptTables: readonly RetainedTable[] = [
  keptVerifications,
  retainedCases,
  keptAlerts,
  keptBulks,
  retainedOrders,
  keptIsoEntries,
  keptAssignments,
  keptNotes,
]

/**
 * Erases deposits before transactions: the steps of payments lock in this order, so that a late return cannot deadlock.
 */
async function erasePayments(
  { checkout, deposits, screening, transactions }: Deps,
  tx: Tx,
  { partnerId, customerId, afterId, scope }: Parameters<ModuleErasures['erasePayments']>[1],
): Promise<string | undefined> {
  const { erasure } = transactions
  const rows = await erasure.transactionsOf(tx, partnerId, customerId, afterId, erasedPerPageMax)
  const references = rows.map(({ reference }) => reference)
  const sessionIds = rows.flatMap(({ sessionId }) => (sessionId !== null && isUuid(sessionId) ? [sessionId] : []))
  const depositIds = await deposits.eraseFields(tx, partnerId, references, scope)
  // A payer with a screening hit is a screening subject with the id of the deposit.
  if (scope === 'all') await screening.forget(tx, partnerId, depositIds)
  await checkout.eraseSessions(tx, partnerId, sessionIds)
  const ids = rows.map(({ id }) => id)
  await erasure.eraseFields(tx, partnerId, ids, scope)
  if (scope === 'all') await eraseHits(tx, partnerId, ids)
  return rows.length < erasedPerPageMax ? undefined : ids.at(-1)
}
