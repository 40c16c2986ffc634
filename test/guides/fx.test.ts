/** Runs the code of the guide on exchange unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/fx.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs, converts, pays in another currency and handles a source that fails', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 8))
  assertLine(runs, /^EUR\/USD \d\.\d+ \d\.\d+ by sandbox$/)
  assertLine(runs, /^EUR\/USDC \d\.\d+ \d\.\d+ by sandbox$/)
  assertLine(runs, /^100\.00 EUR buy \d+\.\d\d USD at \d\.\d+$/)
  assertLine(runs, /^margin 0\.\d\d USD, fee 0\.00 EUR$/)
  assertLine(runs, /^Open until /)
  assertLine(runs, /^sent again: the same conversion$/)
  assertLine(runs, /^Conversion Completed: 100\.00 EUR for$/)
  assertLine(runs, /^ {2}\d+\.\d\d USD, quote until /)
  assertLine(runs, /^fx_quote_accepted: true$/)
  assertLine(runs, /^pays 250\.00 USD from \d+\.\d\d EUR: true$/)
  assertLine(runs, /^quote Accepted$/)
  assertLine(runs, /^mid rate 0\.8$/)
  assertLine(runs, /^503 fx_rates_unavailable$/)
})
