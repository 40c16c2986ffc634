/**
 * A partner's whole day: customers, account numbers, and deposits, payouts and withdrawals of every outcome. Each of the
 * twelve events arrives at the partner's endpoint and verifies with the SDK; then balances are compared with payments.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { assertShape, transaction as transactionShape } from '../support/documented.ts'
import { type Event, eventsOf, receivedEvents } from '../support/deliveries.ts'
import { emitted } from '../support/emitted.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import {
  balanceOf,
  cents,
  createBeneficiary,
  createCustomer,
  ibans,
  listAll,
  payoutText,
  transactionOf,
} from '../support/world.ts'

const service = await useService()
const receiver = await useReceiver()
const { client } = service

const float = await balanceOf(client)
const subscription = success(await client.post('/v1/webhooks', { url: receiver.url, events: Object.keys(emitted) }))
const received = () => receivedEvents(receiver, textAt(subscription, 'secret'))

const kyc = { fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB', residenceAddress: '12 St James Square, London' }
const given = { email: 'ada@example.com', partnerCustomerIdentifier: 'customer-1', kyc }
const customer = await createCustomer(client, given)
const customerId = textAt(customer, 'guid')
success(await client.post(`/v1/customers/${customerId}/account`))
const beneficiary = textAt(
  await createBeneficiary(client, { customerId, alias: 'grace', bic: 'COBADEFFXXX', country: 'DE' }),
  'id',
)
const own = textAt(await createBeneficiary(client, { name: 'Partner Ltd', iban: ibans.NL }), 'id')

const short = (name: string) => name.replace('partner.customer.', '').replace('transaction.status.changed', 'changed')

type ExpectedOutcome = {
  readonly status: string
  /** Short names, in order; names in brackets are optional. */
  readonly events: readonly string[]
  readonly errorKey?: string
}

/** Waits until the transaction has the expected status and its last event has arrived. Returns both. */
async function outcomeOf(reference: string, expected: ExpectedOutcome) {
  const last = expected.events.at(-1) ?? ''
  const transaction = await until(`${reference} is ${expected.status}`, async () => {
    const read = await transactionOf(client, reference)
    return read.status === expected.status && read
  })
  const events = await until(`${last} of ${reference} arrives`, () => {
    const all = eventsOf(received(), reference)
    return all.some((event) => short(event.name) === last) && all
  })
  return { transaction, events }
}

function assertEvents(events: readonly Event[], expected: ExpectedOutcome): void {
  const names = events.map((event) => short(event.name))
  const wanted = expected.events.map((name) => name.replace(/[[\]]/g, ''))
  const needed = expected.events.filter((name) => !name.startsWith('['))
  assert.equal(new Set(names).size, names.length, `each once: ${names.join(', ')}`)
  assert.deepEqual(
    names.filter((name) => !wanted.includes(name)),
    [],
    'no unexpected event',
  )
  assert.deepEqual(
    needed.filter((name) => !names.includes(name)),
    [],
    `missing among ${names.join(', ')}`,
  )
  assert.deepEqual(
    names,
    wanted.filter((name) => names.includes(name)),
    'in the order of the lifecycle',
  )
  const changed = events.find((event) => short(event.name) === 'changed')
  if (changed !== undefined) assert.equal(changed.data.status, expected.status)
}

/** Asserts the fields that every event of a transaction has. */
function assertData(events: readonly Event[], transaction: JsonObject, extra: JsonObject): void {
  for (const { name, data, body } of events) {
    const amount = /"amount":([^,}]+)/.exec(body)?.[1]
    assert.equal(cents(amount), cents(String(transaction.amount)), `${name}: exact amount, not ${amount}`)
    const wanted: Record<string, unknown> = { currency: transaction.currency, eventType: name, ...extra }
    if (name === 'transaction.status.changed') {
      Object.assign(wanted, { transactionType: transaction.type, partnerGuid: service.credentials.partnerId })
    } else if (name !== 'partner.customer.deposit.expired') Object.assign(wanted, { customerEmail: given.email })
    if (transaction.partyType === 'Customer') Object.assign(wanted, { customerGuid: customerId })
    if (name.startsWith('partner.customer.')) Object.assign(wanted, { partnerCustomerId: 'customer-1' })
    for (const [field, value] of Object.entries(wanted)) assert.deepEqual(data[field], value, `${field} of ${name}`)
    if (name.startsWith('partner.customer.'))
      assert.ok([customerId, customer.serviceId].includes(textAt(data, 'customerId')))
  }
}

