/** The dates of standing orders: ends of months, leap years, business days, clocks that change, wrong fields. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import {
  firstPosition,
  occurrencesFrom,
  occurrenceSince,
  parseSchedule,
  type OrderSchedule,
  formatTimeOfDay,
} from './schedule.ts'

const now = new Date('2026-01-01T00:00:00Z')
const scheduleOf = (fields: Partial<OrderSchedule>): OrderSchedule => ({
  currency: 'EUR',
  frequency: 'Daily',
  startsOn: '2026-01-05',
  secondOfDay: 6 * 3600,
  dayOfMonth: null,
  endsOn: null,
  dates: null,
  businessDays: 'None',
  ...fields,
})
const datesOf = (fields: Partial<OrderSchedule>, datesMax = 5) =>
  occurrencesFrom(scheduleOf(fields), firstPosition, datesMax).map(({ date }) => date)
const daysOf = (fields: Partial<OrderSchedule>, datesMax = 5) =>
  occurrencesFrom(scheduleOf(fields), firstPosition, datesMax).map(({ executesAt }) =>
    executesAt.toISOString().slice(0, 10),
  )

test('a schedule of one payout has one date, and a weekly schedule keeps its weekday', () => {
  assert.deepEqual(datesOf({ frequency: 'Once' }), ['2026-01-05'])
  assert.deepEqual(datesOf({ frequency: 'Weekly' }, 3), ['2026-01-05', '2026-01-12', '2026-01-19'])
})

test('if a month lacks the day, its last day is used, and the next month has the day again', () => {
  const monthly = { frequency: 'Monthly', startsOn: '2027-12-31', dayOfMonth: 31 } as const
  assert.deepEqual(datesOf(monthly), ['2027-12-31', '2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30'])
  assert.deepEqual(datesOf({ ...monthly, dayOfMonth: 30 }, 3), ['2028-01-30', '2028-02-29', '2028-03-30'])
  assert.deepEqual(datesOf({ ...monthly, startsOn: '2026-02-28' }, 2), ['2026-02-28', '2026-03-31'])
})

test('the first date of a monthly schedule is the first such day on or after the start', () => {
  const monthly = { frequency: 'Monthly', dayOfMonth: 4 } as const
  assert.deepEqual(datesOf(monthly, 2), ['2026-02-04', '2026-03-04'])
  assert.deepEqual(datesOf({ ...monthly, dayOfMonth: 5 }, 2), ['2026-01-05', '2026-02-05'])
})

test('a yearly date on 29 February becomes 28 February in other years', () => {
  assert.deepEqual(datesOf({ frequency: 'Yearly', startsOn: '2028-02-29' }), [
    '2028-02-29',
    '2029-02-28',
    '2030-02-28',
    '2031-02-28',
    '2032-02-29',
  ])
})

test('a closed day moves to the next or the previous business day', () => {
  // Good Friday 2026 is 3 April, Easter Monday the 6th.
  const easter = { frequency: 'Once', startsOn: '2026-04-04' } as const
  assert.deepEqual(daysOf({ ...easter, businessDays: 'Following' }), ['2026-04-07'])
  assert.deepEqual(daysOf({ ...easter, businessDays: 'Preceding' }), ['2026-04-02'])
  assert.deepEqual(daysOf({ ...easter, businessDays: 'None' }), ['2026-04-04'])
  // London is closed on the last Monday of May, Frankfurt on the first of it.
  const closedBy = (currency: 'EUR' | 'GBP' | 'USD', startsOn: string) =>
    daysOf({ frequency: 'Once', startsOn, currency, businessDays: 'Following' })[0]
  assert.deepEqual([closedBy('GBP', '2026-05-25'), closedBy('EUR', '2026-05-25')], ['2026-05-26', '2026-05-25'])
  assert.deepEqual([closedBy('GBP', '2026-05-01'), closedBy('EUR', '2026-05-01')], ['2026-05-01', '2026-05-04'])
  assert.deepEqual([closedBy('USD', '2026-11-26'), closedBy('USD', '2026-04-03')], ['2026-11-27', '2026-04-03'])
})

test('a daily schedule contains and counts only business days', () => {
  const daily = { startsOn: '2026-04-01', businessDays: 'Following', dates: 4 } as const
  assert.deepEqual(datesOf(daily, 10), ['2026-04-01', '2026-04-02', '2026-04-07', '2026-04-08'])
  assert.deepEqual(daysOf(daily, 10), datesOf(daily, 10))
  assert.equal(datesOf({ ...daily, businessDays: 'None' }, 10).at(-1), '2026-04-04')
})

test('the last date is included, and no date follows it', () => {
  assert.deepEqual(datesOf({ endsOn: '2026-01-06' }), ['2026-01-05', '2026-01-06'])
  assert.deepEqual(datesOf({ dates: 1 }), ['2026-01-05'])
  const schedule = scheduleOf({ endsOn: '2026-01-06' })
  assert.equal(occurrenceSince(schedule, firstPosition, new Date('2026-01-06T06:00:00Z'))?.number, 1)
  assert.equal(occurrenceSince(schedule, firstPosition, new Date('2026-01-06T06:00:01Z')), undefined)
})

test('a daylight-saving change moves no payout', () => {
  // Clocks in the European Union go forward on 29 March 2026.
  const times = occurrencesFrom(scheduleOf({ startsOn: '2026-03-28', secondOfDay: 5400 }), firstPosition, 3)
  assert.deepEqual(
    times.map(({ executesAt }) => executesAt.toISOString().slice(11)),
    ['01:30:00.000Z', '01:30:00.000Z', '01:30:00.000Z'],
  )
})

type Input = Parameters<typeof parseSchedule>[0]
const read = (fields: Partial<Input>) =>
  parseSchedule({ frequency: 'Daily', startsOn: '2026-01-05', ...fields }, 'EUR', now)
const pointersOf = (fields: Partial<Input>): readonly string[] => {
  try {
    read(fields)
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, 'validation_failed')
    return error.errors.map(({ pointer }) => pointer)
  }
  return assert.fail('the schedule is taken')
}

test('each wrong field is refused with its pointer', () => {
  const refused: readonly (readonly [Partial<Input>, readonly string[]])[] = [
    [{ endsOn: '2026-01-04' }, ['/schedule/endsOn']],
    [{ startsOn: '2025-12-31' }, ['/schedule/startsOn']],
    [{ startsOn: '2031-01-02' }, ['/schedule/startsOn']],
    [{ startsOn: '2026-01-01', time: '00:00', businessDays: 'None' }, ['/schedule/startsOn']],
    [{ dayOfMonth: 3 }, ['/schedule/dayOfMonth']],
    [{ frequency: 'Once', endsOn: '2026-01-05', count: 1 }, ['/schedule/endsOn', '/schedule/count']],
    [{ endsOn: '2026-01-05', count: 1 }, ['/schedule/count']],
    [{ frequency: 'Monthly', dayOfMonth: 31, endsOn: '2026-01-30' }, ['/schedule/endsOn']],
    // A Sunday: the business day before it is over.
    [{ startsOn: '2026-01-04', endsOn: '2026-01-04', frequency: 'Daily' }, ['/schedule/endsOn']],
  ]
  for (const [fields, pointers] of refused) assert.deepEqual(pointersOf(fields), pointers, JSON.stringify(fields))
})

test('the defaults are 06:00 UTC, business days, and the day of the first date', () => {
  const { schedule, occurrence } = read({ frequency: 'Monthly', startsOn: '2026-01-31' })
  assert.deepEqual(
    [schedule.dayOfMonth, schedule.businessDays, formatTimeOfDay(schedule.secondOfDay)],
    [31, 'Following', '06:00:00'],
  )
  // A Saturday.
  assert.equal(occurrence.executesAt.toISOString(), '2026-02-02T06:00:00.000Z')
  assert.equal(formatTimeOfDay(read({ time: '23:59:07' }).schedule.secondOfDay), '23:59:07')
})
