/**
 * Workers killed at random, frozen past their lease, and several on the same endpoint queues. A kill exactly between answer and
 * record, and at every other boundary: `delivery-kill.test.ts`.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { startDelivery } from '../../service/src/delivery/index.ts'
import { systemClock } from '../../service/src/kernel/index.ts'
import {
  type Counter,
  type CounterOptions,
  createScene,
  inFlightMax,
  judge,
  scaled,
  startCounter,
} from '../support/faults.ts'
import { mortalThread } from '../support/crashing-thread.ts'
import { until } from '../support/until.ts'
import { createHooks, type Hooks } from '../support/webhooks.ts'
import { createWorkers } from '../support/worker-processes.ts'

const endpointsMax = 4
const leaseMs = 2000

let hooks: Hooks
before(async () => {
  hooks = await createHooks({ clock: systemClock })
})
after(() => hooks?.close())

const workers = createWorkers(() => hooks)
const counters: Counter[] = []
afterEach(async () => {
  await workers.killAll()
  await Promise.all(counters.splice(0).map((counter) => counter.close()))
})

async function scenery(options: () => CounterOptions) {
  for (let at = 0; at < endpointsMax; at += 1) counters.push(await startCounter(options()))
  return createScene(hooks, counters)
}

test('workers killed again and again while others work: nothing lost, duplicates only of what was under way', async (t) => {
  const scene = await scenery(() => ({ answerMs: () => 5 }))
  const kills = scaled(4, 25)
  await scene.emit(40)
  let [first, second] = [workers.spawn({ leaseMs }), workers.spawn({ leaseMs, threads: 1 })]
  for (let killed = 0; killed < kills; killed += 1) {
    const before = scene.posts()
    await until('the next few have come', () => scene.posts() > before + 10)
    await workers.kill(first)
    ;[first, second] = [second, workers.spawn({ leaseMs, threads: killed % 2 })]
    await scene.emit(20)
  }
  await scene.delivered()
  await judge(t, scene, { kills, duplicatesMax: kills * endpointsMax * inFlightMax })
})

test('a worker frozen past its lease: its endpoint queues are taken over, and what it says on waking counts for nothing', async (t) => {
  const freezes = scaled(1, 5)
  const slow = { is: true }
  const scene = await scenery(() => ({ answerMs: () => (slow.is ? 300 : 5) }))
  for (let frozen = 0; frozen < freezes; frozen += 1) {
    slow.is = true
    await scene.emit(20)
    const victim = workers.spawn({ leaseMs, threads: 1 })
    const before = scene.endpoints.map(({ counter }) => counter.posts.length)
    await until('attempts are under way', () =>
      scene.endpoints.every(({ counter }, at) => counter.posts.length >= (before[at] ?? 0) + 5),
    )
    victim.kill('SIGSTOP')
    slow.is = false
    const other = workers.spawn({ leaseMs })
    await scene.delivered()
    victim.kill('SIGCONT')
    await scene.emit(20)
    await scene.delivered()
    await Promise.all([workers.kill(victim), workers.kill(other)])
  }
  await judge(t, scene, { freezes, duplicatesMax: 2 * freezes * endpointsMax * inFlightMax })
})

test('two workers on the same endpoint queues, endpoints that fail one in four: each event accepted once', async (t) => {
  const scene = await scenery(() => ({
    fault: (response, nth) => nth % 4 === 0 && response.writeHead(500).end() !== undefined,
    answerMs: () => 2,
  }))
  const other = await createHooks({
    ...{ url: hooks.url, key: hooks.key, clock: systemClock },
    retryDelaysMs: Array.from({ length: 20 }, () => 10),
  })
  // One with a thread for its exchanges, one without.
  const loops = [0, 1].map((threads) =>
    startDelivery({
      ...{ db: other.db, clock: systemClock, log: other.log, webhooks: other.webhooks },
      ...{ allowLoopback: true, idleMs: 5, threads },
    }),
  )
  await scene.emit(scaled(50, 1000))
  await scene.delivered()
  await Promise.all(loops.map((loop) => loop.stop()))
  await other.close()
  const { refused } = await judge(t, scene, { duplicatesMax: 0 })
  assert.equal(
    refused,
    counters.reduce((sum, { posts }) => sum + Math.floor(posts.length / 4), 0),
  )
})

test('threads of exchanges die with attempts under way: others take their place, nothing lost', async (t) => {
  const deaths = scaled(2, 6)
  const folder = await mkdtemp(join(tmpdir(), 'threads-'))
  for (let at = 0; at < endpointsMax; at += 1) counters.push(await startCounter({ answerMs: () => 20 }))
  const partnerId = await hooks.addPartner()
  const act = (reference: string) => hooks.emit(partnerId, reference, 'DIES')
  const scene = await createScene(hooks, counters, { partnerId, act })
  const { db, log, webhooks } = hooks
  for (let died = 0; died < deaths; died += 1) {
    // The first are at their endpoints by the third message.
    const threadProgram = mortalThread(3, join(folder, String(died)))
    const options = { db, clock: systemClock, log, webhooks, allowLoopback: true, idleMs: 5, threads: 2, threadProgram }
    const loop = startDelivery(options)
    t.after(loop.stop)
    await scene.emit(40)
    await scene.delivered()
    await loop.stop()
    assert.ok(existsSync(join(folder, String(died))), 'one has died')
  }
  await rm(folder, { recursive: true })
  await judge(t, scene, { deaths, duplicatesMax: deaths * endpointsMax * inFlightMax })
})
