/** Runs the code of the first-payout guide unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runBash, runTypeScript, skipBash } from './run.ts'

const guide = new URL('../../docs/guides/first-payout.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the TypeScript of the guide runs and its payout completes', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 8))
  assertLine(runs, /^customer cus_/)
  assertLine(runs, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
  assertLine(runs, /^deposit 100\.00 EUR Completed$/)
  assertLine(runs, /^payout 12\.50 EUR to NL91ABNA0417164300$/)
  assertLine(runs, /^sent again: the same payout$/)
  assertLine(runs, /^second payout: (Cancelled|payout_not_cancellable)$/)
  assertLine(runs, /^transaction Completed by Sepa$/)
  assertLine(runs, /^ {2}Settled /)
  assertLine(runs, /^event partner\.customer\.withdrawal\.sent 12\.50 EUR$/)
  assertLine(runs, /^event transaction\.status\.changed 12\.50 EUR$/)
})

test(
  'the curl and openssl commands of the guide run and their payout completes',
  async (service) => {
    const runs = await runBash(service, programOf(guide, 'bash', 6))
    assertLine(runs, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
    assertLine(runs, /^deposit Completed$/)
    assertLine(runs, /^sent again: the same payout$/)
    assertLine(runs, /^payout Completed$/)
    assertLine(runs, /^ {2}Settled /)
    assertLine(runs, /^payouts of this key: 1$/)
    assertLine(runs, /^the delivery is genuine$/)
  },
  { skip: skipBash },
)
