/**
 * Endpoints that hang, answer slowly or without end, disconnect, redirect, ask for a pause, or fail for hours; host names
 * that do not resolve, change, or mix public and private addresses. Each receives every event and delays no other.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createResolver } from '../../service/src/webhooks/exchange/resolver.ts'
import { hourMs, minuteMs, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { type Records, startDnsServer } from '../support/dns-server.ts'
import { type CounterOptions, createScene, scaled, verifyScene } from '../support/faults.ts'
import { until } from '../support/until.ts'
import { reconcile } from '../support/reconcile.ts'
import { useDelivery } from '../support/worker-processes.ts'

const guardMsMax = 120_000
/** Longer than a busy machine keeps a healthy endpoint from answering: its retry would wait for a clock that stands. */
const exchangeTimeoutMs = 5 * secondMs
/** The test clock steps while requests are in flight, so endpoints must take their time from the request (`sender`). */
const stepMs = 4 * minuteMs
const restMs = 15 * minuteMs

const delivery = await useDelivery()
const { hooks } = delivery
const listen = async (options: CounterOptions = {}) => {
  const [counter] = await delivery.listen(1, { clock: 'sender', ...options })
  return counter ?? assert.fail('no endpoint')
}

/** Steps the clock until the condition holds. */
const advanceUntil = (what: string, condition: () => Promise<boolean>) =>
  until(
    what,
    async () => {
      if (await condition()) return true
      await pause(10)
      hooks.clock.advance(stepMs)
      return false
    },
    guardMsMax,
  )

/** Sends as much as the client reads, up to a gigabyte. */
function pour(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  let written = 0
  const more = () => {
    while (written < 2 ** 30 && !response.destroyed) {
      written += chunk.length
      if (!response.write(chunk)) return void response.once('drain', more)
    }
    assert.ok(response.destroyed, 'the client does not read a gigabyte')
  }
  more()
}

function trickle(response: ServerResponse): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), 50)
  response.once('close', () => clearInterval(timer))
}

function breakOff(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': '1000' }).write('ten bytes.')
  setImmediate(() => response.destroy())
}

type Fault = (response: ServerResponse, elsewhere: string) => void

/** The behaviour of an endpoint at first; later it accepts. */
const faults: Readonly<Record<string, Fault>> = {
  hangs: () => undefined,
  'hangs in the middle of its answer': (response) => void response.writeHead(200).write('{'),
  trickles: trickle,
  'closes without an answer': (response) => void response.socket?.destroy(),
  'closes in the middle of its answer': breakOff,
  'is not HTTP': (response) => void response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n'),
  'sends a gigabyte with a 500': (response) => pour(response.writeHead(500)),
  'answers 500': (response) => void response.writeHead(500).end(),
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status): readonly [string, Fault] => [
      `answers ${status}`,
      (response, location) => void response.writeHead(status, { location }).end(),
    ]),
  ),
  'answers 410, and is enabled again': (response) => void response.writeHead(410).end(),
  'answers 429 with Retry-After': (response) =>
    void response.writeHead(429, { 'retry-after': String(restMs / secondMs) }).end(),
}

async function createFaultyScene(fault: Fault, elsewhere: string, times: number) {
  const counter = await listen({
    fault: (response, nth) => {
      if (nth > times) return false
      fault(response, elsewhere)
      return true
    },
  })
  return createScene(hooks, [counter])
}

test('endpoints with every kind of fault receive every event and do not delay a healthy endpoint', async (t) => {
  const [times, events] = [scaled(6, 25), scaled(5, 60)]
  const elsewhere = await listen()
  const scenes = new Map<string, Awaited<ReturnType<typeof createScene>>>()
  for (const [name, fault] of Object.entries(faults))
    scenes.set(name, await createFaultyScene(fault, elsewhere.url, times))
  const beganAt = hooks.clock.now().getTime()
  const failingMs = scaled(6, 60) * hourMs
  const failing = await listen({
    fault: (response) => {
      if (hooks.clock.now().getTime() - beganAt > failingMs) return false
      response.writeHead(500).end()
      return true
    },
  })
  const generous = await listen({ accept: pour })
  const healthy = await createScene(hooks, [await listen()])
  scenes.set('answers 500 for hours', await createScene(hooks, [failing]))
  scenes.set('accepts, and sends a gigabyte', await createScene(hooks, [generous]))
  scenes.set('is always healthy', healthy)
  for (const scene of scenes.values()) await scene.emit(events)
  delivery.deliver({ exchangeTimeoutMs, threads: 1 })
  // The clock has not moved yet, so the healthy endpoint waited for no other.
  await healthy.delivered()
  await advanceUntil('every endpoint has recovered', async () => {
    await healthy.emit(1)
    for (const { partnerId, endpoints } of scenes.values()) {
      for (const { subscriptionId } of endpoints) {
        const { status } = await hooks.webhooks.get(partnerId, subscriptionId)
        if (status === 'Disabled') await hooks.webhooks.enable(partnerId, subscriptionId)
      }
      if (partnerId !== healthy.partnerId && !(await isDelivered(partnerId))) return false
    }
    return true
  })
  await healthy.delivered()
  for (const [name, scene] of scenes)
    await t.test(`an endpoint that ${name}`, async (sub) => {
      const { refused } = await verifyScene(sub, scene, { duplicatesMax: 0 })
      if (name in faults) assert.equal(refused, times, 'the fault occurred')
    })
  assert.equal(elsewhere.posts.length, 0, 'no redirect is followed')
  const resting = scenes.get('answers 429 with Retry-After')?.endpoints[0]?.counter.posts ?? []
  for (const refused of resting.filter((post) => !post.accepted))
    for (const { at } of resting) {
      const ms = at.getTime() - refused.at.getTime()
      // Attempts of the same moment were in flight together.
      assert.ok(ms <= stepMs || ms >= restMs, `called again ${ms} ms after Retry-After`)
    }
  const { failures } = (await hooks.db.row<{ failures: bigint }>(sql`
    select count(*) as failures from delivery.attempts
    where partner_id = ${healthy.partnerId} and status is distinct from 200`)) ?? { failures: -1n }
  assert.equal(failures, 0n)
})

