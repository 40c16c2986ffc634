/** Runs `npm run demo` as a user does, and reads what it says of its checks. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../examples/demo/main.ts', import.meta.url))
/** Time limit on a machine that runs other tests: the chapters start some thirty operator commands, each a process of its own. */
const runMsMax = 600_000
export const checks = ['balances', 'transactions', 'events', 'deliveries', 'double entry', 'ledger', 'bank']

export const afterChapters = ['double entry after the chapters', 'ledger after the chapters']

export async function demo(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: runMsMax })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

export async function runDemo(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await demo(...args)
  assert.equal(code, 0, `${out}\n${err}`)
  assert.equal(err, '')
  return out
}

export function assertReconciled(out: string, expected: readonly string[] = checks): void {
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
export function agreed(out: string): ReadonlySet<string> {
  const verdicts = [...out.matchAll(/^(agrees|DIFFERS) {2,}(\S.*?) {2}/gm)]
  const wrong = verdicts.filter(([, verdict]) => verdict !== 'agrees').map(([line]) => line)
  assert.deepEqual(wrong, [])
  assert.match(out, /\n\nAll checks agree\.\n$/)
  return new Set(verdicts.map(([, , title = '']) => title))
}
