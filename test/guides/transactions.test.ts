/** Runs the code of the guide on transactions unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/transactions.md', import.meta.url)

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the code of the guide runs, finds payouts, follows a return, explains it and streams changes', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 6)
  const lines = await runTypeScript(service, text)
  assert.deepEqual(
    lines.filter((line) => /^\d: /.test(line)),
    ['1: 5.00', '2: 15.00'],
  )
  assertLine(lines, /^by end-to-end id: true$/)
  assertLine(lines, /^400 validation_failed \/query\/currency$/)
  assertLine(lines, /^Return of 4001\.05$/)
  assertLine(lines, /^Original: true$/)
  assertLine(lines, /^1\. Created by Partner$/)
  assertLine(lines, /^6\. Returned by Bank AC04: The account of the recipient is closed\.$/)
  assertLine(lines, /^only what changed: true$/)
})
