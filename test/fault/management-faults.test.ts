/**
 * Secrets rotated and subscriptions disabled and enabled under load, while workers are killed. Every event is signed by a
 * secret of its time, nothing goes to who is disabled, and all that was owed meanwhile comes in the end.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import { systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import {
  type Counter,
  createScene,
  inFlightMax,
  judge,
  keepActing,
  type Post,
  type Scene,
  scaled,
  startCounter,
  verifyAt,
} from '../support/faults.ts'
import { until } from '../support/until.ts'
import { createHooks, type Hooks } from '../support/webhooks.ts'
import { createWorkers } from '../support/worker-processes.ts'
import { reconcile } from '../support/reconcile.ts'

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

async function scenery(): Promise<Scene> {
  counters.push(await startCounter({ answerMs: () => 5 }))
  return createScene(hooks, counters)
}

/** Two workers, of which the older one is killed and replaced at each call. */
function succession() {
  let [first, second]: [ChildProcess, ChildProcess] = [workers.spawn({ leaseMs }), workers.spawn({ leaseMs })]
  return async () => {
    await workers.kill(first)
    ;[first, second] = [second, workers.spawn({ leaseMs })]
  }
}

const signedBy = (secret: string) => (post: Post) => {
  try {
    verifyAt(post.at, secret, post)
    return true
  } catch {
    return false
  }
}

const endpointQueueOf = (partnerId: string, subscriptionId: string) =>
  hooks.db.row<{ atRest: boolean }>(sql`
    select lease_id is null and due_at is null as at_rest from delivery.endpoint_queues
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)

test('secrets rotated under load: at first both sign, then the new one alone', async (t) => {
  const scene = await scenery()
  const [hook] = scene.endpoints
  assert.ok(hook)
  const { counter, subscriptionId, secrets } = hook
  const [rotations, killEvery] = [scaled(4, 40), 4]
  const replace = succession()
  const acting = keepActing(t, scene, 4, 10)
  const rotate = async (overlapSeconds: number) => {
    const { secret = '' } = await hooks.webhooks.rotateSecret(scene.partnerId, subscriptionId, { overlapSeconds })
    secrets.push(secret)
    return secret
  }
  let kills = 0
  for (let rotation = 0; rotation < rotations; rotation += 2) {
    const old = secrets.at(-1) ?? ''
    const overlapping = await rotate(3600)
    await until('both sign', () =>
      counter.posts.slice(-inFlightMax).some((post) => [old, overlapping].every((secret) => signedBy(secret)(post))),
    )
    const alone = await rotate(0)
    const isNew = signedBy(alone)
    let from = counter.posts.length
    await until('the new one signs', () => {
      from = counter.posts.findIndex((post, at) => at >= from && isNew(post))
      if (from < 0) from = counter.posts.length
      return from < counter.posts.length
    })
    await until('more have come', () => counter.posts.length > from + 3 * inFlightMax)
    const late = counter.posts.slice(from).filter((post) => !isNew(post))
    assert.ok(late.length <= inFlightMax, `${late.length} signed by what signs no more`)
    for (const post of counter.posts.slice(from).filter(isNew))
      assert.ok(!signedBy(overlapping)(post) && !signedBy(old)(post), 'the new one alone')
    if (rotation % killEvery === 0) {
      await replace()
      kills += 1
    }
  }
  await acting.stop()
  await scene.delivered()
  await judge(t, scene, { rotations, kills, duplicatesMax: kills * inFlightMax })
})

test('a subscription disabled and enabled under load: nothing goes to it meanwhile, and all of it after', async (t) => {
  const scene = await scenery()
  const [hook] = scene.endpoints
  assert.ok(hook)
  const { counter, subscriptionId } = hook
  const rounds = scaled(3, 25)
  const replace = succession()
  const acting = keepActing(t, scene, 4, 10)
  const sums = async () => {
    const [row] = await reconcile(hooks.db, scene.partnerId)
    assert.ok(row)
    assert.equal(row.owed, row.delivered + row.pending + row.held, 'the sums at any time')
    return row
  }
  for (let round = 0; round < rounds; round += 1) {
    const posts = counter.posts.length
    await until('some have come', () => counter.posts.length > posts + 20)
    await hooks.webhooks.update(scene.partnerId, subscriptionId, { status: 'Disabled' })
    // Whoever holds the endpoint queue ends what is under way, hears of it, and gives the endpoint queue back, due at no time.
    await until(
      'the endpoint queue is at rest',
      async () => (await endpointQueueOf(scene.partnerId, subscriptionId))?.atRest === true,
    )
    const [before, sent] = [await sums(), counter.posts.length]
    await until('it is owed more', async () => (await sums()).held > before.held + 20n)
    assert.equal(counter.posts.length, sent, 'nothing goes to who is disabled')
    await replace()
    await hooks.webhooks.enable(scene.partnerId, subscriptionId)
  }
  await acting.stop()
  await scene.delivered()
  await sums()
  await judge(t, scene, { rounds, kills: rounds, duplicatesMax: 2 * rounds * inFlightMax })
})
