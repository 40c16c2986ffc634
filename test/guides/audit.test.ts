/** Runs the code of the guide on the audit log unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/audit.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide reads the log, verifies the proof of a payout offline and detects a changed proof', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 5))
  assertLine(runs, /^partner createBeneficiary$/)
  assertLine(runs, /^partner transaction\.steps$/)
  assertLine(runs, /^createBeneficiary true$/)
  assertLine(runs, /^every step is proved$/)
  assertLine(runs, /^version partnerId from to firstSequence lastSequence root chain previous$/)
  assertLine(runs, /: [3-9] records are under signed heads, 0 are pending$/)
  assertLine(runs, /^1 Record \d+ is not under its head\.$/)
})
