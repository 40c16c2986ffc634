/** What must hold of a partner's ledger at every moment, computed from the transfers anew, without the service's code. */
import assert from 'node:assert/strict'
import { sql, type Tx } from '../../service/src/postgres/index.ts'

type Account = {
  readonly id: string
  readonly name: string
  readonly currency: string
  readonly posted: bigint
  readonly reserved: bigint
}
type Fold = Pick<Account, 'id' | 'posted' | 'reserved'>

const accountsOf = (tx: Tx, partnerId: string) =>
  tx.rows<Account>(sql`
    select id, name, currency, posted, reserved from ledger.accounts where partner_id = ${partnerId} order by id`)

/** Each account as its transfers make it: posted by direct and post, set aside by reserves that nothing has ended. */
const foldOf = (tx: Tx, partnerId: string) =>
  tx.rows<Fold>(sql`
    select a.id,
      coalesce(sum(case when t.kind in ('direct', 'post') and t.credit_account_id = a.id then t.amount
        when t.kind in ('direct', 'post') then -t.amount end), 0)::bigint as posted,
      coalesce(sum(t.amount) filter (where t.kind = 'reserve' and t.debit_account_id = a.id and not exists (
        select from ledger.transfers e where e.partner_id = ${partnerId} and e.reserve_id = t.id)), 0)::bigint as reserved
    from ledger.accounts a left join ledger.transfers t on t.partner_id = a.partner_id
      and a.id in (t.debit_account_id, t.credit_account_id)
    where a.partner_id = ${partnerId} group by a.id order by a.id`)

/** Conservation, no negative balance, balances that follow from transfers, transfers within one currency. */
export async function checkLedger(tx: Tx, partnerId: string): Promise<readonly Account[]> {
  const accounts = await accountsOf(tx, partnerId)
  const rows = accounts.map(({ id, posted, reserved }) => ({ id, posted, reserved }))
  assert.deepEqual(rows, await foldOf(tx, partnerId), 'each account is the sum of its transfers')
  for (const [currency, group] of Map.groupBy(accounts, (account) => account.currency)) {
    const sum = group.reduce((total, account) => total + account.posted, 0n)
    assert.equal(sum, 0n, `what left one account of ${currency} came to another`)
  }
  for (const { name, currency, posted, reserved } of accounts) {
    assert.ok(reserved >= 0n, `${name} ${currency} has ${reserved} reserved`)
    if (name === 'balance') assert.ok(posted >= reserved, `${name} ${currency}: ${posted} posted, ${reserved} reserved`)
    else assert.equal(reserved, 0n, `only a balance is reserved from, not ${name}`)
  }
  const foreign = await tx.rows(sql`
    select t.id from ledger.transfers t
    join ledger.accounts a on a.partner_id = t.partner_id and a.id in (t.debit_account_id, t.credit_account_id)
    where t.partner_id = ${partnerId} and a.currency <> t.currency`)
  assert.deepEqual(foreign, [], 'a transfer has the currency of its accounts')
  return accounts
}
