/** Runs the code of the guide to reports unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/reports.md', import.meta.url)

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the code of the guide reads a statement whose hash agrees, and creates a schedule', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 4)
  const lines = await runTypeScript(service, text)
  assertLine(lines, /^\d+ rows, \d+ bytes$/)
  assertLine(lines, /^the hash agrees$/)
  assertLine(lines, /^record,currency,time,id,text,reference,customerId,amount,balance$/)
  assertLine(lines, /^pdf: \d{5,} bytes$/)
  assertLine(lines, /^camt\.053: \d+ bytes$/)
  assertLine(lines, /^next at \d{4}-\d\d-01T|^next at \d{4}-\d\d-\d\dT2[23]:00/)
})
