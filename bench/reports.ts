/**
 * What a statement of many lines costs: `node bench/reports.ts [rows]`, by default 1,000,000. Fills one partner with that
 * many lines, and writes its statement as csv as the worker does (content, hash, parts in the database), in turn with
 * PostgreSQL's own `copy` of the same rows to this process. States rows per second of both, and the resident memory.
 */
import { Writable } from 'node:stream'
import { createCases } from '../service/src/cases/index.ts'
import { createCheckpoints, createLedger } from '../service/src/ledger/index.ts'
import { createLog, newId, systemClock } from '../service/src/kernel/index.ts'
import { createReportWork } from '../service/src/reports/index.ts'
import { createDatabase, type Database, sql } from '../service/src/postgres/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { copyRows } from './copy.ts'
import { startPostgres, withClient } from './postgres.ts'

const { rows, rounds } = numbersGiven({ rows: 1_000_000, rounds: 3 })
/** Five years. Every transfer is older than the half minute that checkpoints leave out. */
const startMs = Date.UTC(2020, 0, 1)
const periodMs = 5 * 365 * 86_400_000
const batchRows = 500_000
const mebibyte = 2 ** 20
const say = (line: string) => console.log(line)
const amount = (value: number) => Math.round(value).toLocaleString('en')

type Filled = { readonly partnerId: string; readonly balance: string }

/** Money in and out of 50 customers, in the order of their ids. */
async function fill(url: string): Promise<Filled> {
  const partnerId = newId()
  const [balance, settlement] = [newId(), newId()]
  await withClient(url, async (client) => {
    await client.query(
      `insert into access.partners (id, name, created_at) values ('${partnerId}', 'Bench', '2020-01-01')`,
    )
    for (const [name, id] of [
      ['balance', balance],
      ['settlement.sandbox', settlement],
    ])
      await client.query(`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
        values ('${partnerId}', '${id}', '${name}', 'EUR', 0, 0, '2020-01-01')`)
    const id = `(lpad(to_hex(${startMs}::bigint + n * ${periodMs}::bigint / ${rows}), 12, '0') || '7000' || '8000'
      || lpad(to_hex(n), 12, '0'))::uuid`
    for (let from = 0; from < rows; from += batchRows)
      await client.query(`insert into ledger.transfers
        (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount, party_id, reference, created_at)
        select '${partnerId}', ${id}, 'direct',
          case n % 4 when 3 then '${balance}'::uuid else '${settlement}'::uuid end,
          case n % 4 when 3 then '${settlement}'::uuid else '${balance}'::uuid end, 'EUR', 100 + n % 90000,
          (lpad(to_hex(n % 50), 8, '0') || '-0000-7000-8000-000000000000')::uuid, 'INV-2026-' || n, '2020-01-01'
        from generate_series(${from}::bigint, ${Math.min(rows, from + batchRows) - 1}::bigint) as n`)
    await client.query(`update ledger.accounts as account set posted = sums.posted from (
        select side.id, sum(side.posted) as posted from ledger.transfers
          cross join lateral (values (debit_account_id, -amount), (credit_account_id, amount)) as side (id, posted)
        where partner_id = '${partnerId}' group by side.id) as sums
      where account.partner_id = '${partnerId}' and account.id = sums.id`)
    await client.query('vacuum (analyze) ledger.transfers')
  })
  return { partnerId, balance }
}

type Measured = { readonly seconds: number; readonly bytes: number }

/** The columns of the statement, in its order, as PostgreSQL writes them. */
async function copied(url: string, { partnerId, balance }: Filled): Promise<Measured> {
  let bytes = 0
  const counted = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length
      done()
    },
  })
  const begun = performance.now()
  await copyRows(
    url,
    `copy (select id, kind, debit_account_id, credit_account_id, amount, party_id, reference from ledger.transfers
      where partner_id = '${partnerId}' and kind in ('direct', 'post') and '${balance}' in (debit_account_id, credit_account_id)
      order by id) to stdout (format csv)`,
    counted,
  )
  return { seconds: (performance.now() - begun) / 1000, bytes }
}

