/**
 * Exchanges per second, each a quote and its conversion, against payouts accepted: `node bench/fx.ts [rounds] [seconds]`. One
 * process of the service, one partner, 64 connections, over HTTP with signatures. A conversion is signed with the id of its
 * quote, so that a sample asks for all quotes first, and then accepts them: the rate of exchanges is 1 / (1 / quotes a second
 * + 1 / conversions a second).
 */
import { join } from 'node:path'
import { numbersGiven } from '../scripts/arguments.ts'
import { startServer } from './children.ts'
import { startLoad, type LoadReport, type LoadSpec } from './load.ts'
import { createBeneficiaries, createPartners, privateKeyPem } from './partners.ts'
import { startPostgres, withClient } from './postgres.ts'
import { spreadOf } from './rounds.ts'

const { rounds, seconds } = numbersGiven({ rounds: 5, seconds: 4 })
const warmUps = 2
const connections = 64
const firstRate = 1500
const say = (line: string) => console.log(line)

const postgres = await startPostgres()
const databaseUrl = await postgres.create('fx', 'service')
const dataDir = join(postgres.folder, 'fx')
const accounts = await createPartners(databaseUrl, dataDir, 1)
const load = startLoad(privateKeyPem)
// No worker runs that reads newer rates.
const server = await startServer('accept', { databaseUrl, dataDir, env: { FX_RATES_MAX_AGE_SECONDS: '86400' } })
const partners = await createBeneficiaries(server.port, accounts)
server.freeze()

const counted = { payouts: 0, conversions: 0 }
const rates = new Map<LoadSpec['kind'], number>()
let prefix = 0

async function measure(kind: LoadSpec['kind'], references: readonly string[] = []): Promise<LoadReport> {
  const expected = Math.ceil((rates.get(kind) ?? firstRate) * seconds * 1.3) + 200
  const count = kind === 'conversion' ? references.length : expected
  const spec = {
    kind,
    port: server.port,
    connections,
    seconds,
    count,
    cyclic: false,
    naming: false,
    partners,
    references,
  }
  await load.prepare({ ...spec, keyPrefix: `fx-${prefix++}` })
  await postgres.checkpoint()
  server.thaw()
  const report = await load.go()
  server.freeze()
  if (report.problem !== undefined) throw new Error(`${kind} was refused: ${report.problem}`)
  rates.set(kind, report.rate)
  return report
}

const openQuotes = () =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string }>('select id from fx.quotes where accepted_at is null')
    return rows.map(({ id }) => id)
  })

/** Also what is wrong in the stored data: the positions are what the accepted quotes explain, and no money is made. */
const audit = () =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<Record<string, string>>(`
      select (select count(*) from payouts.payouts) as payouts, (select count(*) from fx.conversions) as conversions,
        (select count(*) from fx.quotes where accepted_at is not null) as accepted,
        (select count(*) from transactions.transactions where category = 'Conversion' and status = 'Completed') as completed,
        (select sum(sell_amount - fee_amount) from fx.quotes where accepted_at is not null) as sold,
        (select sum(buy_amount) from fx.quotes where accepted_at is not null) as bought,
        (select posted from ledger.accounts where name = 'fx' and currency = 'EUR') as long,
        (select -posted from ledger.accounts where name = 'fx' and currency = 'USD') as short,
        (select string_agg(distinct sum, ',') from (select sum(posted)::text from ledger.accounts group by currency) as sums) as sum`)
    const { payouts, conversions, accepted, completed, sold, bought, long, short, sum } = rows[0] ?? {}
    const isGood =
      Number(payouts) === counted.payouts &&
      [conversions, accepted, completed].every((each) => Number(each) === counted.conversions) &&
      sold === long &&
      bought === short &&
      sum === '0'
    return isGood ? [] : [JSON.stringify([counted, rows[0]])]
  })

type Round = {
  readonly payouts: number
  readonly quotes: number
  readonly conversions: number
  readonly exchanges: number
}

async function payoutsOnly(): Promise<number> {
  const { rate, accepted } = await measure('payout')
  counted.payouts += accepted
  return rate
}
async function exchangesOnly(): Promise<Omit<Round, 'payouts'>> {
  const { rate: quotes } = await measure('quote')
  const { rate: conversions, accepted } = await measure('conversion', await openQuotes())
  counted.conversions += accepted
  return { quotes, conversions, exchanges: 1 / (1 / quotes + 1 / conversions) }
}

const made: Round[] = []
let wrong: readonly string[] = []
for (let round = -warmUps; round < rounds; round += 1) {
  await postgres.analyse()
  const payoutsFirst = round % 2 === 0
  const before = payoutsFirst ? await payoutsOnly() : undefined
  const exchanged = await exchangesOnly()
  const result = { ...exchanged, payouts: before ?? (await payoutsOnly()) }
  wrong = await audit()
  if (round >= 0) made.push(result)
  const shown = Object.entries(result).map(([name, rate]) => `${name} ${Math.round(rate)}`)
  say(
    `${round < 0 ? 'warm-up' : `round ${round + 1}`}: ${shown.join(', ')}${wrong.map((each) => `; WRONG ${each}`).join('')}`,
  )
  if (wrong.length > 0) break
}
const row = (name: string, values: readonly number[], digits: number) => {
  const { median, min, max } = spreadOf(values)
  say(`${name.padEnd(28)} ${[median, min, max].map((value) => value.toFixed(digits).padStart(9)).join(' ')}`)
}
say(`\n${''.padEnd(28)}    median       min       max`)
row(
  'payouts a second',
  made.map(({ payouts }) => payouts),
  0,
)
row(
  'quotes a second',
  made.map(({ quotes }) => quotes),
  0,
)
row(
  'conversions a second',
  made.map(({ conversions }) => conversions),
  0,
)
row(
  'exchanges a second',
  made.map(({ exchanges }) => exchanges),
  0,
)
row(
  'exchanges / payouts',
  made.map(({ exchanges, payouts }) => exchanges / payouts),
  2,
)
load.stop()
await server.stop()
await postgres.stop()
process.exitCode = wrong.length > 0 ? 1 : 0
