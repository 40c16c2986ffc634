/**
 * A recovery is killed by SIGKILL before and after each of its commits; another worker goes on. Each event is examined
 * once, made or made due once, and counted once, whatever died; and then each is received, once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startDelivery } from '../../service/src/delivery/index.ts'
import { hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { killEverywhere } from '../support/crash-points.ts'
import { createScene, judge, startCounter } from '../support/faults.ts'
import { createHooks } from '../support/webhooks.ts'
import { reconcile } from '../support/reconcile.ts'

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
  const references: string[] = []
  const emit = (statuses: readonly string[]) => {
    const reference = newId()
    references.push(reference)
    return hooks.emit(partnerId, reference, ...statuses)
  }
  for (let made = 0; made < events; made += names.length) await emit(names)
  const counter = await startCounter({ clock: 'sender' })
  // What was before it is a part of this scene: it is recovered.
  const scene = { ...(await createScene(hooks, [counter], { partnerId })), earlier: [] }
  await emit(names.slice(0, heldOnes))
  for (const reference of references) {
    scene.attempted.add(reference)
    scene.acknowledged.add(reference)
  }
  while ((await hooks.fanOut(partnerId)) > 0);
  await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()} where partner_id = ${partnerId}`)
  // Ids of events are of the system's time.
  hooks.clock.advance(minuteMs)
  const since = new Date(hooks.clock.now().getTime() - 12 * hourMs).toISOString()
  const subscriptionId = scene.endpoints[0]?.subscriptionId ?? ''
  const recovery = await hooks.webhooks.recover(partnerId, subscriptionId, { since })
  return { partnerId, subscriptionId, recoveryId: recovery.id, scene, counter }
}

test('killed at any point, a recovery has counted nothing twice and forgotten nothing', async (t) => {
  const points = await killEverywhere(t, 'recovery-child.ts', async (runChild) => {
    const { partnerId, subscriptionId, recoveryId, scene, counter } = await scenario()
    const { webhooks } = hooks
    await runChild(hooks.url, Buffer.from(hooks.key).toString('hex'), partnerId, hooks.clock.now().toISOString())
    while ((await webhooks.recoverStep()) > 0);
    const done = await webhooks.recovery(partnerId, subscriptionId, recoveryId)
    assert.deepEqual(
      [done.status, done.examined, done.recovered],
      ['Completed', BigInt(events + heldOnes), BigInt(events + heldOnes)],
    )
    const [row] = await reconcile(hooks.db, partnerId)
    assert.deepEqual([row?.owed, row?.pending, row?.held], [BigInt(events + heldOnes), BigInt(events + heldOnes), 0n])
    const { db, clock, log } = hooks
    const loop = startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 5 })
    await scene.delivered()
    await loop.stop()
    await judge(t, scene, { duplicatesMax: 0 })
    await counter.close()
  })
  assert.ok(points >= pointsMin, `only ${points} points were passed`)
})
