/** Delivery workers in processes of their own, which a test can kill, freeze and disconnect. */
import type { ChildProcess } from 'node:child_process'
import { killWorker, startWorker } from './crash-points.ts'
import type { Hooks } from './webhooks.ts'
import type { DeliveryWorkerOptions } from './workers.ts'

export function createWorkers(hooks: () => Hooks) {
  const children: ChildProcess[] = []
  process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
  return {
    spawn: (options: DeliveryWorkerOptions, url = hooks().url): ChildProcess => {
      const key = Buffer.from(hooks().key).toString('hex')
      const child = startWorker('deliveries', { url, clock: hooks().clock }, { key, options })
      children.push(child)
      return child
    },
    kill: killWorker,
    killAll: async () => void (await Promise.all(children.splice(0).map(killWorker))),
  }
}
