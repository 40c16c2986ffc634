/** The address of the database leads to a replica for a while, as during a failover. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textAt } from '../support/client.ts'
import { startCrashingPostgres } from '../support/crashing-postgres.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const server = untilEnd(await startCrashingPostgres())
const service = await useService({ env: { DATABASE_URL: server.url } })

test('502 and not ready while the database is a replica, and requests succeed once it is the primary', async () => {
  const { client, opsUrl } = service
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const pay = () => client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01'))
  assert.equal((await pay()).status, 200)
  await server.demote()
  for (let count = 0; count < 20; count += 1) {
    assertProblem(await pay(), { status: 502, code: 'downstream_unreachable' })
    assertProblem(await client.get('/v1/accounts'), { status: 502, code: 'downstream_unreachable' })
  }
  assert.equal((await fetch(`${opsUrl}/readyz`)).status, 503)
  await server.promote()
  await until('a payout is accepted', async () => (await pay()).status === 200)
  assert.equal((await fetch(`${opsUrl}/readyz`)).status, 200)
})
