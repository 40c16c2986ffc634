/** Runs the code of the guide on recalls unchanged. */
import { programOf } from './extract.ts'
import { assertLine, guideTests, runTypeScript } from './run.ts'

const guide = new URL('../../docs/guides/recalls.md', import.meta.url)

const test = guideTests(import.meta.url)

test('the code of the guide runs: it requests recalls, gets money back, and is refused', async (service) => {
  const runs = await runTypeScript(service, programOf(guide, 'ts', 5))
  assertLine(runs, /^Requested for DUPL, of 12\.50 EUR$/)
  assertLine(runs, /^Accepted: 12\.50 came back, 0\.00 was kept$/)
  assertLine(runs, /^Return by the recall: true$/)
  assertLine(runs, /^Refused: NOAS$/)
  assertLine(runs, /^409 recall_exists$/)
  assertLine(runs, /^2 recalls, the newest for FRAD$/)
})
