/** Runs the program of a guide in the repository, against a test service. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestService } from '../support/service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runMsMax = 60_000

const missing = ['bash', 'curl', 'openssl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
export const skipBash = missing.length > 0 ? `not installed: ${missing.join(', ')}` : false

/** Runs the program from standard input and returns its output lines. A failure shows the whole output. */
async function run(
  service: TestService,
  command: string,
  args: readonly string[],
  program: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const child = spawn(command, args, {
    cwd: root,
    timeout: runMsMax,
    env: {
      // Makes `node` the version that runs this test.
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      PARTNER_PAYMENTS_URL: service.baseUrl,
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

export const runTypeScript = (
  service: TestService,
  program: string,
  environment: Readonly<Record<string, string>> = {},
) => run(service, process.execPath, ['--input-type=module-typescript', '-'], program, environment)

export const runBash = (service: TestService, program: string) => run(service, 'bash', ['-s'], program)

export function assertLine(lines: readonly string[], pattern: RegExp): void {
  assert.ok(
    lines.some((line) => pattern.test(line)),
    `no line like ${pattern} in:\n${lines.join('\n')}`,
  )
}
