/** Deliveries as jobs of pg-boss, as a process. It works in batches, because the library fetches and completes batches. */
import { PgBoss } from 'pg-boss'
import { readConfig } from '../../../service/src/app/config.ts'
import { startFanOut } from './fan-out.ts'
import { type Delivery, queueName } from './schema.ts'
import { createWork, requireSuccess } from './work.ts'

/** 500 concurrent deliveries, like the service. On two cores, 2 batches of 250 were faster than up to 20 of 25. */
const batchSize = 250
const localConcurrency = 2

const { DATABASE_URL: url = '', DATABASE_CONNECTIONS_MAX: connections } = readConfig()
const work = createWork(url, connections / 2)
const boss = new PgBoss({ connectionString: url, max: connections / 2, schedule: false })
boss.on('error', (error) => console.error(error))
await boss.start()
const options = { batchSize, localConcurrency, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }
await boss.work<Delivery>(queueName, options, async (jobs) => {
  const payloads = await work.payloads(jobs.map(({ data }) => data.eventId))
  const attempted = await Promise.all(jobs.map(({ data }) => work.attempt(data, payloads.get(data.eventId) ?? '')))
  await work.record(attempted)
  requireSuccess(attempted)
})
await startFanOut(url, (client, deliveries) => {
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
  return boss.insert(
    queueName,
    deliveries.map((data) => ({ data })),
    { db },
  )
})
process.once('SIGTERM', () => void boss.stop({ graceful: true }).finally(() => process.exit(0)))
process.send?.({ port: 0 })
