/**
 * Secrets are rotated and subscriptions disabled and enabled under load, while workers are killed. A current secret signs
 * every event, a disabled endpoint receives nothing, and every event arrives in the end.
 */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { test } from 'node:test'
import { systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createScene, inFlightMax, keepEmitting, type Post, scaled, verifyAt, verifyScene } from '../support/faults.ts'
import { until } from '../support/until.ts'
import { useDelivery } from '../support/worker-processes.ts'
import { reconcile } from '../support/reconcile.ts'

const leaseMs = 2000

const { hooks, workers, listen } = await useDelivery({ clock: systemClock })

const prepareScene = async () => createScene(hooks, await listen(1, { answerMs: () => 5 }))

/** Starts two workers. Each call of the result kills and replaces the older one. */
function startTwoWorkers() {
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
  hooks.db.row<{ isIdle: boolean }>(sql`
    select lease_id is null and due_at is null as is_idle from delivery.endpoint_queues
    where partner_id = ${partnerId} and subscription_id = ${subscriptionId}`)

test('after a rotation under load, both secrets sign during the overlap and then only the new secret', async (t) => {
  const scene = await prepareScene()
  const [hook] = scene.endpoints
  assert.ok(hook)
  const { counter, subscriptionId, secrets } = hook
  const [rotations, killEvery] = [scaled(4, 40), 4]
  const replace = startTwoWorkers()
  const emitting = keepEmitting(t, scene, 4, 10)
  const rotate = async (overlapSeconds: number) => {
    const { secret = '' } = await hooks.webhooks.rotateSecret(scene.partnerId, subscriptionId, { overlapSeconds })
    secrets.push(secret)
    return secret
  }
  let kills = 0
  for (let rotation = 0; rotation < rotations; rotation += 2) {
    const old = secrets.at(-1) ?? ''
    const overlapping = await rotate(3600)
    await until('both secrets sign', () =>
      counter.posts.slice(-inFlightMax).some((post) => [old, overlapping].every((secret) => signedBy(secret)(post))),
    )
    const alone = await rotate(0)
    const isNew = signedBy(alone)
    let from = counter.posts.length
    await until('the new secret signs', () => {
      from = counter.posts.findIndex((post, at) => at >= from && isNew(post))
      if (from < 0) from = counter.posts.length
      return from < counter.posts.length
    })
    await until('more events arrive', () => counter.posts.length > from + 3 * inFlightMax)
    const posts = counter.posts.slice(from)
    // A worker that reads the secrets while they are rotated signs with both.
    const isLate = (post: Post) => [old, overlapping].some((secret) => signedBy(secret)(post))
    const late = posts.filter(isLate).length
    assert.ok(late <= inFlightMax, `${late} events signed by an old secret`)
    assert.ok(
      posts.every((post) => isLate(post) || isNew(post)),
      'the new secret signs',
    )
    if (rotation % killEvery === 0) {
      await replace()
      kills += 1
    }
  }
  await emitting.stop()
  await scene.delivered()
  await verifyScene(t, scene, { rotations, kills, duplicatesMax: kills * inFlightMax })
})

test('a subscription disabled under load receives nothing until it is enabled, and then every event', async (t) => {
  const scene = await prepareScene()
  const [hook] = scene.endpoints
  assert.ok(hook)
  const { counter, subscriptionId } = hook
  const rounds = scaled(3, 25)
  const replace = startTwoWorkers()
  const emitting = keepEmitting(t, scene, 4, 10)
  const sums = async () => {
    const [row] = await reconcile(hooks.db, scene.partnerId)
    assert.ok(row)
    assert.equal(row.owed, row.delivered + row.pending + row.held, 'the sums balance at any time')
    return row
  }
  for (let round = 0; round < rounds; round += 1) {
    const posts = counter.posts.length
    await until('some events arrive', () => counter.posts.length > posts + 20)
    await hooks.webhooks.update(scene.partnerId, subscriptionId, { status: 'Disabled' })
    // The queue worker finishes the attempts in flight, then releases the queue without a due time.
    await until(
      'the endpoint queue is idle',
      async () => (await endpointQueueOf(scene.partnerId, subscriptionId))?.isIdle === true,
    )
    const [before, sent] = [await sums(), counter.posts.length]
    await until('more events are held', async () => (await sums()).held > before.held + 20n)
    assert.equal(counter.posts.length, sent, 'a disabled endpoint receives nothing')
    await replace()
    await hooks.webhooks.enable(scene.partnerId, subscriptionId)
  }
  await emitting.stop()
  await scene.delivered()
  await sums()
  await verifyScene(t, scene, { rounds, kills: rounds, duplicatesMax: 2 * rounds * inFlightMax })
})
