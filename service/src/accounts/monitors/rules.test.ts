import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { idAfter, newId, nilId, present } from '../../kernel/index.ts'
import { type Crossing, evaluateMonitors } from './rules.ts'
import type { BalanceRow, MonitorRow } from './store.ts'

const partnerId = newId()
const accountId = newId()
const base = newId()
const at = (place: number) => idAfter(base, place)
const crossingsMax = 1_000

const balance: BalanceRow = {
  partnerId,
  accountId,
  currency: 'EUR',
  position: at(0),
  posted: 100n,
  reserved: 0n,
  startsUntil: at(0),
  monitors: 1,
}
const monitorOf = (fields: Partial<MonitorRow> = {}): MonitorRow => ({
  partnerId,
  id: newId(),
  accountId,
  currency: 'EUR',
  direction: 'Below',
  measure: 'Posted',
  threshold: 50n,
  rearmAt: null,
  emails: [],
  sendsEvent: true,
  description: null,
  state: 'Armed',
  endReason: null,
  startsAfter: nilId,
  lastTriggeredAt: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
  endedAt: null,
  ...fields,
})
const movement = (place: number, posted: bigint, reserved = 0n, together?: string) => ({
  id: at(place),
  posted,
  reserved,
  reference: `r-${place}`,
  together,
})
const shown = (crossings: readonly Crossing[]) =>
  crossings.map(({ kind, balance: value, reference }) => `${kind} ${value} ${reference}`)

test('transfers that take effect together are evaluated as one', () => {
  const monitor = monitorOf({ measure: 'Available' })
  const movements = [movement(1, 0n, 40n, 'entry'), movement(2, 0n, 20n, 'entry'), movement(3, 0n, -60n)]
  const { crossings } = evaluateMonitors({ balance, monitors: [monitor], movements, readTo: at(3) }, crossingsMax)
  assert.deepEqual(shown(crossings), ['Triggered 40 r-2', 'Rearmed 100 r-3'])
})

test('a threshold is crossed by a lower or higher balance, not by an equal one', () => {
  const below = monitorOf()
  const above = monitorOf({ direction: 'Above', rearmAt: 30n })
  const movements = [-50n, -1n, 2n, -22n].map((posted, index) => movement(index + 1, posted))
  const { crossings } = evaluateMonitors({ balance, monitors: [below, above], movements, readTo: at(9) }, crossingsMax)
  assert.deepEqual(shown(crossings.filter(({ monitorId }) => monitorId === below.id)), [
    'Triggered 49 r-2',
    'Rearmed 51 r-3',
    'Triggered 29 r-4',
  ])
  // Its start is before the reading, so that an earlier reading evaluated the balance of 100.
  assert.deepEqual(shown(crossings.filter(({ monitorId }) => monitorId === above.id)), [
    'Triggered 51 r-3',
    'Rearmed 29 r-4',
  ])
})

test('a monitor is evaluated from its start', () => {
  const early = monitorOf({ startsAfter: at(2) })
  const late = monitorOf({ startsAfter: at(9) })
  const movements = [movement(1, -60n), movement(3, 70n)]
  const { crossings, monitors } = evaluateMonitors(
    { balance, monitors: [early, late], movements, readTo: at(5) },
    crossingsMax,
  )
  assert.deepEqual(shown(crossings), ['Triggered 40 null', 'Rearmed 110 r-3'])
  assert.deepEqual(crossings[0]?.position, at(2))
  assert.deepEqual(
    monitors.map(({ id, state, lastTriggeredAt }) => [id, state, lastTriggeredAt !== null]),
    [[early.id, 'Armed', true]],
  )
})

/** Evaluates a monitor against one balance after the other, as a person would. */
function byHand(monitor: MonitorRow, values: readonly bigint[]): readonly string[] {
  const found: string[] = []
  let triggered = false
  for (const [index, value] of values.entries()) {
    const rearmAt = monitor.rearmAt ?? monitor.threshold
    const [across, back] =
      monitor.direction === 'Below'
        ? [value < monitor.threshold, value >= rearmAt]
        : [value > monitor.threshold, value <= rearmAt]
    if (!triggered && across) found.push(`Triggered ${value} r-${index + 1}`)
    else if (triggered && back) found.push(`Rearmed ${value} r-${index + 1}`)
    triggered = triggered ? !back : across
  }
  return found
}

test('reading in parts of any size finds the same crossings as a simple computation', () => {
  const amounts = fc.array(fc.bigInt({ min: -60n, max: 60n }), { maxLength: 40 })
  const monitorsGiven = fc.array(
    fc.record({
      below: fc.boolean(),
      threshold: fc.bigInt({ min: 1n, max: 150n }),
      gap: fc.bigInt({ min: 0n, max: 60n }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  const property = fc.property(
    amounts,
    monitorsGiven,
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 5 }),
    (steps, given, pageMax, perReading) => {
      const start = { ...balance, posted: 150n }
      let monitors = given.map(({ below, threshold, gap }) =>
        monitorOf({
          direction: below ? 'Below' : 'Above',
          threshold,
          rearmAt: below ? threshold + gap : threshold > gap ? threshold - gap : 0n,
        }),
      )
      const expected = monitors.map((monitor) => {
        let sum = start.posted
        return byHand(
          monitor,
          steps.map((step) => (sum += step)),
        )
      })
      const movements = steps.map((step, index) => movement(index + 1, step))
      const found: Crossing[] = []
      let row: BalanceRow = start
      for (let turn = 0; row.position < at(steps.length); turn += 1) {
        assert.ok(turn <= steps.length, 'each reading goes on')
        const page = movements.filter(({ id }) => id > row.position).slice(0, pageMax)
        const readTo = present(page.at(-1), 'there is more').id
        const evaluation = evaluateMonitors({ balance: row, monitors, movements: page, readTo }, perReading)
        found.push(...evaluation.crossings)
        monitors = monitors.map((monitor) => evaluation.monitors.find(({ id }) => id === monitor.id) ?? monitor)
        row = evaluation.balance
      }
      for (const [index, monitor] of monitors.entries())
        assert.deepEqual(shown(found.filter(({ monitorId }) => monitorId === monitor.id)), expected[index])
      assert.equal(
        row.posted,
        steps.reduce((sum, step) => sum + step, start.posted),
      )
    },
  )
  fc.assert(property, { numRuns: 300 })
})
