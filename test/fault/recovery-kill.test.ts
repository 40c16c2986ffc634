/**
 * A recovery is killed by SIGKILL before and after each of its commits; another worker goes on. Each event is examined
 * once, made or made due once, and counted once, whatever died.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { killEverywhere } from '../support/deaths.ts'
import { createHooks, statusChanged } from '../support/webhooks.ts'

/** Three steps and a half of it, two points each. */
const events = 1700
const heldOnes = 40
const pointsMin = 8

let hooks: Awaited<ReturnType<typeof createHooks>>
before(async () => {
  hooks = await createHooks()
})
after(() => hooks?.close())

async function scenario() {
  const partnerId = await hooks.addPartner()
  const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
  const { webhooks } = hooks
  for (let made = 0; made < events; made += names.length) await hooks.emit(partnerId, newId(), ...names)
  while ((await hooks.fanOut(partnerId)) > 0);
  const { id } = await webhooks.create(partnerId, { url: 'https://example.com/', events: [statusChanged] })
  await hooks.emit(partnerId, newId(), ...names.slice(0, heldOnes))
  while ((await hooks.fanOut(partnerId)) > 0);
  await hooks.db.run(sql`
    update webhooks.queue set status = 'Held', held_at = ${hooks.clock.now()} where partner_id = ${partnerId}`)
  // Ids of events are of the system's time.
  hooks.clock.advance(minuteMs)
  const since = new Date(hooks.clock.now().getTime() - 12 * hourMs).toISOString()
  const recovery = await webhooks.recover(partnerId, id, { since })
  return { partnerId, subscriptionId: id, recoveryId: recovery.id }
}

test('killed at any point, a recovery has counted nothing twice and forgotten nothing', async (t) => {
  const points = await killEverywhere(t, 'recovery-child.ts', async (runChild) => {
    const { partnerId, subscriptionId, recoveryId } = await scenario()
    const { webhooks } = hooks
    await runChild(hooks.url, Buffer.from(hooks.key).toString('hex'), partnerId, hooks.clock.now().toISOString())
    while ((await webhooks.recoverStep()) > 0);
    const done = await webhooks.recovery(partnerId, subscriptionId, recoveryId)
    assert.deepEqual(
      [done.status, done.examined, done.recovered],
      ['Completed', BigInt(events + heldOnes), BigInt(events + heldOnes)],
    )
    const [row] = await webhooks.reconcile(hooks.db, partnerId)
    assert.deepEqual([row?.owed, row?.pending, row?.held], [BigInt(events + heldOnes), BigInt(events + heldOnes), 0n])
  })
  assert.ok(points >= pointsMin, `only ${points} points were passed`)
})
