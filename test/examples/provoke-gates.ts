/** Provokes the refusal of a checkout session that would exceed the largest balance of its customer. */
import { randomUUID } from 'node:crypto'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, textAt } from '../support/client.ts'
import { createCustomer } from '../support/world.ts'

/**
 * Requests a session above the largest balance of its customer. The verification state of the gate also refuses the
 * payouts of `customer_not_verified`.
 */
export async function sessionAboveBalance({
  client,
  db,
}: {
  readonly client: Client
  readonly db: Database
}): Promise<Answer> {
  const customerId = textAt(await createCustomer(client, { kyc: { fullName: 'Ada Lovelace', lei: '1' } }), 'guid')
  await db.run(sql`
    insert into customers.gates (partner_id, verification_state, opens_accounts, receives, pays, balances_max, updated_at)
    select partner_id, verification_state, true, true, false, '{"GBP": "100"}', created_at
    from customers.customers where id = ${customerId}
    on conflict (partner_id, verification_state) do update set balances_max = excluded.balances_max`)
  const session = { amount: 1.01, currency: 'GBP', customerId, idempotencyKey: randomUUID() }
  return client.post('/v1/checkout/sessions', session)
}
