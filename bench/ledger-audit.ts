/**
 * Audits a database after a round: balances sum to zero and equal their transfers, and every accepted payout is stored
 * once with one event. All statements read one snapshot and return violations, so no rows means no error.
 */
import { withClient } from './postgres.ts'

export type RequestCounts = { readonly accepted: number; readonly unknown: number }

const violations: Readonly<Record<string, string>> = {
  'the posted balances of a currency do not sum to zero': `
    select currency, sum(posted)::text as posted from ledger.accounts group by currency having sum(posted) <> 0`,
  'an account balance differs from its transfers': `
    with moves as (
      select partner_id, debit_account_id as id,
        sum(case when kind in ('direct', 'post') then -amount else 0 end) as posted,
        sum(case kind when 'reserve' then amount when 'direct' then 0 else -amount end) as reserved
      from ledger.transfers group by 1, 2
      union all
      select partner_id, credit_account_id, sum(amount), 0
      from ledger.transfers where kind in ('direct', 'post') group by 1, 2),
    sums as (select partner_id, id, sum(posted) as posted, sum(reserved) as reserved from moves group by 1, 2)
    select account.id, account.name, account.posted::text, sums.posted::text as transferred from ledger.accounts as account
      left join sums using (partner_id, id)
    where account.posted <> coalesce(sums.posted, 0) or account.reserved <> coalesce(sums.reserved, 0) limit 5`,
  'a balance is negative': `
    select id, name, posted::text, reserved::text from ledger.accounts
    where reserved < 0 or (name = 'balance' and posted < reserved) limit 5`,
  'an idempotency key is stored twice': `
    select idempotency_key, count(*)::text from payouts.payouts
    group by partner_id, operation, idempotency_key having count(*) > 1 limit 5`,
  'a payout does not have exactly one reserve': `
    select payout.id from payouts.payouts as payout left join ledger.transfers as transfer
      on transfer.partner_id = payout.partner_id and transfer.id = payout.reserve_id
        and transfer.kind = 'reserve' and transfer.amount = payout.amount
    where transfer.id is null limit 5`,
  'a payout has no transaction, or an empty timeline': `
    select payout.id from payouts.payouts as payout left join transactions.transactions as transaction
      on transaction.partner_id = payout.partner_id and transaction.id = payout.transaction_id
    where transaction.id is null or jsonb_array_length(transaction.timeline) = 0
      or transaction.reference <> payout.reference limit 5`,
}

const counts = `
  select (select count(*) from payouts.payouts)::integer as payouts,
    (select count(*) from events.events where type = 'partner.customer.withdrawal.requested')::integer as events,
    (select count(distinct (partner_id, reference)) from events.events
      where type = 'partner.customer.withdrawal.requested')::integer as "references",
    (select count(*) from ledger.transfers where kind = 'reserve')::integer as reserves,
    (select count(*) from transactions.transactions where category = 'Withdrawal')::integer as withdrawals`

/** Returns what is wrong. `counted` is everything that was sent to this database. */
export async function auditLedger(databaseUrl: string, counted: RequestCounts): Promise<readonly string[]> {
  return withClient(databaseUrl, async (client) => {
    const found: string[] = []
    await client.query('begin isolation level repeatable read read only')
    for (const [what, statement] of Object.entries(violations)) {
      const { rows } = await client.query(statement)
      if (rows.length > 0) found.push(`${what}: ${JSON.stringify(rows)}`)
    }
    const { rows } = await client.query<Record<string, number>>(counts)
    await client.query('commit')
    const { payouts = 0, ...others } = rows[0] ?? {}
    const { accepted, unknown } = counted
    if (payouts < accepted || payouts > accepted + unknown)
      found.push(`accepted ${accepted} (and ${unknown} without an answer), stored ${payouts}`)
    for (const [name, count] of Object.entries(others))
      if (count !== payouts) found.push(`payouts ${payouts}, ${name} ${count}`)
    return found
  })
}
