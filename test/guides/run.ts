/**
 * Runs the program of a guide in the repository twice, against the same test service: a reader may try it again. The service is a sandbox
 * with its own defaults, or in turn with those of production: a partner who follows a guide meets no refusal in production.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inheritedEnvironment, shellPath } from '../support/program.ts'
import { joinTestService, type SharedService, startStrictService } from '../support/service.ts'
import { type Mode, modesOf } from '../support/share.ts'

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

type Run = (service: SharedService, mode: Mode) => Promise<void>

/** Declares tests of a guide that get the service of each mode which this run takes for the file (`import.meta.url`). */
export function guideTests(file: string) {
  const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.test.ts'))
  const modes = modesOf(basename(fileURLToPath(file)), files.toSorted())
  const services = new Map<Mode, SharedService>()
  before(async () => {
    for (const mode of modes)
      services.set(mode, await (mode === 'production' ? startStrictService() : joinTestService()))
  })
  after(async () => {
    for (const service of services.values()) await service.dispose()
  })
  return (title: string, run: Run, options: { readonly skip?: string | false } = {}): void => {
    for (const mode of modes)
      test(`${title}, with the defaults of ${mode}`, options, async () => {
        const service = services.get(mode)
        assert.ok(service)
        await run(service, mode)
      })
  }
}
