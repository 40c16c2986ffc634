/**
 * PostgreSQL disconnected, silent on open connections, killed and restarted, while payments commit and deliveries run.
 * Acknowledged payments are delivered, and a disconnected worker records nothing on queues that it has lost.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after as later, minuteMs, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createScene, inFlightMax, keepEmitting, scaled, verifyScene } from '../support/faults.ts'
import { addPartner, balanceOf, createTestService, pay } from '../support/composition.ts'
import { startCrashingPostgres } from '../support/crashing-postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { createHooks } from '../support/webhooks.ts'
import { useDelivery } from '../support/worker-processes.ts'

const endpointsMax = 4
const leaseMs = 2000
/** The engine's timeout of a query; 15 s by default. */
const queryTimeoutMs = 500
const perFault = endpointsMax * inFlightMax

const { hooks, workers, listen } = await useDelivery({ clock: systemClock })

const startCounters = () => listen(endpointsMax, { answerMs: () => 10 })

async function connectByProxy() {
  const wire = await startTcpProxy(Number(new URL(hooks.url).port))
  return { wire, url: Object.assign(new URL(hooks.url), { port: String(wire.port) }).href }
}

test('attempts whose recording loses the database connection are recorded late or repeated', async (t) => {
  const { wire, url } = await connectByProxy()
  const scene = await createScene(hooks, await startCounters())
  const cuts = scaled(3, 15)
  await scene.emit(40)
  workers.spawn({ leaseMs }, url)
  for (let cut = 0; cut < cuts; cut += 1) {
    await scene.more()
    await wire.cut()
    await wire.mend()
    await scene.emit(20)
  }
  await scene.delivered()
  await workers.killAll()
  await wire.close()
  await verifyScene(t, scene, { cuts, duplicatesMax: cuts * perFault })
})

test('database connections that remain open but silent are closed and replaced', async (t) => {
  const { wire, url } = await connectByProxy()
  const scene = await createScene(hooks, await startCounters())
  const silences = scaled(2, 10)
  await scene.emit(40)
  workers.spawn({ leaseMs, queryTimeoutMs }, url)
  for (let silence = 0; silence < silences; silence += 1) {
    await scene.more()
    wire.strand()
    await scene.emit(20)
  }
  await scene.delivered()
  await workers.killAll()
  await wire.close()
  await verifyScene(t, scene, { silences, duplicatesMax: silences * perFault })
})

test('a worker whose database is silent past its lease loses its queues, and its late results change nothing', async (t) => {
  const { wire, url } = await connectByProxy()
  const scene = await createScene(hooks, await startCounters())
  const silences = scaled(1, 6)
  await scene.emit(40)
  const cutOff = workers.spawn({ leaseMs, queryTimeoutMs }, url)
  for (let silence = 0; silence < silences; silence += 1) {
    await scene.more()
    wire.hold()
    await scene.emit(20)
    const other = workers.spawn({ leaseMs })
    await scene.delivered()
    // The second worker ends before the first one reconnects, so that the first works alone.
    await workers.kill(other)
    await wire.mend()
    await scene.emit(40)
  }
  await scene.delivered()
  await workers.kill(cutOff)
  await wire.close()
  await verifyScene(t, scene, { silences, duplicatesMax: 2 * silences * perFault })
})

test('after PostgreSQL is killed and restarted under load, acknowledged payouts have events, and others are complete or absent', async (t) => {
  const server = await startCrashingPostgres()
  t.after(() => server.close())
  const remote = await createHooks({ url: server.url, key: hooks.key, clock: systemClock })
  t.after(() => remote.close())
  const service = await createTestService({ url: server.url, now: later(systemClock.now(), minuteMs) })
  t.after(() => service.close())
  const floatMinor = 1_000_000n
  const partner = await addPartner(service, floatMinor)
  const act = (reference: string) => pay(service, partner, '1.00', { reference })
  const scene = await createScene(remote, await startCounters(), { partnerId: partner.partnerId, act })
  workers.spawn({ leaseMs }, server.url)
  const kills = scaled(3, 12)
  const emitting = keepEmitting(t, scene, 8)
  for (let kill = 0; kill < kills; kill += 1) {
    await scene.more()
    await (kill % 2 === 0 ? server.crash() : server.restart())
    const before = scene.acknowledged.size
    await until('payouts are accepted again', () => scene.acknowledged.size > before + 20)
  }
  await emitting.stop()
  await scene.delivered()
  await workers.killAll()
  const { committed } = await verifyScene(t, scene, { kills, duplicatesMax: kills * perFault })
  const payouts = await service.db.rows(
    sql`select 1 as one from payouts.payouts where partner_id = ${partner.partnerId}`,
  )
  assert.equal(payouts.length, committed, 'one event for each payout')
  const reserved = BigInt(committed) * 100n
  assert.deepEqual(await balanceOf(service, partner.partnerId), {
    posted: floatMinor,
    reserved,
    available: floatMinor - reserved,
  })
})
