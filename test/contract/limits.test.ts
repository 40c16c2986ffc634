/** Limits that the operator configures. Contract page, limits, timestamp window, simulations. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Client, nowSeconds, success } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { accountWith } from '../support/service.ts'

const burst = 20
const service = await useService({
  env: {
    RATE_PER_SECOND: String(burst / 10),
    ITEM_RATE_PER_SECOND: '1',
    TIMESTAMP_WINDOW_SECONDS: '30',
    SIMULATIONS: 'off',
  },
})
const permissions = ['customers:read', 'simulations:write', 'webhooks:read']
/** A new account, so that each test has a full rate limit. */
const account = () => accountWith(service, permissions)
const read = (as: Client) => as.get('/v1/webhooks/event-types')

test('200 with RateLimit and RateLimit-Policy', async () => {
  const answer = await read(await account())
  success(answer)
  assert.match(String(answer.headers.ratelimit), /\S/)
  assert.match(String(answer.headers['ratelimit-policy']), /\S/)
})

test('429 rate_limited with Retry-After after the burst, and 200 to another account', async () => {
  const [spender, other] = [await account(), await account()]
  const answers = await Promise.all(Array.from({ length: burst * 2 }, () => read(spender)))
  const allowed = answers.filter((answer) => answer.status === 200).length
  // The bucket refills by two tokens per second during the requests.
  assert.ok(allowed >= burst && allowed <= burst + 10, `${allowed} of ${burst * 2} were allowed`)
  for (const answer of answers.filter((each) => each.status !== 200)) {
    assertProblem(answer, { status: 429, code: 'rate_limited' })
    assert.ok(Number(answer.headers['retry-after']) >= 1, `Retry-After: ${answer.headers['retry-after']}`)
    assert.match(String(answer.headers.ratelimit), /\S/)
  }
  success(await read(other))
})

test('429 when the payouts of bulks exceed the rate of items of the partner, whichever account sends them', async () => {
  const [first, second] = [await accountWith(service, ['payouts:write']), await accountWith(service, ['payouts:write'])]
  const payout = () => ({ amount: 1, currency: 'EUR', beneficiaryId: randomUUID(), idempotencyKey: randomUUID() })
  const bulk = (as: Client, count: number) => {
    const payouts = Array.from({ length: count }, payout)
    return as.post('/v1/payouts/bulk', { mode: 'BestEffort', idempotencyKey: randomUUID(), payouts })
  }
  success(await bulk(first, 600))
  const refused = await bulk(second, 600)
  assertProblem(refused, { status: 429, code: 'rate_limited' })
  assert.ok(Number(refused.headers['retry-after']) > 60, `Retry-After: ${refused.headers['retry-after']}`)
  success(await bulk(second, 100))
})

test('200 to an account after many requests with its key and forged signatures', async () => {
  const victim = await account()
  const forged = () =>
    victim.send({ method: 'GET', target: '/v1/webhooks/event-types', signed: { secret: randomUUID() } })
  for (const answer of await Promise.all(Array.from({ length: burst * 2 }, forged)))
    assert.ok([401, 429].includes(answer.status))
  success(await read(victim))
})

test('401 timestamp_out_of_window outside the configured window, 200 inside', async () => {
  const reader = await account()
  const at = (offset: number) =>
    reader.send({ method: 'GET', target: '/v1/webhooks/event-types', timestamp: String(nowSeconds() + offset) })
  for (const offset of [-25, 25]) success(await at(offset))
  for (const offset of [-32, 32]) assertProblem(await at(offset), { status: 401, code: 'timestamp_out_of_window' })
})

test('404 to every simulation when simulations are disabled', async () => {
  const body = { customerId: randomUUID(), amount: 1, currency: 'EUR', outcome: 'completed' }
  const caller = await account()
  for (const kind of ['deposits', 'withdrawals'])
    assertProblem(await caller.post(`/v1/simulations/${kind}`, body), { status: 404, code: 'not_found' })
})
