/**
 * Workers killed at random, frozen past their lease, and several workers on the same endpoint queues. For kills at exact
 * boundaries, such as between an answer and its recording, see `delivery-kill.test.ts`.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../service/src/kernel/index.ts'
import { type CounterOptions, createScene, inFlightMax, scaled, verifyScene } from '../support/faults.ts'
import { crashingThread } from '../support/crashing-thread.ts'
import { startDelivery } from '../support/jobs.ts'
import { until } from '../support/until.ts'
import { createHooks } from '../support/webhooks.ts'
import { useDelivery } from '../support/worker-processes.ts'

const endpointsMax = 4
const leaseMs = 2000

const { hooks, workers, listen } = await useDelivery({ clock: systemClock })

const prepareScene = async (options: CounterOptions) => createScene(hooks, await listen(endpointsMax, options))

test('repeated kills of workers lose no event and duplicate only attempts in flight', async (t) => {
  const scene = await prepareScene({ answerMs: () => 5 })
  const kills = scaled(4, 25)
  await scene.emit(40)
  let [first, second] = [workers.spawn({ leaseMs }), workers.spawn({ leaseMs, threads: 1 })]
  for (let killed = 0; killed < kills; killed += 1) {
    await scene.more()
    await workers.kill(first)
    ;[first, second] = [second, workers.spawn({ leaseMs, threads: killed % 2 })]
    await scene.emit(20)
  }
  await scene.delivered()
  await verifyScene(t, scene, { kills, duplicatesMax: kills * endpointsMax * inFlightMax })
})

test('a worker frozen past its lease loses its queues, and its late results change nothing', async (t) => {
  const freezes = scaled(1, 5)
  let isSlow = true
  const scene = await prepareScene({ answerMs: () => (isSlow ? 300 : 5) })
  for (let frozen = 0; frozen < freezes; frozen += 1) {
    isSlow = true
    await scene.emit(20)
    const victim = workers.spawn({ leaseMs, threads: 1 })
    const before = scene.endpoints.map(({ counter }) => counter.posts.length)
    await until('attempts are in flight', () =>
      scene.endpoints.every(({ counter }, at) => counter.posts.length >= (before[at] ?? 0) + 5),
    )
    victim.kill('SIGSTOP')
    isSlow = false
    const other = workers.spawn({ leaseMs })
    await scene.delivered()
    victim.kill('SIGCONT')
    await scene.emit(20)
    await scene.delivered()
    await Promise.all([workers.kill(victim), workers.kill(other)])
  }
  await verifyScene(t, scene, { freezes, duplicatesMax: 2 * freezes * endpointsMax * inFlightMax })
})

test('with two workers on the same queues and endpoints that fail one in four, each event is accepted exactly once', async (t) => {
  const scene = await prepareScene({
    fault: (response, nth) => nth % 4 === 0 && response.writeHead(500).end() !== undefined,
    answerMs: () => 2,
  })
  const other = await createHooks({
    url: hooks.url,
    key: hooks.key,
    clock: systemClock,
    retryDelaysMs: Array.from({ length: 20 }, () => 10),
  })
  // One worker sends from a thread, the other from its main thread.
  const { db, log, webhooks } = other
  const parts = { db, clock: systemClock, log, webhooks, allowLoopback: true, idleMs: 5 }
  const loops = [0, 1].map((threads) => startDelivery({ ...parts, threads }))
  await scene.emit(scaled(50, 1000))
  await scene.delivered()
  await Promise.all(loops.map((loop) => loop.stop()))
  await other.close()
  const { refused } = await verifyScene(t, scene, { duplicatesMax: 0 })
  assert.equal(
    refused,
    scene.endpoints.reduce((sum, { counter }) => sum + Math.floor(counter.posts.length / 4), 0),
  )
})

test('exchange threads that crash with attempts in flight are replaced, and nothing is lost', async (t) => {
  const crashes = scaled(2, 6)
  const folder = await mkdtemp(join(tmpdir(), 'threads-'))
  const partnerId = await hooks.addPartner()
  const act = (reference: string) => hooks.emit(partnerId, reference, 'CRASHES')
  const scene = await createScene(hooks, await listen(endpointsMax, { answerMs: () => 20 }), { partnerId, act })
  const { db, log, webhooks } = hooks
  for (let crash = 0; crash < crashes; crash += 1) {
    const marker = join(folder, String(crash))
    // By the third message the first attempts are in flight.
    const threadProgram = crashingThread(3, marker)
    const options = { db, clock: systemClock, log, webhooks, allowLoopback: true, idleMs: 5, threads: 2, threadProgram }
    const loop = startDelivery(options)
    t.after(loop.stop)
    await scene.emit(40)
    await scene.delivered()
    await loop.stop()
    assert.ok(existsSync(marker), 'a thread crashed')
  }
  await rm(folder, { recursive: true })
  await verifyScene(t, scene, { crashes, duplicatesMax: crashes * endpointsMax * inFlightMax })
})
