/** Runs the code of the guide on standing orders unchanged. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { joinTestService } from '../support/service.ts'
import { programOf } from './extract.ts'
import { assertLine, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/standing-orders.md', import.meta.url)

let service: Awaited<ReturnType<typeof joinTestService>>
before(async () => {
  service = await joinTestService()
})
after(() => service?.dispose())

test('the code of the guide runs: a schedule, a payout, a pause and a cancellation', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 4)
  const runs = await runTypeScript(service, text)
  assertLine(runs, /^2028-01-31 is paid at 2028-01-31T06:00:00\.000Z$/)
  assertLine(runs, /^2028-04-30 is paid at 2028-04-28T06:00:00\.000Z$/)
  assertLine(runs, /^400 validation_failed \/schedule\/endsOn$/)
  assertLine(runs, /^Made: 12\.50 in a transaction that is under way$/)
  assertLine(runs, /^Ended, Completed, 1 payout$/)
  assertLine(runs, /^Paused, Active, next at 2028-01-31T06:00:00\.000Z$/)
  assertLine(runs, /^Ended: Cancelled$/)
  assertLine(runs, /^409 standing_order_ended$/)
})
