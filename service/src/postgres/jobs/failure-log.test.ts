/** A failure that repeats is counted for the alert, and logged at intervals that double. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Log } from '../../kernel/index.ts'
import { createFailureLog } from './job.ts'

function recorded() {
  const lines: string[] = []
  const counts: number[] = []
  const write = (fields: object, text: string) =>
    void lines.push(`${text} ${'failures' in fields ? String(fields.failures) : ''}`)
  const log = { error: write, info: write } as unknown as Log
  return { lines, counts, failures: createFailureLog('some.job', log, (inARow) => counts.push(inARow)) }
}

test('each repetition of a failure is counted, and one is logged after a minute, two, four ...', (context) => {
  let nowMs = 0
  context.mock.method(performance, 'now', () => nowMs)
  const { lines, counts, failures } = recorded()
  for (let second = 0; second < 600; second += 1) {
    nowMs = second * 1000
    failures.failed(new Error('refused'))
  }
  assert.deepEqual(lines, ['job failed 1', 'job failed 61', 'job failed 181', 'job failed 421'])
  assert.deepEqual([counts.length, counts[99], counts.at(-1)], [600, 100, 600])
  failures.succeeded()
  failures.succeeded()
  assert.deepEqual([lines.at(-1), counts.at(-1), counts.length], ['job recovered 600', 0, 601])
})

test('another failure is logged at once and counted from one', () => {
  const { lines, counts, failures } = recorded()
  for (const text of ['refused', 'refused', 'late', 'refused']) failures.failed(new Error(text))
  assert.deepEqual(counts, [1, 2, 1, 1])
  assert.equal(lines.length, 3)
})
