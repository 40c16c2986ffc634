/** Monitors and their workers on a real database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { pay, type Service } from '../../../../test/support/composition.ts'
import {
  addWatched,
  crossedEventsOf,
  crossedMailsOf,
  crossingsOf,
  runMonitors,
  monitorSettings,
  moveMoney,
  toAda,
  untilCertain,
  addMonitor,
} from '../../../../test/support/monitors.ts'
import { firstIdOf, idAfter, after as later, idTime, newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { testsSharded } from '../../../../test/support/sharded.ts'
import { until } from '../../../../test/support/until.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { createMonitors } from './index.ts'
const service = await useModules({ settings: monitorSettings })
// As another process: its own pool and its own rounds.
const other = await service.anotherProcess({ settings: monitorSettings })

test('a crossing and a return between two evaluations are both recorded, each with its transaction', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner, { notify: toAda, description: 'Float' })
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [])
  assert.equal((await service.monitors.getMonitor(partner.key, id)).lastBalance, 1_000_00n)
  await moveMoney(service, partner, -600_00n, 'out')
  await moveMoney(service, partner, 600_00n, 'back')
  await runMonitors(service)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [
    ['Triggered', 400_00n, 'out'],
    ['Rearmed', 1_000_00n, 'back'],
  ])
  const events = await crossedEventsOf(service, partner)
  assert.deepEqual(
    events.map(({ kind, amount, transactionReference, reference, websiteReference, accountId }) => [
      kind,
      amount,
      transactionReference,
      reference,
      websiteReference,
      accountId,
    ]),
    [
      ['Triggered', 400, 'out', id, 'Float', partner.key.accountId],
      ['Rearmed', 1000, 'back', id, 'Float', partner.key.accountId],
    ],
  )
  assert.deepEqual(await crossedMailsOf(service, partner), [{ toAddress: 'ada@example.com', balance: '400.00' }])
  const monitor = await service.monitors.getMonitor(partner.key, id)
  assert.deepEqual([monitor.state, monitor.lastBalance], ['Armed', 1_000_00n])
  assert.ok(monitor.lastTriggeredAt !== null)
})

test('a monitor that starts beyond its threshold triggers at once, and earlier movements do not count', async () => {
  const partner = await addWatched(service)
  await addMonitor(service, partner)
  await moveMoney(service, partner, -900_00n, 'before')
  const low = await addMonitor(service, partner)
  const high = await addMonitor(service, partner, { direction: 'Above' })
  assert.equal(low.lastBalance, null)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, low.id), [['Triggered', 100_00n, null]])
  assert.deepEqual(await crossingsOf(service, partner, high.id), [])
})

test('after a trigger, a monitor waits until the balance has returned to rearmAt', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner, { rearmAt: rawNumber('800.00') })
  for (const [amount, reference] of [
    [-500_00n, 'on the threshold'],
    [-1n, 'below'],
    [200_00n, 'not back'],
    [-300_00n, 'below again'],
    [400_01n, 'back'],
    [-301_00n, 'below once more'],
  ] as const) {
    await moveMoney(service, partner, amount, reference)
    await runMonitors(service)
  }
  assert.deepEqual(await crossingsOf(service, partner, id), [
    ['Triggered', 499_99n, 'below'],
    ['Rearmed', 800_00n, 'back'],
    ['Triggered', 499_00n, 'below once more'],
  ])
})

test('an accepted payout lowers the available balance, but not the posted balance', async () => {
  const partner = await addWatched(service)
  const posted = await addMonitor(service, partner, {}, '995.00')
  const available = await addMonitor(service, partner, { measure: 'Available' }, '995.00')
  const { reference } = await pay(service, partner, '10.00').then(({ payout }) => payout)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, posted.id), [])
  assert.deepEqual(await crossingsOf(service, partner, available.id), [['Triggered', 990_00n, reference]])
})

test('of 25 monitors that two processes create concurrently, exactly 20 are created', async () => {
  const partner = await addWatched(service)
  const results = await Promise.allSettled(
    Array.from({ length: 25 }, (_, at) => addMonitor(at % 2 === 0 ? service : other, partner)),
  )
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  assert.equal(failures.length, 5)
  for (const failure of failures) refused('monitor_limit_reached')(failure)
  const { data } = await service.monitors.listMonitors(partner.key, { limit: '100' })
  assert.equal(data.length, 20)
  await service.monitors.deleteMonitor(partner.key, present(data[0], 'it exists').id)
  await addMonitor(service, partner)
  await assert.rejects(addMonitor(service, partner), refused('monitor_limit_reached'))
})

test('a new threshold restarts the monitor at the present balance; a new description does not', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner, { notify: toAda })
  await moveMoney(service, partner, -600_00n, 'out')
  await runMonitors(service)
  await service.monitors.updateMonitor(partner.key, id, { description: 'Float', notify: { emails: [] } })
  await runMonitors(service)
  assert.equal((await service.monitors.getMonitor(partner.key, id)).state, 'Triggered')
  await service.monitors.updateMonitor(partner.key, id, { threshold: rawNumber('450.00') })
  await runMonitors(service)
  await service.monitors.updateMonitor(partner.key, id, { threshold: rawNumber('300.00') })
  await runMonitors(service)
  assert.equal((await service.monitors.getMonitor(partner.key, id)).state, 'Armed')
  await moveMoney(service, partner, -101_00n, 'out again')
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [
    ['Triggered', 400_00n, 'out'],
    ['Triggered', 400_00n, null],
    ['Triggered', 299_00n, 'out again'],
  ])
  assert.equal((await crossedMailsOf(service, partner)).length, 1)
})

test('the monitors of a closed balance end when all its transfers are evaluated', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner)
  await moveMoney(service, partner, -1_000_00n, 'out')
  await service.db.transaction((tx) =>
    service.accounts.changeState(tx, {
      partnerId: partner.partnerId,
      account: { currency: 'EUR' },
      state: 'Closed',
      reason: 'PartnerRequest',
      note: 'Order 17',
      staff: 'Ada',
    }),
  )
  await assert.rejects(addMonitor(service, partner), refused('account_blocked'))
  await runMonitors(service)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [['Triggered', 0n, 'out']])
  const ended = await service.monitors.getMonitor(partner.key, id)
  assert.deepEqual([ended.state, ended.endReason, ended.endedAt !== null], ['Ended', 'AccountClosed', true])
  await assert.rejects(
    service.monitors.updateMonitor(partner.key, id, { description: 'x' }),
    refused('account_blocked'),
  )
  await service.monitors.deleteMonitor(partner.key, id)
  await assert.rejects(service.monitors.getMonitor(partner.key, id), refused('not_found'))
})

test('a person who leaves the team gets no further mail', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner, { notify: { ...toAda, event: false } })
  await service.users.revokeInvitation(partner.caller, partner.invitationId)
  await moveMoney(service, partner, -600_00n, 'out')
  await runMonitors(service)
  assert.equal((await crossingsOf(service, partner, id)).length, 1)
  assert.deepEqual([await crossedMailsOf(service, partner), await crossedEventsOf(service, partner)], [[], []])
})

test('invalid input is refused with its pointer, and the monitors of another partner are not found', async () => {
  const partner = await addWatched(service)
  const stranger = await addWatched(service)
  const invalid = (pointer: string) => refused('validation_failed', pointer)
  await assert.rejects(addMonitor(service, partner, {}, '0'), invalid('/threshold'))
  await assert.rejects(addMonitor(service, partner, {}, '-1'), invalid('/threshold'))
  await assert.rejects(addMonitor(service, partner, {}, '1.001'), invalid('/threshold'))
  await assert.rejects(addMonitor(service, partner, {}, '1000000000000.01'), invalid('/threshold'))
  await assert.rejects(addMonitor(service, partner, { rearmAt: rawNumber('499.99') }), invalid('/rearmAt'))
  await assert.rejects(
    addMonitor(service, partner, { direction: 'Above', rearmAt: rawNumber('500.01') }),
    invalid('/rearmAt'),
  )
  await assert.rejects(addMonitor(service, partner, { notify: { event: false } }), invalid('/notify'))
  const emails = ['ADA@example.com', 'grace@example.com']
  await assert.rejects(addMonitor(service, partner, { notify: { emails } }), invalid('/notify/emails/1'))
  assert.equal(
    (await service.db.rows(sql`select 1 from accounts.monitors where partner_id = ${partner.partnerId}`)).length,
    0,
  )
  const { id } = await addMonitor(
    service,
    partner,
    { direction: 'Above', notify: { emails: ['ADA@example.com', 'ada@example.com'] } },
    '0',
  )
  assert.deepEqual((await service.monitors.getMonitor(partner.key, id)).emails, ['ada@example.com'])
  await assert.rejects(service.monitors.updateMonitor(partner.key, id, {}), refused('validation_failed', ''))
  await assert.rejects(service.monitors.updateMonitor(partner.key, id, { direction: 'Below' }), invalid('/threshold'))
  const foreign = [
    stranger.key,
    { ...partner.key, partnerId: stranger.partnerId },
    { ...partner.key, accountId: newId() },
  ]
  for (const key of foreign) {
    await assert.rejects(service.monitors.getMonitor(key, id), refused('not_found'))
    await assert.rejects(service.monitors.updateMonitor(key, id, { description: 'x' }), refused('not_found'))
    await assert.rejects(service.monitors.deleteMonitor(key, id), refused('not_found'))
    await assert.rejects(service.monitors.listCrossings(key, id, {}), refused('not_found'))
  }
  for (const key of foreign.slice(1)) {
    await assert.rejects(service.monitors.listMonitors(key, {}), refused('not_found'))
    await assert.rejects(
      service.monitors.createMonitor(key, { direction: 'Below', threshold: rawNumber('1.00') }),
      refused('not_found'),
    )
  }
})

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

test('reading in pages finds the same crossings as one reading', async () => {
  const limits = [{ transfersPerBatchMax: 7 }, { crossingsPerBalanceMax: 3 }, { balancesPerLookMax: 1 }, {}]
  for (const each of limits) {
    const partner = await addWatched(service)
    const { id } = await addMonitor(service, partner)
    const expected: unknown[] = []
    for (let at = 0; at < 30; at += 1) {
      const isOut = at % 3 === 0
      await moveMoney(service, partner, isOut ? -600_00n : 300_00n, `r-${at}`)
      if (isOut) expected.push(['Triggered', 400_00n, `r-${at}`])
      if (at % 3 === 1) expected.push(['Rearmed', 700_00n, `r-${at}`])
    }
    await runMonitors(service, watcher(each))
    assert.deepEqual(await crossingsOf(service, partner, id), expected, JSON.stringify(each))
    assert.equal((await crossedEventsOf(service, partner)).length, expected.length)
  }
})

test('a balance with many transfers does not delay the other balances', async () => {
  const [busy, calm] = [await addWatched(service), await addWatched(service)]
  const [one, two] = [await addMonitor(service, busy), await addMonitor(service, calm)]
  for (let at = 0; at < 40; at += 1) await moveMoney(service, busy, at % 2 === 0 ? -600_00n : 600_00n, `r-${at}`)
  await moveMoney(service, calm, -600_00n, 'out')
  await untilCertain(service)
  const worker = watcher({ transfersPerBatchMax: 10, balancesPerBatchMax: 1 })
  assert.ok((await worker.monitorStep()) > 0)
  assert.equal((await crossingsOf(service, calm, two.id)).length, 1)
  const first = (await crossingsOf(service, busy, one.id)).length
  assert.ok(first > 0 && first <= 10, `${first} crossings in 10 transfers`)
  await runMonitors(service, worker)
  assert.equal((await crossingsOf(service, busy, one.id)).length, 40)
})

const readsByPartner = testsSharded && 'a sharded database reads the balances of each partner'
test('a round costs three SQL statements for any number of unchanged balances', { skip: readsByPartner }, async () => {
  await Promise.all(Array.from({ length: 40 }, async () => addMonitor(service, await addWatched(service))))
  await runMonitors(service)
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

test('two concurrent workers find each crossing exactly once', async () => {
  const partners = await Promise.all(Array.from({ length: 6 }, () => addWatched(service)))
  const monitors = await Promise.all(partners.map((partner) => addMonitor(service, partner, { notify: toAda })))
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(partners.map((partner) => moveMoney(service, partner, -600_00n, `out-${round}`)))
    await Promise.all(partners.map((partner) => moveMoney(service, partner, 600_00n, `in-${round}`)))
    await runMonitors(service, service.monitors, other.monitors, watcher({ transfersPerBatchMax: 3 }, other))
  }
  await runMonitors(service)
  for (const [at, partner] of partners.entries()) {
    assert.equal((await crossingsOf(service, partner, present(monitors[at], 'each has one').id)).length, 10)
    assert.equal((await crossedEventsOf(service, partner)).length, 10)
    assert.equal((await crossedMailsOf(service, partner)).length, 5)
  }
})

test('deleting a monitor during an evaluation leaves a crossing with its event, or neither', async () => {
  for (let round = 0; round < 8; round += 1) {
    const partner = await addWatched(service)
    const { id } = await addMonitor(service, partner, { notify: toAda })
    await runMonitors(service)
    await moveMoney(service, partner, -600_00n, 'out')
    await Promise.all([
      runMonitors(service, other.monitors),
      runMonitors(service, { monitorStep: async () => 0 }).then(() => service.monitors.deleteMonitor(partner.key, id)),
    ])
    await runMonitors(service)
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

test('a transfer that appears behind the position is evaluated when no later transfer follows', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner)
  await runMonitors(service)
  const behind = idAfter(firstIdOf(later(idTime(id), -60_000)), 1)
  await moveMoney(service, partner, -600_00n, 'late', behind)
  await runMonitors(service)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [['Triggered', 400_00n, null]])
  await moveMoney(service, partner, 100_00n, 'in')
  await runMonitors(service)
  assert.deepEqual((await crossingsOf(service, partner, id)).at(-1), ['Rearmed', 500_00n, 'in'])
})

test('an open transaction delays the evaluation, and the age metric shows it', async () => {
  const partner = await addWatched(service)
  const { id } = await addMonitor(service, partner)
  await runMonitors(service)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: began, resolve: begin } = Promise.withResolvers<void>()
  const open = service.db.transaction(async (tx) => {
    await tx.row(sql`select 1`)
    begin()
    await ended
  })
  await began
  const openSince = idTime(newId())
  await moveMoney(service, partner, -600_00n, 'out')
  await until('two seconds pass', async () => idTime(newId()) > later(openSince, 2_000))
  await service.monitors.monitorStep()
  await service.monitors.monitorStep()
  assert.deepEqual(await crossingsOf(service, partner, id), [])
  assert.ok(service.monitors.evaluatedUntil() < later(service.clock.now(), -1_000))
  end()
  await open
  await runMonitors(service)
  assert.equal((await crossingsOf(service, partner, id)).length, 1)
  assert.ok(service.monitors.evaluatedUntil() > later(service.clock.now(), -1_000))
})

test('a balance that cannot be evaluated does not delay others, and the age metric shows it', async () => {
  const [broken, sound] = [await addWatched(service), await addWatched(service)]
  const [one, two] = [await addMonitor(service, broken), await addMonitor(service, sound)]
  await runMonitors(service)
  const transferId = newId()
  // The key of the crossing is already used, so that the transaction fails.
  await service.db.run(sql`
    insert into accounts.monitor_crossings (partner_id, monitor_id, position, kind, balance, crossed_at)
    values (${broken.partnerId}, ${one.id}, ${transferId}, 'Triggered', 0, now())`)
  await moveMoney(service, broken, -600_00n, 'out', transferId)
  await moveMoney(service, sound, -600_00n, 'out')
  const evaluatedBefore = service.monitors.evaluatedUntil()
  service.clock.advance(60_000)
  await runMonitors(service)
  service.clock.advance(60_000)
  await runMonitors(service)
  assert.equal((await crossingsOf(service, sound, two.id)).length, 1)
  assert.equal((await crossedEventsOf(service, broken)).length, 0)
  assert.ok(service.monitors.evaluatedUntil() <= later(evaluatedBefore, 60_000))
  await service.db.run(sql`delete from accounts.monitor_crossings where partner_id = ${broken.partnerId}`)
  await runMonitors(service)
  service.clock.advance(60_000)
  await runMonitors(service)
  assert.deepEqual(await crossingsOf(service, broken, one.id), [['Triggered', 400_00n, 'out']])
  assert.ok(service.monitors.evaluatedUntil() > later(evaluatedBefore, 60_000))
})
