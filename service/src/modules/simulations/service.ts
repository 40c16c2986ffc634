/** The verbs of the simulations module. */
import type { BodyOf, ResponseOf } from '@partner-payments/wire'
import type { Access } from '../../access/index.ts'
import { type Caller, readAmount, readCurrency, Refusal } from '../../api/index.ts'
import { type Clock, type Currency, dayMs, type Minor } from '../../kernel/index.ts'
import type { SandboxBank } from '../../rails/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Checkout, Session } from '../checkout/index.ts'
import type { Deposits } from '../deposits/index.ts'
import type { Payouts } from '../payouts/index.ts'
import { createSignatureDebugger } from './signature-debugger.ts'

export type Simulated = {
  readonly reference: string
  readonly amount: Minor
  readonly currency: Currency
  readonly replayed: boolean
}

export type Simulations = {
  /** Refuses: validation_failed, not_found (customerId), currency_not_supported, idempotency_key_reused, request_in_progress. */
  readonly deposit: (caller: Caller, body: BodyOf<'simulateDeposit'>, ip: string) => Promise<Simulated>
  /** Refuses with the codes of `deposit`, and with insufficient_funds. */
  readonly withdrawal: (caller: Caller, body: BodyOf<'simulateWithdrawal'>, ip: string) => Promise<Simulated>
  /** Refuses: not_found, validation_failed, checkout_session_not_open, currency_not_supported. */
  readonly checkout: (
    caller: Caller,
    sessionId: string,
    body: BodyOf<'simulateCheckoutSession'>,
    ip: string,
    tx?: Tx,
  ) => Promise<Session>
  /** Verifies the described request with the credential of the caller. Refuses: not_found (revoked meanwhile). */
  readonly diagnose: (caller: Caller, body: BodyOf<'diagnoseSignature'>) => Promise<ResponseOf<'diagnoseSignature'>>
}

/** Far longer than all steps of the bank take, so that a funded deposit does not expire. */
const fundedDepositExpiryMs = dayMs

export function createSimulations(deps: {
  readonly bank: SandboxBank
  readonly checkout: Pick<Checkout, 'simulate'>
  readonly deposits: Deposits
  readonly payouts: Payouts
  readonly access: Pick<Access, 'credentialOf'>
  readonly clock: Clock
  readonly windowSeconds: number
  /** The public URL of the API, which some clients sign. */
  readonly publicUrl: string
}): Simulations {
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
    diagnose: createSignatureDebugger(deps),
  }
}

function requireSandboxCurrency(currency: Currency): void {
  if (currency === 'USDC' || currency === 'EURC')
    throw new Refusal('currency_not_supported', `The sandbox bank holds no ${currency}.`)
}
