/** Runs a child process again and again, and kills it at a different crash point each time. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { print, scaled } from './faults.ts'

const runMsMax = 30_000

type Result = { readonly killed: boolean; readonly output: string }

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** Without compiled code, loading modules takes most of a short run. A file that runs alone has none from scripts/test.ts. */
const compileCache = (): string => {
  const given = process.env['NODE_COMPILE_CACHE']
  if (given !== undefined) return given
  const own = mkdtempSync(join(tmpdir(), 'partner-payments-fault-'))
  process.once('exit', () => rmSync(own, { recursive: true, force: true }))
  return own
}

async function run(file: string, args: readonly string[], cache: string): Promise<Result> {
  const path = fileURLToPath(new URL(`../fault/${file}`, import.meta.url))
  const env = { ...process.env, NODE_COMPILE_CACHE: cache }
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const timer = setTimeout(() => child.kill('SIGTERM'), runMsMax)
  const { code, signal } = await new Promise<Exit>((resolve) => {
    child.once('close', (exitCode, exitSignal) => resolve({ code: exitCode, signal: exitSignal }))
  })
  clearTimeout(timer)
  if (signal !== 'SIGKILL')
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `${file} ${args.join(' ')} failed:\n${errors}`)
  return { killed: signal === 'SIGKILL', output }
}

/**
 * Runs `file` twice to the end to count its crash points, then once for every third point with a random start (a commit has a point
 * before and one after it, so that three covers both kinds), and kills it there. Few points are taken more often, so that at least two
 * are. The long form kills it at every point. `scenario` sets up, calls `runChild`, which returns the child's
 * output, and verifies the result.
 */
export async function killAtCrashPoints(
  t: TestContext,
  file: string,
  scenario: (runChild: (...args: readonly string[]) => Promise<string>) => Promise<void>,
  /** Which point of how many the short form takes, for a child with many of them. */
  strideShort?: number,
): Promise<number> {
  const cache = compileCache()
  let points = Infinity
  let runs = 0
  let kills = 0
  const runUntil = (crashAt: number) =>
    scenario(async (...args) => {
      const { killed, output } = await run(file, [String(crashAt), ...args], cache)
      if (crashAt === 0) points = Math.min(points, Number(output.split('\n').at(-1)))
      else runs += 1
      if (killed) kills += 1
      return output
    })
  // Twice: the first run may still compile, and a slow one shares fewer commits, so that it passes more points.
  for (let counting = 0; counting < 2; counting += 1) await runUntil(0)
  // A child with one commit passes two points: a longer stride than them could begin behind the last one and kill nothing.
  const stride = Math.max(1, Math.min(scaled(strideShort ?? 3, 1), Math.floor(points / 2)))
  for (let crashAt = randomInt(1, stride + 1); crashAt <= points; crashAt += stride) await runUntil(crashAt)
  print(t, { points, runs, kills })
  // Loops run concurrently, so that a run may pass fewer points than the counted ones, and then ends by itself.
  assert.ok(kills > 0 && kills >= runs / 3, `only ${kills} kills in ${runs} runs`)
  return points
}
