/**
 * What past balances and statements cost as the history grows: `node bench/statements.ts [transfers]`, by default 1,000,000.
 * Fills one partner with that many transfers and one with a hundredth of them, makes their checkpoints, and compares.
 */
import { createCheckpoints, createLedger, type StatementRequest } from '../service/src/ledger/index.ts'
import { createLog, firstIdOf, newId, systemClock } from '../service/src/kernel/index.ts'
import { createDatabase, type Database } from '../service/src/postgres/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { startPostgres, withClient } from './postgres.ts'

const { transfers } = numbersGiven({ transfers: 1_000_000 })
const samplesMax = 60
const linesMax = 100
/** Five years. Every transfer is older than the half minute that checkpoints leave out. */
const startMs = Date.UTC(2020, 0, 1)
const periodMs = 5 * 365 * 86_400_000
/** Transfers of `suspense`, spread over the period, whatever the number of the others. `fees` has one in each stretch. */
const rareTransfers = 20
const batchRows = 500_000
const say = (line: string) => console.log(line)

type Filled = { readonly partnerId: string; readonly transfers: number }

/** Ids as the service makes them: the time, then the number of the transfer. */
const idOf = (count: number) => {
  const hex = `lpad(to_hex(${startMs}::bigint + n * ${periodMs}::bigint / ${count}), 12, '0')`
  return `(${hex} || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
}

async function fill(url: string, count: number): Promise<Filled> {
  const partnerId = newId()
  await withClient(url, async (client) => {
    await client.query(
      `insert into access.partners (id, name, created_at) values ('${partnerId}', 'Bench', '2020-01-01')`,
    )
    const ids = new Map<string, string>()
    for (const name of ['balance', 'settlement.sandbox', 'suspense', 'fees']) {
      ids.set(name, newId())
      await client.query(`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
        values ('${partnerId}', '${ids.get(name)}', '${name}', 'EUR', 0, 0, '2020-01-01')`)
    }
    const id = (name: string) => `'${ids.get(name)}'::uuid`
    // Each third transfer is a deposit of 5; the others reserve 2 and release them, so that the statement skips them.
    for (let from = 0; from < count; from += batchRows)
      await client.query(`insert into ledger.transfers
        (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount, party_id, reference, created_at, reserve_id)
        select '${partnerId}', ${idOf(count)}, case n % 3 when 0 then 'direct' when 1 then 'reserve' else 'release' end,
          case when n % 3 > 0 then ${id('balance')} when n % ${Math.floor(count / rareTransfers)} < 3 then ${id('suspense')}
            when n % 1000 < 3 then ${id('fees')}
            else ${id('settlement.sandbox')} end,
          case n % 3 when 0 then ${id('balance')} else ${id('settlement.sandbox')} end, 'EUR',
          case n % 3 when 0 then 5 else 2 end, '${partnerId}', 'txn_' || n, '2020-01-01',
          case n % 3 when 2 then ${idOf(count).replaceAll(/\bn\b/g, '(n - 1)')} end
        from generate_series(${from}::bigint, ${Math.min(count, from + batchRows) - 1}::bigint) as n`)
    await client.query(`update ledger.accounts as account set posted = sums.posted, reserved = sums.reserved from (
        select side.id, sum(side.posted) as posted, sum(side.reserved) as reserved from ledger.transfers
          cross join lateral (values
            (debit_account_id, case kind when 'direct' then -amount else 0 end,
              case kind when 'reserve' then amount when 'release' then -amount else 0 end),
            (credit_account_id, case kind when 'direct' then amount else 0 end, 0)) as side (id, posted, reserved)
        where partner_id = '${partnerId}' group by side.id) as sums
      where account.partner_id = '${partnerId}' and account.id = sums.id`)
    await client.query('vacuum (analyze) ledger.transfers')
  })
  return { partnerId, transfers: count }
}

/** The median of the milliseconds of some runs, and their 95th percentile. */
async function timed(runs: number, work: (at: Date) => Promise<unknown>): Promise<{ median: number; p95: number }> {
  const took: number[] = []
  for (let run = 0; run < runs; run += 1) {
    // Spread over the period, and the same in each bench.
    const at = new Date(startMs + Math.floor((((run * 0.618034) % 1) * 0.98 + 0.01) * periodMs))
    const begun = performance.now()
    await work(at)
    took.push(performance.now() - begun)
  }
  const sorted = took.toSorted((a, b) => a - b)
  return { median: sorted[Math.floor(runs / 2)] ?? 0, p95: sorted[Math.floor(runs * 0.95)] ?? 0 }
}

const ledger = createLedger({ clock: systemClock, segregates: false, holds: async () => [] })

function measures(db: Database, { partnerId }: Filled) {
  type Period = Pick<StatementRequest, 'direction' | 'from' | 'until'>
  const page = (name: StatementRequest['name'], period: Period) =>
    ledger.statement(db, { partnerId, name, currency: 'EUR', linesMax, ...period })
  return {
    'balances at a past time': (moment: Date) => ledger.balancesAt(db, partnerId, moment),
    'balances of now': () => ledger.balancesAt(db, partnerId, undefined),
    'a page of 100 lines, oldest first': (from: Date) => page('balance', { direction: 'ascending', from }),
    'a page of 100 lines, newest first': (until: Date) => page('balance', { direction: 'descending', until }),
    '20 lines among all transfers': () => page('suspense', { direction: 'ascending' }),
    '100 lines, each in another stretch': () => page('fees', { direction: 'ascending' }),
  }
}

async function compare(db: Database, few: Filled, all: Filled): Promise<void> {
  const small = Object.entries(measures(db, few))
  say(`\nmilliseconds (median; p95)                    ${few.transfers} transfers   ${all.transfers} transfers   ratio`)
  for (const [index, [title, work]] of Object.entries(measures(db, all)).entries()) {
    const other = small[index]?.[1] ?? work
    // Alternating, so that other load on the machine affects both alike. The first run of each warms its rows.
    for (const each of [other, work]) await timed(3, each)
    const [a, b] = [await timed(samplesMax, other), await timed(samplesMax, work)]
    const cell = ({ median, p95 }: typeof a) => `${median.toFixed(2)}; ${p95.toFixed(2)}`.padStart(18)
    say(`${title.padEnd(42)} ${cell(a)} ${cell(b)}   ${(b.median / a.median).toFixed(2)}`)
  }
  const full = await timed(1, () =>
    withClient(db.pool.options.connectionString ?? '', (client) =>
      client.query(`select sum(amount) from ledger.transfers where partner_id = $1 and kind = 'direct' and id < $2`, [
        all.partnerId,
        firstIdOf(new Date(startMs + periodMs / 2)),
      ]),
    ),
  )
  say(`the sum of half of the transfers, without checkpoints: ${full.median.toFixed(0)} ms`)
}

const postgres = await startPostgres()
try {
  const url = await postgres.create('statements', 'service')
  const log = createLog('error')
  const db = createDatabase({ url, connectionsMax: 2, log })
  const begun = performance.now()
  const seconds = () => `${((performance.now() - begun) / 1000).toFixed(0)} s`
  const few = await fill(url, Math.max(3000, Math.floor(transfers / 100)))
  const all = await fill(url, transfers)
  say(`${transfers.toLocaleString('en')} transfers filled after ${seconds()}`)
  const partnerIds = async () => [few.partnerId, all.partnerId]
  const { checkpointStep } = createCheckpoints({ db, log, partnerIds })
  const beforeCheckpoints = performance.now()
  while ((await checkpointStep()) > 0);
  const perStretch = (performance.now() - beforeCheckpoints) / (transfers / 1000)
  say(`checkpoints made: ${perStretch.toFixed(2)} ms for each 1,000 transfers`)
  await withClient(url, (client) => client.query('vacuum (analyze)'))
  await compare(db, few, all)
  await db.close()
  say(`\n${seconds()}`)
} finally {
  await postgres.stop()
}
