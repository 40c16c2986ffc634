/**
 * Fills a database with the history of one partner: alternating completed deposits and payouts, with timelines, transfers,
 * events and balances that pass the audit. References and keys are spread over their indexes, as random ones are.
 */
import { withClient } from './postgres.ts'

const batchRows = 100_000
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const amount = 5

/** Five base-32 digits that grow with `n` and cover all reference prefixes evenly. */
const spreadDigits = (total: number) =>
  [20, 15, 10, 5, 0]
    .map((bits) => `substr('${alphabet}', 1 + (((n * 33554432 / ${total}) >> ${bits}) & 31)::integer, 1)`)
    .join(' || ')

const reference = (total: number) => `'txn_' || ${spreadDigits(total)} || lpad(n::text, 15, '0')`
/** Ascending, as the service's ids are, and lower than every id that it creates today. */
const id = (kind: string) => `('00000000-0000-7${kind}-8000-' || lpad(to_hex(n), 12, '0'))::uuid`

type PartnerAccounts = { readonly partner: string; readonly balance: string; readonly settlement: string }

/** Every odd row is a payout. */
const payoutsIn = (rows: number) => Math.ceil(rows / 2)
const at = `'2025-01-01'::timestamptz`
const entry = (step: string, status: string) =>
  `{"step":"${step}","status":"${status}","createdAt":"2025-01-01T00:00:00.000Z"}`
const timeline = `'[${[entry('Created', 'Pending'), entry('Settled', 'Completed'), entry('Credited', 'Completed')].join()}]'::jsonb`
const payee = `'Bench Beneficiary', 'NL91ABNA0417164300'`

function inserts({ partner, balance, settlement }: PartnerAccounts, total: number): readonly string[] {
  const [transaction, direct, reserve, post, payout, event] = ['001', '002', '003', '004', '005', '006'].map(id)
  const ref = reference(total)
  const transfer = `insert into ledger.transfers (partner_id, id, kind, debit_account_id, credit_account_id, currency,
    amount, party_id, reference, reserve_id, created_at)`
  const moved = `'EUR', ${amount}, ${partner}, ${ref}`
  return [
    `insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
      party_type, type, status, idempotency_key, timeline, created_at, updated_at)
    select ${partner}, ${transaction}, ${ref}, ${amount}, 'EUR', case n % 2 when 1 then 'Withdrawal' else 'Deposit' end,
      case n % 2 when 1 then 'Outward' else 'Inward' end, 'Fiat', 'Partner',
      case n % 2 when 1 then 'PartnerWithdraw' else 'PartnerDeposit' end, 'Completed',
      case n % 2 when 1 then ${ref} end, ${timeline}, ${at}, ${at} from $series`,
    `${transfer} select ${partner}, ${direct}, 'direct', ${settlement}, ${balance}, ${moved}, null, ${at}
    from $series where n % 2 = 0`,
    `${transfer} select ${partner}, ${reserve}, 'reserve', ${balance}, ${settlement}, ${moved}, null, ${at}
    from $series where n % 2 = 1`,
    `${transfer} select ${partner}, ${post}, 'post', ${balance}, ${settlement}, ${moved}, ${reserve}, ${at}
    from $series where n % 2 = 1`,
    `insert into payouts.payouts (partner_id, id, operation, idempotency_key, request_hash, transaction_id, reference,
      reserve_id, amount, currency, creditor_name, creditor_account, creditor_country, rail, end_to_end_id, ip_address,
      status, send_attempts, created_at, updated_at)
    select ${partner}, ${payout}, 'createFiatPayout', ${ref}, '', ${transaction}, ${ref}, ${reserve}, ${amount}, 'EUR',
      ${payee}, 'NL', 'Sepa', replace(${payout}::text, '-', ''), '127.0.0.1', 'Completed', 1, ${at}, ${at}
    from $series where n % 2 = 1`,
    `insert into events.events (partner_id, id, type, reference, data, occurred_at)
    select ${partner}, ${event}, 'partner.customer.withdrawal.requested', ${ref}, '{}', ${at}
    from $series where n % 2 = 1`,
  ]
}

/** Returns how many payouts it has made. */
export const fillRows =
  (rows: number, say: (line: string) => void) =>
  (databaseUrl: string, { partnerId }: { readonly partnerId: string }): Promise<number> =>
    withClient(databaseUrl, async (client) => {
      const accounts = await client.query<{ id: string; name: string }>(
        `select id, name from ledger.accounts where partner_id = $1 and currency = 'EUR'`,
        [partnerId],
      )
      const account = (name: string) => accounts.rows.find((row) => row.name === name)?.id ?? ''
      const [balance, settlement] = [account('balance'), account('settlement.sandbox')]
      // Skips foreign key checks: the rows are correct by construction, and the audit follows.
      await client.query(`set session_replication_role = replica`)
      const ids: PartnerAccounts = {
        partner: `'${partnerId}'::uuid`,
        balance: `'${balance}'::uuid`,
        settlement: `'${settlement}'::uuid`,
      }
      for (let from = 1; from <= rows; from += batchRows) {
        const to = Math.min(rows, from + batchRows - 1)
        for (const insert of inserts(ids, rows))
          await client.query(insert.replace('$series', `generate_series(${from}::bigint, ${to}::bigint) as n`))
        if (to % (batchRows * 10) === 0) say(`${to.toLocaleString('en')} of ${rows.toLocaleString('en')} rows filled`)
      }
      const moved = `update ledger.accounts set posted = posted + $1 where partner_id = $2 and id = $3`
      const gained = (rows - 2 * payoutsIn(rows)) * amount
      await client.query(moved, [gained, partnerId, balance])
      await client.query(moved, [-gained, partnerId, settlement])
      await client.query('reset session_replication_role')
      await client.query('vacuum (analyze)')
      return payoutsIn(rows)
    })
