/** Runs the code of the guide on standing orders unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/standing-orders.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs: a schedule, a payout, a pause and a cancellation', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 4))
  assertLine(runs, /^2028-01-31 is paid at 2028-01-31T06:00:00\.000Z$/)
  assertLine(runs, /^2028-04-30 is paid at 2028-04-28T06:00:00\.000Z$/)
  assertLine(runs, /^400 validation_failed \/schedule\/endsOn$/)
  assertLine(runs, /^Made: 12\.50 in a transaction that is under way$/)
  assertLine(runs, /^Ended, Completed, 1 payout$/)
  assertLine(runs, /^Paused, Active, next at 2028-01-31T06:00:00\.000Z$/)
  assertLine(runs, /^Ended: Cancelled$/)
  assertLine(runs, /^409 standing_order_ended$/)
})
