/** Deliveries as jobs of graphile-worker, as a process. Each job calls a task. */
import { Logger, run } from 'graphile-worker'
import { readConfig } from '../../../service/src/app/config.ts'
import { startFanOut } from './fan-out.ts'
import { type Delivery, queueName } from './schema.ts'
import { createWork, requireSuccess } from './work.ts'

/** On two cores, 20 to 100 jobs, queues of 100 to 500 and delays of 0 or 50 ms differed little. */
const concurrentJobs = 100
const localQueueSize = 500
const completeBatchMs = 50
/** The library fetches and completes in batches, and needs few connections. */
const libraryConnections = 5

const { DATABASE_URL: url = '', DATABASE_CONNECTIONS_MAX: connections } = readConfig()
const work = createWork(url, connections - libraryConnections)
const runner = await run({
  taskList: {
    [queueName]: async (payload) => {
      const delivery = payload as Delivery
      const data = (await work.payloads([delivery.eventId])).get(delivery.eventId) ?? ''
      const attempted = [await work.attempt(delivery, data)]
      await work.record(attempted)
      requireSuccess(attempted)
    },
  },
  noHandleSignals: true,
  preset: {
    worker: {
      connectionString: url,
      maxPoolSize: libraryConnections,
      concurrentJobs,
      pollInterval: 500,
      preparedStatements: true,
      localQueue: { size: localQueueSize },
      completeJobBatchDelay: completeBatchMs,
      failJobBatchDelay: completeBatchMs,
      logger: new Logger(() => () => {}),
    },
  },
})
await startFanOut(url, (client, deliveries) =>
  client.query({
    name: 'add',
    text: `select count(*) from graphile_worker.add_jobs(array(
      select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
    values: [JSON.stringify(deliveries.map((payload) => ({ identifier: queueName, payload })))],
  }),
)
process.once('SIGTERM', () => void runner.stop().finally(() => process.exit(0)))
process.send?.({ port: 0 })
