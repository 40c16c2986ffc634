/** Runs the code of the guide on customers unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/customers.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs, and finds, follows, verifies, corrects and explains a customer and its capabilities', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 13))
  assertLine(runs, /^muller ost: true$/)
  assertLine(runs, /^MASCHINEN: true$/)
  assertLine(runs, /^aschinen: false$/)
  assertLine(runs, /^Complete OpenAccount: yes$/)
  assertLine(runs, /^changed: true$/)
  assertLine(runs, /^Business Invalid$/)
  assertLine(runs, /^ {2}lei Invalid lei_check_digits$/)
  assertLine(runs, /^ {2}mobilePhone Invalid phone_not_international$/)
  assertLine(runs, /^ {2}uboLastName1 Missing owner_incomplete$/)
  assertLine(runs, /^ {2}taxId Missing field_required$/)
  assertLine(runs, /^now Complete$/)
  assertLine(runs, /^proved by RegisterExtract$/)
  assertLine(runs, /^ {2}legalName Matched$/)
  assertLine(runs, /^2 Updated by true: kyc\.lei 529900T8BM49AURSDO56 -> 529900T8BM49AURSDO55$/)
  assertLine(runs, /^1 Created by true: kyc\.lei - -> 529900T8BM49AURSDO56$/)
  assertLine(
    runs,
    /^exported export 1, customer 1, change 2, identityVerification 1, screening 1, auditRecord \d+, end 1$/,
  )
  assertLine(runs, /^409 customer_not_erasable$/)
  assertLine(runs, /^kept until \d{4}: addressLine1 city countryOfIncorporation .*legalName lei .*taxId/)
  assertLine(runs, /^erased: 404$/)
  assertLine(runs, /^400 validation_failed \/query\/namePrefix$/)
})
