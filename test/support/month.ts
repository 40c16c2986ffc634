/**
 * A month of a business, made by the API and by commands as its team and the staff would: customers, payees, payments of every outcome, alerts,
 * hits and cases. `payments` sizes it: 10,000 payments come with 400 payees, 200 customers and 60 alerts.
 */
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, listAt, success, textAt } from './client.ts'
import { ibansFrom } from './ibans.ts'
import type { TestService } from './service.ts'
import { until } from './until.ts'
import { createBeneficiary, createCustomer, payoutText } from './world.ts'

const bulkMax = 1000
/** Amounts with which the bank of the sandbox rejects, refuses, returns, keeps, shortens or contradicts a payment. */
const oddAmounts = ['4001.01', '4001.02', '4001.03', '4001.05', '4001.07', '4001.08', '4001.09']
const listedName = 'Borislav Tremurov'
const isListed = (index: number): boolean => index % 50 === 7
const paymentsOfAlert = 3
/** Alerts that one page of the list has. */
const alertsShown = 20

const families = ['Müller', 'Schneider', 'Fischer', 'Weber', 'Wagner', 'Becker', 'Hoffmann', 'Koch', 'Richter', 'Klein']
const trades = 'Elektro Druck Logistik Reinigung Möbel Werbung Software Catering Büro Metall'.split(' ')
const firstNames = ['Ada', 'Grace', 'Joan', 'Hedy', 'Mary', 'Rosa', 'Lise', 'Emmy', 'Clara', 'Ida']
const at = (words: readonly string[], index: number): string => words[index % words.length] ?? ''

/** `supplierName(7)`: "Koch Elektro 7 GmbH". */
export const supplierName = (index: number): string =>
  `${at(families, index)} ${at(trades, Math.floor(index / families.length))} ${index} GmbH`
const personName = (index: number): string => `${at(firstNames, index)} ${at(families, Math.floor(index / 10))}`

/** `invoiceOf(7)`: "INV-2026-00007". */
export const invoiceOf = (index: number): string => `INV-2026-${String(index).padStart(5, '0')}`
/** Between 20.00 and 8,019.99. */
export const amountOf = (index: number): string => ((2_000 + ((index * 7919) % 800_000)) / 100).toFixed(2)

export type Payee = { readonly id: string; readonly name: string; readonly iban: string }
export type Month = { readonly payees: readonly Payee[]; readonly customers: readonly string[] }

/** Acts on some items at once. Returns the results in the order of the items. */
async function each<T, R>(items: readonly T[], act: (item: T, index: number) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (let from = 0; from < items.length; from += 20)
    results.push(...(await Promise.all(items.slice(from, from + 20).map((item, index) => act(item, from + index)))))
  return results
}

const settle = async (client: Client, status: string, atMost: number): Promise<void> => {
  await until(`at most ${atMost} payouts are ${status}`, async () => {
    const { data } = success(await client.get(`/v1/payouts?status=${status}&limit=100`))
    return Array.isArray(data) && data.length <= atMost
  })
}

async function makePeople(client: Client, customerCount: number, payeeCount: number): Promise<Month> {
  const customers = await each(Array.from({ length: customerCount }), async (_none, index) => {
    const fullName = isListed(index) ? listedName : personName(index)
    const about = { partnerCustomerIdentifier: `K-${1000 + index}`, kyc: { fullName, citizenshipCountryCode: 'DE' } }
    return textAt(await createCustomer(client, about), 'guid')
  })
  const payees = await each(ibansFrom(7_000_000, payeeCount), async (iban, index) => {
    const name = supplierName(index)
    return {
      id: textAt(await createBeneficiary(client, { name, iban, alias: `lieferant-${index}` }), 'id'),
      name,
      iban,
    }
  })
  return { customers, payees }
}

/** Money of customers, of which the balance of the business pays. */
async function fund(client: Client, customerId: string, deposits: number): Promise<void> {
  for (let made = 0; made < deposits; made += 1) {
    const body = `{"customerId":"${customerId}","amount":9000000.00,"currency":"EUR","outcome":"completed"}`
    success(await client.post('/v1/simulations/deposits', body))
  }
}

