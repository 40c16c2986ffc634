/** Rules before payment: a matching payout waits for two persons, who release or refuse it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { nilId, secondMs } from '../kernel/index.ts'
import type { Database, Sql } from '../postgres/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { readRule } from './rules.ts'
/** Records the SQL statements of monitoring by the name in their comment. */
const made: string[] = []
const noting = (db: Database, names: string[]): Database => {
  const note = (statement: Sql) => {
    const name = /^\/\* ((?:monitoring|transactions)\.\w+) \*\//.exec(statement.parts[0] ?? '')?.[1]
    if (name !== undefined) names.push(name)
    return statement
  }
  return {
    ...db,
    rows: (statement) => db.rows(note(statement)),
    row: (statement) => db.row(note(statement)),
    run: (statement) => db.run(note(statement)),
  }
}
const service = await useModules({ wrapDatabase: (db) => noting(db, made) })
const other = await service.anotherProcess()

const [ada, joan] = [{ staff: 'Ada' }, { staff: 'Joan' }]
const velocity = { kind: 'velocity', direction: 'Outward', hours: 24 }
const day = '2026-01-01'

/** Turns a rule on, by default for one partner and before payment. */
async function on({ partnerId }: TestPartner, fields: object, { db, monitoring }: Service = service): Promise<string> {
  const given = { name: 'A rule', currency: 'EUR', when: 'before', partners: [partnerId], ...velocity, ...fields }
  const draft = readRule(JSON.stringify(given))
  const { id } = await db.transaction((tx) => monitoring.setRule(tx, { draft, ...ada }))
  await monitoring.backtest({ id, from: day, until: day, ...ada })
  for (const by of [ada, joan]) await db.transaction((tx) => monitoring.turnOn(tx, { id, ...by }))
  return id
}
async function turnOff(id: string): Promise<void> {
  for (const by of [ada, joan]) await service.db.transaction((tx) => service.monitoring.turnOff(tx, { id, ...by }))
}
/** Moves both clocks to the same time, after every lease and the age of cached rules. */
function advanceClocks(): void {
  const latest = Math.max(service.clock.now().getTime(), other.clock.now().getTime()) + 31 * secondMs
  for (const { clock } of [service, other]) clock.advance(latest - clock.now().getTime())
}
/** Sends due payouts under the current rules. */
async function submit(...services: readonly Service[]): Promise<void> {
  const all = services.length === 0 ? [service] : services
  advanceClocks()
  await Promise.all(
    all.map(async ({ settlement }) => {
      while ((await submitDuePayouts(settlement)) > 0);
    }),
  )
}
const alertsOf = ({ partnerId }: TestPartner) => service.monitoring.alerts(service.db, partnerId, nilId, 100)
const statuses = async ({ partnerId }: TestPartner) =>
  (await service.payouts.list(partnerId, { limit: '100' })).data.map(({ status }) => status).toReversed()
const stepsOf = async ({ partnerId }: TestPartner, reference: string) =>
  (await service.transactions.get(partnerId, reference)).timeline.map(({ step }) => step)

async function propose({ partnerId }: TestPartner, id: string, action: 'release' | 'refuse'): Promise<void> {
  const disposition = action === 'release' ? 'explained' : 'fraud'
  const proposing = { partnerId, id, action, disposition, note: 'Read the contract.', ...ada } as const
  await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
}
async function decide(partner: TestPartner, id: string, action: 'release' | 'refuse'): Promise<void> {
  const { partnerId } = partner
  await propose(partner, id, action)
  const approve = (by: { readonly staff: string }) =>
    service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id, ...by }))
  await assert.rejects(approve(ada), (error) => error instanceof Refusal && /another person/.test(error.detail))
  await approve(joan)
}
const soleAlert = async (partner: TestPartner) => {
  const alerts = await alertsOf(partner)
  const [alert] = alerts
  assert.ok(alert !== undefined && alerts.length === 1, `one alert, not ${alerts.length}`)
  return alert
}