async function reported(db: Database, work: ReturnType<typeof createReportWork>, { partnerId }: Filled) {
  const id = newId()
  const now = systemClock.now()
  await db.run(sql`insert into reports.turns (partner_id, served_at) values (${partnerId}, ${new Date(0)})
    on conflict do nothing`)
  await db.run(sql`insert into reports.reports (partner_id, id, kind, format, period_from, period_to, currency, status,
      progress, attempts, due_at, created_at, expires_at)
    values (${partnerId}, ${id}, 'statement', 'csv', ${new Date(startMs)}, ${new Date(startMs + periodMs)}, 'EUR', 'Queued',
      0, 0, ${now}, ${now}, ${new Date(now.getTime() + 86_400_000)})`)
  const begun = performance.now()
  if ((await work.writeStep()) !== 1) throw new Error('the report is not due')
  const seconds = (performance.now() - begun) / 1000
  const row = await db.row<{ status: string; bytes: bigint; rows: bigint; sha256: string }>(
    sql`select status, bytes, rows, sha256 from reports.reports where partner_id = ${partnerId} and id = ${id}`,
  )
  if (row?.status !== 'Ready' || row.rows !== BigInt(rows) + 2n) throw new Error(`the report is ${row?.status}`)
  await db.run(sql`delete from reports.chunks where partner_id = ${partnerId}`)
  return { seconds, bytes: Number(row.bytes), sha256: row.sha256 }
}

/** The resident memory in equal steps of the run. */
function watchMemory() {
  const seen: number[] = []
  const timer = setInterval(() => seen.push(process.memoryUsage().rss / mebibyte), 100)
  return () => {
    clearInterval(timer)
    const at = (part: number) => amount(seen[Math.min(seen.length - 1, Math.floor(seen.length * part))] ?? 0)
    return `${at(0.1)} MiB at a tenth, ${at(0.5)} at half, ${at(1)} at the end, ${amount(Math.max(...seen))} at most`
  }
}

const postgres = await startPostgres()
try {
  const url = await postgres.create('reports', 'service')
  const log = createLog('error')
  const db = createDatabase({ url, connectionsMax: 8, log })
  const begun = performance.now()
  const filled = await fill(url)
  const { checkpointStep } = createCheckpoints({ db, log, partnerIds: async () => [filled.partnerId] })
  while ((await checkpointStep()) > 0);
  say(`${amount(rows)} lines filled after ${amount((performance.now() - begun) / 1000)} s`)
  const ledger = createLedger({ clock: systemClock, segregates: false, holds: async () => [] })
  const none = () => Promise.reject(new Error('not used'))
  const work = createReportWork({
    db,
    clock: systemClock,
    log,
    ledger,
    cases: createCases({ db, clock: systemClock, log, ledger, addOperator: none }),
    customers: { find: none },
    transactions: {
      asOf: async function* asOf() {
        yield []
      },
      // The movements have no transactions: what reading their names costs is not measured.
      namesOf: async () => new Map(),
      withUsers: async () => [],
    },
    mail: { enqueue: none },
    membersByAddress: none,
    partnerName: async () => 'Bench',
    brandOf: async () => undefined,
    keptDays: 1,
    clockDifferenceMsMax: 0,
    publicUrl: 'http://localhost',
  })
  const ratios: number[] = []
  const hashes = new Set<string>()
  for (let round = 1; round <= rounds; round += 1) {
    const copy = await copied(url, filled)
    const memory = watchMemory()
    const report = await reported(db, work, filled)
    hashes.add(report.sha256)
    const ratio = copy.seconds / report.seconds
    ratios.push(ratio)
    const rate = ({ seconds, bytes }: Measured) =>
      `${amount(rows / seconds)} rows/s (${seconds.toFixed(1)} s, ${amount(bytes / mebibyte)} MiB)`
    say(`copy ${rate(copy)}; statement ${rate(report)}; ratio ${ratio.toFixed(2)}; ${memory()}`)
  }
  say(`median ratio ${ratios.toSorted((a, b) => a - b)[Math.floor(rounds / 2)]?.toFixed(2)}; ${hashes.size} hash`)
  await db.close()
} finally {
  await postgres.stop()
}
