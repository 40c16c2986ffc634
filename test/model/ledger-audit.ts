/** Audits the ledger of a partner: recomputes every account from its transfers, without the code of the service. */
import assert from 'node:assert/strict'
import { sql, type Tx } from '../../service/src/postgres/index.ts'

type Account = {
  readonly id: string
  readonly name: string
  readonly currency: string
  readonly posted: bigint
  readonly reserved: bigint
}
type Totals = Pick<Account, 'id' | 'posted' | 'reserved'>

const accountsOf = (tx: Tx, partnerId: string) =>
  tx.rows<Account>(sql`
    select id, name, currency, posted, reserved from ledger.accounts where partner_id = ${partnerId} order by id`)

/** Each account from its transfers: posted by `direct` and `post`, reserved by reserves that have not ended. */
const recomputed = (tx: Tx, partnerId: string) =>
  tx.rows<Totals>(sql`
    select account.id,
      coalesce(sum(case
        when transfer.kind in ('direct', 'post') and transfer.credit_account_id = account.id then transfer.amount
        when transfer.kind in ('direct', 'post') then -transfer.amount end), 0)::bigint as posted,
      coalesce(sum(transfer.amount) filter (where transfer.kind = 'reserve' and transfer.debit_account_id = account.id
        and not exists (select from ledger.transfers as reserve_end
          where reserve_end.partner_id = ${partnerId} and reserve_end.reserve_id = transfer.id)), 0)::bigint as reserved
    from ledger.accounts as account left join ledger.transfers as transfer on transfer.partner_id = account.partner_id
      and account.id in (transfer.debit_account_id, transfer.credit_account_id)
    where account.partner_id = ${partnerId} group by account.id order by account.id`)

/** Checks conservation, the limit of the balance, that balances equal their transfers, and one currency per transfer. */
export async function checkLedger(tx: Tx, partnerId: string): Promise<readonly Account[]> {
  const accounts = await accountsOf(tx, partnerId)
  const rows = accounts.map(({ id, posted, reserved }) => ({ id, posted, reserved }))
  assert.deepEqual(rows, await recomputed(tx, partnerId), 'each account is the sum of its transfers')
  for (const [currency, group] of Map.groupBy(accounts, (account) => account.currency)) {
    const sum = group.reduce((total, account) => total + account.posted, 0n)
    assert.equal(sum, 0n, `the accounts in ${currency} add up to zero`)
  }
  for (const { name, currency, posted, reserved } of accounts) {
    assert.ok(reserved >= 0n, `${name} ${currency} has ${reserved} reserved`)
    if (name === 'balance') assert.ok(posted >= reserved, `${name} ${currency}: ${posted} posted, ${reserved} reserved`)
    else assert.equal(reserved, 0n, `${name}: only a balance has a reserved part`)
  }
  const foreign = await tx.rows(sql`
    select transfer.id from ledger.transfers as transfer join ledger.accounts as account
      on account.partner_id = transfer.partner_id
        and account.id in (transfer.debit_account_id, transfer.credit_account_id)
    where transfer.partner_id = ${partnerId} and account.currency <> transfer.currency`)
  assert.deepEqual(foreign, [], 'a transfer has the currency of its accounts')
  return accounts
}
