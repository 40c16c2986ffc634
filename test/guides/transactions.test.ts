/** Runs the code of the guide on transactions unchanged. */
import assert from 'node:assert/strict'
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/transactions.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs, finds payouts, follows a return, explains it and its holds, and streams changes', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 8))
  for (const lines of runs)
    assert.deepEqual(
      lines.filter((line) => /^\d: /.test(line)),
      ['1: 5.00', '2: 15.00'],
    )
  assertLine(runs, /^exact: 1, capped: false$/)
  assertLine(runs, /^by end-to-end id: true$/)
  assertLine(runs, /^400 validation_failed \/query\/currency$/)
  assertLine(runs, /^Return of 4001\.05$/)
  assertLine(runs, /^Original: true$/)
  assertLine(runs, /^1\. Created by Partner$/)
  assertLine(runs, /^6\. Returned by Bank AC04: The account of the recipient is closed\.$/)
  assertLine(runs, /^Bank: The bank has the payment and executes it\.$/)
  assertLine(runs, /^only what changed: true$/)
})
