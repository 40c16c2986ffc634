/** Simulations and their transactions. Interface document, Transaction; contract page, Extensions. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { eventNames } from '@partner-payments/wire'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { assertShape, transaction as transactionShape } from '../support/documented.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem, indistinct } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { balanceOf, createCustomer, finalTransaction, listAll, transactionOf } from '../support/world.ts'

const service = await useService()
const { client } = service
const customer = await createCustomer(client, { partnerCustomerIdentifier: 'customer-1' })
const customerId = textAt(customer, 'guid')

const simulate = (kind: 'deposits' | 'withdrawals', outcome: string, fields: JsonObject = {}) => {
  const rest = JSON.stringify({ customerId, currency: 'EUR', outcome, ...fields })
  return client.post(`/v1/simulations/${kind}`, `{"amount":25.00,${rest.slice(1)}`)
}

function stepsOf(transaction: JsonObject): readonly string[] {
  const timeline = listAt(transaction, 'timeline')
  const times = timeline.map((entry) => textAt(entry, 'createdAt'))
  assert.deepEqual(times, [...times].sort(), 'the timeline is in order')
  assert.equal(timeline.at(-1)?.status, transaction.status, 'the last entry has the status of the transaction')
  const early = timeline.slice(0, -1).map((entry) => entry.status)
  const firstFinal = early.findIndex((status) => status !== 'Pending')
  if (firstFinal !== -1)
    for (const status of early.slice(firstFinal))
      assert.equal(status, transaction.status, 'a final status does not change')
  return timeline.map((entry) => textAt(entry, 'step'))
}

/** Requires the expected steps in this order. Other steps may lie in between. */
function assertInOrder(steps: readonly string[], expected: readonly string[]): void {
  let from = 0
  for (const step of expected) {
    const at = steps.indexOf(step, from)
    assert.notEqual(at, -1, `${step} is missing or out of order in ${steps.join(', ')}`)
    from = at + 1
  }
}

test('200 with reference, status Pending, amount and currency', async () => {
  for (const [kind, outcome] of [
    ['deposits', 'completed'],
    ['withdrawals', 'sent'],
  ] as const) {
    const answer = await simulate(kind, outcome)
    const simulated = success(answer)
    assert.deepEqual(Object.keys(simulated).sort(), ['amount', 'currency', 'reference', 'status'])
    assert.equal(Number(answer.literals.amount), 25)
    assert.equal(simulated.status, 'Pending')
    const reference = textAt(simulated, 'reference')
    assert.equal((await transactionOf(client, reference)).reference, reference)
    if (outcome === 'completed') await finalTransaction(client, reference)
  }
})

const deposits = [
  {
    outcome: 'completed',
    status: 'Completed',
    errorKey: undefined,
    gain: 2500n,
    steps: ['Created', 'Accepted', 'Credited'],
  },
  { outcome: 'failed', status: 'Unsuccessful', errorKey: 'any', gain: 0n, steps: ['Created', 'Failed'] },
  { outcome: 'expired', status: 'Expired', errorKey: 'Expired', gain: 0n, steps: ['Created', 'Expired'] },
] as const
for (const { outcome, status, errorKey, gain, steps } of deposits)
  test(`200 to a deposit that ends ${status} when the outcome is ${outcome}`, async () => {
    const before = await balanceOf(client)
    const websiteReference = randomUUID()
    const idempotencyKey = randomUUID()
    const simulated = success(
      await simulate('deposits', outcome, { websiteReference, idempotencyKey, customFields: { a: [1, null] } }),
    )
    const reference = textAt(simulated, 'reference')
    const final = await finalTransaction(client, reference)
    assertShape(transactionShape, final)
    const expected = {
      reference,
      amount: 25,
      currency: 'EUR',
      category: 'Deposit',
      direction: 'Inward',
      method: 'Fiat',
      partyType: 'Customer',
      type: 'PartnerCustomerDeposit',
      status,
      websiteReference,
      idempotencyKey,
      hasFx: false,
    }
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(final[name], value, name)
    if (errorKey === 'any') assert.equal(typeof final.errorKey, 'string')
    else assert.equal(final.errorKey, errorKey)
    assertInOrder(stepsOf(final), steps)
    const now = await balanceOf(client)
    assert.deepEqual(now, { ...before, posted: before.posted + gain, available: before.available + gain })
  })

