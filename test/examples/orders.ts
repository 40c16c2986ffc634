/** Creates the maximum number of active standing orders of a partner. */
import { type Database, sql } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, success, textAt } from '../support/client.ts'

const activeMax = 10_000

/** Returns the refusal of one order more than a partner may have by default. Then cancels the others. */
export async function orderBeyondBound(client: Client, db: Database, beneficiaryId: string): Promise<Answer> {
  const schedule = { frequency: 'Once', startsOn: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) }
  const body = { beneficiaryId, amount: 10, currency: 'EUR', schedule }
  const create = () => client.post('/v1/payouts/standing-orders', body)
  const id = textAt(success(await create()), 'id')
  await db.run(sql`
    insert into payouts.standing_orders
    select (jsonb_populate_record(standing, jsonb_build_object('id', gen_random_uuid()))).*
    from payouts.standing_orders as standing, generate_series(2, ${activeMax}) where standing.id = ${id}`)
  const refused = await create()
  await db.run(sql`
    delete from payouts.standing_orders where beneficiary_id = ${beneficiaryId} and status = 'Active'
      and created_at = (select created_at from payouts.standing_orders where id = ${id})`)
  return refused
}
