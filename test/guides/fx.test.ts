/** Runs the code of the guide on exchange unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/fx.md', import.meta.url)

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the code of the guide runs, converts, pays in another currency and meets a source that fails', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 8)
  const lines = await runTypeScript(service, text)
  assertLine(lines, /^EUR\/USD \d\.\d+ \d\.\d+ by sandbox$/)
  assertLine(lines, /^EUR\/USDC \d\.\d+ \d\.\d+ by sandbox$/)
  assertLine(lines, /^100\.00 EUR buy \d+\.\d\d USD at \d\.\d+$/)
  assertLine(lines, /^margin 0\.\d\d USD, fee 0\.00 EUR$/)
  assertLine(lines, /^Open until /)
  assertLine(lines, /^sent again: the same conversion$/)
  assertLine(lines, /^Conversion Completed: 100\.00 EUR for$/)
  assertLine(lines, /^ {2}\d+\.\d\d USD, quote until /)
  assertLine(lines, /^fx_quote_accepted: true$/)
  assertLine(lines, /^pays 250\.00 USD from \d+\.\d\d EUR: true$/)
  assertLine(lines, /^quote Accepted$/)
  assertLine(lines, /^mid rate 0\.8$/)
  assertLine(lines, /^503 fx_rates_unavailable$/)
})
