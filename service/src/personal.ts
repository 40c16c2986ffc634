/** Composes what the modules hold about a customer. A part of the composition root. */
import { parseJsonExactly } from '@partner-payments/wire'
import type { Audit } from './audit/index.ts'
import { type Clock, nilId } from './kernel/index.ts'
import type { Accounts } from './modules/accounts/index.ts'
import { type Beneficiaries, toBeneficiary } from './modules/beneficiaries/index.ts'
import { type Checkout, sessionOf } from './modules/checkout/index.ts'
import {
  createCustomerExports,
  type CustomerExports,
  type Customers,
  type ExportLine,
  type ExportSection,
  pagesBehind,
  pagesOfList,
  toChange,
  toCustomer,
} from './modules/customers/index.ts'
import type { Deposit, Deposits } from './modules/deposits/index.ts'
import { type Fx, toQuote } from './modules/fx/index.ts'
import { type Payouts, toPayoutRecord } from './modules/payouts/index.ts'
import { toTransaction, type Transactions } from './modules/transactions/index.ts'
import { toWallet, type Wallets } from './modules/wallets/index.ts'
import type { Database } from './postgres/index.ts'
import type { Screening } from './screening/index.ts'

type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly accounts: Pick<Accounts, 'ibansOf'>
  readonly audit: Pick<Audit, 'about'>
  readonly beneficiaries: Pick<Beneficiaries, 'ofCustomer'>
  readonly checkout: Pick<Checkout, 'list'>
  readonly customers: Customers
  readonly deposits: Pick<Deposits, 'byReferences'>
  readonly fx: Pick<Fx, 'quotesOf'>
  readonly payouts: Pick<Payouts, 'list'>
  readonly screening: Pick<Screening, 'screenedAt'>
  readonly transactions: Pick<Transactions, 'list'>
  readonly wallets: Pick<Wallets, 'list'>
}

export type PersonalData = { readonly exports: CustomerExports }

export function composePersonalData(deps: Deps): PersonalData {
  const sections = [...identity(deps), ...payees(deps), ...payments(deps), ...handling(deps)]
  return { exports: createCustomerExports({ ...deps, sections }) }
}

async function* mapped<T>(pages: AsyncIterable<readonly T[]>, line: (item: T) => ExportLine) {
  for await (const page of pages) yield page.map(line)
}

const identity = ({ db, accounts, customers, wallets }: Deps): readonly ExportSection[] => [
  async function* (_partnerId, customer) {
    yield [{ type: 'customer', data: toCustomer(customer) }]
  },
  (partnerId, { id }) =>
    mapped(
      pagesOfList((query) => customers.history(partnerId, id, query)),
      (change) => ({ type: 'change', data: toChange(change) }),
    ),
  async function* (partnerId, { id }) {
    yield (await accounts.ibansOf(db, partnerId, id)).map((row) => ({ type: 'account', data: row }))
  },
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => wallets.list(partnerId, { ...query, customerId })),
      (wallet) => ({ type: 'wallet', data: toWallet(wallet) }),
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
      yield page.map((transaction) => ({ type: 'transaction', data: toTransaction(transaction) }))
      const incoming = page.filter(({ row }) => row.category === 'Deposit').map(({ row }) => row.reference)
      yield (await deposits.byReferences(db, partnerId, incoming)).map(toDepositLine)
    }
  },
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => payouts.list(partnerId, { ...query, customerId })),
      (payout) => ({ type: 'payout', data: toPayoutRecord(payout) }),
    ),
  (partnerId, { id: customerId }) =>
    mapped(
      pagesOfList((query) => checkout.list(partnerId, { ...query, customerId })),
      (session) => {
        // The address of the page is a credential.
        const { url: _url, ...shown } = sessionOf(session)
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

/** What a transaction does not say of the deposit behind it. */
const toDepositLine = (deposit: Deposit): ExportLine => ({
  type: 'deposit',
  data: {
    reference: deposit.reference,
    status: deposit.status,
    paymentMethod: deposit.paymentMethod,
    ...given({
      paymentCountryCode: deposit.paymentCountry === '' ? null : deposit.paymentCountry,
      ipAddress: deposit.ipAddress === '' ? null : deposit.ipAddress,
      customFields: deposit.customFields === null ? null : parseJsonExactly(deposit.customFields),
    }),
  },
})

const given = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** What was done with the data: the names were screened, and who asked for them. */
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
