/** Above the capacity of a process: accepted requests complete, further requests are refused at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../service/src/postgres/index.ts'
import { success, textAt } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { halfRequest } from '../support/half-request.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const requestsMax = 4
const service = await useService({ env: { REQUESTS_MAX: String(requestsMax) } })
const db = service.connect()
const { client } = service
const beneficiary = textAt(await createBeneficiary(client), 'id')
const pay = (key: string) =>
  client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { idempotencyKey: `${key} of the overload` }))
const waitingForLocks = async () => {
  const row = await db.row<{ count: bigint }>(sql`
    select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  return Number(row?.count ?? 0n)
}

test('503 overloaded with Retry-After above the capacity, 200 to accepted requests, and 200 after they complete', async () => {
  // This transaction locks the balance, so that the payouts stay in progress until it ends.
  const { accepted, refused } = await db.transaction(async (tx) => {
    await tx.rows(sql`
      select id from ledger.accounts where partner_id = ${service.credentials.partnerId} for update`)
    const first = Array.from({ length: requestsMax }, (_, index) => pay(`${index}`))
    await until('the payouts wait for the balance', async () => (await waitingForLocks()) > 0)
    // Some payouts may arrive after these requests. The number of accepted requests is the same.
    const all = await Promise.all([1, 2, 3].map((round) => client.get(`/v1/payouts?limit=${round}`)))
    return { accepted: first, refused: all }
  })
  const answers = await Promise.all(accepted)
  const [overloaded] = refused.filter(({ status }) => status === 503)
  assert.ok(overloaded, 'a request above the capacity is refused')
  assertProblem(overloaded, { status: 503, code: 'overloaded' })
  assert.ok(Number(overloaded.headers['retry-after']) >= 1)
  for (const answer of answers) if (answer.status !== 200) assertProblem(answer, { status: 503, code: 'overloaded' })
  assert.ok(answers.some(({ status }) => status === 200))
  success(await client.get('/v1/payouts'))
})

test('200 after requests with forged signatures: they release their capacity', async () => {
  const forged = () => client.send({ method: 'GET', target: '/v1/payouts', signed: { secret: 'another' } })
  for (let round = 0; round < requestsMax * 3; round += 1)
    assertProblem(await forged(), { status: 401, code: 'signature_invalid' })
  success(await client.get('/v1/payouts'))
})

test('200 while many requests have incomplete bodies: they use no capacity', async () => {
  const halves = await Promise.all(
    Array.from({ length: requestsMax * 3 }, () =>
      halfRequest(service.baseUrl, service.credentials, '/v1/customers', { email: 'slow@example.com' }),
    ),
  )
  success(await client.get('/v1/payouts'))
  for (const half of halves) void half.finish().catch(() => undefined)
})
