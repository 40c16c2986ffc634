/**
 * Clocks that step forward and back by hours while workers hold endpoint queues and retries wait, and workers whose clocks
 * differ by minutes. No event is lost; new events are delivered at once, and retries at their due time.
 */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { hourMs, minuteMs, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import {
  type CounterOptions,
  createScene,
  createSteppedClock,
  inFlightMax,
  type Scene,
  scaled,
  verifyScene,
} from '../support/faults.ts'
import { until } from '../support/until.ts'
import { useDelivery } from '../support/worker-processes.ts'

const endpointsMax = 4
const workersMax = 2
const stepMs = 6 * hourMs

const clock = createSteppedClock()
afterEach(() => clock.reset())
const { hooks, workers, deliver, listen } = await useDelivery({ clock })

/** Workers of one machine: each holds its own endpoint queues, and all use the same clock. */
function startWorkers(): void {
  for (let at = 0; at < workersMax; at += 1) deliver()
}

const prepareScene = async (options: CounterOptions = {}) =>
  createScene(hooks, await listen(endpointsMax, { answerMs: () => 10, clock: 'sender', ...options }))

/** Every endpoint has accepted an event of each reference. */
const accepted = (scene: Scene, references: readonly string[]) =>
  until('the new events are accepted', () =>
    scene.endpoints.every(({ counter }) => {
      const got = new Set(counter.posts.filter((post) => post.accepted).map((post) => post.reference))
      return references.every((reference) => got.has(reference))
    }),
  )

const emittedBy = async (scene: Scene, emit: () => Promise<unknown>) => {
  const known = new Set(scene.acknowledged)
  await emit()
  return [...scene.acknowledged].filter((reference) => !known.has(reference))
}

const refuseOneInFive: Pick<CounterOptions, 'fault'> = {
  fault: (response, nth) => nth % 5 === 0 && response.writeHead(500).end() !== undefined,
}

test('no event is lost when a clock steps forward by hours while queues are leased and retries are pending', async (t) => {
  const scene = await prepareScene(refuseOneInFive)
  const steps = scaled(3, 20)
  startWorkers()
  await scene.emit(40)
  for (let step = 0; step < steps; step += 1) {
    await scene.more()
    clock.step(stepMs)
    await scene.emit(20)
  }
  const waiting = setInterval(() => clock.step(minuteMs), 50)
  await scene.delivered().finally(() => clearInterval(waiting))
  await verifyScene(t, scene, { steps, duplicatesMax: steps * workersMax * endpointsMax * inFlightMax })
})

test('after a clock steps back by hours, new events are delivered at once and retries at their due time', async (t) => {
  let failing = true
  const scene = await prepareScene({
    fault: (response, nth) => failing && nth % 5 === 0 && response.writeHead(500).end() !== undefined,
  })
  const steps = scaled(2, 10)
  startWorkers()
  for (let step = 0; step < steps; step += 1) {
    failing = true
    const emitted = scene.emit(40)
    await scene.more()
    await emitted
    clock.step(-stepMs)
    failing = false
    await accepted(scene, await emittedBy(scene, () => scene.emit(20)))
  }
  clock.step(steps * stepMs + minuteMs)
  await scene.delivered()
  await verifyScene(t, scene, { steps, duplicatesMax: steps * workersMax * endpointsMax * inFlightMax })
})

test('leases of a killed worker whose clock was hours ahead do not delay deliveries', async (t) => {
  const scene = await prepareScene()
  const leaseMs = 2000
  const kills = scaled(1, 5)
  for (let kill = 0; kill < kills; kill += 1) {
    const ahead = workers.spawn({ leaseMs, skewMs: stepMs })
    await scene.emit(40)
    await scene.more()
    await workers.kill(ahead)
    const { held } = (await hooks.db.row<{ held: bigint }>(sql`
      select count(*) as held from delivery.endpoint_queues
      where partner_id = ${scene.partnerId} and lease_until > ${new Date(clock.now().getTime() + stepMs / 2)}`)) ?? {
      held: 0n,
    }
    assert.ok(held > 0n, 'the killed worker holds leases that end in hours')
    const next = workers.spawn({ leaseMs })
    await scene.emit(20)
    await scene.delivered()
    await workers.kill(next)
  }
  await verifyScene(t, scene, { kills, duplicatesMax: kills * endpointsMax * inFlightMax })
})

test('a subscription created before the clock steps back receives later events', async (t) => {
  const scene = await prepareScene()
  startWorkers()
  clock.step(-stepMs)
  await scene.emit(20)
  await scene.delivered()
  clock.step(stepMs)
  await verifyScene(t, scene, { duplicatesMax: workersMax * endpointsMax * inFlightMax })
})

test('no event is lost when workers whose clocks differ by minutes are killed in turn', async (t) => {
  const scene = await prepareScene()
  const limits = { leaseMs: 5 * secondMs }
  const kills = scaled(2, 12)
  // The slow clock never sees the other worker's leases end; the fast clock always sees them ended.
  const takeoversMax = 2 * kills + 2
  const skews = [-2 * minuteMs, 2 * minuteMs]
  const spawn = (at: number) => workers.spawn({ ...limits, skewMs: skews[at % skews.length] ?? 0 })
  await scene.emit(40)
  let [first, second] = [spawn(0), spawn(1)]
  for (let kill = 0; kill < kills; kill += 1) {
    await scene.more()
    await workers.kill(first)
    ;[first, second] = [second, spawn(kill)]
    await scene.emit(20)
  }
  await scene.delivered()
  await workers.killAll()
  await verifyScene(t, scene, { kills, duplicatesMax: takeoversMax * endpointsMax * inFlightMax })
})
