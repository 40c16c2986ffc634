/**
 * What the ledger's part of a day of safeguarding costs: `node bench/safeguarding.ts [transfers] [partners]`. The transfers are spread over ten
 * days, and the day ends half a day before the last one. `bench/reconciliation.ts` measures the part of the banks.
 */
import pg from 'pg'
import { operatorPartnerId } from '../service/src/cases/index.ts'
import { dayMs, systemClock } from '../service/src/kernel/index.ts'
import { createCheckpoints } from '../service/src/ledger/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { createTestService } from '../test/support/composition.ts'
import { isoAccount, isoConnector } from '../test/support/iso-books.ts'

const { transfers, partners } = numbersGiven({ transfers: 1_000_000, partners: 1_000 })
const each = Math.floor(transfers / partners)
const days = 10

const now = systemClock.now()
const service = await createTestService({
  now,
  chooseConnector: () => isoConnector,
  bankAccounts: [isoAccount],
  settings: { REPORT_CLOCK_DIFFERENCE_MS: '0' },
})
const { db, access, safeguarding, log } = service
await db.transaction((tx) => access.addOperator(tx, operatorPartnerId))
const today = now.toISOString().slice(0, 10)
await db.transaction((tx) => safeguarding.designate(tx, { ...isoAccount, from: today, until: null, staff: 'Bench' }))
const filledIn = await timed(() => fill(service.url))
const checkpoints = createCheckpoints({
  db,
  log,
  partnerIds: access.partnerIds,
  limits: { transfersPerStretch: 1000, clockDifferenceMsMax: 0 },
})
const checkedIn = await timed(async () => {
  do await checkpoints.checkpointStep()
  while (!checkpoints.isBetweenRounds())
})
console.log(
  `${each * partners} transfers of ${partners} partners: filled in ${filledIn} ms, checkpoints in ${checkedIn} ms`,
)
// The middle of what was filled for the last day: about 5 % of all transfers are after it.
const cut = new Date(Math.max(now.getTime() - dayMs / 2, new Date(`${today}T00:00:00Z`).getTime()))
for (const at of [cut, undefined]) {
  let text = ''
  const ms = await timed(async () => {
    const [computed] = await safeguarding.compute(today, at)
    const { requirement, status } = computed?.record.content ?? {}
    text = `${status}, requirement ${requirement?.total}`
  })
  console.log(`day as of ${at?.toISOString() ?? 'now'}: ${ms} ms (${text})`)
}
await service.close()

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return Math.round(performance.now() - began)
}

async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const time = `'${now.toISOString()}'::timestamptz`
  const id = (text: string) => `md5(${text})::uuid`
  await client.query(`insert into access.partners (id, name, created_at)
    select ${id(`'p' || n`)}, 'P' || n, ${time} from generate_series(1, ${partners}) n`)
  for (const [name, sign] of [
    ['balance', ''],
    [`settlement.${isoConnector}`, '-'],
  ] as const)
    await client.query(`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
      select ${id(`'p' || n`)}, ${id(`'${name}' || n`)}, '${name}', 'EUR', ${sign}${each}, 0, ${time}
      from generate_series(1, ${partners}) n`)
  const first = now.getTime() - days * dayMs
  const step = Math.floor((days * dayMs) / each)
  for (let n = 1; n <= partners; n += 1)
    await client.query(`insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount,
        party_id, reference, created_at)
      select ${id(`'p${n}'`)}, (lpad(to_hex(${first}::bigint + k * ${step}), 12, '0') || '70008000' || lpad(to_hex(k), 12, '0'))::uuid, 'direct',
        ${id(`'settlement.${isoConnector}${n}'`)}, ${id(`'balance${n}'`)}, 'EUR', 1, ${id(`'p${n}'`)}, 'bench', ${time}
      from generate_series(0, ${each - 1}) k`)
  await client.query('vacuum analyze ledger.transfers')
  await client.end()
}
