/** The guide is run as it stands: what a newcomer would type is what is tested. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestService } from '../support/service.ts'
import { programOf } from './extract.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const guide = new URL('../../docs/guides/first-payout.md', import.meta.url)
const runMsMax = 60_000

const missing = ['bash', 'curl', 'openssl'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const skipBash = missing.length > 0 ? `not on this machine: ${missing.join(', ')}` : false

let service: Awaited<ReturnType<typeof startTestService>>
before(async () => {
  service = await startTestService()
})
after(() => service?.dispose())

/** Runs a program given on standard input, in the repository, and answers its lines; a failure shows all it wrote. */
async function run(command: string, args: readonly string[], program: string): Promise<readonly string[]> {
  const child = spawn(command, args, {
    cwd: root,
    timeout: runMsMax,
    env: {
      // `node` is this very node, wherever the test was started from.
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
      PARTNER_PAYMENTS_URL: service.baseUrl,
      PARTNER_PAYMENTS_CREDENTIALS: service.credentialsFile,
    },
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(program)
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 0, `${command} ended with ${code}:\n${out}\n${err}\n${service.output()}`)
  return out.trimEnd().split('\n')
}

function assertLine(lines: readonly string[], pattern: RegExp): void {
  assert.ok(
    lines.some((line) => pattern.test(line)),
    `no line like ${pattern} in:\n${lines.join('\n')}`,
  )
}

test('the TypeScript of the guide runs, and money arrives', async () => {
  const { text, blocks } = programOf(guide, 'ts')
  assert.equal(blocks, 7)
  const lines = await run(process.execPath, ['--input-type=module-typescript', '-'], text)
  assertLine(lines, /^customer cus_/)
  assertLine(lines, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
  assertLine(lines, /^deposit 100\.00 EUR Completed$/)
  assertLine(lines, /^payout 12\.50 EUR to NL91ABNA0417164300$/)
  assertLine(lines, /^sent again: the same payout$/)
  assertLine(lines, /^transaction Completed by Sepa$/)
  assertLine(lines, /^ {2}Settled /)
  assertLine(lines, /^event partner\.customer\.withdrawal\.sent 12\.50 EUR$/)
  assertLine(lines, /^event transaction\.status\.changed 12\.50 EUR$/)
})

test('the curl and openssl of the guide run, and money arrives', { skip: skipBash }, async () => {
  const { text, blocks } = programOf(guide, 'bash')
  assert.equal(blocks, 6)
  const lines = await run('bash', ['-s'], text)
  assertLine(lines, /^IBAN [A-Z]{2} [A-Z]{2}\d{2}[A-Z0-9]+$/)
  assertLine(lines, /^deposit Completed$/)
  assertLine(lines, /^sent again: the same payout$/)
  assertLine(lines, /^payout Completed$/)
  assertLine(lines, /^ {2}Settled /)
  assertLine(lines, /^payouts of this key: 1$/)
  assertLine(lines, /^the delivery is genuine$/)
})
