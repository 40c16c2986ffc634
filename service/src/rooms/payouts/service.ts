/** The verbs of payouts: those of the API, and those by which the settlement worker moves a payout on. */
import type { BodyOf, QueryOf, WithdrawalOutcome } from '@partner-payments/wire'
import {
  type Caller,
  type Currency,
  type Minor,
  notFound,
  type Page,
  readAmount,
  readCurrency,
  Refusal,
} from '../../kernel/index.ts'
import { once } from '../../postgres/index.ts'
import { createAccept, type Creditor } from './accept.ts'
import type { PayoutsDeps } from './deps.ts'
import { createProgress, type PayoutClaim, type Progress } from './progress.ts'
import { requireFiat, sameness } from './rules.ts'
import * as store from './store.ts'

export type { PayoutClaim }
export type AcceptedPayout = { readonly payout: store.PayoutRow; readonly replayed: boolean }

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
      const requestHash = sameness({
        amount,
        currency,
        beneficiaryId,
        ...(reference === undefined ? {} : { reference }),
      })
      const { partnerId } = caller
      const { row, replayed } = await once({
        requestHash,
        find: () => store.payoutByKey(db, partnerId, 'createFiatPayout', idempotencyKey),
        make: async () => {
          requireFiat(currency)
          const { creditor, ...beneficiary } = await payableBeneficiary(deps, partnerId, beneficiaryId, currency)
          const payout = {
            operation: 'createFiatPayout',
            idempotencyKey,
            requestHash,
            amount,
            currency,
            creditor,
          } as const
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
      return cursors.page(
        list,
        request,
        await store.listPayouts(db, partnerId, filter, request.afterId, request.limit + 1),
      )
    },
  }
}

/** Refuses: not_found, beneficiary_currency_mismatch, beneficiary_not_payable. */
async function payableBeneficiary(
  { db, beneficiaries }: PayoutsDeps,
  partnerId: string,
  id: string,
  currency: Currency,
) {
  const { alias, customerId, name, iban, bic, country, ...beneficiary } = await beneficiaries.find(
    db,
    partnerId,
    id,
    '/beneficiaryId',
  )
  if (beneficiary.currency !== currency)
    throw new Refusal('beneficiary_currency_mismatch', `The beneficiary takes ${beneficiary.currency}.`, {
      errors: [
        { pointer: '/currency', code: 'invalid_value', message: `the beneficiary takes ${beneficiary.currency}` },
      ],
    })
  if (iban === null || country === null)
    throw new Refusal('beneficiary_not_payable', 'The beneficiary has no bank account.', {
      errors: [{ pointer: '/beneficiaryId', code: 'invalid_value', message: 'has no bank account' }],
    })
  return { id: beneficiary.id, alias, customerId, creditor: { name, account: iban, bic, country } }
}
