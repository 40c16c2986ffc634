/** Runs the code of the guide to wallets unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/wallets.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the TypeScript of the guide runs: tokens are received, paid and reversed', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 9))
  assertLine(runs, /^wallet on simulated, one address$/)
  assertLine(runs, /^received 250\.000000 USDC as TokenTransferIn$/)
  assertLine(runs, /^refused: validation_failed$/)
  assertLine(runs, /^paid 12\.345678 USDC: Completed, 66 characters of hash$/)
  assertLine(runs, /^Requested: I control the wallet 0x8617E340B3D01FA5F11F306F4090FD50E238070D\.$/)
  assertLine(runs, /^Declared: kept by Example Custody Ltd$/)
  assertLine(runs, /^1 deposit vanished: 40\.000000 USDC taken back$/)
})