test('a payout that matches a rule is held until two people release it, and the partner sees it like one in screening', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await on(partner, { sum: '100.00' })
  await pay(service, partner, '60.00')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent'])
  const { payout } = await pay(service, partner, '40.00')
  for (let rounds = 0; rounds < 3; rounds += 1) await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Pending'])
  assert.deepEqual(await stepsOf(partner, payout.reference), ['Created', 'Reserved', 'Screening'])
  assert.ok(await service.payoutAges.oldestInScreening(), 'the age of what waits is measured')
  const { id, transactions } = await soleAlert(partner)
  assert.equal(transactions, 1n)
  await propose(partner, id, 'release')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Pending'], 'one person releases nothing')
  await decide(partner, id, 'release')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Sent'])
})

test('a payout that two people refuse fails like a payout to a listed name, and its money is released', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await on(partner, { sum: '100.00' })
  const { payout } = await pay(service, partner, '100.00')
  await submit()
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 100_00n)
  await decide(partner, (await soleAlert(partner)).id, 'refuse')
  await submit()
  const { status, errorKey, errorDetails } = await service.payouts.get(partner.partnerId, payout.id)
  assert.deepEqual(
    [status, errorKey, errorDetails],
    ['Failed', 'RecipientBlocked', 'The payment cannot be made to this beneficiary.'],
  )
  assert.deepEqual(await stepsOf(partner, payout.reference), ['Created', 'Reserved', 'Screening', 'Failed'])
  const { posted, reserved } = await balanceOf(service, partner.partnerId)
  assert.deepEqual([posted, reserved], [1_000_00n, 0n])
})

test('the bank never gets all of several simultaneous payouts that together exceed the sum of a rule', async () => {
  for (let round = 0; round < 8; round += 1) {
    const partner = await addPartner(service, 1_000_00n)
    await on(partner, { sum: '100.00' })
    await submit(service, other)
    await Promise.all([
      pay(service, partner, '60.00').then(() => submit()),
      pay(other, partner, '60.00').then(() => submit(other)),
    ])
    await submit(service, other)
    const held = (await statuses(partner)).filter((status) => status === 'Pending')
    assert.ok(held.length > 0, `round ${round}`)
    await soleAlert(partner)
  }
})

test('if the process dies before or after the alert, nothing is sent and one alert is open', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const { partnerId } = partner
  const id = await on(partner, { count: 2 })
  for (const amount of ['1.00', '2.00']) await pay(service, partner, amount)
  const claim = async () => {
    const claims = await service.payoutLife.claim('sandbox', [partnerId], 10)
    assert.equal(claims.length, 2)
    return claims
  }
  await claim()
  advanceClocks()
  const claims = await claim()
  const holdOf = await service.monitoring.findHolds(claims)
  assert.deepEqual(claims.map(holdOf), ['open', 'open'])
  // The process dies here: its leases expire, and the rule is turned off meanwhile.
  await turnOff(id)
  await submit(other)
  assert.deepEqual(await statuses(partner), ['Pending', 'Pending'])
  assert.equal((await soleAlert(partner)).transactions, 2n)
})

test('turning a rule off does not release its held payouts', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await pay(service, partner, '100.00')
  const id = await on(partner, { sum: '100.00' })
  await submit()
  assert.deepEqual(await statuses(partner), ['Pending'])
  await turnOff(id)
  await submit()
  await pay(service, partner, '100.00')
  await submit()
  assert.deepEqual(await statuses(partner), ['Pending', 'Sent'])
  await decide(partner, (await soleAlert(partner)).id, 'release')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Sent'])
})

test('a payout joins no alert with a proposal: two people release only the payouts that they have seen', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await on(partner, { sum: '100.00' })
  await pay(service, partner, '100.00')
  await submit()
  const { id } = await soleAlert(partner)
  await propose(partner, id, 'release')
  await pay(service, partner, '1.00')
  await submit()
  assert.deepEqual(
    (await alertsOf(partner)).map(({ transactions }) => transactions),
    [1n, 1n],
  )
  await decide(partner, id, 'release')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Pending'])
})

test('the partner can cancel a held payout, and a decision about one partner does not release payouts of another', async () => {
  const [partner, stranger] = [await addPartner(service, 1_000_00n), await addPartner(service, 1_000_00n)]
  await on(partner, { sum: '100.00', partners: [partner.partnerId, stranger.partnerId] })
  const { payout } = await pay(service, partner, '100.00')
  await pay(service, stranger, '100.00')
  await submit()
  await service.payouts.cancel(partner.partnerId, payout.id)
  await decide(partner, (await soleAlert(partner)).id, 'release')
  await submit()
  assert.deepEqual([await statuses(partner), await statuses(stranger)], [['Cancelled'], ['Pending']])
})

