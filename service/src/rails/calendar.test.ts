import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayMs, hourMs, minuteMs } from '../kernel/index.ts'
import {
  type Calendar,
  bankDay,
  easterSunday,
  isSettlementDay,
  isTargetDay,
  nextWindow,
  earliestSubmission,
  firstSettlementDay,
} from './calendar.ts'

const berlin: Calendar = { timeZone: 'Europe/Berlin', opensAt: 7 * 60, cutOffAt: 16 * 60, closedDays: new Set() }
const at = (text: string) => new Date(text)
const windowAt = (text: string, calendar = berlin) => {
  const { opensAt, cutOffAt, date } = nextWindow(at(text), calendar, 'EUR')
  return [date, opensAt.toISOString(), cutOffAt.toISOString()]
}

/** Published dates: western Easter of these years. */
const easters = {
  1999: '04-04',
  2000: '04-23',
  2008: '03-23',
  2011: '04-24',
  2024: '03-31',
  2025: '04-20',
  2026: '04-05',
  2027: '03-28',
  2038: '04-25',
  2285: '03-22',
} as const

test('Easter falls on its published days', () => {
  for (const [year, day] of Object.entries(easters))
    assert.equal(easterSunday(Number(year)).toString(), `${year}-${day}`)
})

test('TARGET is closed on weekends and on its six days, in every year', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1999, max: 2999 }), (year) => {
      const easter = easterSunday(year)
      assert.equal(easter.dayOfWeek, 7)
      const closed = [
        new Temporal.PlainDate(year, 1, 1),
        easter.subtract({ days: 2 }),
        easter.add({ days: 1 }),
        new Temporal.PlainDate(year, 5, 1),
        new Temporal.PlainDate(year, 12, 25),
        new Temporal.PlainDate(year, 12, 26),
      ]
      for (const day of closed) assert.equal(isTargetDay(day), false, day.toString())
      const isClosed = (day: Temporal.PlainDate) => closed.some((each) => each.equals(day)) || day.dayOfWeek > 5
      let open = 0
      for (let day = new Temporal.PlainDate(year, 1, 1); day.year === year; day = day.add({ days: 1 })) {
        assert.equal(isTargetDay(day), !isClosed(day), day.toString())
        open += isTargetDay(day) ? 1 : 0
      }
      assert.ok(open >= 251 && open <= 260, `${year} has ${open} days`)
    }),
    { numRuns: 60 },
  )
})

const closedIn = (currency: 'GBP' | 'USD', year: number) => {
  const closed: string[] = []
  for (let day = new Temporal.PlainDate(year, 1, 1); day.year === year; day = day.add({ days: 1 }))
    if (day.dayOfWeek < 6 && !isSettlementDay(currency, day)) closed.push(day.toString().slice(5))
  return closed.join(' ')
}

/** Bank holidays of England and Wales as gov.uk publishes them, substitute days included. */
const ukHolidays = {
  2020: '01-01 04-10 04-13 05-08 05-25 08-31 12-25 12-28',
  2021: '01-01 04-02 04-05 05-03 05-31 08-30 12-27 12-28',
  2022: '01-03 04-15 04-18 05-02 06-02 06-03 08-29 09-19 12-26 12-27',
  2023: '01-02 04-07 04-10 05-01 05-08 05-29 08-28 12-25 12-26',
  2024: '01-01 03-29 04-01 05-06 05-27 08-26 12-25 12-26',
  2026: '01-01 04-03 04-06 05-04 05-25 08-31 12-25 12-28',
  2027: '01-01 03-26 03-29 05-03 05-31 08-30 12-27 12-28',
} as const
/** Holiday schedule of the Federal Reserve Banks. A holiday on a Saturday is not moved. */
const usHolidays = {
  2020: '01-01 01-20 02-17 05-25 09-07 10-12 11-11 11-26 12-25',
  2021: '01-01 01-18 02-15 05-31 07-05 09-06 10-11 11-11 11-25',
  2022: '01-17 02-21 05-30 06-20 07-04 09-05 10-10 11-11 11-24 12-26',
  2023: '01-02 01-16 02-20 05-29 06-19 07-04 09-04 10-09 11-23 12-25',
  2026: '01-01 01-19 02-16 05-25 06-19 09-07 10-12 11-11 11-26 12-25',
  2027: '01-01 01-18 02-15 05-31 07-05 09-06 10-11 11-11 11-25',
} as const

test('sterling and the dollar settle on the business days of their own central banks', () => {
  for (const [year, days] of Object.entries(ukHolidays)) assert.equal(closedIn('GBP', Number(year)), days, year)
  for (const [year, days] of Object.entries(usHolidays)) assert.equal(closedIn('USD', Number(year)), days, year)
})

test('a window depends on the currency, and both currencies of an exchange settle on its value date', () => {
  // Spring bank holiday and Memorial Day: 25 May 2026. TARGET is open on it, and closed on 1 May.
  const dateOf = (time: string, currency: 'EUR' | 'GBP' | 'USD') => nextWindow(at(time), berlin, currency).date
  assert.deepEqual(
    [dateOf('2026-05-25T08:00:00Z', 'EUR'), dateOf('2026-05-25T08:00:00Z', 'GBP')],
    ['2026-05-25', '2026-05-26'],
  )
  assert.deepEqual(
    [dateOf('2026-05-01T08:00:00Z', 'EUR'), dateOf('2026-05-01T08:00:00Z', 'USD')],
    ['2026-05-04', '2026-05-01'],
  )
  assert.equal(firstSettlementDay(['EUR', 'USD'], '2026-05-01'), '2026-05-04')
  assert.equal(firstSettlementDay(['EUR', 'GBP'], '2026-05-25'), '2026-05-26')
  assert.equal(firstSettlementDay(['GBP', 'USD'], '2026-12-25'), '2026-12-29')
  assert.equal(firstSettlementDay(['EUR', 'USDC'], '2026-04-04'), '2026-04-07')
})

