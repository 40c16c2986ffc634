/** The verbs of payouts: those of the API, and those by which the settlement worker moves a payout on. */
import type { BodyOf, QueryOf, WithdrawalOutcome } from '@partner-payments/wire'
import { type Caller, notFound, type OpenNonce, type Page, readAmount, readCurrency } from '../../api/index.ts'
import { type Currency, type Minor } from '../../kernel/index.ts'
import { createSpendingBatcher } from '../../access/index.ts'
import { asInProgress } from '../../postgres/index.ts'
import { createAccept, type Creditor, type PayoutCall } from './accept.ts'
import type { PayoutsDeps } from './deps.ts'
import { createProgress, type PayoutClaim, type Progress } from './progress.ts'
import { sameness } from './rules.ts'
import * as store from './store.ts'

export type { PayoutClaim }
export type AcceptedPayout = { readonly payout: store.PayoutRow; readonly replayed: boolean }

export type Payouts = Progress & {
  /**
   * Accepts a payout and reserves its money. Refuses: validation_failed (amount, currency), currency_not_supported,
   * not_found (beneficiaryId), beneficiary_currency_mismatch, beneficiary_not_payable, insufficient_funds,
   * idempotency_key_reused, request_in_progress; where the nonce is still to be spent, which is then done with the payout
   * or with its refusal, nonce_replayed.
   */
  readonly create: (
    caller: Caller,
    body: BodyOf<'createFiatPayout'>,
    ip: string,
    nonce?: OpenNonce,
  ) => Promise<AcceptedPayout>
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

/** At this many a batch's own work outweighs the commit that it shares. */
const payoutsPerBatchMax = 128
/** While one is written, what the next one needs is read. */
const batchesUnderWayMax = 2
/** Two halves of what is on the way take turns: one is written while the other is read for. */
const secondBatchMin = 32

export function createPayouts(deps: PayoutsDeps): Payouts {
  const { db, cursors, customers } = deps
  const batched = createSpendingBatcher({
    db,
    ...createAccept(deps),
    callsMax: deps.payoutsPerBatchMax ?? payoutsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    secondBatchMin,
    planOnce: true,
    partnerOf: ({ caller }) => caller.partnerId,
    sharded: deps.sharded,
  })
  const accept = async (call: PayoutCall): Promise<AcceptedPayout> => {
    for (;;) {
      const outcome = await batched(call).catch((error: unknown) => {
        throw asInProgress(error)
      })
      if (outcome !== 'again') return outcome
    }
  }
  return {
    ...createProgress(deps),
    create: async (caller, body, ip, nonce) => {
      const currency = readCurrency(body.currency)
      const amount = readAmount(body.amount, currency)
      const { beneficiaryId, idempotencyKey, reference = null } = body
      const requestFingerprint = sameness({
        amount,
        currency,
        beneficiaryId,
        ...(reference === null ? {} : { reference }),
      })
      const asked = { caller, nonce, operation: 'createFiatPayout', idempotencyKey, requestFingerprint } as const
      return accept({ ...asked, amount, currency, reference, ip, payee: { beneficiaryId } })
    },
    simulate: async (caller, { amount, currency, outcome, idempotencyKey, customerRef }, ip) => {
      const { id: customerId } = await customers.find(db, caller.partnerId, customerRef, '/customerId')
      const requestFingerprint = sameness({ amount, currency, customerId, outcome })
      const asked = {
        caller,
        nonce: undefined,
        operation: 'simulateWithdrawal',
        idempotencyKey,
        requestFingerprint,
      } as const
      return accept({
        ...asked,
        amount,
        currency,
        reference: null,
        ip,
        payee: { customerId, creditor: sandboxCreditor, outcome },
      })
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