const withdrawals = [
  { outcome: 'completed', status: 'Completed', loss: 2500n, steps: ['Created', 'Reserved', 'Sent', 'Settled'] },
  { outcome: 'failed', status: 'Unsuccessful', loss: 0n, steps: ['Created', 'Failed'] },
] as const
for (const { outcome, status, loss, steps } of withdrawals)
  test(`200 to a withdrawal that ends ${status} when the outcome is ${outcome}`, async () => {
    const before = await balanceOf(client)
    const reference = textAt(success(await simulate('withdrawals', outcome)), 'reference')
    const final = await finalTransaction(client, reference)
    assertShape(transactionShape, final)
    assert.deepEqual(
      [final.category, final.direction, final.type, final.status, final.partyType],
      ['Withdrawal', 'Outward', 'PartnerCustomerWithdraw', status, 'Customer'],
    )
    assert.equal(final.errorKey === undefined, status === 'Completed')
    assertInOrder(stepsOf(final), steps)
    const now = await balanceOf(client)
    assert.deepEqual(now, { ...before, posted: before.posted - loss, available: before.available - loss })
  })

test('200 to a withdrawal that remains Pending, with its amount reserved, when the outcome is sent', async () => {
  const before = await balanceOf(client)
  const reference = textAt(success(await simulate('withdrawals', 'sent')), 'reference')
  const sent = await until('the withdrawal is sent', async () => {
    const transaction = await transactionOf(client, reference)
    return listAt(transaction, 'timeline').some((entry) => entry.step === 'Sent') && transaction
  })
  assert.equal(sent.status, 'Pending')
  assertInOrder(stepsOf(sent), ['Created', 'Reserved', 'Sent'])
  const now = await balanceOf(client)
  assert.equal(now.available, before.available - 2500n)
  assert.equal(now.reserved, before.reserved + 2500n)
})

test('200 to the list of transactions, with the same fields as by reference', async () => {
  for (const listed of await listAll(client, '/v1/transactions', '&category=Deposit')) {
    if (listed.status === 'Pending') continue
    assert.deepEqual(await transactionOf(client, textAt(listed, 'reference')), listed)
  }
})

test('200 to a deposit with the serviceId of the customer', async () => {
  const serviceId = textAt(customer, 'serviceId')
  const reference = textAt(success(await simulate('deposits', 'completed', { customerId: serviceId })), 'reference')
  assert.equal((await finalTransaction(client, reference)).status, 'Completed')
})

test("404, the same for an unknown customer and for another partner's", async () => {
  const stranger = await otherPartner(service)
  const theirs = textAt(await createCustomer(stranger), 'guid')
  for (const [kind, outcome] of [
    ['deposits', 'completed'],
    ['withdrawals', 'completed'],
  ] as const) {
    const foreign = await simulate(kind, outcome, { customerId: theirs })
    assertProblem(foreign, { status: 404, code: 'not_found' })
    assert.deepEqual(indistinct(foreign), indistinct(await simulate(kind, outcome, { customerId: randomUUID() })))
  }
})

test('422 insufficient_funds to all but one of ten concurrent withdrawals of the whole balance', async () => {
  const stranger = await otherPartner(service, 'Racer')
  const guid = textAt(await createCustomer(stranger), 'guid')
  const body = (amount: string) =>
    `{"amount":${amount},${JSON.stringify({ customerId: guid, currency: 'EUR', outcome: 'sent' }).slice(1)}`
  const withdraw = (amount: string) => stranger.post('/v1/simulations/withdrawals', body(amount))
  for (
    let { available } = await balanceOf(stranger);
    available >= 1_000_000_000n;
    { available } = await balanceOf(stranger)
  )
    success(await withdraw('9000000.00'))
  const { available } = await balanceOf(stranger)
  const whole = `${available / 100n}.${String(available % 100n).padStart(2, '0')}`
  const answers = await Promise.all(Array.from({ length: 10 }, () => withdraw(whole)))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const answer of answers.filter((each) => each.status !== 200))
    assertProblem(answer, { status: 422, code: 'insufficient_funds' })
  assert.equal((await balanceOf(stranger)).available, 0n)
})

