/** Runs the code of the guide to wallets unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/wallets.md', import.meta.url)

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

test('the TypeScript of the guide runs: tokens are received, paid and taken back', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 6)
  const lines = await runTypeScript(service, text)
  assertLine(lines, /^wallet on simulated, one address$/)
  assertLine(lines, /^received 250\.000000 USDC as TokenTransferIn$/)
  assertLine(lines, /^refused: validation_failed$/)
  assertLine(lines, /^paid 12\.345678 USDC: Completed, 66 characters of hash$/)
  assertLine(lines, /^1 deposit vanished: 40\.000000 USDC taken back$/)
})
