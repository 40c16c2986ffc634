import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sumBy } from './request-log.ts'

test('sums are grouped by name, and the mean is taken over all requests', () => {
  const sum = { errors4xx: 1, errors5xx: 0, durationMsMean: 10, durationMsMax: 20 }
  const sums = [
    { ...sum, day: '2026-11-02', operation: 'getPayout', count: 1 },
    { ...sum, day: '2026-11-02', operation: 'listWallets', count: 2, durationMsMax: 90 },
    {
      ...sum,
      day: '2026-11-01',
      operation: 'getPayout',
      count: 3,
      errors5xx: 2,
      durationMsMean: 30,
      durationMsMax: 40,
    },
  ]
  assert.deepEqual(
    sumBy(sums, ({ operation }) => operation),
    [
      ['getPayout', { count: 4, errors4xx: 2, errors5xx: 2, durationMsMean: 25, durationMsMax: 40 }],
      ['listWallets', { count: 2, errors4xx: 1, errors5xx: 0, durationMsMean: 10, durationMsMax: 90 }],
    ],
  )
  assert.deepEqual(
    sumBy([], ({ day }) => day),
    [],
  )
})
