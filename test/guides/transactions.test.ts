/** Runs the code of the guide on transactions unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { joinTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/transactions.md', import.meta.url)

let service: Awaited<ReturnType<typeof joinTestService>>
before(async () => {
  service = await joinTestService()
})
after(() => service?.dispose())

test('the code of the guide runs, finds payouts, follows a return, explains it and streams changes', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 6)
  const runs = await runTypeScript(service, text)
  for (const lines of runs)
    assert.deepEqual(
      lines.filter((line) => /^\d: /.test(line)),
      ['1: 5.00', '2: 15.00'],
    )
  assertLine(runs, /^by end-to-end id: true$/)
  assertLine(runs, /^400 validation_failed \/query\/currency$/)
  assertLine(runs, /^Return of 4001\.05$/)
  assertLine(runs, /^Original: true$/)
  assertLine(runs, /^1\. Created by Partner$/)
  assertLine(runs, /^6\. Returned by Bank AC04: The account of the recipient is closed\.$/)
  assertLine(runs, /^only what changed: true$/)
})