const started = ['deposit.created', 'deposit.initiated', 'deposit.submitted']
const deposits: readonly { readonly outcome: string; readonly amount: string; readonly expected: ExpectedOutcome }[] = [
  {
    outcome: 'completed',
    amount: '100.10',
    expected: { status: 'Completed', events: [...started, 'deposit.accepted', 'deposit.completed', 'changed'] },
  },
  {
    outcome: 'failed',
    amount: '200.20',
    expected: { status: 'Unsuccessful', events: [...started, 'deposit.failed', 'changed'] },
  },
  {
    outcome: 'expired',
    amount: '300.30',
    expected: { status: 'Expired', errorKey: 'Expired', events: ['deposit.created', 'deposit.expired', 'changed'] },
  },
]
for (const { outcome, amount, expected } of deposits)
  test(`a simulated deposit that is ${outcome} has its events and its transaction`, async () => {
    const websiteReference = `order-${outcome}`
    const idempotencyKey = randomUUID()
    const customFields = { cart: ['a', { b: null }], n: 1 }
    const body = { customerId, currency: 'EUR', outcome, websiteReference, idempotencyKey, customFields }
    const answer = await client.post('/v1/simulations/deposits', `{"amount":${amount},${JSON.stringify(body).slice(1)}`)
    const { transaction, events } = await outcomeOf(textAt(success(answer), 'reference'), expected)
    assertShape(transactionShape, transaction)
    assertEvents(events, expected)
    assertData(events, transaction, { websiteReference, idempotencyKey, customFields })
    if (expected.errorKey !== undefined) assert.equal(transaction.errorKey, expected.errorKey)
  })

const submitted = ['withdrawal.requested', 'withdrawal.accepted', 'withdrawal.sent']
const settled: ExpectedOutcome = { status: 'Completed', events: [...submitted, 'changed'] }
const unsuccessful = (errorKey: string): ExpectedOutcome => ({
  status: 'Unsuccessful',
  errorKey,
  events: ['withdrawal.requested', 'withdrawal.accepted', '[withdrawal.sent]', 'withdrawal.failed', 'changed'],
})
/** The magic amounts of docs/sandbox.md. */
const payouts: readonly { readonly outcome: string; readonly amount: string; readonly expected: ExpectedOutcome }[] = [
  { outcome: 'settled', amount: '50.05', expected: settled },
  { outcome: 'rejected by the bank', amount: '4001.01', expected: unsuccessful('BankRejection') },
  { outcome: 'refused for its account', amount: '4001.02', expected: unsuccessful('InvalidAccountDetails') },
  { outcome: 'refused for its recipient', amount: '4001.03', expected: unsuccessful('RecipientBlocked') },
  { outcome: 'refused for its currency', amount: '4001.04', expected: unsuccessful('CurrencyNotAccepted') },
  { outcome: 'settled once the bank is reachable', amount: '4001.06', expected: settled },
  {
    outcome: 'sent without a further notification',
    amount: '4001.07',
    expected: { status: 'Pending', events: submitted },
  },
]
for (const { outcome, amount, expected } of payouts)
  test(`a payout that is ${outcome} has its events and its transaction`, async () => {
    const idempotencyKey = randomUUID()
    const paid = await client.post('/v1/payouts/fiat', payoutText(beneficiary, amount, { idempotencyKey }))
    const { transaction, events } = await outcomeOf(textAt(success(paid), 'reference'), expected)
    assertShape(transactionShape, transaction)
    assertEvents(events, expected)
    assertData(events, transaction, { idempotencyKey })
    assert.equal(transaction.errorKey, expected.errorKey)
    for (const { name, data } of events.filter((event) => event.name.startsWith('partner.customer.'))) {
      assert.equal(data.creditorAccount, ibans.DE, name)
      assert.equal(data.creditorName, 'Grace Hopper', name)
      assert.equal(data.creditorCountryCode, 'DE', name)
    }
  })

