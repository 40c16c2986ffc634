/** Runs the program of a guide in the repository twice, against the same test service: a reader may try it again. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { inheritedEnvironment, shellPath } from '../support/program.ts'
import type { SharedService } from '../support/service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runMsMax = 300_000

const missing = ['bash', 'curl', 'openssl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
export const skipBash = missing.length > 0 ? `not installed: ${missing.join(', ')}` : false

/** The output lines of each run. */
type Runs = readonly (readonly string[])[]

/** Runs the program from standard input and returns its output lines. A failure shows the whole output. */
async function runOnce(
  service: SharedService,
  command: string,
  args: readonly string[],
  program: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const child = spawn(command, args, {
    cwd: root,
    timeout: runMsMax,
    env: {
      ...inheritedEnvironment,
      PATH: shellPath,
      PARTNER_PAYMENTS_CREDENTIALS: service.credentialsFile,
      ...environment,
    },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(program)
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 0, `${command} ended with ${code}:\n${out}\n${err}\n${service.output()}`)
  return out.trimEnd().split('\n') as readonly string[]
}

async function runTwice(...program: Parameters<typeof runOnce>): Promise<Runs> {
  return [await runOnce(...program), await runOnce(...program)]
}

export const runTypeScript = (
  service: SharedService,
  program: string,
  environment: Readonly<Record<string, string>> = {},
) => runTwice(service, process.execPath, ['--input-type=module-typescript', '-'], program, environment)

export const runBash = (service: SharedService, program: string) => runTwice(service, 'bash', ['-s'], program)

/** Requires the line in each run. */
export function assertLine(runs: Runs, pattern: RegExp): void {
  for (const [index, lines] of runs.entries())
    assert.ok(
      lines.some((line) => pattern.test(line)),
      `no line like ${pattern} in run ${index + 1}:\n${lines.join('\n')}`,
    )
}
