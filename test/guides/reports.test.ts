/** Runs the code of the guide to reports unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/reports.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide reads a statement whose hash agrees, and creates a schedule', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 4))
  assertLine(runs, /^\d+ rows, \d+ bytes$/)
  assertLine(runs, /^the hash agrees$/)
  assertLine(
    runs,
    /^record,currency,time,id,text,reference,customerId,amount,balance,endToEndId,userReference,counterpartyName,counterpartyAccount$/,
  )
  assertLine(runs, /^pdf: \d{5,} bytes$/)
  assertLine(runs, /^camt\.053: \d+ bytes$/)
  assertLine(runs, /^next at \d{4}-\d\d-01T|^next at \d{4}-\d\d-\d\dT2[23]:00/)
})
