/**
 * Kills of the API while payouts commit, and transactions that roll back. An acknowledged payout has its event, any other
 * payout is stored with its event or not at all, and a rolled back event is never delivered.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { after as later, minuteMs, newId, systemClock } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { createClient, success, textAt } from '../support/client.ts'
import { createScene, keepEmitting, printCounts, scaled, verifyScene } from '../support/faults.ts'
import { addPartner, balanceOf as balanceIn, createTestService, pay } from '../support/composition.ts'
import { freePorts, type Program, start } from '../support/program.ts'
import { createPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { killAtCrashPoints } from '../support/crash-points.ts'
import type { Hooks } from '../support/webhooks.ts'
import { useDelivery } from '../support/worker-processes.ts'
import { balanceOf, createBeneficiary, createCustomer, payoutText } from '../support/world.ts'

const payoutsPerRun = 12

const { hooks, deliver, listen } = await useDelivery({ clock: systemClock })

const payoutsOf = async (partnerId: string) =>
  (await hooks.db.rows(sql`select 1 as one from payouts.payouts where partner_id = ${partnerId}`)).length

/** A gateway, and an API process without workers that a test can kill and restart on the same port. */
async function restartableApi() {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-fault-'))
  const env = {
    MASTER_KEY: Buffer.from(hooks.key).toString('base64'),
    DATABASE_URL: hooks.url,
    DATA_DIR: folder,
    LOG_LEVEL: 'warn',
    RATE_PER_SECOND: '1000000',
  }
  const credentials = await createPartner('Restartable', env)
  const [apiPort = '', apiOps = '', PORT = '', OPS_PORT = ''] = await freePorts(4)
  const startApi = () => start(['api'], { ...env, PORT: apiPort, OPS_PORT: apiOps })
  let api = await startApi()
  const gateway = await start(['gateway'], { ...env, PORT, OPS_PORT, API_URL: `http://127.0.0.1:${apiPort}` })
  const kill = async (program: Program) => {
    program.signal('SIGKILL')
    await program.ended
  }
  return {
    partnerId: credentials.partnerId,
    client: createClient(`http://127.0.0.1:${PORT}`, credentials),
    killAndRestart: async () => {
      await kill(api)
      api = await startApi()
    },
    close: async () => {
      await Promise.all([kill(gateway), kill(api)])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('after a kill of the API while payouts commit, acknowledged payouts have events, and others are complete or absent', async (t) => {
  const api = await restartableApi()
  t.after(() => api.close())
  const customerId = textAt(await createCustomer(api.client), 'guid')
  const beneficiary = textAt(await createBeneficiary(api.client, { customerId }), 'id')
  const float = await balanceOf(api.client)
  const scene = await createScene(hooks, await listen(2), {
    partnerId: api.partnerId,
    act: async (reference) =>
      success(await api.client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { reference }))),
    subscribe: async (url) => {
      const answer = success(await api.client.post('/v1/webhooks', { url, events: ['*'] }))
      return { id: textAt(answer, 'id'), secret: textAt(answer, 'secret') }
    },
  })
  deliver()
  const kills = scaled(2, 20)
  const emitting = keepEmitting(t, scene, 16)
  for (let kill = 0; kill < kills; kill += 1) {
    const more = scene.acknowledged.size + randomInt(10, 60)
    await until('more payouts are acknowledged', () => scene.acknowledged.size >= more)
    await api.killAndRestart()
  }
  await emitting.stop()
  await scene.delivered()
  const { committed } = await verifyScene(t, scene, { kills, duplicatesMax: 0 })
  assert.equal(await payoutsOf(api.partnerId), committed, 'one event for each payout')
  const reserved = BigInt(committed) * 100n
  const { posted, available } = float
  assert.deepEqual(await balanceOf(api.client), { posted, reserved, available: available - reserved })
})

test('after a kill exactly before or after a commit, answered payouts have events, and others are complete or absent', async (t) => {
  const service = await createTestService({ url: hooks.url, now: later(systemClock.now(), minuteMs) })
  t.after(() => service.close())
  deliver()
  const totals = { committed: 0, received: 0, distinct: 0, answered: 0, 'committed without an answer': 0 }
  await killAtCrashPoints(t, { worker: 'payouts', pointsMin: 2 }, async (runWorker) => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const scene = await createScene(hooks, await listen(1), { partnerId })
    const references = Array.from({ length: payoutsPerRun }, () => newId())
    const output = await runWorker(service, { partner, references })
    for (const reference of references) {
      scene.attempted.add(reference)
      if (output.includes(reference)) scene.acknowledged.add(reference)
    }
    await scene.delivered()
    const reserved = BigInt(await payoutsOf(partnerId)) * 100n
    const { committed, received, distinct } = await verifyScene(t, scene, { duplicatesMax: 0, mayBeEmpty: true })
    assert.equal(await payoutsOf(partnerId), committed, 'one event for each payout')
    assert.equal((await balanceIn(service, partnerId)).reserved, reserved)
    totals.committed += committed
    totals.received += received
    totals.distinct += distinct
    totals.answered += scene.acknowledged.size
    totals['committed without an answer'] += committed - scene.acknowledged.size
  })
  printCounts(t, totals)
  assert.ok(totals['committed without an answer'] > 0, 'some kill falls between a commit and its answer')
})

