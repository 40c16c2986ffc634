/**
 * A delivery worker as a process of its own, to be killed or frozen: `node webhooks-worker.ts <database url> <master key,
 * hex> [lease]`. With a lease it lives by the machine's clock, as several do that must agree on the time.
 */
import { startDelivery } from '../../service/src/delivery/index.ts'
import { systemClock } from '../../service/src/kernel/index.ts'
import { createHooks } from './webhooks.ts'

const [, , url = '', key = '', lease] = process.argv
const leaseMs = Number(lease)
const { db, clock, log, webhooks } = await createHooks({
  ...{ url, key: Buffer.from(key, 'hex') },
  ...(lease === undefined
    ? {}
    : {
        clock: systemClock,
        limits: { leaseMs, leaseMarginMs: Math.ceil(leaseMs / 4) },
        retryDelaysMs: [50, 50, 50, 50, 50, 50],
      }),
})
startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 20 })
