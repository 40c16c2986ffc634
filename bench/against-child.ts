/** One version of `against.ts`: started with the folder of its tree, it accepts and ends payouts in process when it is told to. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Audit from '../service/src/audit/index.ts'
import type * as Settlement from '../service/src/banks/settlement/index.ts'
import type * as Composition from '../test/support/composition.ts'
import { serveRequests } from './child.ts'
import type * as Cpu from './cpu.ts'
import type * as Postgres from './postgres.ts'

const [tree = ''] = process.argv.slice(2)
const load = <T>(path: string): Promise<T> => import(pathToFileURL(join(tree, path)).href)
// These parts exist in every version.
const { addPartner, createTestService, pay } = await load<typeof Composition>('test/support/composition.ts')
const { processBankNotifications, submitDuePayouts } = await load<typeof Settlement>(
  'service/src/banks/settlement/index.ts',
)
const { startPostgres, withClient } = await load<typeof Postgres>('bench/postgres.ts')
const { serverCpuSeconds } = await load<typeof Cpu>('bench/cpu.ts')
/** Undefined in versions before the audit log. */
const audit = await load<typeof Audit>('service/src/audit/index.ts').catch(() => undefined)

const partnerCount = 16
/** Equals the maximum of a batch of the service, and the connections of the other benches. */
const callsAtOnce = 64
const floatMinor = 100_000_000_000n

export type Sample = { readonly process: number; readonly database: number; readonly logBytes: number }
export type Samples = { readonly accepted: Sample; readonly ended: Sample }

const postgres = await startPostgres()
const url = await postgres.create('against', 'service')
const service = await createTestService({ url, now: new Date() })
const partners = await Promise.all(Array.from({ length: partnerCount }, () => addPartner(service, floatMinor)))
const { db, clock, log, access, settlement } = service
const chain = audit?.createChainStep({
  db,
  clock,
  log,
  sealer: service.sealer,
  partnerIds: access.partnerIds,
  headPeriodMs: 24 * 60 * 60 * 1000,
  clockDifferenceMsMax: 0,
})

async function accept(payouts: number): Promise<void> {
  for (let begun = 0; begun < payouts; begun += callsAtOnce)
    await Promise.all(
      Array.from({ length: callsAtOnce }, (_, index) =>
        pay(service, partners[index % partners.length] as (typeof partners)[number], '0.05'),
      ),
    )
}

/** The steps of the workers, one after another: sends, settles, and chains the records of the audit log. */
async function end(): Promise<void> {
  for (let did = 1; did > 0;) {
    clock.advance(1000)
    did = (await submitDuePayouts(settlement)) + (await processBankNotifications(settlement))
  }
  while (chain !== undefined && (await chain()) > 0);
}

/** Seconds of this process and of PostgreSQL, and the position of its log. */
async function spent(): Promise<Sample> {
  const position = `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`
  const bytes = await withClient(
    url,
    async (client) => (await client.query<{ bytes: number }>(position)).rows[0]?.bytes,
  )
  const { user, system } = process.cpuUsage()
  return { process: (user + system) / 1e6, database: serverCpuSeconds(postgres.pid ?? 0) ?? 0, logBytes: bytes ?? 0 }
}

async function sample(payouts: number): Promise<Samples> {
  await postgres.analyse()
  await postgres.checkpoint()
  const start = await spent()
  await accept(payouts)
  const accepted = await spent()
  await end()
  const ended = await spent()
  const open = `select count(*)::integer as open from payouts.payouts where status <> 'Completed'`
  const rows = await withClient(url, async (client) => (await client.query<{ open: number }>(open)).rows)
  if (rows[0]?.open !== 0) throw new Error(`${rows[0]?.open} payouts did not end`)
  const each = (to: Sample): Sample => ({
    process: ((to.process - start.process) * 1000) / payouts,
    database: ((to.database - start.database) * 1000) / payouts,
    logBytes: (to.logBytes - start.logBytes) / payouts,
  })
  return { accepted: each(accepted), ended: each(ended) }
}

// If the bench is stopped, this process ends, and with it the server that it started.
serveRequests<{ readonly payouts: number } | { readonly stop: true }>(async (message) => {
  if ('payouts' in message) return sample(message.payouts)
  await service.close()
  await postgres.stop()
  return undefined
})
