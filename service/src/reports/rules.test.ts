import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../kernel/index.ts'
import { newLinkToken, linkPartnerId } from '../kernel/api/index.ts'
import { reportFileName, nextPeriodEnd, periodBefore } from './rules.ts'

const at = (text: string) => new Date(text)

test('a period ends at a midnight of the time zone, also where the clocks change', () => {
  const ends = [
    ['daily', 'UTC', '2026-03-28T10:00:00Z', '2026-03-29T00:00:00Z'],
    ['daily', 'Europe/Berlin', '2026-03-28T22:59:59Z', '2026-03-28T23:00:00Z'],
    ['daily', 'Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['daily', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2026-10-25T23:00:00Z'],
    // At this midnight the clocks of Beirut go forward: the day begins at one.
    ['daily', 'Asia/Beirut', '2026-03-28T12:00:00Z', '2026-03-28T22:00:00Z'],
    ['weekly', 'UTC', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['weekly', 'UTC', '2026-11-22T23:59:59Z', '2026-11-23T00:00:00Z'],
    ['monthly', 'America/New_York', '2026-02-15T00:00:00Z', '2026-03-01T05:00:00Z'],
    ['monthly', 'UTC', '2027-12-31T23:59:59Z', '2028-01-01T00:00:00Z'],
  ] as const
  for (const [frequency, timeZone, after, end] of ends)
    assert.equal(
      nextPeriodEnd(frequency, timeZone, at(after)).toISOString(),
      at(end).toISOString(),
      `${frequency} ${after}`,
    )
})

test('the periods of a schedule follow each other without a gap', () => {
  for (const frequency of ['daily', 'weekly', 'monthly'] as const)
    for (const timeZone of ['UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Asia/Kolkata', 'Pacific/Apia']) {
      let end = nextPeriodEnd(frequency, timeZone, at('2010-06-15T12:00:00Z'))
      for (let count = 0; count < 600; count += 1) {
        const next = nextPeriodEnd(frequency, timeZone, end)
        assert.ok(next > end)
        const before = periodBefore(frequency, timeZone, next)
        // Apia left out the 30th of December 2011: its day begins and ends at once.
        if (timeZone !== 'Pacific/Apia')
          assert.equal(before.from.toISOString(), end.toISOString(), `${frequency} ${timeZone}`)
        end = next
      }
    }
})

test('a token contains its partner, and a changed token is invalid', () => {
  const partnerId = newId()
  const token = newLinkToken(partnerId)
  assert.equal(linkPartnerId(token), partnerId)
  assert.notEqual(newLinkToken(partnerId), token)
  for (const text of ['', token.slice(1), `${token}=`, ` ${token}`]) assert.equal(linkPartnerId(text), undefined)
})

test('a file name states kind, currency, period and format', () => {
  const period = { from: at('2026-01-01T00:00:00Z'), to: at('2026-02-01T00:00:00Z') }
  const name = (format: 'csv' | 'camt.053', currency: 'EUR' | null) =>
    reportFileName({ kind: 'statement', format, currency }, period)
  assert.equal(name('csv', null), 'statement-2026-01-01-2026-02-01.csv')
  assert.equal(name('camt.053', 'EUR'), 'statement-EUR-2026-01-01-2026-02-01.camt.053.xml')
})
