/** Identity verifications as a partner and its customer go through them: by the API, and by the page of the simulated provider. */
import { type Client, type Json, type JsonObject, success, textAt } from './client.ts'
import { until } from './until.ts'

const pathOf = (customerId: string) => `/v1/customers/${customerId}/verifications`

export async function startVerification(
  client: Client,
  customerId: string,
  body: Readonly<Record<string, Json>> = {},
): Promise<string> {
  return textAt(success(await client.post(pathOf(customerId), body)), 'id')
}

/** Waits until the verification has a status. */
export function verificationIn(client: Client, customerId: string, id: string, status: string): Promise<JsonObject> {
  return until(`the identity verification is ${status}`, async () => {
    const found = success(await client.get(`${pathOf(customerId)}/${id}`))
    return found.status === status && found
  })
}

/** Opens the page of the provider, and chooses what it finds. */
export async function choose(url: string, outcome: string): Promise<void> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ outcome }), redirect: 'manual' })
  await answer.arrayBuffer()
  if (answer.status !== 303) throw new Error(`the simulated provider answered ${answer.status}`)
}

/** Starts a verification, and has the provider approve it. */
export async function approveIdentity(client: Client, customerId: string): Promise<string> {
  const id = await startVerification(client, customerId)
  await choose(textAt(await verificationIn(client, customerId, id, 'Open'), 'url'), 'approve')
  await verificationIn(client, customerId, id, 'Approved')
  return id
}