test('events of refused payments and of rolled back transactions are never delivered', async (t) => {
  const service = await createTestService({ url: hooks.url, now: later(systemClock.now(), minuteMs) })
  t.after(() => service.close())
  const floatMinor = 1_000_000n
  const partner = await addPartner(service, floatMinor)
  const { partnerId } = partner
  const scene = await createScene(hooks, await listen(2), {
    partnerId,
    act: (reference) => pay(service, partner, '1.00', { reference }),
  })
  deliver()
  const rounds = scaled(20, 400)
  const rolledBack: string[] = []
  const rolledBackReference = () => {
    const reference = newId()
    rolledBack.push(reference)
    return reference
  }
  const abort = { code: 'aborted' }
  for (let round = 0; round < rounds; round += 1)
    await Promise.all([
      scene.emit(3),
      // In one batch with payouts that succeed.
      assert.rejects(pay(service, partner, '9999999.00', { reference: rolledBackReference() }), {
        code: 'insufficient_funds',
      }),
      assert.rejects(
        hooks.db.transaction(async (tx) => {
          hooks.emitIn(tx, partnerId, rolledBackReference())
          throw Object.assign(new Error(abort.code), abort)
        }),
        abort,
      ),
      // PostgreSQL reports the duplicate key after the event is written and before the commit.
      assert.rejects(
        hooks.db.transaction(async (tx) => {
          hooks.emitIn(tx, partnerId, rolledBackReference())
          tx.later(
            sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Duplicate', ${systemClock.now()})`,
          )
        }),
        { code: '23505' },
      ),
    ])
  await scene.delivered()
  for (const { counter } of scene.endpoints)
    for (const post of counter.posts) assert.ok(!rolledBack.includes(post.reference), `${post.reference} rolled back`)
  const { committed } = await verifyScene(t, scene, { 'rolled back': rolledBack.length, duplicatesMax: 0 })
  assert.equal(committed, rounds * 3)
  const reserved = BigInt(committed) * 100n
  const left = { posted: floatMinor, reserved, available: floatMinor - reserved }
  assert.deepEqual(await balanceIn(service, partnerId), left)
})

test('the event of a transaction that is repeated after a deadlock is delivered exactly once', async (t) => {
  const scene = await createScene(hooks, await listen(2))
  const others = [await hooks.addPartner(), await hooks.addPartner()] as const
  deliver()
  const rounds = scaled(1, 10)
  let runs = 0
  const lock = (tx: Parameters<Hooks['emitIn']>[0], id: string) =>
    tx.run(sql`update access.partners set name = 'Locked' where id = ${id}`)
  for (let round = 0; round < rounds; round += 1) {
    const both = Promise.withResolvers<undefined>()
    let locked = 0
    const cross = async (first: string, second: string) => {
      const reference = newId()
      scene.attempted.add(reference)
      await hooks.db.transaction(async (tx) => {
        runs += 1
        hooks.emitIn(tx, scene.partnerId, reference)
        await lock(tx, first)
        locked += 1
        if (locked === 2) both.resolve(undefined)
        await both.promise
        await lock(tx, second)
      })
      scene.acknowledged.add(reference)
    }
    await Promise.all([cross(others[0], others[1]), cross(others[1], others[0])])
  }
  await scene.delivered()
  assert.ok(runs > 2 * rounds, 'one of each two transactions was repeated')
  const { committed } = await verifyScene(t, scene, { runs, duplicatesMax: 0 })
  assert.equal(committed, 2 * rounds)
})
