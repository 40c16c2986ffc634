/** `npm run check:connector`: runs the conformance kit against the example connector and prints a table of the results. */
import { runChecks } from '../../service/src/banks/conformance/index.ts'
import { renderTable } from '../demo/table.ts'
import { startHarness } from './harness.ts'

const harness = await startHarness()
const results = await runChecks(harness)
await harness.close()

const rows = results.map(({ title, result, details, durationMs }) => [
  result,
  durationMs.toFixed(0),
  title,
  details.split('\n')[0] ?? '',
])
console.log(
  renderTable([{ title: 'result' }, { title: 'ms', align: 'right' }, { title: 'check' }, { title: '' }], rows),
)
const count = (result: string) => results.filter((each) => each.result === result).length
console.log(`\n${count('passed')} passed, ${count('failed')} failed, ${count('not checked')} not checked`)
process.exitCode = count('failed') === 0 ? 0 : 1
