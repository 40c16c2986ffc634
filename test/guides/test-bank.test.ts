/** The commands of the guide to the test bank run as they are printed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { present } from '../../service/src/kernel/index.ts'
import { freePorts } from '../../scripts/ports.ts'
import { inheritedEnvironment, shellPath } from '../support/program.ts'
import { programOf } from './extract.ts'
import { skipBash } from './run.ts'

const guide = new URL('../../docs/guides/test-bank.md', import.meta.url)

/** Ends commands that hang. */
const commandsMsMax = 300_000

/** The output of the commands, with a test bank on a port of its own. */
async function runCommands(commands: string): Promise<string> {
  const [port] = await freePorts(1)
  const child = spawn('bash', ['-s'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...inheritedEnvironment, PATH: shellPath, HOME: process.env.HOME ?? '' },
    // A group of its own: the bank of the guide outlives bash, and would keep the output open.
    detached: true,
  })
  const kill = () => process.kill(-present(child.pid, 'bash has started'), 'SIGKILL')
  const limit = setTimeout(kill, commandsMsMax)
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (out += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => (out += part))
  child.stdin.end(`set -e\n${commands.replaceAll('7070', String(port))}wait\nrm -r "$folder"\n`)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(limit)
  assert.equal(code, 0, out)
  return out
}

test('the commands of the guide run, and run again', { skip: skipBash }, async () => {
  const commands = programOf(guide, 'sh', 4)
  for (const out of [await runCommands(commands), await runCommands(commands)]) {
    assert.match(out, /"control":"http:\/\/127\.0\.0\.1:\d+"/)
    assert.match(out, /camt\.053-\w+-2\.xml/)
    assert.match(out, /"endToEndId":"RENT-2026-11".*"timesExecuted":1/)
  }
})