test('a return after settlement creates a linked refund and leaves the original transaction Completed', async () => {
  const before = await balanceOf(client)
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '4001.05')))
  const reference = textAt(paid, 'reference')
  const { events } = await outcomeOf(reference, settled)
  assertEvents(events, settled)
  const link = await until('the event of the refund arrives', () =>
    received().find((event) => event.data.originatingTransactionReference === reference),
  )
  const refund = await transactionOf(client, textAt(link.data, 'reference'))
  assertShape(transactionShape, refund)
  assert.equal(refund.type, 'PartnerCustomerRefund')
  assert.equal(refund.status, 'Completed')
  assert.equal(refund.direction, 'Inward')
  assert.equal((await transactionOf(client, reference)).status, 'Completed', 'a final status does not change')
  const record = (await listAll(client, '/v1/payouts', `&idempotencyKey=${textAt(paid, 'idempotencyKey')}`))[0]
  assert.equal(record?.status, 'Returned')
  assert.equal((await balanceOf(client)).posted, before.posted, 'the balance is restored')
})

test("a payout to the partner's own beneficiary emits only transaction.status.changed", async () => {
  const expected: ExpectedOutcome = { status: 'Completed', events: ['changed'] }
  const paid = success(await client.post('/v1/payouts/fiat', payoutText(own, '60.06')))
  const { transaction, events } = await outcomeOf(textAt(paid, 'reference'), expected)
  assertEvents(events, expected)
  assertData(events, transaction, { customerGuid: null })
})

const withdrawals: readonly {
  readonly outcome: string
  readonly amount: string
  readonly expected: ExpectedOutcome
}[] = [
  { outcome: 'completed', amount: '70.07', expected: settled },
  { outcome: 'failed', amount: '80.08', expected: unsuccessful('BankRejection') },
  { outcome: 'sent', amount: '90.09', expected: { status: 'Pending', events: submitted } },
]
for (const { outcome, amount, expected } of withdrawals)
  test(`a simulated withdrawal that is ${outcome} has its events and its transaction`, async () => {
    const body = { customerId, currency: 'EUR', outcome, idempotencyKey: randomUUID() }
    const answer = await client.post(
      '/v1/simulations/withdrawals',
      `{"amount":${amount},${JSON.stringify(body).slice(1)}`,
    )
    const { transaction, events } = await outcomeOf(textAt(success(answer), 'reference'), expected)
    assertShape(transactionShape, transaction)
    assertEvents(events, expected)
    assertData(events, transaction, { idempotencyKey: body.idempotencyKey })
  })

test('at the end of the day, all twelve event types arrived, each eventId once, and every delivery is recorded', async () => {
  const events = received()
  assert.deepEqual([...new Set(events.map((event) => event.name))].sort(), Object.keys(emitted).sort())
  assert.equal(new Set(events.map((event) => event.eventId)).size, events.length)
  await until('every delivery is recorded as delivered', async () => {
    const records = await listAll(client, `/v1/webhooks/${textAt(subscription, 'id')}/deliveries`)
    assert.deepEqual(
      records.map((each) => each.eventId).sort(),
      received()
        .map((each) => each.eventId)
        .sort(),
    )
    return records.every((each) => each.status === 'Delivered')
  })
})

test('the events of each reference arrive in the order in which they occurred', () => {
  const events = received()
  for (const reference of new Set(events.map((event) => textAt(event.data, 'reference')))) {
    const arrived = events.filter((event) => event.data.reference === reference)
    assert.deepEqual(
      arrived.map((event) => event.name),
      eventsOf(events, reference).map((event) => event.name),
      reference,
    )
  }
})

test('at the end of the day, the balance equals the float and all payments, to the cent', async () => {
  const transactions = await client.get('/v1/transactions?limit=100')
  let posted = float.posted
  let reserved = float.reserved
  for (const item of listAt(transactions.literals)) {
    if (item.currency !== 'EUR' || item.type === 'PartnerDeposit') continue
    const amount = cents(item.amount)
    if (item.status === 'Completed') posted += item.direction === 'Inward' ? amount : -amount
    if (item.status === 'Pending' && item.direction === 'Outward') reserved += amount
  }
  assert.deepEqual(await balanceOf(client), { posted, reserved, available: posted - reserved })
})
