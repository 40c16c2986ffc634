/** Monitors on a real database: what moves between two looks, hysteresis, limits, changes, closing, bad input. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import {
  addWatched,
  crossedEventsOf,
  crossedMailsOf,
  crossingsOf,
  look,
  monitorSettings,
  move,
  toAda,
  watch,
} from '../../../../test/support/monitors.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

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

test('a crossing and a return between two looks are two facts, each with its transaction', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner, { notify: toAda, description: 'Float' })
  await look(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [])
  assert.equal((await service.monitors.getMonitor(partner.key, id)).lastBalance, 1_000_00n)
  await move(service, partner, -600_00n, 'out')
  await move(service, partner, 600_00n, 'back')
  await look(service)
  await look(service)
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

test('a monitor that starts across its threshold triggers at once, and what came before it does not count', async () => {
  const partner = await addWatched(service)
  await watch(service, partner)
  await move(service, partner, -900_00n, 'before')
  const low = await watch(service, partner)
  const high = await watch(service, partner, { direction: 'Above' })
  assert.equal(low.lastBalance, null)
  await look(service)
  assert.deepEqual(await crossingsOf(service, partner, low.id), [['Triggered', 100_00n, null]])
  assert.deepEqual(await crossingsOf(service, partner, high.id), [])
})

test('after it has triggered, a monitor waits until the balance came back to rearmAt', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner, { rearmAt: rawNumber('800.00') })
  for (const [amount, reference] of [
    [-500_00n, 'on the threshold'],
    [-1n, 'below'],
    [200_00n, 'not back'],
    [-300_00n, 'below again'],
    [400_01n, 'back'],
    [-301_00n, 'below once more'],
  ] as const) {
    await move(service, partner, amount, reference)
    await look(service)
  }
  assert.deepEqual(await crossingsOf(service, partner, id), [
    ['Triggered', 499_99n, 'below'],
    ['Rearmed', 800_00n, 'back'],
    ['Triggered', 499_00n, 'below once more'],
  ])
})

test('the available balance falls with a payout that is accepted, the posted one does not', async () => {
  const partner = await addWatched(service)
  const posted = await watch(service, partner, {}, '995.00')
  const available = await watch(service, partner, { measure: 'Available' }, '995.00')
  const { reference } = await pay(service, partner, '10.00').then(({ payout }) => payout)
  await look(service)
  assert.deepEqual(await crossingsOf(service, partner, posted.id), [])
  assert.deepEqual(await crossingsOf(service, partner, available.id), [['Triggered', 990_00n, reference]])
})

test('of 25 monitors that two processes create at one time 20 exist', async () => {
  const partner = await addWatched(service)
  const results = await Promise.allSettled(
    Array.from({ length: 25 }, (_, at) => watch(at % 2 === 0 ? service : other, partner)),
  )
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  assert.equal(failures.length, 5)
  for (const failure of failures) refused('monitor_limit_reached')(failure)
  const { data } = await service.monitors.listMonitors(partner.key, { limit: '100' })
  assert.equal(data.length, 20)
  await service.monitors.deleteMonitor(partner.key, present(data[0], 'it exists').id)
  await watch(service, partner)
  await assert.rejects(watch(service, partner), refused('monitor_limit_reached'))
})

test('a new threshold starts the monitor at the balance of now; a new description does not', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner, { notify: toAda })
  await move(service, partner, -600_00n, 'out')
  await look(service)
  await service.monitors.updateMonitor(partner.key, id, { description: 'Float', notify: { emails: [] } })
  await look(service)
  assert.equal((await service.monitors.getMonitor(partner.key, id)).state, 'Triggered')
  await service.monitors.updateMonitor(partner.key, id, { threshold: rawNumber('450.00') })
  await look(service)
  await service.monitors.updateMonitor(partner.key, id, { threshold: rawNumber('300.00') })
  await look(service)
  assert.equal((await service.monitors.getMonitor(partner.key, id)).state, 'Armed')
  await move(service, partner, -101_00n, 'out again')
  await look(service)
  assert.deepEqual(await crossingsOf(service, partner, id), [
    ['Triggered', 400_00n, 'out'],
    ['Triggered', 400_00n, null],
    ['Triggered', 299_00n, 'out again'],
  ])
  assert.equal((await crossedMailsOf(service, partner)).length, 1)
})

test('the monitors of a closed balance end when all of it is judged', async () => {
  const partner = await addWatched(service)
  const { id } = await watch(service, partner)
  await move(service, partner, -1_000_00n, 'out')
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
  await assert.rejects(watch(service, partner), refused('account_blocked'))
  await look(service)
  await look(service)
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
  const { id } = await watch(service, partner, { notify: { ...toAda, event: false } })
  await service.users.revokeInvitation(partner.caller, partner.invitationId)
  await move(service, partner, -600_00n, 'out')
  await look(service)
  assert.equal((await crossingsOf(service, partner, id)).length, 1)
  assert.deepEqual([await crossedMailsOf(service, partner), await crossedEventsOf(service, partner)], [[], []])
})

test('bad input is refused with its place, and another partner finds nothing', async () => {
  const partner = await addWatched(service)
  const stranger = await addWatched(service)
  const invalid = (pointer: string) => refused('validation_failed', pointer)
  await assert.rejects(watch(service, partner, {}, '0'), invalid('/threshold'))
  await assert.rejects(watch(service, partner, {}, '-1'), invalid('/threshold'))
  await assert.rejects(watch(service, partner, {}, '1.001'), invalid('/threshold'))
  await assert.rejects(watch(service, partner, {}, '1000000000000.01'), invalid('/threshold'))
  await assert.rejects(watch(service, partner, { rearmAt: rawNumber('499.99') }), invalid('/rearmAt'))
  await assert.rejects(
    watch(service, partner, { direction: 'Above', rearmAt: rawNumber('500.01') }),
    invalid('/rearmAt'),
  )
  await assert.rejects(watch(service, partner, { notify: { event: false } }), invalid('/notify'))
  const emails = ['ADA@example.com', 'grace@example.com']
  await assert.rejects(watch(service, partner, { notify: { emails } }), invalid('/notify/emails/1'))
  assert.equal(
    (await service.db.rows(sql`select 1 from accounts.monitors where partner_id = ${partner.partnerId}`)).length,
    0,
  )
  const { id } = await watch(
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
