/** The day over a file-based bank: customers pay in on their IBANs, payouts go out, and the bank says what became of them. */
import type { Transaction } from '@partner-payments/sdk'
import { endings } from '../causes.ts'
import { arrived, awaitFinal, type Day, lineOf, refundOf, refuse, replay } from '../day.ts'
import { type Kill, payAndKill } from '../kills.ts'
import { minorOf } from '../money.ts'
import { makePayout, type Payment, type PayoutPlan } from '../payments.ts'
import { type Context, setUp } from '../setup.ts'
import type { DemoBank } from './bank.ts'

/** The amounts choose what the bank does: docs/sandbox.md. It knows accounts, so it cannot refuse one before it has the file. */
const payouts: readonly PayoutPlan[] = [
  {
    what: 'expected to settle',
    to: 'landlord',
    amount: '250.00',
    currency: 'EUR',
    reference: 'RENT-2026-11',
    ending: 'customer payout settled',
  },
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
    ending: 'customer payout rejected',
  },
  {
    what: 'expected to settle, then to be returned',
    to: 'landlord',
    amount: '4001.05',
    currency: 'EUR',
    ending: 'customer payout settled',
  },
  {
    what: 'that the bank keeps silent about',
    to: 'landlord',
    amount: '4001.07',
    currency: 'EUR',
    ending: 'customer payout sent',
  },
  {
    what: "the partner's own, expected to settle",
    to: 'partner',
    amount: '1000.00',
    currency: 'EUR',
    ending: 'own payout settled',
  },
]

type Credit = { readonly customer: 'ada' | 'engines'; readonly amount: string; readonly currency: string }
const credits: readonly Credit[] = [
  { customer: 'ada', amount: '16250.07', currency: 'EUR' },
  { customer: 'ada', amount: '0.01', currency: 'EUR' },
  { customer: 'engines', amount: '100.10', currency: 'GBP' },
]
/** Payment to none of our accounts: suspense, and a case. */
export const strayCredit = { iban: 'FR1420041010050500013M02606', amount: 77_00n, currency: 'EUR' } as const
export const fee = { amount: 3_50n, currency: 'EUR' } as const

export async function runIsoDay(context: Context, bank: DemoBank, kill?: Kill): Promise<Day> {
  const parties = await setUp(context)
  const payments: Payment[] = []
  const note = (topic: string) => (payment: Payment) => {
    payments.push(payment)
    context.print(topic, lineOf(payment))
    return payment
  }
  await pay(context, bank, parties)
  await kill?.('credits are at the bank', () => true)
  const incoming = await Promise.all(credits.map((credit) => depositOf(context, credit)))
  for (const payment of incoming) note('deposit')(payment)
  await awaitFinal(context, incoming)

  const outgoing = await Promise.all(payouts.map((plan) => makePayout(context, parties, plan).then(note('payout'))))
  await kill?.('a payout is sent', () => arrived(context, outgoing, 'sent'))
  await awaitFinal(context, outgoing)
  payments.push(await refundOf(context, outgoing))
  await replay(context, parties, note('payout'))
  await refuse(context, parties)
  if (kill) {
    const paid = await payAndKill(context, parties, kill)
    payments.push(...paid)
    await awaitFinal(context, paid)
  }
  await bank.order({ order: 'statement' })
  context.print('bank', 'statements of the day')
  return { parties, payments }
}

/** The customers' IBANs are virtual numbers of the accounts at the bank. */
async function pay({ client, print }: Context, bank: DemoBank, parties: Day['parties']): Promise<void> {
  const ibanOf = async (customer: 'ada' | 'engines') => {
    const { ibans } = await client.accounts.createForCustomer(parties[customer])
    const [first] = ibans
    if (first === undefined) throw new Error(`customer-${customer} has no IBAN`)
    return first.iban
  }
  const orders = await Promise.all(
    credits.map(async ({ customer, amount, currency }) => ({
      order: 'credit' as const,
      iban: await ibanOf(customer),
      amount: minorOf(amount),
      currency,
      debtor: { name: 'Mary Somerville' },
      remittance: `Order of customer-${customer}`,
    })),
  )
  const debtor = { name: 'A stranger' }
  await bank.order(...orders, { order: 'credit', ...strayCredit, debtor }, { order: 'fee', ...fee })
  print('bank', `${orders.length} credits for customers, one for no account of ours, and charges`)
}

async function depositOf({ client, until }: Context, { customer, amount, currency }: Credit): Promise<Payment> {
  const found = await until(`the deposit of ${amount} ${currency}`, async () =>
    (await client.transactions.list({ category: 'Deposit' })).data.find(
      (each: Transaction) => minorOf(each.amount) === minorOf(amount) && each.currency === currency,
    ),
  )
  return {
    reference: found.reference,
    what: `credit on the IBAN of customer-${customer}`,
    type: 'PartnerCustomerDeposit',
    amount: minorOf(amount),
    currency,
    ending: endings['credit booked'],
    instructed: false,
  }
}

export const expectedSuspense = strayCredit.amount - fee.amount
