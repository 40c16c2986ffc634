/** Runs the code of the checkout guide unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/checkout.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the TypeScript of the guide runs, and each session ends as the guide says', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 6))
  assertLine(runs, /^session Open, 49\.90 EUR$/)
  assertLine(runs, /^pay to DE\d{20} with RF\d{2}[0-9A-Z]{16}$/)
  assertLine(runs, /^page http:\/\/127\.0\.0\.1:\d+\/checkout\/[\w-]{64}$/)
  assertLine(runs, /^paid by a transfer: Completed$/)
  assertLine(runs, /^transaction CustomerDeposit Completed from Grace Hopper$/)
  assertLine(runs, /^a part of 20(?:\.00)? has arrived, 29\.90? is due: Open$/)
  assertLine(runs, /^paid in parts: Completed$/)
  assertLine(runs, /^refund Pending of 9\.90? EUR$/)
  assertLine(runs, /^refund Completed, refunded 9\.90?$/)
  assertLine(runs, /^rejected at the bank: Failed$/)
  assertLine(runs, /^one cent short: Failed$/)
  assertLine(runs, /^ended by the shop: Expired$/)
  assertLine(runs, /^late money: AfterEnd Waiting$/)
  assertLine(runs, /^Accepted: transaction made$/)
  assertLine(runs, /^after late money: Expired$/)
  assertLine(runs, /^link active, 0 of 100 paid$/)
  assertLine(runs, /^off: false$/)
})
