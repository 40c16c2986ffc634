/**
 * What a look of reconciliation costs: `node bench/reconciliation.ts [entries] [partners]`. Statements of 100,000 entries each, the
 * last of which is not there yet, so that its entries are added up at every look.
 */
import pg from 'pg'
import { operatorPartnerId } from '../service/src/cases/index.ts'
import { minuteMs } from '../service/src/kernel/index.ts'
import { numbersGiven } from '../scripts/arguments.ts'
import { createTestService } from '../test/support/composition.ts'
import { isoAccount, isoConnector } from '../test/support/iso-books.ts'

const { entries, partners } = numbersGiven({ entries: 1_000_000, partners: 100_000 })
const perStatement = 100_000
const looks = 4

const service = await createTestService({ chooseConnector: () => isoConnector, bankAccounts: [isoAccount] })
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
await fill(service.url, Math.floor(entries / perStatement))
console.log(`${entries} entries, ${partners} partners`)
for (let look = 1; look <= looks; look += 1) {
  service.clock.advance(minuteMs)
  const began = performance.now()
  await service.reconciliation.step()
  console.log(`look ${look}: ${Math.round(performance.now() - began)} ms`)
}
await service.close()

async function fill(url: string, statements: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const time = `'2026-01-01'::timestamptz`
  const id = (text: string) => `md5(${text})::uuid`
  await client.query(`insert into access.partners (id, name, created_at)
    select ${id(`'p' || n`)}, 'P' || n, ${time} from generate_series(1, ${partners}) n`)
  for (const name of ['balance', `settlement.${isoConnector}`, 'suspense', 'fees'])
    await client.query(`insert into ledger.accounts (partner_id, id, name, currency, posted, reserved, created_at)
      select ${id(`'p' || n`)}, ${id(`'${name}' || n`)}, '${name}', 'EUR', ${name.startsWith('settlement') ? -10 : 10}, 0, ${time}
      from generate_series(1, ${partners}) n`)
  await client.query(`insert into rails.iso_messages (id, connector, kind, message_id, file_name, sha256, bytes, state, entries,
      received_at, taken_at)
    select ${id(`'m' || n`)}, '${isoConnector}', 'camt.053', 'm' || n, 'm' || n, 'm' || n, 1, 'Taken', 0, ${time}, ${time}
    from generate_series(1, ${statements}) n`)
  await client.query(`insert into rails.iso_statements (id, connector, message_id, kind, account, currency, statement_id, sequence,
      opening, closing, opening_on, closing_on, entries, credits, debits, created_at)
    select ${id(`'s' || n`)}, '${isoConnector}', ${id(`'m' || n`)}, 'camt.053', '${isoAccount.account}', 'EUR', 's' || n, n,
      (n - 1) * ${perStatement}, n * ${perStatement}, '2026-01-01'::date + n, '2026-01-01'::date + n, ${perStatement},
      ${perStatement}, 0, ${time}
    from generate_series(1, ${statements - 1}) n`)
  for (let n = 1; n <= statements; n += 1)
    await client.query(`insert into rails.iso_entries (partner_id, id, connector, account, currency, entry_key, amount, booked_on,
        message_id, statement_id, position, is_reversal, payments, codes, refs, counterparty, kind, score, matched_by, status,
        created_at, applied_at)
      select '${operatorPartnerId}', ${id(`'e${n}-' || k`)}, '${isoConnector}', '${isoAccount.account}', 'EUR', '${n}-' || k, 1,
        '2026-01-01', ${id(`'m${n}'`)}, ${n === statements ? 'null' : id(`'s${n}'`)}, k, false, 1, 'PMNT/RCDT/ESCT', '{}', '{}',
        'credit', 100, '{}', 'Applied', ${time}, ${time}
      from generate_series(1, ${perStatement}) k`)
  await client.query('vacuum analyze')
  await client.end()
}
