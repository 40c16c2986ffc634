/**
 * The books of a database after a round: money is conserved, balances are what the transfers make them, and what was
 * accepted is stored once and told once. One snapshot; every statement answers with what is wrong, so nothing is good.
 */
import { withClient } from './postgres.ts'

export type Counted = { readonly accepted: number; readonly unknown: number }

const wrongs: Readonly<Record<string, string>> = {
  'the posted balances of a currency do not sum to zero': `
    select currency, sum(posted)::text as posted from ledger.accounts group by currency having sum(posted) <> 0`,
  'an account is not the fold of its transfers': `
    with moves as (
      select partner_id, debit_account_id as id,
        sum(case when kind in ('direct', 'post') then -amount else 0 end) as posted,
        sum(case kind when 'reserve' then amount when 'direct' then 0 else -amount end) as reserved
      from ledger.transfers group by 1, 2
      union all
      select partner_id, credit_account_id, sum(amount), 0
      from ledger.transfers where kind in ('direct', 'post') group by 1, 2),
    folded as (select partner_id, id, sum(posted) as posted, sum(reserved) as reserved from moves group by 1, 2)
    select a.id, a.name, a.posted::text, f.posted::text as folded from ledger.accounts a
      left join folded f using (partner_id, id)
    where a.posted <> coalesce(f.posted, 0) or a.reserved <> coalesce(f.reserved, 0) limit 5`,
  'a balance is negative': `
    select id, name, posted::text, reserved::text from ledger.accounts
    where reserved < 0 or (name = 'balance' and posted < reserved) limit 5`,
  'a key is there twice': `
    select idempotency_key, count(*)::text from payouts.payouts
    group by partner_id, operation, idempotency_key having count(*) > 1 limit 5`,
  'a payout has not exactly one reserve': `
    select p.id from payouts.payouts p left join ledger.transfers t
      on t.partner_id = p.partner_id and t.id = p.reserve_id and t.kind = 'reserve' and t.amount = p.amount
    where t.id is null limit 5`,
  'a payout has no transaction, or no first line in its timeline': `
    select p.id from payouts.payouts p
      left join transactions.transactions t on t.partner_id = p.partner_id and t.id = p.transaction_id
    where t.id is null or jsonb_array_length(t.timeline) = 0 or t.reference <> p.reference limit 5`,
}

const counts = `
  select (select count(*) from payouts.payouts)::integer as payouts,
    (select count(*) from events.events where type = 'partner.customer.withdrawal.requested')::integer as events,
    (select count(distinct (partner_id, reference)) from events.events
      where type = 'partner.customer.withdrawal.requested')::integer as told,
    (select count(*) from ledger.transfers where kind = 'reserve')::integer as reserves,
    (select count(*) from transactions.transactions where category = 'Withdrawal')::integer as withdrawals`

/** What is wrong, in words; empty where all is well. `counted` is everything sent to this database so far. */
export async function auditBooks(databaseUrl: string, counted: Counted): Promise<readonly string[]> {
  return withClient(databaseUrl, async (client) => {
    const found: string[] = []
    await client.query('begin isolation level repeatable read read only')
    for (const [what, statement] of Object.entries(wrongs)) {
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
