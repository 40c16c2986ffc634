/** Runs a worker as a process of its own, over and over, to see it die at one point after another. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { print, scaled } from './faults.ts'

const lifeMsMax = 30_000

type Ending = { readonly killed: boolean; readonly output: string }

async function run(file: string, args: readonly string[], cache: string): Promise<Ending> {
  const path = fileURLToPath(new URL(`../fault/${file}`, import.meta.url))
  // Compiled code is kept from one process to the next: most of a short life was spent on reading its modules.
  const env = { ...process.env, NODE_COMPILE_CACHE: cache }
  const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const timer = setTimeout(() => child.kill('SIGTERM'), lifeMsMax)
  const [code, signal] = await new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('close', (exitCode, exitSignal) => resolve([exitCode, exitSignal]))
  })
  clearTimeout(timer)
  if (signal !== 'SIGKILL')
    assert.deepEqual([code, signal], [0, null], `${file} ${args.join(' ')} ended in an unforeseen way:\n${errors}`)
  return { killed: signal === 'SIGKILL', output }
}

/** Commits have a point before and one after them, so that a stride of three passes over both kinds. */
const stride = scaled(3, 1)

/**
 * Runs `file` once to its end, which tells how many points it passes, and then once for each third point, from the
 * first, second or third on by chance, to die there; the long form dies at every one. `live` sets the scene, calls
 * its argument to run the child with `args` behind the point, and judges what is left; it is told what the child wrote.
 */
export async function killEverywhere(
  t: TestContext,
  file: string,
  live: (runChild: (...args: readonly string[]) => Promise<string>) => Promise<void>,
): Promise<number> {
  const first = randomInt(1, stride + 1)
  const cache = await mkdtemp(join(tmpdir(), 'partner-payments-fault-'))
  let [points, lives, deaths] = [0, 0, 0]
  const liveUntil = (diesAt: number) =>
    live(async (...args) => {
      const { killed, output } = await run(file, [String(diesAt), ...args], cache)
      if (diesAt === 0) points = Number(output.split('\n').at(-1))
      else lives += 1
      if (killed) deaths += 1
      return output
    })
  try {
    await liveUntil(0)
    for (let diesAt = first; diesAt <= points; diesAt += stride) await liveUntil(diesAt)
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
  print(t, { points, lives, kills: deaths })
  // Loops race each other, so that the last lives may pass fewer points than the one that counted them.
  assert.ok(deaths > 0 && deaths >= lives - 3, `only ${deaths} deaths in ${lives} lives`)
  return points
}
