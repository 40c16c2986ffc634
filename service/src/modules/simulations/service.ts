/** The verbs of the simulations module. */
import type { BodyOf, ResponseOf } from '@partner-payments/wire'
import { type Caller, readAmount, readCurrency } from '../../api/index.ts'
import { type Currency, dayMs, type Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Session } from '../checkout/index.ts'
import { createCredits, type CreditSimulations } from './credits.ts'
import { requireSandboxCurrency, type SimulationsDeps } from './deps.ts'
import { createSamples, type EventSimulations } from './events.ts'
import { createRatesByHand } from './rates-by-hand.ts'
import { type ChainSimulations, createChainSimulations } from './chain.ts'
import { createSignatureDebugger } from './signature-debugger.ts'

export type Simulated = {
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly replayed: boolean
}

export type Simulations = ChainSimulations &
  CreditSimulations &
  EventSimulations & {
    /** Refuses: validation_failed, not_found (customerId), currency_not_supported, idempotency_key_reused, request_in_progress. */
    readonly deposit: (caller: Caller, body: BodyOf<'simulateDeposit'>, ip: string) => Promise<Simulated>
    /** Refuses with the codes of `deposit`, and with insufficient_funds and limit_exceeded. */
    readonly withdrawal: (caller: Caller, body: BodyOf<'simulateWithdrawal'>, ip: string) => Promise<Simulated>
    /** Refuses: not_found, validation_failed, checkout_session_not_open, currency_not_supported. */
    readonly checkout: (
      caller: Caller,
      sessionId: string,
      body: BodyOf<'simulateCheckoutSession'>,
      ip: string,
      tx?: Tx,
    ) => Promise<Session>
    /** Sets rates for every partner of the sandbox. Refuses: validation_failed, currency_not_supported, fx_rates_unavailable. */
    readonly fxRates: (body: BodyOf<'simulateFxRates'>) => Promise<ResponseOf<'simulateFxRates'>>
    /** Verifies the described request with the credential of the caller. Refuses: not_found (revoked meanwhile). */
    readonly diagnose: (caller: Caller, body: BodyOf<'diagnoseSignature'>) => Promise<ResponseOf<'diagnoseSignature'>>
  }

/** Far longer than all steps of the bank take, so that a funded deposit does not expire. */
const fundedDepositExpiryMs = dayMs

export function createSimulations(deps: SimulationsDeps): Simulations {
  const { bank, deposits, payouts } = deps
  return {
    deposit: async (caller, body, ip) => {
      const currency = readCurrency(body.currency)
      const amount = readAmount(body.amount, currency)
      requireSandboxCurrency(currency)
      const { partnerId } = caller
      const { row, replayed } = await deposits.open(
        {
          partnerId,
          operation: 'simulateDeposit',
          customerRef: body.customerId,
          amount,
          currency,
          idempotencyKey: body.idempotencyKey ?? null,
          websiteReference: body.websiteReference ?? null,
          customFields: body.customFields ?? null,
          ip,
          expiresAfterMs: body.outcome === 'expired' ? bank.stepMs : fundedDepositExpiryMs,
          variant: body.outcome,
        },
        (tx, depositId) =>
          bank.scheduleDeposit(tx, { partnerId, id: depositId, money: { currency, amount }, outcome: body.outcome }),
      )
      return { reference: row.reference, amount, currency, replayed }
    },
    withdrawal: async (caller, body, ip) => {
      const currency = readCurrency(body.currency)
      const amount = readAmount(body.amount, currency)
      const { outcome, customerId: customerRef, idempotencyKey = null } = body
      const request = { customerRef, amount, currency, outcome, idempotencyKey }
      const { payout, replayed } = await payouts.simulate(caller, request, ip)
      return { reference: payout.reference, amount, currency, replayed }
    },
    checkout: ({ partnerId }, id, body, ip, tx) => deps.checkout.simulate(partnerId, id, body, ip, tx),
    ...createCredits(deps),
    event: createSamples(deps),
    fxRates: createRatesByHand(deps),
    ...createChainSimulations(deps),
    diagnose: createSignatureDebugger(deps),
  }
}
