/**
 * A database that has seen years: deposits of a partner of its own, completed, as rows of transactions, their timelines
 * and the ledger, in the partner's balance too, so that the books hold. References lie all over the index, as random ones do.
 */
import { withClient } from './postgres.ts'

const batchRows = 100_000
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const amount = 5

/** Five digits in base 32 that grow with `n` and spread evenly over what references begin with. */
const spreadDigits = (total: number) =>
  [20, 15, 10, 5, 0]
    .map((bits) => `substr('${alphabet}', 1 + (((n * 33554432 / ${total}) >> ${bits}) & 31)::integer, 1)`)
    .join(' || ')

const reference = (total: number) => `'txn_' || ${spreadDigits(total)} || lpad(n::text, 15, '0')`
/** Ascending, as the identifiers of the service are, and before every one that it makes today. */
const id = (kind: string) => `('00000000-0000-7${kind}-8000-' || lpad(to_hex(n), 12, '0'))::uuid`

export async function fillRows(
  databaseUrl: string,
  partnerId: string,
  rows: number,
  say: (line: string) => void,
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const accounts = await client.query<{ id: string; name: string }>(
      `select id, name from ledger.accounts where partner_id = $1 and currency = 'EUR'`,
      [partnerId],
    )
    const account = (name: string) => accounts.rows.find((row) => row.name === name)?.id ?? ''
    const [balance, settlement] = [account('balance'), account('settlement.sandbox')]
    // What is filled is right by construction; the books are audited as a whole afterwards.
    await client.query(`set session_replication_role = replica`)
    const p = `'${partnerId}'::uuid`
    for (let from = 1; from <= rows; from += batchRows) {
      const to = Math.min(rows, from + batchRows - 1)
      const series = `from generate_series(${from}::bigint, ${to}::bigint) as n`
      await client.query(`
        insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
          party_type, type, status, created_at, updated_at)
        select ${p}, ${id('001')}, ${reference(rows)}, ${amount}, 'EUR', 'Deposit', 'Inward', 'Fiat', 'Partner',
          'PartnerDeposit', 'Completed', '2025-01-01', '2025-01-01' ${series}`)
      await client.query(`
        insert into transactions.timeline (partner_id, transaction_id, position, step, status, created_at)
        select ${p}, ${id('001')}, position, (array['Created', 'Settled', 'Credited'])[position + 1],
          (array['Pending', 'Completed', 'Completed'])[position + 1], '2025-01-01'
        ${series}, generate_series(0, 2) as position`)
      await client.query(`
        insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency, amount,
          party_id, reference, created_at)
        select ${p}, ${id('002')}, 'direct', '${settlement}', '${balance}', 'EUR', ${amount}, ${p}, ${reference(rows)},
          '2025-01-01' ${series}`)
      if (to % (batchRows * 10) === 0) say(`${to.toLocaleString('en')} of ${rows.toLocaleString('en')} rows filled`)
    }
    const moved = `update ledger.accounts set posted = posted + $1 where partner_id = $2 and id = $3`
    await client.query(moved, [rows * amount, partnerId, balance])
    await client.query(moved, [-rows * amount, partnerId, settlement])
    await client.query('reset session_replication_role')
    await client.query('vacuum (analyze)')
  })
}

/** References of rows all over the table. */
export async function someReferences(databaseUrl: string, rows: number, count: number): Promise<readonly string[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows: found } = await client.query<{ reference: string }>(
      `select ${reference(rows)} as reference from (
        select 1 + floor(random() * ${rows})::bigint as n from generate_series(1, ${count})) as picked`,
    )
    return found.map((row) => row.reference)
  })
}
