/**
 * SIGKILL of a recovery before and after each of its commits; another worker continues. The recovery examines, recovers
 * and counts each event once, and the endpoint receives each event once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import { untilEnd } from '../support/fixture.ts'
import { startDelivery } from '../support/jobs.ts'
import { createScene, verifyScene, startCounter } from '../support/faults.ts'
import { createHooks } from '../support/webhooks.ts'
import { reconcile } from '../support/reconcile.ts'

/** Three and a half steps of a recovery, with two crash points each. */
const events = 1700
const heldEvents = 40
const pointsMin = 8

const hooks = untilEnd(await createHooks())

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
  // Events from before the subscription count in this scene, because the recovery delivers them.
  const scene = { ...(await createScene(hooks, [counter], { partnerId })), earlier: [] }
  await emit(names.slice(0, heldEvents))
  for (const reference of references) {
    scene.attempted.add(reference)
    scene.acknowledged.add(reference)
  }
  while ((await hooks.fanOut(partnerId)) > 0);
  await hooks.db.run(sql`
    update delivery.queue set status = 'Held', held_at = ${hooks.clock.now()} where partner_id = ${partnerId}`)
  // Event ids contain the system time.
  hooks.clock.advance(minuteMs)
  const since = new Date(hooks.clock.now().getTime() - 12 * hourMs).toISOString()
  const subscriptionId = scene.endpoints[0]?.subscriptionId ?? ''
  const recovery = await hooks.webhooks.recover(partnerId, subscriptionId, { since })
  return { partnerId, subscriptionId, recoveryId: recovery.id, scene, counter }
}

test('a recovery killed at any point counts each event exactly once', async (t) => {
  await killAtCrashPoints(t, { worker: 'recovery', pointsMin }, async (runWorker) => {
    const { partnerId, subscriptionId, recoveryId, scene, counter } = await scenario()
    const { webhooks } = hooks
    await runWorker(hooks, { key: Buffer.from(hooks.key).toString('hex') })
    while ((await webhooks.recoverStep()) > 0);
    const done = await webhooks.recovery(partnerId, subscriptionId, recoveryId)
    const total = BigInt(events + heldEvents)
    const { status, examined, recovered } = done
    assert.deepEqual({ status, examined, recovered }, { status: 'Completed', examined: total, recovered: total })
    const [row] = await reconcile(hooks.db, partnerId)
    assert.deepEqual(
      { owed: row?.owed, pending: row?.pending, held: row?.held },
      { owed: total, pending: total, held: 0n },
    )
    const { db, clock, log } = hooks
    const loop = startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 5 })
    await scene.delivered()
    await loop.stop()
    await verifyScene(t, scene, { duplicatesMax: 0 })
    await counter.close()
  })
})
