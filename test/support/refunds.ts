/** Paid sessions of tests that refund, and what a refused payout must leave unchanged. */
import assert from 'node:assert/strict'
import { rawNumber } from '@partner-payments/wire'
import { newId } from '../../service/src/kernel/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { ip, type Service, stepMsDefault, type TestPartner } from './composition.ts'

/**
 * One session of 100.00 EUR for each customer, paid when it is first asked for. Its money is taken out of the balance again, so
 * that a test decides which money pays a refund.
 */
export function createPaidSessions(service: () => Service) {
  const paid = new Map<string, string>()
  return async ({ caller, partnerId }: TestPartner, customerId: string): Promise<string> => {
    const known = paid.get(customerId)
    if (known !== undefined) return known
    const { checkout, clock, db, deposits, settlement } = service()
    const order = { amount: rawNumber('100.00'), currency: 'EUR', customerId, idempotencyKey: newId() }
    const { id } = (await checkout.create(caller, order)).session
    await checkout.simulate(partnerId, id, { step: 'credit' }, ip)
    clock.advance(stepMsDefault)
    for (let rounds = 0; (await checkout.get(partnerId, id)).status !== 'Completed'; rounds += 1) {
      assert.ok(rounds < 50, 'the session is paid')
      await processBankNotifications(settlement)
    }
    const taken = { partnerId, connector: 'sandbox', currency: 'EUR', amount: 100_00n, description: 'Spent.' } as const
    await db.transaction((tx) => deposits.chargePartner(tx, taken))
    paid.set(customerId, id)
    return id
  }
}

/** Everything that a payout could write, as one text. */
export const writtenOf = async (db: Database, partnerId: string): Promise<string> =>
  JSON.stringify(
    await Promise.all([
      db.rows(
        sql`select name, currency, posted, reserved from ledger.accounts
        where partner_id = ${partnerId} and (posted <> 0 or reserved <> 0) order by id`,
      ),
      db.rows(sql`select id from ledger.transfers where partner_id = ${partnerId} order by id`),
      db.rows(sql`select id from payouts.payouts where partner_id = ${partnerId} order by id`),
      db.rows(sql`select id from transactions.transactions where partner_id = ${partnerId} order by id`),
      db.rows(
        sql`select * from payouts.limit_counters where partner_id = ${partnerId} order by currency, scope, period`,
      ),
      db.rows(sql`select accepted_by from fx.quotes where partner_id = ${partnerId} and accepted_by is not null`),
    ]),
    (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
  )
