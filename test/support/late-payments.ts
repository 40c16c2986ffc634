/** Checkout sessions to which money came after their end, and a payment link, through the API. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Client, type JsonObject, success, textAt } from './client.ts'
import { sendForm } from './team.ts'
import { until } from './until.ts'

/** A session that the shop has ended, and the ids of late payments to it. */
export async function lateSession(client: Client, customerId: string, payments: number) {
  const order = { amount: 5, currency: 'EUR', customerId, idempotencyKey: randomUUID() }
  const id = textAt(success(await client.post('/v1/checkout/sessions', order)), 'sessionId')
  success(await client.post(`/v1/checkout/sessions/${id}/expire`))
  for (let sent = 0; sent < payments; sent += 1)
    success(await client.post(`/v1/simulations/checkout/sessions/${id}`, { step: 'credit' }))
  const found = await until('the late payments arrive', async () => {
    const { latePayments } = success(await client.get(`/v1/checkout/sessions/${id}`))
    const rows = (latePayments ?? []) as readonly JsonObject[]
    return rows.length === payments ? rows : undefined
  })
  return { id, late: found.map((row) => textAt(row, 'latePaymentId')) }
}

export const linkBody = (customerId: string): JsonObject => ({ customerId, currency: 'EUR', amount: 25 })

export async function createLate(client: Client, customerId: string) {
  const { id, late } = await lateSession(client, customerId, 2)
  const link = textAt(success(await client.post('/v1/checkout/links', linkBody(customerId))), 'linkId')
  return { lateSession: id, latePayment: late[0] ?? '', latePaymentToReturn: late[1] ?? '', link }
}

/** A payer enters a name on the page of a link, and gets a session. */
export async function openLink(url: string): Promise<void> {
  const opened = await sendForm(new URL(url), { name: 'Grace Hopper' })
  assert.equal(opened.status, 303, await opened.text())
}