test('a window is open from its opening until just before its cut-off, in the time zone of the bank', () => {
  const monday = ['2026-11-23', '2026-11-23T06:00:00.000Z', '2026-11-23T15:00:00.000Z']
  const tuesday = ['2026-11-24', '2026-11-24T06:00:00.000Z', '2026-11-24T15:00:00.000Z']
  assert.deepEqual(windowAt('2026-11-23T05:59:59.999Z'), monday)
  assert.deepEqual(windowAt('2026-11-23T14:59:59.999Z'), monday)
  assert.deepEqual(windowAt('2026-11-23T15:00:00.000Z'), tuesday)
  // In summer the bank's times are an hour earlier in UTC.
  assert.deepEqual(windowAt('2026-07-01T13:59:59.999Z')[0], '2026-07-01')
  assert.deepEqual(windowAt('2026-07-01T14:00:00.000Z')[0], '2026-07-02')
})

test('a payment during a long closing is executed on the first open day after it', () => {
  // Christmas of 2026 is a Friday: 24 December after the cut-off leads to Monday, 28 December.
  assert.equal(windowAt('2026-12-24T15:30:00Z')[0], '2026-12-28')
  assert.equal(windowAt('2026-12-24T12:00:00Z', { ...berlin, closedDays: new Set(['2026-12-24']) })[0], '2026-12-28')
  // Maundy Thursday of 2026 to the Tuesday after Easter.
  assert.equal(windowAt('2026-04-02T14:00:00Z')[0], '2026-04-07')
})

test('on the day of a clock change, a window has 23 or 25 hours, and a skipped time is one hour later', () => {
  const hours = (text: string, calendar: Calendar) => {
    const { opensAt, cutOffAt } = nextWindow(at(text), calendar, 'EUR')
    return (cutOffAt.getTime() - opensAt.getTime()) / hourMs
  }
  // Sydney also changes on Sundays. The clocks of Amman changed on Fridays: 2021-03-26 and 2021-10-29.
  const amman: Calendar = { timeZone: 'Asia/Amman', opensAt: 0, cutOffAt: 24 * 60, closedDays: new Set() }
  assert.equal(hours('2021-03-26T10:00:00Z', amman), 23)
  assert.equal(hours('2021-10-29T10:00:00Z', amman), 25)
  const early = nextWindow(at('2021-03-25T23:30:00Z'), { ...amman, opensAt: 30 }, 'EUR')
  assert.equal(early.opensAt.toISOString(), '2021-03-25T22:30:00.000Z')
})

test('the next window always ends after the given time, opens on an open day and skips no open day', () => {
  const zones = ['Europe/Berlin', 'Europe/London', 'UTC', 'Asia/Amman', 'America/New_York', 'Pacific/Auckland']
  const calendars = fc.record({
    timeZone: fc.constantFrom(...zones),
    opensAt: fc.integer({ min: 0, max: 23 * 60 }),
    minutes: fc.integer({ min: 1, max: 24 * 60 }),
    closed: fc.integer({ min: 0, max: 3 }),
  })
  const moments = fc.date({ min: at('2020-01-01T00:00:00Z'), max: at('2040-01-01T00:00:00Z'), noInvalidDate: true })
  fc.assert(
    fc.property(
      calendars,
      moments,
      fc.constantFrom('EUR', 'GBP', 'USD'),
      ({ timeZone, opensAt, minutes, closed }, moment, currency) => {
        const tomorrow = Temporal.PlainDate.from(bankDay(moment, { timeZone })).add({ days: 1 })
        const closedDays = new Set(Array.from({ length: closed }, (_none, days) => tomorrow.add({ days }).toString()))
        const calendar = { timeZone, opensAt, cutOffAt: Math.min(24 * 60, opensAt + minutes), closedDays }
        const window = nextWindow(moment, calendar, currency)
        assert.ok(moment < window.cutOffAt)
        assert.ok(isSettlementDay(currency, Temporal.PlainDate.from(window.date)) && !closedDays.has(window.date))
        assert.equal(bankDay(window.opensAt, calendar), window.date)
        // The same window until its cut-off, then a later one.
        assert.deepEqual(nextWindow(new Date(window.cutOffAt.getTime() - 1), calendar, currency), window)
        assert.ok(nextWindow(window.cutOffAt, calendar, currency).date > window.date)
        assert.ok(window.opensAt.getTime() - moment.getTime() < 9 * dayMs)
        const due = earliestSubmission(moment, calendar, currency)
        assert.ok(due >= moment && due >= window.opensAt && due < window.cutOffAt)
      },
    ),
    { numRuns: 400 },
  )
})

test('from the cut-off on, at any minute of the day, the next window is on the next day', () => {
  for (let minute = 1; minute < 24 * 60; minute += 1) {
    const calendar = { ...berlin, opensAt: 0, cutOffAt: minute }
    const cutOff = new Date(at('2026-11-23T23:00:00Z').getTime() + minute * minuteMs)
    assert.equal(nextWindow(new Date(cutOff.getTime() - 1), calendar, 'EUR').date, '2026-11-24')
    assert.equal(nextWindow(cutOff, calendar, 'EUR').date, '2026-11-25')
  }
})
