/** A delivery engine with workers, in this process and in processes of their own that a test can kill, freeze and disconnect. */
import type { ChildProcess } from 'node:child_process'
import { afterEach } from 'node:test'
import type { RunningJobs } from '../../service/src/postgres/jobs/index.ts'
import type { DeliveryJobsOptions } from '../../service/src/webhooks/index.ts'
import { killWorker, startWorker } from './crash-points.ts'
import { type Counter, type CounterOptions, startCounter } from './faults.ts'
import { untilEnd } from './fixture.ts'
import { startDelivery } from './jobs.ts'
import { createHooks, type HooksOptions } from './webhooks.ts'
import type { DeliveryWorkerOptions } from './workers.ts'

/** Workers and endpoints end after each test. */
export async function useDelivery(options?: HooksOptions) {
  const hooks = untilEnd(await createHooks(options))
  const children: ChildProcess[] = []
  const running: RunningJobs[] = []
  const counters: Counter[] = []
  const killAll = async () => void (await Promise.all(children.splice(0).map(killWorker)))
  process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))
  afterEach(async () => {
    await Promise.all(running.splice(0).map((jobs) => jobs.stop()))
    await killAll()
    await Promise.all(counters.splice(0).map((counter) => counter.close()))
  })
  return {
    hooks,
    workers: {
      spawn: (worker: DeliveryWorkerOptions, url = hooks.url): ChildProcess => {
        const key = Buffer.from(hooks.key).toString('hex')
        const child = startWorker('deliveries', { url, clock: hooks.clock }, { key, options: worker })
        children.push(child)
        return child
      },
      kill: killWorker,
      killAll,
    },
    /** Starts a worker in this process. */
    deliver: (differences: Partial<DeliveryJobsOptions> = {}) => {
      const { db, clock, log, webhooks } = hooks
      const parts = { db, clock, log, webhooks }
      running.push(startDelivery({ ...parts, allowLoopback: true, idleMs: 5, drainMs: 1000, ...differences }))
    },
    /** Starts endpoints that record requests. */
    listen: async (count: number, counting?: CounterOptions): Promise<readonly Counter[]> => {
      const started = await Promise.all(Array.from({ length: count }, () => startCounter(counting)))
      counters.push(...started)
      return started
    },
  }
}
