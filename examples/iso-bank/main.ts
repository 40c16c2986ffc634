/**
 * `npm run bank -- --folder DIR [--port P] [--sftp P] [--poll MS] [--settings JSON] [--ahead MS]`: runs the test bank
 * until SIGTERM, `--ahead` of the time of the machine. It prints its addresses as one line of JSON. docs/guides/test-bank.md shows what can be ordered.
 */
import { parseArgs } from 'node:util'
import { after, type Clock, systemClock } from '../../service/src/kernel/index.ts'
import { startIsoBank } from './bank.ts'
import { startControl } from './control.ts'
import { fromJson } from './json.ts'
import type { Settings } from './model.ts'
import { startSftp } from './sftp.ts'

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    port: { type: 'string', default: '0' },
    sftp: { type: 'string' },
    poll: { type: 'string', default: '100' },
    settings: { type: 'string' },
    ahead: { type: 'string', default: '0' },
  },
})
if (values.folder === undefined) {
  process.stderr.write('npm run bank -- --folder DIR [--port P] [--sftp P] [--poll MS] [--settings JSON]\n')
  process.exit(2)
}
const { folder } = values
function numberOf(name: 'port' | 'sftp' | 'poll' | 'ahead', text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value)) return value
  process.stderr.write(`--${name} must be a whole number (it is "${text}")\n`)
  return process.exit(2)
}
const aheadMs = numberOf('ahead', values.ahead)
const clock: Clock = { now: () => after(systemClock.now(), aheadMs) }
const bank = startIsoBank({ folder, clock, pollMs: numberOf('poll', values.poll) })
if (values.settings !== undefined)
  bank.order({ order: 'settings', settings: fromJson(values.settings) as Partial<Settings> })
const control = await startControl(bank, numberOf('port', values.port))
const sftp = values.sftp === undefined ? undefined : await startSftp(folder, numberOf('sftp', values.sftp))
const { toBank, fromBank } = bank
const addresses = {
  control: control.url,
  toBank,
  fromBank,
  ...(sftp === undefined
    ? {}
    : {
        sftp: {
          host: sftp.host,
          port: sftp.port,
          username: sftp.username,
          privateKeyFile: sftp.privateKeyFile,
          hostKey: sftp.hostKey,
        },
      }),
}
process.stdout.write(`${JSON.stringify(addresses)}\n`)
process.once('SIGTERM', () => {
  void Promise.all([control.close(), sftp?.close()]).then(() => bank.close())
})
