/**
 * SIGKILL of the service between the approval of a payer and the settlement, at several moments. The service that starts again
 * completes each session once: one credit in the ledger, one completed event.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { success, textAt } from '../support/client.ts'
import { scaled } from '../support/faults.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startTestService } from '../support/service.ts'
import { balanceOf, finalTransaction, listAll } from '../support/world.ts'

const stepMs = 150
const kills = scaled(3, 12)

test('a session that is approved when the service is killed completes once after the restart', async () => {
  const database = await createTestDatabase()
  const env = { DATABASE_URL: database.url, SANDBOX_BANK_DELAY_MS: String(stepMs) }
  let service = await startTestService({ env })
  const { dataDir } = service
  const before = (await balanceOf(service.client)).posted
  const references: string[] = []
  for (let kill = 0; kill < kills; kill += 1) {
    const session = success(
      await service.client.post('/v1/checkout/sessions', {
        amount: 49.9,
        currency: 'EUR',
        idempotencyKey: randomUUID(),
        customer: { email: 'ada@example.com' },
      }),
    )
    references.push(textAt(session, 'reference'))
    const page = `${service.baseUrl}${new URL(textAt(session, 'url')).pathname}`
    for (const [path, fields] of [
      ['pay', {}],
      ['bank/sign-in', { name: 'Grace Hopper' }],
      ['bank/approve', {}],
    ] as const)
      await fetch(`${page}/${path}`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
    // From the moment of the approval to that of the settlement.
    await pause((kill * 3 * stepMs) / kills)
    await service.kill()
    service = await startTestService({ env, dataDir })
  }
  for (const reference of references) {
    assert.equal((await finalTransaction(service.client, reference)).status, 'Completed')
  }
  assert.equal((await balanceOf(service.client)).posted - before, 4990n * BigInt(kills))
  const sessions = await listAll(service.client, '/v1/checkout/sessions')
  assert.deepEqual(new Set(sessions.map(({ status }) => status)), new Set(['Completed']))
  await service.stop()
  await database.drop()
})
