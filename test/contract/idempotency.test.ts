/** One idempotency key makes at most one payment. Contract page, idempotency. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Answer, type Client, success, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { accountWith, otherPartner } from '../support/service.ts'
import {
  balanceOf,
  createBeneficiary,
  createCustomer,
  finalTransaction,
  ibans,
  listAll,
  payoutText,
} from '../support/world.ts'

const service = await useSharedService()
const { client } = service
const customer = textAt(await createCustomer(client), 'guid')
const beneficiary = textAt(await createBeneficiary(client), 'id')

const pay = (body: string, as: Client = client) => as.post('/v1/payouts/fiat', body)
const payoutsOf = (idempotencyKey: string) => listAll(client, '/v1/payouts', `&idempotencyKey=${idempotencyKey}`)
const isReplay = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'

test('200 with the first response and Idempotent-Replayed when a request is repeated, also after settlement', async () => {
  const key = randomUUID()
  const body = payoutText(beneficiary, '31.20', { idempotencyKey: key, reference: `Invoice ${key}` })
  const first = await pay(body)
  const reference = textAt(success(first), 'reference')
  assert.equal(first.headers['idempotent-replayed'], undefined, 'the first response is not a replay')
  assert.equal(decodeURIComponent(String(first.headers.location)), `/v1/transactions/${reference}`)
  const again = await pay(body)
  await finalTransaction(client, reference)
  const later = await pay(body)
  for (const replay of [again, later]) {
    assert.ok(isReplay(replay), 'Idempotent-Replayed: true')
    assert.equal(replay.status, 200)
    assert.equal(replay.text, first.text, 'the replay is byte for byte the first response')
    assert.equal(replay.headers.location, first.headers.location)
  }
  assert.equal((await payoutsOf(key)).length, 1)
})

test('422 idempotency_key_reused with the reference when the key is used with another body', async () => {
  const key = randomUUID()
  const other = textAt(await createBeneficiary(client, { iban: ibans.NL }), 'id')
  const reference = textAt(success(await pay(payoutText(beneficiary, '5.00', { idempotencyKey: key }))), 'reference')
  const bodies = [
    payoutText(beneficiary, '5.01', { idempotencyKey: key }),
    payoutText(other, '5.00', { idempotencyKey: key }),
    payoutText(beneficiary, '5.00', { idempotencyKey: key, reference: 'other' }),
    payoutText(beneficiary, '99999999.00'.slice(1), { idempotencyKey: key }),
  ]
  for (const body of bodies) {
    const problem = assertProblem(await pay(body), { status: 422, code: 'idempotency_key_reused' })
    assert.ok(
      textAt(problem, 'detail').includes(reference),
      `the detail contains ${reference}: ${textAt(problem, 'detail')}`,
    )
  }
  assert.equal((await payoutsOf(key)).length, 1)
})

test('200 or 422 without a second payout when the same fields have another order and spacing', async () => {
  const key = randomUUID()
  const one = `{"amount":6.00,"beneficiaryId":"${beneficiary}","currency":"EUR","idempotencyKey":"${key}"}`
  const two = `{ "idempotencyKey":"${key}",\n"currency":"EUR", "beneficiaryId":"${beneficiary}", "amount": 6.00 }`
  const first = success(await pay(one))
  const second = await pay(two)
  if (second.status === 200) assert.equal(second.json.reference, first.reference)
  else assertProblem(second, { status: 422, code: 'idempotency_key_reused' })
  assert.equal((await payoutsOf(key)).length, 1)
})

test('200 to twenty concurrent duplicates: one payout, one reservation, equal responses', async () => {
  for (let round = 0; round < 3; round += 1) {
    const { available } = await balanceOf(client)
    const key = randomUUID()
    const body = payoutText(beneficiary, '40.00', { idempotencyKey: key })
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(body)))
    for (const answer of answers) success(answer)
    assert.equal(new Set(answers.map((answer) => answer.text)).size, 1, 'the responses are equal')
    assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1, 'exactly one is not a replay')
    assert.equal((await payoutsOf(key)).length, 1)
    const final = await finalTransaction(client, textAt(answers[0]?.json ?? {}, 'reference'))
    assert.equal(final.status, 'Completed')
    assert.equal((await balanceOf(client)).available, available - 4000n, 'the balance is debited once')
  }
})

test('200 to one request and 422 to the others when twenty concurrent requests use one key with different bodies', async () => {
  const key = randomUUID()
  const bodies = Array.from({ length: 20 }, (_, at) => payoutText(beneficiary, `2.${10 + at}`, { idempotencyKey: key }))
  const answers = await Promise.all(bodies.map((body) => pay(body)))
  const winners = answers.filter((answer) => answer.status === 200)
  assert.equal(winners.length, 1)
  for (const loser of answers.filter((answer) => answer.status !== 200))
    assertProblem(loser, { status: 422, code: 'idempotency_key_reused' })
  assert.equal((await payoutsOf(key)).length, 1)
})

test('200 to the corrected request with the same key after 400, 404 and 422 insufficient_funds', async () => {
  const key = randomUUID()
  const wrongs = [
    [payoutText(beneficiary, '0', { idempotencyKey: key }), 400, 'validation_failed'],
    [payoutText(randomUUID(), '3.00', { idempotencyKey: key }), 404, 'not_found'],
    [payoutText(beneficiary, '3.00', { idempotencyKey: key, currency: 'GBP' }), 422, undefined],
  ] as const
  for (const [body, status, code] of wrongs)
    assertProblem(await pay(body), code === undefined ? { status } : { status, code })
  await spendDownTo(10_000n)
  await depositAndWait('10.00')
  const dear = payoutText(beneficiary, '9999999.00', { idempotencyKey: key })
  for (let time = 0; time < 2; time += 1) assertProblem(await pay(dear), { status: 422, code: 'insufficient_funds' })
  const right = await pay(payoutText(beneficiary, '3.00', { idempotencyKey: key }))
  success(right)
  assert.ok(!isReplay(right))
})

/** Pays out until less than `limit` cents are available. */
async function spendDownTo(limit: bigint): Promise<void> {
  for (let { available } = await balanceOf(client); available >= limit; { available } = await balanceOf(client)) {
    const euros = available / 100n > 9_000_000n ? 9_000_000n : available / 100n
    success(await pay(payoutText(beneficiary, String(euros))))
  }
}

