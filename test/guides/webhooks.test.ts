/** Runs the code of the webhook guide, and compares its retries with the code. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { retryDelaysMsDefault } from '../../service/src/webhooks/index.ts'
import { programOf } from './extract.ts'
import { assertLine, guideTests, runBash, runTypeScript, skipBash } from './run.ts'

const guide = new URL('../../docs/guides/webhooks.md', import.meta.url)

const guideTest = guideTests(import.meta.url)

guideTest('the receiver of the guide verifies, processes events once and recovers missed ones', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 11))
  assertLine(runs, /^subscribed to partner\.customer\.deposit\.completed, signed by v1$/)
  assertLine(runs, /^test: delivered, status 204$/)
  assertLine(runs, /^standardwebhooks: genuine$/)
  assertLine(runs, /^event partner\.customer\.deposit\.completed 100\.00 EUR$/)
  assertLine(runs, /^attempt 1: status 204$/)
  assertLine(runs, /^delivered 2 times, processed once$/)
  assertLine(runs, /^the old secret verifies$/)
  assertLine(runs, /^the new secret verifies$/)
  assertLine(runs, /^recovered what was missed$/)
  assertLine(runs, /^the feed has the event$/)
  assertLine(runs, /^owed = delivered \+ pending \+ held: true$/)
})

guideTest(
  'the curl commands of the guide run',
  async (service) => {
    const runs = await runBash(service, programOf(guide, 'bash', 2))
    assertLine(runs, /^events \[ '\*' \]$/)
    assertLine(runs, /^test delivered: false$/)
    assertLine(runs, /^whpk_[A-Za-z0-9+/]{43}=$/)
    assertLine(runs, /^Running$/)
    assertLine(runs, /^Enabled$/)
    assertLine(runs, /^events in the feed: true$/)
  },
  { skip: skipBash },
)

test('the retries of the guide match the code', () => {
  const list = /^Retries follow after (?<list>[^.]+)\./m.exec(readFileSync(guide, 'utf8'))?.groups?.['list'] ?? ''
  const unitMs: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 }
  assert.deepEqual(
    list.split(', ').map((delay) => Number(delay.split(' ')[0]) * (unitMs[delay.split(' ')[1] ?? ''] ?? Number.NaN)),
    retryDelaysMsDefault,
  )
})
