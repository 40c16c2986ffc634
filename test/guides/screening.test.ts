/** The commands of the guide to screening run as they are printed. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { atEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { freePortSettings, inheritedEnvironment, shellPath, start, stop } from '../support/program.ts'
import { programOf } from './extract.ts'
import { skipBash } from './run.ts'

const guide = new URL('../../docs/guides/screening.md', import.meta.url)
const folder = await useFolder()
const database = await useDatabase()
const env = { DATA_DIR: folder, DATABASE_URL: database.url, ...(await freePortSettings()) }
const service = await start(['serve'], env)
atEnd(() => stop(service))
const credentialsFile = join(folder, 'sandbox-credentials.json')
const credentials = JSON.parse(readFileSync(credentialsFile, 'utf8')) as Record<string, string>

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
  const text = programOf(guide, 'sh', 11)
  for (const out of [await runCommands(text), await runCommands(text)]) {
    assert.match(out, /"source": ?"ofac"/)
    assert.match(out, /"due": ?0\b/)
    assert.match(out, /^# Report of sanctions screening\n[^]*^\| CN \| 30 \|/m)
    assert.match(out, /"source": ?"pep:invented"/)
    assert.match(out, /"country": ?"MM",\s*"side": ?"payouts",\s*"action": ?"review"/)
    assert.match(out, /tremurof ~ tremurov: transliterated/)
    assert.match(
      out,
      /"status": ?"cleared"[^]*"decidedBy": ?"Sam Staff",\s*"approvedBy": ?"Ada Other",\s*"disposition": ?"birth_differs"/,
    )
  }
})

test('rules for countries are set and removed, and the status warns while there are no rules', async () => {
  const printed = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await runOperator(['screening', ...words], env)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return JSON.parse(stdout) as { readonly rules: readonly object[]; readonly warnings: readonly string[] }
  }
  const both = ['--countries', ' ir,KP', '--for', 'payouts,customers', '--staff', 'Sam Staff']
  await printed('country', 'remove', '--countries', 'IR,KP', '--for', 'payouts,deposits,customers', '--staff', 'Sam')
  assert.deepEqual((await printed('status')).warnings, [
    'No country is refused or reviewed: see screening country set.',
  ])
  const { rules } = await printed('country', 'set', ...both, '--action', 'refuse')
  assert.equal(rules.length, 4)
  assert.deepEqual((await printed('country', 'list')).rules[0], { country: 'IR', side: 'customers', action: 'refuse' })
  assert.deepEqual((await printed('status')).warnings, [])
  for (const [words, message] of [
    [['set', ...both], /^operator: --action is required\n$/],
    [['set', ...both, '--action', 'watch'], /^operator: --action must be refuse or review \(it is "watch"\)\n$/],
    [
      ['set', ...both.with(1, 'IR,ZZ'), '--action', 'refuse'],
      /^operator: There is no country ZZ: use codes of ISO 3166-1/,
    ],
    [['set', ...both.with(3, 'wallets'), '--action', 'refuse'], /^operator: --for must be a list of payouts,deposits/],
    [['remove', ...both.with(1, 'FR')], /^operator: No such rule: payouts of FR\.\n$/],
  ] as const) {
    const { code, stderr } = await runOperator(['screening', 'country', ...words], env)
    assert.equal(code, 1)
    assert.match(stderr, message)
  }
})

test('wrong input is refused in one line', async () => {
  const broken = join(folder, 'broken.xml')
  const peps = 'service/src/screening/samples/peps.csv'
  await writeFile(
    broken,
    readFileSync(new URL('../../service/src/screening/samples/eu.xml', import.meta.url)).subarray(0, -20),
  )
  const partner = credentials.partnerId ?? ''
  const decide = [
    ...['decide', '--partner', partner, '--id', partner, '--staff', 'Sam', '--note', 'x'],
    ...['--disposition', 'birth_differs', '--outcome'],
  ]
  for (const [words, message] of [
    [['load', '--staff', 'Sam'], /^operator: --from is required\n$/],
    [['load', '--from', join(folder, 'none.xml'), '--staff', 'Sam'], /none\.xml: ENOENT/],
    [
      ['load', '--from', peps, '--staff', 'Sam'],
      /^operator: --name is required for a list of politically exposed persons/,
    ],
    [
      ['load', '--from', peps, '--staff', 'Sam', '--name', 'A b'],
      /^operator: --name must have 1 to 40 lower-case letters/,
    ],
    [
      ['load', '--from', broken, '--staff', 'Sam', '--name', 'x'],
      /broken\.xml, line \d+: .*has no column.* \(not_in_schema\)\n$/,
    ],
    [['load', '--from', broken, '--staff', 'Sam'], /broken\.xml, line \d+: .* \(not_whole\)\n$/],
    [['show', '--partner', partner, '--id', partner], /^operator: No such hit\.\n$/],
    [[...decide, 'keep'], /^operator: --outcome must be clear or confirm \(it is "keep"\)\n$/],
    [[...decide, 'clear'], /^operator: No such hit\.\n$/],
  ] as const) {
    const { code, stderr } = await runOperator(['screening', ...words], env)
    assert.equal(code, 1)
    assert.match(stderr, message)
    assert.equal(stderr.trim().split('\n').length, 1)
  }
})
