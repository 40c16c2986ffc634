/** The commands of the guide to screening run as they are printed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from '../support/postgres.ts'
import { runOperator } from '../support/operator.ts'
import { freePorts, inheritedEnvironment, shellPath, start, stop } from '../support/program.ts'
import { programOf } from './extract.ts'
import { skipBash } from './run.ts'

const guide = new URL('../../docs/guides/screening.md', import.meta.url)
const folder = await mkdtemp(join(tmpdir(), 'partner-payments-screening-'))
const database = await createTestDatabase()
const [PORT, OPS_PORT] = (await freePorts(2)) as [string, string]
const env = { DATA_DIR: folder, DATABASE_URL: database.url, PORT, OPS_PORT }
const service = await start(['serve'], env)
const credentialsFile = join(folder, 'sandbox-credentials.json')
const credentials = JSON.parse(readFileSync(credentialsFile, 'utf8')) as Record<string, string>
after(async () => {
  await stop(service)
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Twelve commands, each a process of its own, on a machine that may run other tests at the same time. */
const commandsMsMax = 600_000

/** The output of the commands. */
async function runCommands(text: string): Promise<string> {
  const child = spawn('bash', ['-s'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: {
      ...inheritedEnvironment,
      ...env,
      PARTNER_PAYMENTS_CREDENTIALS: credentialsFile,
      PATH: shellPath,
      HOME: process.env.HOME ?? '',
    },
    timeout: commandsMsMax,
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (out += part))
  child.stderr.setEncoding('utf8').on('data', (part: string) => (out += part))
  child.stdin.end(`set -e\n${text}`)
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 0, out)
  return out
}

const title = 'the commands run, and run again: lists are loaded, a hit is found, and two persons clear it'
test(title, { skip: skipBash }, async () => {
  const { text, blocks } = programOf(guide, 'sh')
  assert.equal(blocks, 6)
  for (const out of [await runCommands(text), await runCommands(text)]) {
    assert.match(out, /"source": ?"ofac"/)
    assert.match(out, /"due": ?0\b/)
    assert.match(out, /tremurof ~ tremurov: transliterated/)
    assert.match(out, /"status": ?"cleared"[^]*"decidedBy": ?"Sam Staff, approved by Ada Other"/)
  }
})

test('what is wrong is said in one line', async () => {
  const broken = join(folder, 'broken.xml')
  await writeFile(
    broken,
    readFileSync(new URL('../../service/src/screening/samples/eu.xml', import.meta.url)).subarray(0, -20),
  )
  const partner = credentials.partnerId ?? ''
  const decide = ['decide', '--partner', partner, '--id', partner, '--staff', 'Sam', '--note', 'x', '--outcome']
  for (const [words, message] of [
    [['load', '--staff', 'Sam'], /^operator: --from is required\n$/],
    [['load', '--from', join(folder, 'none.xml'), '--staff', 'Sam'], /none\.xml: ENOENT/],
    [['load', '--from', broken, '--staff', 'Sam'], /broken\.xml, line \d+: .* \(not_whole\)\n$/],
    [['show', '--partner', partner, '--id', partner], /^operator: No such hit\.\n$/],
    [[...decide, 'keep'], /^operator: --outcome must be clear or confirm\n$/],
    [[...decide, 'clear'], /^operator: No such hit\.\n$/],
  ] as const) {
    const { code, stderr } = await runOperator(['screening', ...words], env)
    assert.equal(code, 1)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1)
  }
})
