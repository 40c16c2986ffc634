/**
 * Workers killed at random, frozen past their lease, cut off from the database while they record; several on the same
 * lanes. Every case ends with: every event that was committed received and delivered once on record, none invented, and
 * no more duplicates than were under way.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { startDelivery } from '../../service/src/delivery/index.ts'
import { newId, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { startWire } from '../support/tcp-proxy.ts'
import { createHooks, type Endpoint, type Hooks, startEndpoint, until } from '../support/webhooks.ts'

const script = fileURLToPath(new URL('../support/webhooks-worker.ts', import.meta.url))
const endpointsMax = 4
const leaseMs = 2000

let hooks: Hooks
before(async () => {
  hooks = await createHooks({ clock: systemClock })
})
after(() => hooks.close())

const children: ChildProcess[] = []
const endpoints: Endpoint[] = []
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close()))
})

function spawnWorker(url = hooks.url): ChildProcess {
  const key = Buffer.from(hooks.key).toString('hex')
  const child = spawn(process.execPath, [script, url, key, String(leaseMs)], { stdio: 'ignore' })
  children.push(child)
  return child
}

/** Endpoints of one partner, each wanting all, and a way to have events happen. */
async function scene(answer: (count: number) => { readonly status: number; readonly ms: number }) {
  const partnerId = await hooks.addPartner()
  const secrets = new Map<Endpoint, string>()
  for (let i = 0; i < endpointsMax; i += 1) {
    let count = 0
    const endpoint = await startEndpoint((response) => {
      const { status, ms } = answer((count += 1))
      setTimeout(() => response.writeHead(status).end(), ms)
    })
    endpoints.push(endpoint)
    secrets.set(endpoint, (await hooks.webhooks.create(partnerId, { url: endpoint.url, events: ['*'] })).secret ?? '')
  }
  const references: string[] = []
  const emit = async (events: number) => {
    for (let i = 0; i < events; i += 1) {
      references.push(newId())
      await hooks.emit(partnerId, references.at(-1) ?? '', 'Completed')
    }
  }
  const delivered = () =>
    until('everything is delivered', async () => {
      const rows = await hooks.webhooks.reconcile(hooks.db, partnerId)
      return rows.every((row) => row.owed === BigInt(references.length) && row.delivered === row.owed)
    })
  return { partnerId, secrets, references, emit, delivered }
}

/** Answers how many came twice. */
async function checkAll({ partnerId, secrets, references }: Awaited<ReturnType<typeof scene>>): Promise<number> {
  let duplicates = 0
  for (const [endpoint, secret] of secrets) {
    const ids = new Map<string, string>()
    for (const { headers, body, eventId, reference } of endpoint.received) {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      assert.equal(ids.get(reference) ?? eventId, eventId, 'the same id at every attempt')
      ids.set(reference, eventId)
    }
    assert.deepEqual([...ids.keys()].toSorted(), references.toSorted(), 'each event, and no other')
    duplicates += endpoint.received.length - ids.size
  }
  const row = await hooks.db.row<{ delivered: bigint; queued: bigint; attempts: bigint }>(sql`
    select (select count(*) from webhooks.deliveries where partner_id = ${partnerId}) as delivered,
      (select count(*) from webhooks.queue where partner_id = ${partnerId}) as queued,
      (select count(*) from webhooks.deliveries where partner_id = ${partnerId} and status = 200) as attempts`)
  const owed = BigInt(references.length * secrets.size)
  assert.deepEqual(row, { delivered: owed, queued: 0n, attempts: owed })
  return duplicates
}

test('workers killed again and again while others work: nothing lost, duplicates only of what was under way', async (t) => {
  const scenery = await scene(() => ({ status: 200, ms: 5 }))
  const killsMax = 4
  await scenery.emit(40)
  let [first, second] = [spawnWorker(), spawnWorker()]
  for (let kills = 0; kills < killsMax; kills += 1) {
    const seen = () => endpoints.reduce((sum, endpoint) => sum + endpoint.received.length, 0)
    const before = seen()
    await until('the next few have come', () => seen() > before + 10)
    first.kill('SIGKILL')
    ;[first, second] = [second, spawnWorker()]
    await scenery.emit(20)
  }
  await scenery.delivered()
  const duplicates = await checkAll(scenery)
  t.diagnostic(`${scenery.references.length * endpointsMax} deliveries, ${duplicates} twice after ${killsMax} kills`)
  assert.ok(duplicates <= killsMax * endpointsMax * 10)
})

test('a worker frozen past its lease: its lanes are taken over, and what it says on waking counts for nothing', async (t) => {
  const scenery = await scene((count) => ({ status: 200, ms: count > 5 ? 5 : 300 }))
  await scenery.emit(20)
  const frozen = spawnWorker()
  await until('attempts are under way', () => endpoints.every((endpoint) => endpoint.received.length >= 5))
  frozen.kill('SIGSTOP')
  spawnWorker()
  await scenery.delivered()
  frozen.kill('SIGCONT')
  await scenery.emit(20)
  await scenery.delivered()
  const duplicates = await checkAll(scenery)
  t.diagnostic(`${scenery.references.length * endpointsMax} deliveries, ${duplicates} twice after the freeze`)
  assert.ok(duplicates <= endpointsMax * 10)
})

test('the database cut off while attempts are recorded: recorded late, or attempted again', async (t) => {
  const wire = await startWire(Number(new URL(hooks.url).port))
  const scenery = await scene(() => ({ status: 200, ms: 10 }))
  await scenery.emit(40)
  spawnWorker(Object.assign(new URL(hooks.url), { port: String(wire.port) }).href)
  const seen = () => endpoints.reduce((sum, endpoint) => sum + endpoint.received.length, 0)
  for (let cuts = 0; cuts < 3; cuts += 1) {
    const before = seen()
    await until('the next few have come', () => seen() > before + 10)
    await wire.cut()
    await wire.mend()
    await scenery.emit(15)
  }
  await scenery.delivered()
  const duplicates = await checkAll(scenery)
  t.diagnostic(`${scenery.references.length * endpointsMax} deliveries, ${duplicates} twice after three cuts`)
  assert.ok(duplicates <= 3 * endpointsMax * 10)
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await wire.close()
})

test('two workers on the same lanes, endpoints that fail one in four: each event once on record', async (t) => {
  const scenery = await scene((count) => ({ status: count % 4 === 0 ? 500 : 200, ms: 2 }))
  const other = await createHooks({
    url: hooks.url,
    key: hooks.key,
    clock: systemClock,
    retryDelaysMs: [10, 10, 10, 10, 10],
  })
  const workers = [1, 2].map(() =>
    startDelivery({
      ...{ db: other.db, clock: systemClock, log: other.log, webhooks: other.webhooks },
      allowLoopback: true,
      idleMs: 5,
    }),
  )
  await scenery.emit(50)
  await scenery.delivered()
  await Promise.all(workers.map((worker) => worker.stop()))
  await other.close()
  const again = await checkAll(scenery)
  const failed = endpoints.reduce((sum, { received }) => sum + Math.floor(received.length / 4), 0)
  t.diagnostic(`${scenery.references.length * endpointsMax} deliveries, ${failed} failures, ${again} attempts again`)
  assert.equal(again, failed, 'every other attempt was the only one')
})
