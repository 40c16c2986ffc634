/** The verbs of payouts: those of the API, and those by which the settlement worker moves a payout on. */
import type { BodyOf, QueryOf, WithdrawalOutcome } from '@partner-payments/wire'
import {
  type Caller,
  type Clock,
  type Currency,
  type Cursors,
  type Minor,
  newId,
  notFound,
  type Page,
  readAmount,
  readCurrency,
  Refusal,
} from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Outbox } from '../../outbox/index.ts'
import { type Database, KeyTaken, once } from '../../postgres/index.ts'
import type { Beneficiaries } from '../beneficiaries/index.ts'
import type { Customers } from '../customers/index.ts'
import type { Transactions } from '../transactions/index.ts'
import { withdrawal } from './events.ts'
import { createProgress, type PayoutClaim, type Progress } from './progress.ts'
import { railOf, requireFiat, sameness } from './rules.ts'
import * as store from './store.ts'

export type { PayoutClaim }
export type AcceptedPayout = { readonly payout: store.PayoutRow; readonly replayed: boolean }

export type PayoutsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly ledger: Ledger
  readonly outbox: Outbox
  readonly customers: Customers
  readonly beneficiaries: Beneficiaries
  readonly transactions: Transactions
  /** The connector that carries payouts, or undefined where none is configured. */
  readonly railId: string | undefined
}

