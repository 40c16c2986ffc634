/** The export of a customer: everything of it, nothing of others, in pages, and a few readers at once. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { newId } from '../../kernel/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { sql } from '../../postgres/index.ts'
import type { ExportLine } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

type Line = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }

/** Lines of an export, as a reader sees them. */
async function linesOf(partnerId: string, ref: string): Promise<readonly Line[]> {
  const { pages, closed } = await service.personalData.exports.open(partnerId, ref)
  const lines: ExportLine[] = []
  for await (const page of pages()) lines.push(...page)
  closed()
  return lines.map((line) => JSON.parse(JSON.stringify(line)) as Line)
}
const ofType = (lines: readonly Line[], type: string) =>
  lines.filter((line) => line.type === type).map(({ data }) => data)

/** A customer of whom every part of the service holds something. */
async function addHeldCustomer() {
  const partner = await addPartner(service, 10_000n)
  const { partnerId, caller, customer, beneficiary } = partner
  const { customers, accounts, beneficiaries, deposits } = service
  await customers.update(partnerId, customer.id, { kyc: { personalIdentificationNumber: 'QX-77', city: 'London' } })
  const { ibans } = await accounts.create(partnerId, customer.id)
  const { payout } = await pay(service, partner, '1.00')
  const removed = await beneficiaries.create(partnerId, {
    name: 'Gone Payee',
    iban: 'DE89370400440532013000',
    currency: 'EUR',
    customerId: customer.serviceId,
  })
  await beneficiaries.remove(partnerId, removed.id)
  const { row: deposit } = await deposits.open(
    {
      partnerId,
      operation: 'simulateDeposit',
      customerRef: customer.id,
      amount: 500n,
      currency: 'EUR',
      idempotencyKey: null,
      websiteReference: null,
      customFields: { order: 'A-1' },
      ip: '192.0.2.9',
      expiresAfterMs: 60_000,
      variant: '',
    },
    async () => undefined,
  )
  const { session } = await service.checkout.create(caller, {
    amount: rawNumber('2.00'),
    currency: 'EUR',
    idempotencyKey: newId(),
    customerId: customer.id,
    returnUrl: 'https://shop.example.com/orders/42',
  })

  return { partnerId, customer, beneficiary, removed, ibans, payout, deposit, session }
}

test('an export says what is left out, and has identity, history, accounts and payees', async () => {
  const { partnerId, customer, beneficiary, removed, ibans } = await addHeldCustomer()
  const lines = await linesOf(partnerId, customer.serviceId)
  assert.equal(lines[0]?.type, 'export')
  assert.deepEqual(lines.at(-1), { type: 'end', data: { lines: lines.length } })
  const leftOut = JSON.stringify(lines[0]?.data.leftOut)
  assert.match(leftOut, /personalIdentificationNumber/)
  assert.match(leftOut, /screening/)
  assert.ok(!JSON.stringify(lines.slice(1)).includes('QX-77'))
  const [held] = ofType(lines, 'customer')
  assert.equal(held?.guid, customer.id)
  assert.match(JSON.stringify(held?.kyc), /"city":"London"/)
  assert.deepEqual(
    ofType(lines, 'change').map(({ kind }) => kind),
    ['Updated', 'Created'],
  )
  assert.deepEqual(
    ofType(lines, 'account').map(({ iban }) => iban),
    ibans.map(({ iban }) => iban),
  )
  assert.deepEqual(
    ofType(lines, 'beneficiary').map(({ id, removedAt }) => [id, removedAt !== undefined]),
    [
      [beneficiary.id, false],
      [removed.id, true],
    ],
  )
})

test('an export has every payment with what is held of it', async () => {
  const { partnerId, customer, payout, deposit, session } = await addHeldCustomer()
  const lines = await linesOf(partnerId, customer.id)
  const references = ofType(lines, 'transaction').map(({ reference }) => reference)
  assert.deepEqual(references, [session.reference, deposit.reference, payout.reference])
  assert.deepEqual(
    ofType(lines, 'deposit')
      .map(({ reference, ipAddress, customFields }) => [reference, ipAddress, customFields])
      .toSorted(([, left]) => (left === undefined ? 1 : -1)),
    [
      [deposit.reference, '192.0.2.9', { order: 'A-1' }],
      [session.reference, undefined, undefined],
    ],
  )
  assert.deepEqual(
    ofType(lines, 'payout').map(({ id }) => id),
    [payout.id],
  )
  const [shown] = ofType(lines, 'checkoutSession')
  assert.deepEqual([shown?.sessionId, shown?.returnUrl], [session.id, 'https://shop.example.com/orders/42'])
  assert.equal(shown?.url, undefined)
  assert.deepEqual(ofType(lines, 'screening'), [{ lists: ['UN', 'EU', 'OFAC'] }])
})

test('an export has each of many transactions once, and none of another customer', async () => {
  const { partnerId, customer } = await addPartner(service)
  const other = await service.customers.create(partnerId, { email: 'other@example.com' })
  const rows = 251
  for (const [prefix, id] of [
    ['mine', customer.id],
    ['other', other.id],
  ])
    await service.db.run(sql`
      insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
        party_type, customer_id, type, status, timeline, created_at, updated_at)
      select ${partnerId}::uuid, gen_random_uuid(), ${prefix} || number, 100, 'EUR', 'Withdrawal', 'Outward', 'Fiat',
        'Customer', ${id}::uuid, 'PartnerCustomerWithdraw', 'Completed', '[]'::jsonb, ${service.clock.now()}::timestamptz,
        ${service.clock.now()}::timestamptz
      from generate_series(1, ${rows}::integer) as series (number)`)
  const references = ofType(await linesOf(partnerId, customer.id), 'transaction').map(({ reference }) => reference)
  assert.equal(references.length, rows)
  assert.deepEqual(new Set(references), new Set(Array.from({ length: rows }, (_, index) => `mine${index + 1}`)))
})

test('404 for an unknown customer and for that of another partner; a third reader waits', async () => {
  const { partnerId, customer } = await addPartner(service)
  const stranger = await addPartner(service)
  const { open } = service.personalData.exports
  const refused = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code
  await assert.rejects(open(stranger.partnerId, customer.id), refused('not_found'))
  await assert.rejects(open(partnerId, newId()), refused('not_found'))
  const [first, second] = [await open(partnerId, customer.id), await open(partnerId, customer.id)]
  await assert.rejects(open(partnerId, customer.id), refused('rate_limited'))
  const { closed } = await open(stranger.partnerId, stranger.customer.id)
  closed()
  first.closed()
  const third = await open(partnerId, customer.id)
  for (const { closed: close } of [second, third]) close()
})
