/** Runs the code of the guide on balances and verification of payees unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/accounts.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs, verifies a payee, pays it and reads the entries', async (service, mode) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 11))
  assertLine(runs, /^CloseMatch: the account is of Grace Hopper$/)
  assertLine(runs, /^Grace Hopper: Match by sandbox$/)
  assertLine(runs, /^evidence: true$/)
  assertLine(runs, /^address\.city from 2026-11-14$/)
  assertLine(runs, /^missing: address$/)
  assertLine(runs, /^missing now: nothing$/)
  assertLine(runs, /^incomplete: false$/)
  assertLine(runs, /^Outward 12\.50 leads to \d+\.\d\d: true$/)
  assertLine(runs, /^before the payout: true$/)
  assertLine(runs, /^Armed at \d+\.\d\d, by event: true$/)
  assertLine(runs, /^Triggered at 10 more, by a Deposit$/)
  assertLine(runs, /^customer: 17\.50 EUR$/)
  assertLine(runs, /^ {2}Inward 10\.00, in sum 17\.50$/)
  assertLine(runs, mode === 'production' ? /^payouts use: OwnPart$/ : /^payouts use: WholeBalance$/)
  assertLine(runs, /^Deposit, Completed: the customer has 20\.00$/)
  assertLine(runs, /^EUR: Active$/)
  assertLine(runs, /^ {2}Outward 12\.50, in sum 7\.50$/)
})
