/** Workers of monitors on a real database: pages, turns, two at one time, deletion, late transfers, failures. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  addWatched,
  crossedEventsOf,
  crossedMailsOf,
  crossingsOf,
  look,
  monitorSettings,
  move,
  toAda,
  untilCertain,
  watch,
} from '../../../../test/support/monitors.ts'
import { until } from '../../../../test/support/until.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { after as later, firstIdOf, idAfter, momentOfId, newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { createMonitors } from './index.ts'

let service: Service
let other: Service
before(async () => {
  service = await createTestService({ settings: monitorSettings })
  // As another process: its own pool and its own rounds.
  other = await createTestService({ settings: monitorSettings, url: service.url, now: service.clock.now() })
})
after(async () => {
  await other.close()
  await service.close()
})

const refused = (code: string, pointer?: string) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.errors[0]?.pointer], [code, pointer])
  return true
}

const watcher = (limits: Partial<NonNullable<Parameters<typeof createMonitors>[0]['limits']>>, on: Service = service) =>
  createMonitors({
    ...on,
    mail: on.mailQueue,
    membersByAddress: on.users.membersByAddress,
    clockDifferenceMsMax: 0,
    limits: {
      balancesPerLookMax: 500,
      balancesPerBatchMax: 32,
      transfersPerBatchMax: 8_000,
      crossingsPerBalanceMax: 200,
      ...limits,
    },
  })

test('pages, by transfers and by crossings, find what one reading finds', async () => {
  const limits = [{ transfersPerBatchMax: 7 }, { crossingsPerBalanceMax: 3 }, { balancesPerLookMax: 1 }, {}]
  for (const each of limits) {
    const partner = await addWatched(service)
    const { id } = await watch(service, partner)
    const expected: unknown[] = []
    for (let at = 0; at < 30; at += 1) {
      const isOut = at % 3 === 0
      await move(service, partner, isOut ? -600_00n : 300_00n, `r-${at}`)
      if (isOut) expected.push(['Triggered', 400_00n, `r-${at}`])
      if (at % 3 === 1) expected.push(['Rearmed', 700_00n, `r-${at}`])
    }
    await look(service, watcher(each))
    assert.deepEqual(await crossingsOf(service, partner, id), expected, JSON.stringify(each))
    assert.equal((await crossedEventsOf(service, partner)).length, expected.length)
  }
})

test('a balance with much to read takes turns with the others', async () => {
  const [busy, calm] = [await addWatched(service), await addWatched(service)]
  const [one, two] = [await watch(service, busy), await watch(service, calm)]
  for (let at = 0; at < 40; at += 1) await move(service, busy, at % 2 === 0 ? -600_00n : 600_00n, `r-${at}`)
  await move(service, calm, -600_00n, 'out')
  await untilCertain(service)
  const worker = watcher({ transfersPerBatchMax: 10, balancesPerBatchMax: 1 })
  assert.ok((await worker.monitorStep()) > 0)
  assert.equal((await crossingsOf(service, calm, two.id)).length, 1)
  const first = (await crossingsOf(service, busy, one.id)).length
  assert.ok(first > 0 && first <= 10, `${first} crossings in 10 transfers`)
  await look(service, worker)
  assert.equal((await crossingsOf(service, busy, one.id)).length, 40)
})

test('a round over balances that did not move is three statements, whatever their number', async () => {
  await Promise.all(Array.from({ length: 40 }, async () => watch(service, await addWatched(service))))
  await look(service)
  const statements: string[] = []
  const counted = <T extends unknown[], R>(run: (...given: T) => R) =>
    ((...given: T) => {
      statements.push(
        String((given[0] as { readonly parts?: readonly string[] }).parts?.[0])
          .trim()
          .slice(0, 40),
      )
      return run(...given)
    }) as (...given: T) => R
  const { db } = service
  const watched = { ...db, rows: counted(db.rows), row: counted(db.row), run: counted(db.run) } as typeof db
  const quiet = watcher({}, { ...service, db: { ...watched, transaction: () => assert.fail('no transaction') } })
  assert.equal(await quiet.monitorStep(), 0)
  assert.equal(statements.length, 3, statements.join('\n'))
})

test('two workers at one time find each crossing once', async () => {
  const partners = await Promise.all(Array.from({ length: 6 }, () => addWatched(service)))
  const monitors = await Promise.all(partners.map((partner) => watch(service, partner, { notify: toAda })))
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(partners.map((partner) => move(service, partner, -600_00n, `out-${round}`)))
    await Promise.all(partners.map((partner) => move(service, partner, 600_00n, `in-${round}`)))
    await look(service, service.monitors, other.monitors, watcher({ transfersPerBatchMax: 3 }, other))
  }
  await look(service)
  for (const [at, partner] of partners.entries()) {
    assert.equal((await crossingsOf(service, partner, present(monitors[at], 'each has one').id)).length, 10)
    assert.equal((await crossedEventsOf(service, partner)).length, 10)
    assert.equal((await crossedMailsOf(service, partner)).length, 5)
  }
})

test('a monitor that is deleted while its balance is judged has a crossing with its event, or neither', async () => {
  for (let round = 0; round < 8; round += 1) {
    const partner = await addWatched(service)
    const { id } = await watch(service, partner, { notify: toAda })
    await look(service)
    await move(service, partner, -600_00n, 'out')
    await Promise.all([
      look(service, other.monitors),
      look(service, { monitorStep: async () => 0 }).then(() => service.monitors.deleteMonitor(partner.key, id)),
    ])
    await look(service)
    const [events, mails] = [await crossedEventsOf(service, partner), await crossedMailsOf(service, partner)]
    assert.equal(events.length, mails.length)
    const rows = await service.db.rows(sql`
      select 1 from accounts.monitor_crossings where partner_id = ${partner.partnerId} and monitor_id = ${id}`)
    assert.equal(rows.length, events.length)
    await assert.rejects(service.monitors.getMonitor(partner.key, id), refused('not_found'))
    await assert.rejects(service.monitors.deleteMonitor(partner.key, id), refused('not_found'))
    assert.equal((await service.monitors.listMonitors(partner.key, {})).data.length, 0)
  }
})

test('a transfer that appears behind the position is judged once no other one follows', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner)
  await look(service)
  const behind = idAfter(firstIdOf(later(momentOfId(id), -60_000)), 1)
  await move(service, partner, -600_00n, 'late', behind)
  await look(service)
  await look(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [['Triggered', 400_00n, null]])
  await move(service, partner, 100_00n, 'in')
  await look(service)
  assert.deepEqual((await crossingsOf(service, partner, id)).at(-1), ['Rearmed', 500_00n, 'in'])
})

test('a transaction that stays open holds back what is judged, and the age says so', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner)
  await look(service)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const open = service.db.transaction(async (tx) => {
    await tx.row(sql`select 1`)
    begin()
    await ended
  })
  await began
  const openSince = momentOfId(newId())
  await move(service, partner, -600_00n, 'out')
  await until('two seconds pass', async () => momentOfId(newId()) > later(openSince, 2_000))
  await service.monitors.monitorStep()
  await service.monitors.monitorStep()
  assert.deepEqual(await crossingsOf(service, partner, id), [])
  assert.ok(service.monitors.judgedSince() < later(service.clock.now(), -1_000))
  end()
  await open
  await look(service)
  assert.equal((await crossingsOf(service, partner, id)).length, 1)
  assert.ok(service.monitors.judgedSince() > later(service.clock.now(), -1_000))
})

test('a balance that cannot be judged holds up no other, and the age says so', async () => {
  const [broken, sound] = [await addWatched(service), await addWatched(service)]
  const [one, two] = [await watch(service, broken), await watch(service, sound)]
  await look(service)
  const transferId = newId()
  // The key of the crossing is taken, so that the transaction fails.
  await service.db.run(sql`
    insert into accounts.monitor_crossings (partner_id, monitor_id, position, kind, balance, crossed_at)
    values (${broken.partnerId}, ${one.id}, ${transferId}, 'Triggered', 0, now())`)
  await move(service, broken, -600_00n, 'out', transferId)
  await move(service, sound, -600_00n, 'out')
  const judgedBefore = service.monitors.judgedSince()
  service.clock.advance(60_000)
  await look(service)
  service.clock.advance(60_000)
  await look(service)
  assert.equal((await crossingsOf(service, sound, two.id)).length, 1)
  assert.equal((await crossedEventsOf(service, broken)).length, 0)
  assert.ok(service.monitors.judgedSince() <= later(judgedBefore, 60_000))
  await service.db.run(sql`delete from accounts.monitor_crossings where partner_id = ${broken.partnerId}`)
  await look(service)
  service.clock.advance(60_000)
  await look(service)
  assert.deepEqual(await crossingsOf(service, broken, one.id), [['Triggered', 400_00n, 'out']])
  assert.ok(service.monitors.judgedSince() > later(judgedBefore, 60_000))
})
