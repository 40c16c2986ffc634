/** Exchange over HTTP, as a partner sees it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { otherPartner } from '../support/service.ts'
import { balanceOf, cents, listAll } from '../support/world.ts'

const service = await useService({ env: { FX_FEE: 'EUR=0.50+10bp' } })
success(await service.client.post('/v1/simulations/fx/rates', { base: 'EUR', quote: 'USD', rate: 1.25 }))

const sell = (amount: number, fields: JsonObject = {}) => ({
  sellCurrency: 'EUR',
  buyCurrency: 'USD',
  sellAmount: amount,
  ...fields,
})
const quoteOf = async (fields: JsonObject = {}) =>
  success(await service.client.post('/v1/fx/quotes', sell(100, fields)))
const accept = (quoteId: string, idempotencyKey: string = randomUUID()) =>
  service.client.post('/v1/fx/conversions', { quoteId, idempotencyKey })

test('200 with exact literals: both amounts, the rates, the margin and the fee', async () => {
  const answer = await service.client.post('/v1/fx/quotes', sell(100))
  success(answer)
  const { sellAmount, buyAmount, midRate, rate, margin, fee, status } = answer.literals as JsonObject
  assert.deepEqual(
    { sellAmount, buyAmount, midRate, rate, margin, fee, status },
    {
      sellAmount: '100.00',
      buyAmount: '123.62',
      midRate: '1.25',
      rate: '1.24375',
      margin: { amount: '0.63', currency: 'USD', basisPoints: '50' },
      fee: { amount: '0.60', currency: 'EUR' },
      status: 'Open',
    },
  )
})

test('200 to exactly one and 422 with the reference to the others when many connections accept one quote', async () => {
  const [eur, usd] = await Promise.all([balanceOf(service.client), balanceOf(service.client, 'USD')])
  const id = textAt(await quoteOf(), 'id')
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept(id)))
  const [accepted, ...more] = answers.filter(({ status }) => status === 200)
  assert.equal(more.length, 0)
  const { reference } = success(accepted ?? answers[0] ?? assert.fail())
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assertProblem(answer, { status: 422, code: 'fx_quote_accepted', pointer: '/quoteId' })
    assert.ok(answer.text.includes(String(reference)))
  }
  assert.equal(accepted?.headers.location, `/v1/transactions/${String(reference)}`)
  assert.equal((await balanceOf(service.client)).posted, eur.posted - 10_000n)
  assert.equal((await balanceOf(service.client, 'USD')).posted, usd.posted + 12_362n)
  const conversions = await listAll(service.client, '/v1/transactions', '&category=Conversion')
  assert.deepEqual(
    conversions.map((each) => each.reference).filter((each) => each === reference),
    [reference],
  )
})

test('200 with the first answer to a repeated key, on many connections', async () => {
  const id = textAt(await quoteOf(), 'id')
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept(id, key)))
  assert.equal(new Set(answers.map((answer) => success(answer).reference)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 9)
})

test("404 with a pointer to the conversion of another partner's quote, and the quote remains open", async () => {
  const id = textAt(await quoteOf(), 'id')
  const stranger = await otherPartner(service)
  const body = { quoteId: id, idempotencyKey: randomUUID() }
  assertProblem(await stranger.post('/v1/fx/conversions', body), {
    status: 404,
    code: 'not_found',
    pointer: '/quoteId',
  })
  assert.equal(success(await service.client.get(`/v1/fx/quotes/${id}`)).status, 'Open')
})

test('400 with a pointer to bad amounts and currencies', async () => {
  const cases: readonly (readonly [string, JsonObject])[] = [
    ['/buyCurrency', sell(1, { buyCurrency: 'EUR' })],
    ['/buyAmount', sell(1, { buyAmount: 1 })],
    ['/sellAmount', { sellCurrency: 'EUR', buyCurrency: 'USD' }],
    ['/sellAmount', sell(0.51)],
    ['/sellAmount', sell(10_000_000.01)],
    ['/sellAmount', sell(1e21)],
    ['/kind', sell(1, { kind: 'forever' })],
  ]
  for (const [pointer, body] of cases)
    assertProblem(await service.client.post('/v1/fx/quotes', body), { status: 400, pointer })
})

test('503 to every partner while rates are stopped, and 200 to the conversion of a held quote', async () => {
  const id = textAt(await quoteOf(), 'id')
  const stranger = await otherPartner(service)
  success(await stranger.post('/v1/simulations/fx/rates', { stale: true }))
  assertProblem(await service.client.post('/v1/fx/quotes', sell(1)), { status: 503, code: 'fx_rates_unavailable' })
  assertProblem(await service.client.get('/v1/fx/rates'), { status: 503, code: 'fx_rates_unavailable' })
  const { sellAmount } = (await accept(id)).literals as JsonObject
  assert.equal(cents(sellAmount), 10_000n)
  const started = success(await stranger.post('/v1/simulations/fx/rates', { stale: false }))
  assert.deepEqual([started.stale, started.setByHand], [false, [{ currency: 'USD', rate: 1.25 }]])
  success(await service.client.get('/v1/fx/rates'))
})

test('400 to an invalid rate', async () => {
  const set = (fields: JsonObject) => service.client.post('/v1/simulations/fx/rates', fields)
  const pair = { base: 'EUR', quote: 'USD' }
  for (const rate of [0, -1, 1e-7, 1e9])
    assertProblem(await set({ ...pair, rate }), { status: 400, code: 'validation_failed', pointer: '/rate' })
  assertProblem(await set({ base: 'EUR', rate: 1 }), { status: 400, pointer: '/quote' })
  assertProblem(await set({ base: 'EUR', quote: 'EUR', rate: 1 }), { status: 400, pointer: '/quote' })
  assertProblem(await set({}), { status: 400, code: 'validation_failed' })
})
