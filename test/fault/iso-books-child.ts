/**
 * The workers of a service whose bank takes and gives files, until they are killed: `node iso-books-child.ts <database url>
 * <ISO20022_BANKS> <now>`. Prints a line when they run.
 */
import { createTestService } from '../support/composition.ts'
import { startSettlement } from '../support/jobs.ts'

const [, , url = '', setting = '', now = ''] = process.argv
const service = await createTestService({
  url,
  now: new Date(now),
  settings: { RAIL: 'iso20022', ISO20022_BANKS: setting },
})
let at = performance.now()
// The clock of the run goes as fast as the machine's.
setInterval(() => {
  const ms = performance.now() - at
  at += ms
  service.clock.advance(ms)
}, 20)
const { connectors, isoBanks } = service
await isoBanks.releaseLeases()
startSettlement(service, { connectors, jobs: isoBanks.jobs })
process.stdout.write('running\n')
