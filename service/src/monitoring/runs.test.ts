/** Backtests that a worker runs: the numbers of the command, one at a time, within their bounds, and once although a worker dies. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { minuteMs, newId, secondMs } from '../kernel/index.ts'
import { decidesHits, twoOfStaff } from '../people/staff/index.ts'
import { readRule } from './rules.ts'
import { stepRuns } from './runs.ts'
import * as store from './store.ts'

let service: Service
let other: Service
before(async () => {
  service = await createTestService()
  other = await createTestService({ url: service.url })
})
after(async () => {
  await other.close()
  await service.close()
})

const staff = 'Ada'
const today = () => service.clock.now().toISOString().slice(0, 10)
const refused = (code: Refusal['code'], detail: RegExp) => (error: unknown) =>
  error instanceof Refusal && error.code === code && detail.test(error.detail)

/** A rule for a partner with a deposit and three payouts, of which the largest fits. */
async function setRule() {
  const partner = await addPartner(service, 1_000_00n)
  for (const amount of ['10.00', '20.00', '90.00']) await pay(service, partner, amount)
  const fields = { name: 'A rule', currency: 'EUR', kind: 'country', direction: 'Outward', countries: ['DE'] }
  const draft = readRule(JSON.stringify({ ...fields, sum: '50.00', partners: [partner.partnerId] }))
  const { id } = await service.db.transaction((tx) => service.monitoring.set(tx, { draft, staff }))
  return { id, partner, draft }
}
const ask = (id: string, from = '2026-01-01', until = today(), more: object = {}) =>
  service.db.transaction((tx) => service.monitoring.askBacktest(tx, { id, from, until, staff, ...more }))
const numbersOf = async (id: string) =>
  (await service.monitoring.backtests(service.db, id)).map(
    ({ transactions, hits, subjects, ranBy }) => `${transactions} ${hits} ${subjects} ${ranBy}`,
  )
/** `runStep` with another bound. */
const stepWith = (max: bigint) => {
  const { db, clock, access, cases, rates } = service
  const { partnerIds } = access
  return stepRuns(
    { db, clock, cases, rates, partnerIds, clockDifferenceMsMax: 0, judgeTwo: twoOfStaff(decidesHits) },
    max,
  )
}

test('a worker runs what was asked for, with the numbers of the command, and the rule can be turned on', async () => {
  const { id } = await setRule()
  await ask(id)
  const [waiting] = await service.monitoring.runs(service.db, id)
  assert.deepEqual([waiting?.endedAt, waiting?.attempts], [null, 0])
  const taken = await Promise.all([service.monitoring.runStep(), other.monitoring.runStep()])
  assert.equal(
    taken.reduce((sum, each) => sum + each),
    1,
    'one worker takes it',
  )
  await service.monitoring.backtest({ id, from: '2026-01-01', until: today(), staff })
  const [first, second] = await numbersOf(id)
  assert.equal(first, second)
  assert.equal(first, '4 1 1 Ada')
  const turned = await service.db.transaction((tx) => service.monitoring.turnOn(tx, { id, staff }))
  assert.equal(turned.state, 'Proposed')
})

test('one backtest of a rule is under way at a time, and days are checked', async () => {
  const { id, draft } = await setRule()
  await assert.rejects(ask(id, '2026-02-01', '2026-01-01'), refused('validation_failed', /before from/))
  await assert.rejects(ask(id, '2024-01-01', '2025-01-01'), refused('validation_failed', /367 days/))
  await assert.rejects(ask(id, 'soon', today()), refused('validation_failed', /from must be a day/))
  await assert.rejects(ask(newId()), refused('not_found', /No such rule/))
  await assert.rejects(ask(id, undefined, undefined, { staff: ' ' }), refused('validation_failed', /State who/))
  const outcomes = await Promise.allSettled([ask(id), ask(id)])
  assert.deepEqual(outcomes.map((each) => each.status).toSorted(), ['fulfilled', 'rejected'])
  await service.db.transaction((tx) => service.monitoring.set(tx, { id, draft, staff }))
  await assert.rejects(ask(id, undefined, undefined, { seen: 1 }), refused('validation_failed', /Read that one/))
  assert.equal(await service.monitoring.runStep(), 1)
  assert.equal((await service.monitoring.backtests(service.db, id))[0]?.version, 1, 'the version that was asked about')
  await ask(id)
  assert.equal(await service.monitoring.runStep(), 1)
})

test('a backtest with too many transactions ends, and says so', async () => {
  const { id } = await setRule()
  await ask(id)
  assert.equal(await stepWith(2n), 1)
  assert.deepEqual(await numbersOf(id), [])
  assert.equal((await service.monitoring.runs(service.db, id))[0]?.problem, 'too_many')
  await ask(id)
  assert.equal(await stepWith(4n), 1)
  assert.deepEqual(await numbersOf(id), ['4 1 1 Ada'])
})

test('the run of a worker that died is done by another one, and the dead one writes nothing', async () => {
  const { id } = await setRule()
  await ask(id)
  const lease = { id: newId(), until: new Date(service.clock.now().getTime() + minuteMs) }
  const claimed = await store.claimRun(service.db, lease, service.clock.now())
  assert.ok(claimed)
  assert.equal(await service.monitoring.runStep(), 0, 'it has a lease')
  service.clock.advance(minuteMs + secondMs)
  assert.equal(await service.monitoring.runStep(), 1)
  const key = { id: claimed.id, leaseId: lease.id }
  assert.equal(await store.renewRun(service.db, key, 1n, lease.until), 0)
  assert.equal(await store.endRun(service.db, key, null, service.clock.now()), 0)
  assert.deepEqual(await numbersOf(id), ['4 1 1 Ada'])
})

test('a run that fails three times ends', async () => {
  const { id } = await setRule()
  const now = service.clock.now()
  await store.insertRun(service.db, {
    ...{ id: newId(), ruleId: id, version: 99, fromDay: '2026-01-01', untilDay: '2026-01-02', askedBy: staff },
    ...{ askedAt: now, transactions: 0n, attempts: 0, dueAt: now, leaseId: null, problem: null, endedAt: null },
  })
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await assert.rejects(service.monitoring.runStep(), /no version 99/)
    service.clock.advance(minuteMs + secondMs)
  }
  assert.equal(await service.monitoring.runStep(), 0)
  assert.equal((await service.monitoring.runs(service.db, id))[0]?.problem, 'failed')
})
