/** Bulk payouts over HTTP. */
import { randomUUID } from 'node:crypto'
import { type Client, listAt, success, textAt } from './client.ts'
import { until } from './until.ts'

/** A bulk whose payouts are made. */
export async function makeBulk(client: Client, payouts: readonly string[]): Promise<string> {
  const body = `{"mode":"AllOrNothing","idempotencyKey":"${randomUUID()}","payouts":[${payouts.join(',')}]}`
  const bulk = textAt(success(await client.post('/v1/payouts/bulk', body)), 'id')
  await until('the bulk is completed', async () => {
    return success(await client.get(`/v1/payouts/bulk/${bulk}`)).status === 'Completed'
  })
  return bulk
}

/** A bulk of one payout, which has ended too. */
export async function endedBulk(client: Client, payout: string): Promise<string> {
  const bulk = await makeBulk(client, [payout])
  const [item] = listAt(success(await client.get(`/v1/payouts/bulk/${bulk}/items`)))
  await until('the payout of the bulk has ended', async () => {
    const { status } = success(await client.get(`/v1/transactions/${textAt(item ?? {}, 'reference')}`))
    return status !== 'Pending'
  })
  return bulk
}