async function pay(client: Client, payees: readonly Payee[], payments: number): Promise<void> {
  const payouts = Array.from({ length: payments }, (_none, index) => {
    const amount = index % 40 === 39 ? at(oddAmounts, Math.floor(index / 40)) : amountOf(index)
    return payoutText(payees[index % payees.length]?.id ?? '', amount, { reference: invoiceOf(index) })
  })
  for (let from = 0; from < payments; from += bulkMax) {
    const some = payouts.slice(from, from + bulkMax)
    const body = `{"mode":"BestEffort","idempotencyKey":"${randomUUID()}","payouts":[${some.join(',')}]}`
    success(await client.post('/v1/payouts/bulk', body))
  }
}

/** A rule that holds the third payment of a customer, and the customers whom it finds. */
async function makeAlerts(
  { client, credentials, operator, dataDir }: TestService,
  customers: readonly string[],
): Promise<void> {
  const rule = {
    ...{ name: 'Three payments in a day', kind: 'velocity', currency: 'EUR', direction: 'Outward' },
    ...{ hours: 24, count: paymentsOfAlert, when: 'before' },
  }
  const file = join(dataDir, 'rule.json')
  await writeFile(file, JSON.stringify(rule))
  const id = textAt(await operator('monitoring', 'rule', 'set', '--from', file, '--staff', 'Cora'), 'id')
  const days = ['--from', '2026-01-01', '--until', '2026-01-31']
  await operator('monitoring', 'rule', 'backtest', '--id', id, ...days, '--staff', 'Cora')
  for (const staff of ['Cora', 'Carl']) await operator('monitoring', 'rule', 'on', '--id', id, '--staff', staff)
  const alerts = async () =>
    Object.keys(await operator('monitoring', 'alert', 'list', '--partner', credentials.partnerId)).length
  const payeeOf = async (customerId: string, index: number) => {
    const [iban = ''] = ibansFrom(8_000_000 + index, 1)
    return textAt(await createBeneficiary(client, { customerId, name: personName(index), iban }), 'id')
  }
  const payTo = async (payee: string, index: number) =>
    success(await client.post('/v1/payouts/fiat', payoutText(payee, amountOf(index))))
  const [first = '', ...others] = customers
  const probe = await payeeOf(first, 0)
  // Processes read the rules every few seconds.
  await until('the rule holds a payment', async () => {
    await payTo(probe, 0)
    return (await alerts()) > 0
  })
  await each(others, async (customerId, index) => {
    const payee = await payeeOf(customerId, index + 1)
    for (let made = 0; made < paymentsOfAlert; made += 1) await payTo(payee, index + made)
  })
  await until(
    'each of these customers has an alert',
    async () => (await alerts()) >= Math.min(customers.length, alertsShown),
  )
}

/** `payments` are those of the business to its suppliers. */
export async function makeMonth(service: TestService, payments: number): Promise<Month> {
  const { client, operator } = service
  const share = (of: number) => Math.max(8, Math.round((of * payments) / 10_000))
  const list = fileURLToPath(new URL('../../service/src/screening/samples/un.xml', import.meta.url))
  await operator('screening', 'load', '--from', list, '--staff', 'Cora')
  const month = await makePeople(client, share(200), share(400))
  await fund(client, month.customers[0] ?? '', Math.ceil(payments / 1000))
  await until('the deposits are credited', async () => {
    const { data } = success(await client.get('/v1/transactions?status=Pending&limit=1'))
    return Array.isArray(data) && data.length === 0
  })
  await pay(client, month.payees, payments)
  await until('the bulks have ended', async () => {
    const bulks = listAt(success(await client.get('/v1/payouts/bulk?limit=100')))
    return bulks.every(({ status }) => status !== 'Processing')
  })
  await settle(client, 'Pending', 0)
  await settle(client, 'Processing', 0)
  // Payments of listed customers wait for their hits.
  const unlisted = month.customers.filter((_customer, index) => !isListed(index))
  await makeAlerts(service, unlisted.slice(-share(60)))
  return month
}
