/** Checkout sessions that are paid, and refunded in part, through the API. */
import { randomUUID } from 'node:crypto'
import { type Client, type JsonObject, success, textAt } from './client.ts'
import { until } from './until.ts'

/** The id of a session that a payer of the sandbox has paid. */
export async function paidSession(client: Client, customerId: string, amount: number): Promise<string> {
  const order = { amount, currency: 'EUR', customerId, idempotencyKey: randomUUID() }
  const id = textAt(success(await client.post('/v1/checkout/sessions', order)), 'sessionId')
  success(await client.post(`/v1/simulations/checkout/sessions/${id}`, { step: 'credit' }))
  await until('the session is paid', async () => {
    return success(await client.get(`/v1/checkout/sessions/${id}`)).status === 'Completed'
  })
  return id
}

export const refundBody = (amount: number): JsonObject => ({ amount, idempotencyKey: randomUUID() })

/** A session of so much money that it can be refunded many times, and its first refund, which has ended. */
export async function createRefunded(client: Client, customerId: string) {
  const session = await paidSession(client, customerId, 500)
  const refunds = `/v1/checkout/sessions/${session}/refunds`
  const refund = textAt(success(await client.post(refunds, refundBody(1))), 'refundId')
  await until('the refund ends', async () => {
    return success(await client.get(`${refunds}/${refund}`)).status === 'Completed'
  })
  return { paidSession: session, refund }
}
