/**
 * Preloaded into a program. On SIGUSR2 it writes to the file COVERED_TO which functions of which files ran since the signal before, and
 * counts from zero again.
 */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
process.on('SIGUSR2', () => {
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error
    const ran = taken.result
      .filter(({ url }) => url.startsWith('file:'))
      .map(({ url, functions }) => ({
        url,
        // The function without a name at 0 is the file itself, which runs when it is loaded.
        functions: functions.filter(({ functionName, ranges }) =>
          ranges.some(({ count, startOffset }) => count > 0 && (functionName !== '' || startOffset > 0)),
        ).length,
      }))
      .filter(({ functions }) => functions > 0)
    writeFileSync(process.env.COVERED_TO, JSON.stringify(ran))
  })
})
