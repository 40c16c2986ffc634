/** Beyond the capacity of a process: what was accepted is answered, what comes on top is refused at once. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { success, textAt } from '../support/client.ts'
import { halfRequest } from '../support/half-request.ts'
import { assertProblem } from '../support/problem.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const requestsMax = 4
const service = await startTestService({ env: { REQUESTS_MAX: String(requestsMax) } })
const db = createDatabase({ url: service.databaseUrl, connectionsMax: 2, log: createLog('silent') })
after(async () => {
  await db.close()
  await service.dispose()
})
const { client } = service
const beneficiary = textAt(await createBeneficiary(client), 'id')
const pay = (key: string) =>
  client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { idempotencyKey: `${key} of the overload` }))
const waitingForLocks = async () => {
  const row = await db.row<{ count: bigint }>(sql`
    select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  return Number(row?.count ?? 0n)
}

test('503 overloaded with Retry-After for what comes on top, 200 for what was accepted, and 200 again at once', async () => {
  // The balance is locked by somebody else, so that payouts stay under way until it is given free.
  const { accepted, refused } = await db.transaction(async (tx) => {
    await tx.rows(sql`
      select id from ledger.accounts where partner_id = ${service.credentials.partnerId} for update`)
    const first = Array.from({ length: requestsMax }, (_, index) => pay(`${index}`))
    await until('the payouts wait for the balance', async () => (await waitingForLocks()) > 0)
    // Some of the first may not have arrived yet: whichever come on top, the number that is let in is the same.
    const all = await Promise.all([1, 2, 3].map((round) => client.get(`/v1/payouts?limit=${round}`)))
    return { accepted: first, refused: all }
  })
  const answers = await Promise.all(accepted)
  const [turnedAway] = refused.filter(({ status }) => status === 503)
  assert.ok(turnedAway, 'while the capacity is taken, something is refused')
  assertProblem(turnedAway, { status: 503, code: 'overloaded' })
  assert.ok(Number(turnedAway.headers['retry-after']) >= 1)
  for (const answer of answers) if (answer.status !== 200) assertProblem(answer, { status: 503, code: 'overloaded' })
  assert.ok(answers.some(({ status }) => status === 200))
  success(await client.get('/v1/payouts'))
})

test('200 after requests that nobody could authenticate: their places are given back', async () => {
  const forged = () => client.send({ method: 'GET', target: '/v1/payouts', signed: { secret: 'another' } })
  for (let round = 0; round < requestsMax * 3; round += 1)
    assertProblem(await forged(), { status: 401, code: 'signature_invalid' })
  success(await client.get('/v1/payouts'))
})

test('200 while many send a body that does not come to its end: they take no place', async () => {
  const halves = await Promise.all(
    Array.from({ length: requestsMax * 3 }, () =>
      halfRequest(service.baseUrl, service.credentials, '/v1/customers', { email: 'slow@example.com' }),
    ),
  )
  success(await client.get('/v1/payouts'))
  for (const half of halves) void half.finish().catch(() => undefined)
})
