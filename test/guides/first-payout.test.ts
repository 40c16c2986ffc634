/** Runs the code of the first-payout guide unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runBash, runTypeScript, skipBash } from './run.ts'

const guide = new URL('../../docs/guides/first-payout.md', import.meta.url)

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the TypeScript of the guide runs and its payout completes', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 7)
  const lines = await runTypeScript(service, text)
  assertLine(lines, /^customer cus_/)
  assertLine(lines, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
  assertLine(lines, /^deposit 100\.00 EUR Completed$/)
  assertLine(lines, /^payout 12\.50 EUR to NL91ABNA0417164300$/)
  assertLine(lines, /^sent again: the same payout$/)
  assertLine(lines, /^transaction Completed by Sepa$/)
  assertLine(lines, /^ {2}Settled /)
  assertLine(lines, /^event partner\.customer\.withdrawal\.sent 12\.50 EUR$/)
  assertLine(lines, /^event transaction\.status\.changed 12\.50 EUR$/)
})

test('the curl and openssl commands of the guide run and their payout completes', { skip: skipBash }, async () => {
  const { text, blocks } = programOf(guide, 'bash')
  assert.equal(blocks, 6)
  const lines = await runBash(service, text)
  assertLine(lines, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
  assertLine(lines, /^deposit Completed$/)
  assertLine(lines, /^sent again: the same payout$/)
  assertLine(lines, /^payout Completed$/)
  assertLine(lines, /^ {2}Settled /)
  assertLine(lines, /^payouts of this key: 1$/)
  assertLine(lines, /^the delivery is genuine$/)
})
