/** `npm run demo` as a user runs it: every check of the reconciliation agrees. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chapters } from '../../examples/demo/chapters/index.ts'

const main = fileURLToPath(new URL('../../examples/demo/main.ts', import.meta.url))
/** On a machine that runs other tests: the chapters start some thirty operator commands, each a process of its own. */
const runMsMax = 600_000
const checks = ['balances', 'transactions', 'events', 'deliveries', 'double entry', 'ledger', 'bank']

const afterChapters = ['double entry after the chapters', 'ledger after the chapters']

async function demo(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: runMsMax })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

async function runDemo(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await demo(...args)
  assert.equal(code, 0, `${out}\n${err}`)
  assert.equal(err, '')
  return out
}

function assertReconciled(out: string, expected: readonly string[] = checks): void {
  const verdicts = [...out.matchAll(/^(agrees|DIFFERS) {2,}(\S+(?: \S+)*) {2}/gm)]
  assert.deepEqual(
    verdicts.map(([, verdict, check]) => `${verdict} ${check}`),
    expected.map((check) => `agrees ${check}`),
  )
  assert.match(out, /\n\nAll checks agree\.\n$/)
  const folder = /data in (\S+)/.exec(out)?.[1]
  assert.ok(folder !== undefined && !existsSync(folder), `${folder} is not removed`)
}

/** The titles of what agrees. Nothing differs. */
function agreed(out: string): ReadonlySet<string> {
  const verdicts = [...out.matchAll(/^(agrees|DIFFERS) {2,}(\S.*?) {2}/gm)]
  const wrong = verdicts.filter(([, verdict]) => verdict !== 'agrees').map(([line]) => line)
  assert.deepEqual(wrong, [])
  assert.match(out, /\n\nAll checks agree\.\n$/)
  return new Set(verdicts.map(([, , title = '']) => title))
}

test('npm run demo -- --full: the day, every value of the interface document and every chapter; all checks agree', async () => {
  const out = await runDemo('--full')
  const titles = agreed(out)
  const rows = out.match(/^\S+ +Partner\w+ +[\d,.]+ {2}[A-Z]{3} {2}\w+ +[a-z ]+$/gm) ?? []
  assert.equal(rows.length, 15)
  assert.match(out, /^RENT-2026-11 .* Completed +requested accepted sent changed$/m)
  assert.match(out, /422 insufficient_funds/)
  for (const part of [...checks, 'checkout', 'an exchange is accepted once', 'values', ...afterChapters])
    assert.ok(titles.has(part), part)
  assert.match(out, /^agrees +values +37 values of 8 enums/m)
  for (const { name } of chapters) {
    const shown = [...titles].filter((title) => title.startsWith(`${name}: `))
    assert.ok(shown.length >= 2, `${name} shows ${shown.length} facts`)
  }
  assert.match(out, /^agrees +screening: the payout is released +Completed$/m)
  assert.match(out, /^agrees +audit: npm run verify:proof +exit code 0$/m)
})

test('npm run demo -- --chapter payees: the chapter alone', async () => {
  const titles = agreed(await runDemo('--chapter', 'payees'))
  assert.deepEqual(
    [...titles],
    [
      'payees: a name with a slip',
      'payees: the corrected name',
      'payees: the evidence behind the payout',
      ...afterChapters,
    ],
  )
})

test('npm run demo -- --chapter: an unknown name is refused with the names of all', async () => {
  const { code, err } = await demo('--chapter', 'none')
  assert.equal(code, 1)
  assert.match(err, /--chapter is one of customers, payees, /)
})

test('npm run demo -- --kill: all checks agree after eight kills', async () => {
  const out = await runDemo('--kill')
  assertReconciled(out)
  assert.equal(out.match(/SIGKILL +number \d/g)?.length, 8)
  assert.match(out, /^agrees +bank +35 instructions, each received once$/m)
})

test('npm run demo -- --bank iso20022: the day runs over files, and the three books agree', async () => {
  const out = await runDemo('--bank', 'iso20022')
  const books = [...checks.slice(0, -1), 'bank', 'entries', 'statements', 'cases']
  assertReconciled(out, books)
  assert.match(out, /^agrees +bank +7 payments, each received once$/m)
  assert.match(out, /^agrees +entries +the 10 bookings of the bank, each read once$/m)
})