test('without a rule before payment, all payouts cost one SQL statement in five seconds', async () => {
  const names: string[] = []
  const alone = await createTestService({ wrapDatabase: (db) => noting(db, names) })
  try {
    const [partner, concerned] = [await addPartner(alone, 1_000_00n), await addPartner(alone, 1_000_00n)]
    await on(partner, { count: 2, when: 'after' }, alone)
    await on(concerned, { count: 2 }, alone)
    for (let rounds = 0; rounds < 10; rounds += 1) {
      await pay(alone, partner, '1.00')
      if (rounds === 0) alone.clock.advance(31 * secondMs)
      names.splice(0)
      await submitDuePayouts(alone.settlement)
      assert.deepEqual(names, rounds === 0 ? ['monitoring.allRules'] : [])
    }
    const { data } = await alone.payouts.list(partner.partnerId, { limit: '100' })
    assert.deepEqual(new Set(data.map(({ status }) => status)), new Set(['Sent']))
    await pay(alone, concerned, '1.00')
    await submitDuePayouts(alone.settlement)
    assert.deepEqual(names.toSorted(), [
      'monitoring.holdingAlerts',
      'transactions.byIds',
      'transactions.selectFirstEnds',
    ])
  } finally {
    await alone.close()
  }
})

test('a page of payouts costs a fixed number of SQL statements, and one alert holds them all', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await on(partner, { count: 50 })
  await Promise.all(Array.from({ length: 300 }, () => pay(service, partner, '1.00')))
  made.splice(0)
  await submit()
  assert.deepEqual(new Set(await statuses(partner)), new Set(['Pending']))
  assert.equal((await soleAlert(partner)).transactions, 300n)
  const pages = made.filter((name) => name === 'transactions.byIds').length
  assert.ok(pages > 0 && pages < 100, `${pages} pages`)
  assert.ok(made.length < 60, `${made.length} statements for ${pages} pages`)
})

test('a new rule does not hold sent payouts, and a refusal of the alert reports how many it cannot stop', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const { partnerId } = partner
  await pay(service, partner, '100.00')
  await submit()
  await on(partner, { sum: '100.00' })
  const { payout } = await pay(service, partner, '40.00')
  // The second payout was not evaluated yet: the worker that begins it decides whether it waits.
  while ((await service.monitoring.step()) > 0);
  const { id } = await soleAlert(partner)
  const standing = () => service.monitoring.payoutStanding(service.db, partnerId, id)
  assert.deepEqual(await standing(), { waiting: 0n, left: 1n, ended: 0n })
  await assert.rejects(
    propose(partner, id, 'refuse'),
    (error) => error instanceof Refusal && /No payout waits .* 1 are sent or wait.*recall/s.test(error.detail),
  )
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Pending'])
  assert.deepEqual(await standing(), { waiting: 1n, left: 1n, ended: 0n })
  await propose(partner, id, 'refuse')
  await service.payouts.cancel(partnerId, payout.id)
  const approve = () => service.db.transaction((tx) => service.decisions.approve(tx, { partnerId, id, ...joan }))
  await assert.rejects(
    approve(),
    (error) => error instanceof Refusal && /1 are sent or wait for another decision, 1 have ended/.test(error.detail),
  )
  await service.db.transaction((tx) => service.decisions.reject(tx, { partnerId, id, ...ada, note: 'It has ended.' }))
  await pay(service, partner, '41.00')
  await submit()
  await decide(partner, id, 'refuse')
  await submit()
  assert.deepEqual(await statuses(partner), ['Sent', 'Cancelled', 'Failed'])
  const history = await service.decisions.history(service.db, partnerId, id)
  assert.deepEqual([history.at(-1)?.stopped, history.at(-1)?.alreadySent], [1, 1])
  assert.equal((await balanceOf(service, partnerId)).reserved, 100_00n)
})

test('a rule does not hold incoming money', () => {
  for (const fields of [
    { ...velocity, direction: 'Inward', count: 2 },
    { kind: 'many_payers', hours: 1, payers: 2 },
  ])
    assert.throws(
      () => readRule(JSON.stringify({ name: 'A rule', currency: 'EUR', when: 'before', ...fields })),
      (error) => error instanceof Refusal && error.detail.startsWith('/when must be after'),
    )
})
