/** Delivery workers in processes of their own, which a test can kill, freeze and disconnect. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Hooks } from './webhooks.ts'
import type { WorkerOptions } from './webhooks-worker.ts'

const script = fileURLToPath(new URL('webhooks-worker.ts', import.meta.url))

export function createWorkers(hooks: () => Hooks) {
  const children: ChildProcess[] = []
  const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null
  const kill = (child: ChildProcess) =>
    new Promise<void>((resolve) => {
      if (hasEnded(child)) return resolve()
      child.once('exit', () => resolve())
      child.kill('SIGKILL')
    })
  process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
  return {
    spawn: (options: WorkerOptions, url = hooks().url): ChildProcess => {
      const key = Buffer.from(hooks().key).toString('hex')
      const child = spawn(process.execPath, [script, url, key, JSON.stringify(options)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      children.push(child)
      return child
    },
    kill,
    killAll: async () => void (await Promise.all(children.splice(0).map(kill))),
  }
}
