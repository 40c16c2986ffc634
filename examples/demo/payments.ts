/** The payments of the day, created through the API, each with its expected outcome. */
import { randomUUID } from 'node:crypto'
import type { Transaction } from '@partner-payments/sdk'
import { type Ending, endings } from './causes.ts'
import { minorOf } from './money.ts'
import type { Payee } from './people.ts'
import type { Context, Parties } from './setup.ts'

export type Payment = {
  readonly reference: string
  readonly what: string
  readonly type: Transaction['type']
  readonly amount: bigint
  readonly currency: string
  readonly ending: Ending
  /** Submitted to a bank as an instruction. */
  readonly instructed: boolean
}

type Plan = { readonly amount: string; readonly currency: string; readonly ending: keyof typeof endings }
type DepositPlan = Plan & {
  readonly customer: 'ada' | 'engines'
  readonly outcome: 'completed' | 'failed' | 'expired'
}
type WithdrawalPlan = Plan & {
  readonly customer: 'ada' | 'engines'
  readonly outcome: 'sent' | 'completed' | 'failed'
}
export type PayoutPlan = Plan & { readonly to: Payee; readonly reference?: string; readonly what: string }

/** Deposits for the payouts below: in production a payout for a customer uses only its money: these deposits pay for the payouts below. */
export const deposits: readonly DepositPlan[] = [
  { customer: 'ada', amount: '16250.07', currency: 'EUR', outcome: 'completed', ending: 'deposit completed' },
  { customer: 'engines', amount: '100.10', currency: 'GBP', outcome: 'completed', ending: 'deposit completed' },
  { customer: 'engines', amount: '50.00', currency: 'USD', outcome: 'completed', ending: 'deposit completed' },
  { customer: 'ada', amount: '99.99', currency: 'EUR', outcome: 'failed', ending: 'deposit failed' },
  { customer: 'engines', amount: '420.00', currency: 'USD', outcome: 'expired', ending: 'deposit expired' },
]

/** The magic amounts are those of docs/sandbox.md. */
export const payouts: readonly PayoutPlan[] = [
  {
    what: 'expected to settle',
    to: 'landlord',
    amount: '250.00',
    currency: 'EUR',
    reference: 'RENT-2026-11',
    ending: 'customer payout settled',
  },
  { what: 'expected to settle', to: 'supplier', amount: '0.30', currency: 'GBP', ending: 'customer payout settled' },
  {
    what: 'expected to be rejected by the bank',
    to: 'landlord',
    amount: '4001.01',
    currency: 'EUR',
    ending: 'customer payout rejected',
  },
  {
    what: 'to an account that does not exist',
    to: 'landlord',
    amount: '4001.02',
    currency: 'EUR',
    ending: 'customer payout refused',
  },
  {
    what: 'expected to settle, then to be returned',
    to: 'landlord',
    amount: '4001.05',
    currency: 'EUR',
    ending: 'customer payout settled',
  },
  {
    what: "the partner's own, expected to settle",
    to: 'partner',
    amount: '1000.00',
    currency: 'EUR',
    ending: 'own payout settled',
  },
]
export const returned = '4001.05'

export const withdrawals: readonly WithdrawalPlan[] = [
  { customer: 'ada', amount: '75.50', currency: 'EUR', outcome: 'completed', ending: 'customer payout settled' },
  { customer: 'engines', amount: '12.34', currency: 'USD', outcome: 'failed', ending: 'customer payout rejected' },
  { customer: 'ada', amount: '60.06', currency: 'EUR', outcome: 'sent', ending: 'customer payout sent' },
]

export async function makeDeposit({ client }: Context, parties: Parties, plan: DepositPlan): Promise<Payment> {
  const { customer, amount, currency, outcome, ending } = plan
  const { reference } = await client.simulations.createDeposit({
    customerId: parties[customer],
    amount,
    currency,
    outcome,
    idempotencyKey: randomUUID(),
    websiteReference: `order-${customer}-${outcome}`,
    customFields: { cart: ['a', 'b'] },
  })
  const expected = { what: `expected outcome ${outcome}`, amount: minorOf(amount), currency, ending: endings[ending] }
  return { reference, type: 'PartnerCustomerDeposit', instructed: false, ...expected }
}

export async function makeWithdrawal({ client }: Context, parties: Parties, plan: WithdrawalPlan): Promise<Payment> {
  const { customer, amount, currency, outcome, ending } = plan
  const body = { customerId: parties[customer], amount, currency, outcome, idempotencyKey: randomUUID() }
  const { reference } = await client.simulations.createWithdrawal(body)
  const expected = { what: `expected outcome ${outcome}`, amount: minorOf(amount), currency, ending: endings[ending] }
  return { reference, type: 'PartnerCustomerWithdraw', instructed: true, ...expected }
}

export async function makePayout(
  { client }: Context,
  parties: Parties,
  plan: PayoutPlan,
  idempotencyKey = randomUUID(),
): Promise<Payment> {
  const { to, amount, currency, ending, what, reference } = plan
  const body = { beneficiaryId: parties.payees[to], amount, currency, idempotencyKey }
  const paid = await client.payouts.create(reference === undefined ? body : { ...body, reference })
  return {
    reference: paid.reference,
    what,
    type: to === 'partner' ? 'PartnerWithdraw' : 'PartnerCustomerWithdraw',
    amount: minorOf(amount),
    currency,
    ending: endings[ending],
    instructed: true,
  }
}