test('endpoints of many partners that hang at once do not stop deliveries to other endpoints', async (t) => {
  const hanging: ServerResponse[] = []
  let released = false
  const [partners, events] = [scaled(6, 20), scaled(30, 200)]
  const hold: CounterOptions = {
    accept: (response) => {
      if (released) response.end()
      else hanging.push(response)
    },
  }
  const stuck = []
  for (let at = 0; at < partners; at += 1) {
    const scene = await createScene(hooks, [await listen(hold), await listen(hold), await listen(hold)])
    await scene.emit(events)
    stuck.push(scene)
  }
  // Far fewer slots than the hanging endpoints could use, which is ten each.
  const inFlightMax = 60
  delivery.deliver({ inFlightMax, exchangeTimeoutMs: guardMsMax, threads: 1 })
  await until('hanging attempts use nearly all slots', () => hanging.length >= (inFlightMax * 19) / 20 - 1)
  const healthy = [await createScene(hooks, [await listen()]), await createScene(hooks, [await listen()])]
  for (const scene of healthy) await scene.emit(events)
  for (const scene of healthy) await scene.delivered()
  assert.ok(hanging.length <= inFlightMax, 'no hanging attempt was answered')
  released = true
  for (const response of hanging) response.end()
  for (const scene of stuck) await scene.delivered()
  for (const scene of healthy) await verifyScene(t, scene, { duplicatesMax: 0 })
  for (const scene of stuck) await verifyScene(t, scene, { duplicatesMax: 0 })
})

test('no request goes to a private address of a host name that changes or mixes addresses', async (t) => {
  const zone: { a: Records; aaaa: Records } = { a: 'servfail', aaaa: 'servfail' }
  const dns = await startDnsServer((_name, type) => (type === 'A' ? zone.a : zone.aaaa))
  t.after(() => dns.close())
  // Closes connections, because only a new connection resolves the name again.
  const counter = await listen({ accept: (response) => void response.writeHead(200, { connection: 'close' }).end() })
  const scene = await createScene(hooks, [counter])
  const { port } = new URL(counter.url)
  // Written directly, because the API accepts no plain HTTP host name.
  await hooks.db.run(sql`
    update delivery.subscriptions set url = ${`http://hook.test:${port}/`} where partner_id = ${scene.partnerId}`)
  // A long timeout, so that only the resolver fails and no accepted request is repeated.
  const resolve = createResolver({ servers: [dns.server] })
  delivery.deliver({ resolve, exchangeTimeoutMs: guardMsMax, threads: 0 })
  const refusal = 'the endpoint has an address that is not public'
  const unresolved = 'the host name of the endpoint does not resolve at the moment'
  const phases: readonly { readonly a: Records; readonly aaaa: Records; readonly error?: string }[] = [
    { a: 'servfail', aaaa: 'servfail', error: unresolved },
    { a: 'nxdomain', aaaa: 'nxdomain', error: 'the host name of the endpoint does not resolve' },
    { a: 'silent', aaaa: 'silent', error: unresolved },
    { a: ['127.0.0.1'], aaaa: [] },
    { a: ['10.0.0.1'], aaaa: [], error: refusal },
    { a: ['93.184.216.34', '169.254.169.254'], aaaa: [], error: refusal },
    { a: ['93.184.216.34'], aaaa: ['fd00::1'], error: refusal },
    { a: ['127.0.0.1', '192.168.0.1'], aaaa: [], error: refusal },
    { a: ['127.0.0.1'], aaaa: [] },
  ]
  const rounds = scaled(1, 4)
  const attempts = async (error: string) =>
    (
      await hooks.db.row<{ count: bigint }>(sql`
      select count(*) as count from delivery.attempts where partner_id = ${scene.partnerId} and error = ${error}`)
    )?.count ?? 0n
  for (let round = 0; round < rounds; round += 1)
    for (const { a, aaaa, error } of phases) {
      Object.assign(zone, { a, aaaa })
      const posts = counter.posts.length
      const before = error === undefined ? 0n : await attempts(error)
      await scene.emit(3)
      if (error === undefined) await advanceUntil('delivered', async () => isDelivered(scene.partnerId))
      else await advanceUntil(error, async () => (await attempts(error)) > before)
      if (error !== undefined) assert.equal(counter.posts.length, posts, 'no request while the name resolves elsewhere')
    }
  await verifyScene(t, scene, { rounds, phases: phases.length, duplicatesMax: 0 })
})

async function isDelivered(partnerId: string): Promise<boolean> {
  const rows = await reconcile(hooks.db, partnerId)
  const row = await hooks.db.row(sql`select 1 as one from events.pending where partner_id = ${partnerId} limit 1`)
  return row === undefined && rows.every(({ owed, delivered }) => owed > 0n && owed === delivered)
}
