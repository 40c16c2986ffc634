/** `npm run demo` as a user runs it: every check of the reconciliation agrees. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../examples/demo/main.ts', import.meta.url))
const runMsMax = 120_000
const checks = ['balances', 'transactions', 'events', 'deliveries', 'double entry', 'ledger', 'bank']

async function runDemo(...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: runMsMax })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const [code] = (await once(child, 'close')) as [number | null]
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

test('npm run demo: all checks agree', async () => {
  const out = await runDemo()
  assertReconciled(out)
  const rows = out.match(/^\S+ +Partner\w+ +[\d,.]+ {2}[A-Z]{3} {2}\w+ +[a-z ]+$/gm) ?? []
  assert.equal(rows.length, 15)
  assert.match(out, /^RENT-2026-11 .* Completed +requested accepted sent changed$/m)
  assert.match(out, /422 insufficient_funds/)
})

test('npm run demo -- --full: every value of the enums of the interface document occurs, and all checks agree', async () => {
  const out = await runDemo('--full')
  const verdicts = [...out.matchAll(/^(agrees|DIFFERS) {2,}(\S.*?) {2}/gm)]
  assert.deepEqual(
    verdicts.filter(([, verdict]) => verdict !== 'agrees').map(([line]) => line),
    [],
  )
  const titles = new Set(verdicts.map(([, , title]) => title))
  for (const part of [...checks, 'checkout', 'an exchange is accepted once', 'values'])
    assert.ok(titles.has(part), part)
  assert.match(out, /^agrees +values +37 values of 8 enums/m)
  assert.match(out, /\n\nAll checks agree\.\n$/)
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
