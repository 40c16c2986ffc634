/** Runs the code of the guide on many payouts unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/bulk-payouts.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs: each payout alone, all or nothing, a file', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 7))
  assertLine(runs, /^3 payouts$/)
  assertLine(runs, /^Completed: 2 accepted, 1 refused$/)
  assertLine(runs, /^ {2}0: Accepted 25\.00 \S+$/)
  assertLine(runs, /^ {2}1: Refused 30\.00 not_found$/)
  assertLine(runs, /^ {2}2: Accepted 35\.00 \S+$/)
  assertLine(runs, /^the same bulk: true$/)
  assertLine(runs, /^Refused: 0 accepted$/)
  assertLine(runs, /^ {2}0: NotMade$/)
  assertLine(runs, /^ {2}1: Refused insufficient_funds$/)
  assertLine(runs, /^file Completed: 2 accepted$/)
  assertLine(runs, /^ {2}A-1, Invoice A-1: 12\.50$/)
  assertLine(runs, /^ {2}A-2, Invoice A-2: 7\.50$/)
  assertLine(runs, /^400 validation_failed: payment 2 \(A-2\): no beneficiary has this account$/)
})