test('422 insufficient_funds to all but one of twenty concurrent payouts of the whole balance', async () => {
  await spendDownTo(10_000n)
  await depositAndWait('100.00')
  const { available } = await balanceOf(client)
  const whole = `${available / 100n}.${String(available % 100n).padStart(2, '0')}`
  const answers = await Promise.all(Array.from({ length: 20 }, () => pay(payoutText(beneficiary, whole))))
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1)
  for (const loser of answers.filter((answer) => answer.status !== 200))
    assertProblem(loser, { status: 422, code: 'insufficient_funds' })
  assert.equal((await balanceOf(client)).available, 0n)
  const late = payoutText(beneficiary, '50.00')
  assertProblem(await pay(late), { status: 422, code: 'insufficient_funds' })
  await depositAndWait('60.00')
  assert.ok(!isReplay(await pay(late)), 'a refusal for insufficient funds is not replayed')
  assert.equal((await balanceOf(client)).available, 1000n)
})

function depositBody(amount: string, fields = {}): string {
  const rest = JSON.stringify({ customerId: customer, currency: 'EUR', outcome: 'completed', ...fields })
  return `{"amount":${amount},${rest.slice(1)}`
}

async function depositAndWait(amount: string): Promise<void> {
  const answer = await client.post('/v1/simulations/deposits', depositBody(amount))
  assert.equal((await finalTransaction(client, textAt(success(answer), 'reference'))).status, 'Completed')
}

test('200 without a replay for the same key in another operation or of another partner, and with a replay to another account', async () => {
  const key = randomUUID()
  const deposit = await client.post('/v1/simulations/deposits', depositBody('500.00', { idempotencyKey: key }))
  await finalTransaction(client, textAt(success(deposit), 'reference'))
  const body = payoutText(beneficiary, '1.00', { idempotencyKey: key })
  const payout = await pay(body)
  success(payout)
  assert.ok(!isReplay(payout), 'the keys of deposits and payouts are separate')
  const colleague = await accountWith(service, ['payouts:write'])
  const replay = await pay(body, colleague)
  assert.equal(replay.text, payout.text)
  assert.ok(isReplay(replay), 'the key belongs to the partner, not to the account')
  const stranger = await otherPartner(service)
  const theirs = textAt(await createBeneficiary(stranger), 'id')
  const own = await pay(payoutText(theirs, '1.00', { idempotencyKey: key }), stranger)
  success(own)
  assert.ok(!isReplay(own), 'the keys of two partners are separate')
  assert.notEqual(own.json.reference, payout.json.reference)
})

test('200 with the same reference when a simulation is repeated, and 422 with another body', async () => {
  const cases = ['deposits', 'withdrawals'] as const
  for (const kind of cases) {
    const body = (amount: string, key: string) => {
      const text = depositBody(amount, { idempotencyKey: key })
      return kind === 'deposits' ? text : text.replace('"completed"', '"sent"')
    }
    const key = randomUUID()
    const path = `/v1/simulations/${kind}`
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.post(path, body('1.50', key))))
    for (const answer of answers) success(answer)
    assert.equal(new Set(answers.map((answer) => answer.json.reference)).size, 1)
    assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1)
    const problem = assertProblem(await client.post(path, body('1.51', key)), {
      status: 422,
      code: 'idempotency_key_reused',
    })
    assert.ok(textAt(problem, 'detail').includes(String(answers[0]?.json.reference)))
  }
})
