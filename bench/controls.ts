/**
 * Payouts accepted per second with limits, fees, approvals and a sanctions list of 20,000 names, against partners without any of them:
 * `node bench/controls.ts [rounds] [seconds] [partners]`. Two processes of the service with their workers, each with a database of its
 * own; the audit log is on in both. One is frozen while the other is measured.
 */
import { join } from 'node:path'
import type { Database } from '../service/src/postgres/index.ts'
import type { compose } from '../service/src/app/compose.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { inventedList } from '../test/support/screening/corpus.ts'
import { type Server, startServer } from './children.ts'
import { serverCpuSeconds } from './cpu.ts'
import { startLoad } from './load.ts'
import { type Account, createBeneficiaries, createPartners, privateKeyPem, withService } from './partners.ts'
import { startPostgres, withClient } from './postgres.ts'
import { spreadOf } from './rounds.ts'
import type { BenchPartner } from './sign.ts'

const { rounds, seconds, partnerCount } = numbersGiven({ rounds: 5, seconds: 5, partnerCount: 16 })
const listSize = 20_000
const warmUps = 2
const connections = 64
const firstRate = 1500
/** Beyond every sum of this bench, so that each payout is judged and none is refused. */
const limitMinor = 900_000_000_000n
const euros = 'EUR' as const

/** A limit of every scope and period, a fee, and an approval for amounts that the load does not send. */
const addRules = (service: ReturnType<typeof compose>, db: Database, { partnerId }: Account) =>
  db.transaction(async (tx) => {
    const { limits, fees, approvalRules } = service.payoutControls
    const of = { partnerId, currency: euros }
    for (const scope of ['partner', 'customer', 'beneficiary'] as const)
      for (const period of ['payment', 'day', 'month'] as const)
        await limits.set(tx, { ...of, scope, period, amount: limitMinor })
    await fees.set(tx, { ...of, rail: 'any', fixedAmount: 20n, basisPoints: 5, minAmount: 0n, maxAmount: null })
    await approvalRules.set(tx, {
      ...of,
      aboveAmount: limitMinor,
      aboveDayAmount: null,
      aboveBulkAmount: null,
      perPersonAmount: null,
      beneficiaryHours: null,
      payeeMismatch: false,
      expiresHours: 24,
      needsPasskey: false,
    })
  })

const addList = (service: ReturnType<typeof compose>) => {
  const entries = inventedList(1, listSize)
  const list = { source: 'un' as const, publishedAt: new Date(), hash: 'bench', entries }
  return service.screening.lists.load(list, 'bench')
}

type Contestant = {
  readonly name: string
  readonly server: Server
  readonly partners: readonly BenchPartner[]
  readonly url: string
}

const postgres = await startPostgres()
const load = startLoad(privateKeyPem)

async function start(name: string, isControlled: boolean): Promise<Contestant> {
  const url = await postgres.create(name, 'service')
  const dataDir = join(postgres.folder, name)
  const accounts = await createPartners(url, dataDir, partnerCount)
  if (isControlled)
    await withService(url, dataDir, async (service, db) => {
      for (const account of accounts) await addRules(service, db, account)
      await addList(service)
    })
  const server = await startServer('serve', { databaseUrl: url, dataDir })
  const partners = await createBeneficiaries(server.port, accounts)
  server.freeze()
  return { name, server, partners, url }
}

const contestants = [await start('plain', false), await start('controlled', true)]
const accepted = new Map<string, number>()
const rates = new Map<string, number>()
let prefix = 0

/** Of the process and of PostgreSQL, where the other process is frozen. */
const processorSeconds = async ({ server }: Contestant): Promise<number> =>
  ((await server.usage())?.cpuSeconds ?? 0) + (serverCpuSeconds(postgres.pid ?? 0) ?? 0)

type Measured = { readonly rate: number; readonly processorMs: number }

async function measure(contestant: Contestant): Promise<Measured> {
  const { name, server, partners } = contestant
  const count = Math.ceil((rates.get(name) ?? firstRate) * seconds * 1.3) + 200
  const keyPrefix = `controls-${prefix++}`
  const { port } = server
  const kind = 'payout' as const
  await load.prepare({
    kind,
    port,
    connections,
    seconds,
    count,
    cyclic: false,
    naming: false,
    partners,
    references: [],
    keyPrefix,
  })
  await postgres.checkpoint()
  server.thaw()
  const before = await processorSeconds(contestant)
  const report = await load.go()
  const spent = (await processorSeconds(contestant)) - before
  server.freeze()
  if (report.problem !== undefined) throw new Error(`${name} refused: ${report.problem}`)
  rates.set(name, report.rate)
  accepted.set(name, (accepted.get(name) ?? 0) + report.accepted)
  return { rate: report.rate, processorMs: (spent * 1000) / report.accepted }
}

/** What is wrong in the stored data: each payout has its fee and is counted once in each of its counters. */
const audit = ({ name, url }: Contestant) =>
  withClient(url, async (client) => {
    const { rows } = await client.query<Record<string, string>>(`
      select (select count(*) from payouts.payouts) as payouts, (select count(fee_amount) from payouts.payouts) as fees,
        (select coalesce(sum(amount), 0) from payouts.payouts where status not in ('Cancelled', 'Failed', 'Returned')) as paid,
        (select count(distinct used) from (
          select sum(used) as used from payouts.limit_counters group by scope, period) as sums) as sums,
        (select coalesce(min(used), 0) from (
          select sum(used) as used from payouts.limit_counters group by scope, period) as sums) as counted`)
    const { payouts, fees, paid, sums, counted } = rows[0] ?? {}
    const isControlled = name === 'controlled'
    const isGood =
      Number(payouts) === accepted.get(name) &&
      (isControlled ? fees === payouts && sums === '1' && counted === paid : fees === '0' && sums === '0')
    return isGood ? [] : [`${name}: ${JSON.stringify([accepted.get(name), rows[0]])}`]
  })

const ratios: number[] = []
const processorRatios: number[] = []
const wrong: string[] = []
for (let round = -warmUps; round < rounds && wrong.length === 0; round += 1) {
  await postgres.analyse()
  const order = round % 2 === 0 ? contestants : contestants.toReversed()
  const measured = new Map<string, Measured>()
  for (const contestant of order) {
    measured.set(contestant.name, await measure(contestant))
    wrong.push(...(await audit(contestant)))
  }
  const [plain, controlled] = ['plain', 'controlled'].map((name) => measured.get(name))
  const ratio = (controlled?.rate ?? 0) / (plain?.rate ?? 1)
  const processorRatio = (controlled?.processorMs ?? 0) / (plain?.processorMs ?? 1)
  if (round >= 0) processorRatios.push(processorRatio)
  if (round >= 0) ratios.push(ratio)
  const shown = [...measured]
    .map(([name, { rate, processorMs }]) => `${name} ${Math.round(rate)}/s ${processorMs.toFixed(2)} ms`)
    .join(', ')
  console.log(
    `${round < 0 ? 'warm-up' : `round ${round + 1}`}: ${shown}, ratio ${ratio.toFixed(2)}, of processor time ${processorRatio.toFixed(2)}`,
  )
}
for (const each of wrong) console.log(`WRONG ${each}`)
for (const [what, each] of Object.entries({ rate: ratios, 'processor time a payout': processorRatios })) {
  const { median, min, max } = spreadOf(each)
  console.log(`controlled / plain, ${what}: ${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`)
}
load.stop()
for (const { server } of contestants) await server.stop()
await postgres.stop()
process.exitCode = wrong.length > 0 ? 1 : 0
