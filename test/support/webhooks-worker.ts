/** A delivery worker as a process of its own, to be killed: `node webhooks-worker.ts <database url> <master key, hex>`. */
import { startDelivery } from '../../service/src/delivery/index.ts'
import { createHooks } from './webhooks.ts'

const [, , url = '', key = ''] = process.argv
const { db, clock, log, webhooks } = await createHooks({ url, key: Buffer.from(key, 'hex') })
startDelivery({ db, clock, log, webhooks, allowLoopback: true, idleMs: 20 })