export type Payouts = Progress & {
  /**
   * Accepts a payout and reserves its money. Refuses: validation_failed (amount, currency), currency_not_supported,
   * not_found (beneficiaryId), beneficiary_currency_mismatch, beneficiary_not_payable, insufficient_funds,
   * idempotency_key_reused, request_in_progress.
   */
  readonly create: (caller: Caller, body: BodyOf<'createFiatPayout'>, ip: string) => Promise<AcceptedPayout>
  /** A simulated withdrawal of a customer, to an account of the sandbox. Refuses as `create` does. */
  readonly simulate: (caller: Caller, request: SimulatedWithdrawal, ip: string) => Promise<AcceptedPayout>
  /** Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<store.PayoutRow>
  /** Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: QueryOf<'listPayouts'>) => Promise<Page<store.PayoutRow>>
}

export type SimulatedWithdrawal = {
  readonly customerRef: string
  readonly amount: Minor
  readonly currency: Currency
  readonly outcome: WithdrawalOutcome
  readonly idempotencyKey: string | null
}

type Creditor = {
  readonly name: string
  readonly account: string
  readonly bic: string | null
  readonly country: string
}

type NewPayout = {
  readonly operation: 'createFiatPayout' | 'simulateWithdrawal'
  readonly idempotencyKey: string | null
  readonly requestHash: string
  readonly amount: Minor
  readonly currency: Currency
  readonly creditor: Creditor
  readonly beneficiary: { readonly id: string; readonly alias: string | null } | null
  readonly customerId: string | null
  readonly reference: string | null
  readonly simulatedOutcome: WithdrawalOutcome | null
  readonly ip: string
}

/** Where simulated withdrawals go: a well-formed account of a bank that exists, and no person. */
const sandboxCreditor: Creditor = {
  name: 'Sandbox Beneficiary',
  account: 'NL91ABNA0417164300',
  bic: 'ABNANL2AXXX',
  country: 'NL',
}

export function createPayouts(deps: PayoutsDeps): Payouts {
  const { db, cursors, customers } = deps
  const accept = createAccept(deps)
  return {
    ...createProgress(deps),
    create: async (caller, body, ip) => {
      const currency = readCurrency(body.currency)
      const amount = readAmount(body.amount, currency)
      const { beneficiaryId, idempotencyKey, reference } = body
      const requestHash = sameness({ amount, currency, beneficiaryId, ...(reference === undefined ? {} : { reference }) })
      const { partnerId } = caller
      const { row, replayed } = await once({
        requestHash,
        find: () => store.payoutByKey(db, partnerId, 'createFiatPayout', idempotencyKey),
        make: async () => {
          requireFiat(currency)
          const { creditor, ...beneficiary } = await payableBeneficiary(deps, partnerId, beneficiaryId, currency)
          const payout = { operation: 'createFiatPayout', idempotencyKey, requestHash, amount, currency, creditor } as const
          return accept(caller, {
            ...payout,
            beneficiary,
            customerId: beneficiary.customerId,
            reference: reference ?? null,
            simulatedOutcome: null,
            ip,
          })
        },
      })
      return { payout: row, replayed }
    },
    simulate: async (caller, request, ip) => {
      const { amount, currency, outcome, idempotencyKey } = request
      const { partnerId } = caller
      const customer = await customers.find(db, partnerId, request.customerRef, '/customerId')
      const requestHash = sameness({ amount, currency, customerId: customer.id, outcome })
      const { row, replayed } = await once({
        requestHash,
        find: async () =>
          idempotencyKey === null ? undefined : store.payoutByKey(db, partnerId, 'simulateWithdrawal', idempotencyKey),
        make: () => {
          requireFiat(currency)
          return accept(caller, {
            operation: 'simulateWithdrawal',
            idempotencyKey,
            requestHash,
            amount,
            currency,
            creditor: sandboxCreditor,
            beneficiary: null,
            customerId: customer.id,
            reference: null,
            simulatedOutcome: outcome,
            ip,
          })
        },
      })
      return { payout: row, replayed }
    },
    get: async (partnerId, id) => {
      const row = await store.payoutById(db, partnerId, id)
      if (!row) throw notFound('payout')
      return row
    },
    list: async (partnerId, query) => {
      const list = `payouts:${partnerId}`
      const request = cursors.read(list, query)
      const filter = {
        status: query.status ?? null,
        beneficiaryId: query.beneficiaryId ?? null,
        idempotencyKey: query.idempotencyKey ?? null,
      }
      return cursors.page(list, request, await store.listPayouts(db, partnerId, filter, request.afterId, request.limit + 1))
    },
  }
}

/** Refuses: not_found, beneficiary_currency_mismatch, beneficiary_not_payable. */
async function payableBeneficiary({ db, beneficiaries }: PayoutsDeps, partnerId: string, id: string, currency: Currency) {
  const { alias, customerId, name, iban, bic, country, ...beneficiary } = await beneficiaries.find(
    db,
    partnerId,
    id,
    '/beneficiaryId',
  )
  if (beneficiary.currency !== currency)
    throw new Refusal('beneficiary_currency_mismatch', `The beneficiary takes ${beneficiary.currency}.`, {
      errors: [{ pointer: '/currency', code: 'invalid_value', message: `the beneficiary takes ${beneficiary.currency}` }],
    })
  if (iban === null || country === null)
    throw new Refusal('beneficiary_not_payable', 'The beneficiary has no bank account.', {
      errors: [{ pointer: '/beneficiaryId', code: 'invalid_value', message: 'has no bank account' }],
    })
  return { id: beneficiary.id, alias, customerId, creditor: { name, account: iban, bic, country } }
}

/** Load -> rules are done: key, transaction, reserve and events in one transaction; the hot balance is locked last. */
function createAccept({ db, clock, ledger, outbox, customers, transactions, railId }: PayoutsDeps) {
  return (caller: Caller, request: NewPayout): Promise<store.PayoutRow> =>
    db.transaction(async (tx) => {
      if (railId === undefined)
        throw new Refusal('currency_not_supported', `No bank is connected that pays ${request.currency}.`)
      const { partnerId } = caller
      const now = clock.now()
      const id = newId()
      const { customerId, amount, currency, creditor, beneficiary, idempotencyKey } = request
      const rail = railOf(currency)
      const endToEndId = id.replaceAll('-', '')
      const opened = await transactions.open(tx, {
        partnerId,
        reference: request.reference,
        amount,
        currency,
        category: 'Withdrawal',
        direction: 'Outward',
        type: customerId === null ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
        rail,
        customerId,
        steps: ['Created', 'Reserved'],
        endToEndId,
        idempotencyKey,
        creditor: {
          accountHolderName: creditor.name,
          iban: creditor.account,
          country: creditor.country,
          ...(creditor.bic === null ? {} : { bic: creditor.bic }),
        },
        partnerUser: { id: caller.serviceAccountId, name: caller.name, ipAddress: request.ip },
        ...(beneficiary === null ? {} : { beneficiary }),
      })
      const payout: store.PayoutRow = {
        partnerId,
        id,
        operation: request.operation,
        idempotencyKey,
        requestHash: request.requestHash,
        transactionId: opened.id,
        reference: opened.reference,
        reserveId: newId(),
        beneficiaryId: beneficiary?.id ?? null,
        customerId,
        amount,
        currency,
        creditorName: creditor.name,
        creditorAccount: creditor.account,
        creditorBic: creditor.bic,
        creditorCountry: creditor.country,
        remittance: request.reference,
        rail,
        endToEndId,
        ipAddress: request.ip,
        simulatedOutcome: request.simulatedOutcome,
        status: 'Pending',
        errorKey: null,
        errorDetails: null,
        sendAttempts: 0,
        dueAt: now,
        leaseId: null,
        createdAt: now,
        updatedAt: now,
      }
      if ((await store.insertPayout(tx, payout)) === 0) throw new KeyTaken()
      if (customerId !== null) {
        const customer = await customers.byId(tx, partnerId, customerId)
        await outbox.append(tx, partnerId, 'partner.customer.withdrawal.requested', now, withdrawal(payout, customer))
      }
      await ledger.reserve(tx, {
        partnerId,
        debit: 'balance',
        credit: `settlement.${railId}`,
        currency,
        amount,
        partyId: customerId ?? partnerId,
        reference: opened.reference,
        id: payout.reserveId,
      })
      return payout
    })
}