test('404 to a transaction of another partner, and to a reference in another case', async () => {
  const stranger = await otherPartner(service, 'Onlooker')
  const reference = textAt(success(await simulate('deposits', 'completed')), 'reference')
  assertProblem(await stranger.get(`/v1/transactions/${reference}`), { status: 404, code: 'not_found' })
  const swapped = reference.toUpperCase() === reference ? reference.toLowerCase() : reference.toUpperCase()
  if (swapped !== reference)
    assertProblem(await client.get(`/v1/transactions/${swapped}`), { status: 404, code: 'not_found' })
})

test('a transfer to an IBAN is a completed deposit of its customer, and can be reversed exactly once', async () => {
  // Its balance changes by nothing else.
  const own = await otherPartner(service)
  const guid = textAt(await createCustomer(own), 'guid')
  const iban = textAt(success(await own.post(`/v1/customers/${guid}/account`)), 'iban')
  const before = (await balanceOf(own)).posted
  const transfer = `{"amount":7.50,"currency":"EUR","iban":"${iban}","debtorName":"Ada Byron","remittance":"thank you"}`
  const credit = success(await own.post('/v1/simulations/credits', transfer))
  const deposited = await until('the transfer is booked', async () =>
    (await listAll(own, '/v1/transactions', `&customerId=${guid}`)).find(
      ({ description, status }) => description === 'thank you' && status === 'Completed',
    ),
  )
  assertShape(transactionShape, deposited)
  assert.deepEqual(
    [deposited.type, deposited.status, stepsOf(deposited)],
    ['PartnerCustomerDeposit', 'Completed', ['Created', 'Accepted', 'Settled', 'Credited']],
  )
  assert.equal((deposited.debtorDetails as JsonObject).accountHolderName, 'Ada Byron')
  assert.equal((await balanceOf(own)).posted - before, 750n)
  const reversal = `/v1/simulations/credits/${textAt(credit, 'creditId')}/reversal`
  for (let sent = 0; sent < 2; sent += 1) assert.equal((await own.post(reversal)).status, 204)
  const reversed = await until('the transfer is reversed', async () =>
    (await listAll(own, '/v1/transactions', `&customerId=${guid}&category=Withdrawal`)).find(({ description }) =>
      String(description).startsWith(`Reversal of ${String(deposited.reference)}`),
    ),
  )
  assert.deepEqual([reversed.type, reversed.status], ['PartnerCustomerWithdraw', 'Completed'])
  assert.equal((await balanceOf(own)).posted, before)
  assertProblem(await own.post(`/v1/simulations/credits/${randomUUID()}/reversal`), { status: 404, code: 'not_found' })
})

test("404 for a transfer to an IBAN that is not the partner's", async () => {
  const other = await otherPartner(service)
  const guid = textAt(await createCustomer(other), 'guid')
  const iban = textAt(success(await other.post(`/v1/customers/${guid}/account`)), 'iban')
  for (const account of [iban, 'DE89370400440532013000'])
    assertProblem(await client.post('/v1/simulations/credits', `{"amount":1,"currency":"EUR","iban":"${account}"}`), {
      status: 404,
      code: 'not_found',
    })
})

test('a sample of each event appears in the feed, like a real one', async () => {
  for (const eventType of eventNames) {
    const { reference } = success(await client.post('/v1/simulations/events', { eventType }))
    const found = await until(`a sample of ${eventType} is in the feed`, async () => {
      let after = ''
      for (;;) {
        const page = success(await client.get(`/v1/events?limit=100${after}`))
        const events = listAt(page)
        const data = events.map((event) => event.data as JsonObject).find((each) => each.reference === reference)
        if (data !== undefined) return data
        if (page.hasMore !== true) return undefined
        after = `&after=${encodeURIComponent(String(page.nextCursor))}`
      }
    })
    assert.equal(found.eventType, eventType)
  }
})
