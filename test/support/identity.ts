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

/** Has the provider approve the customer, and creates two others that it does not know. */
export async function createProved(
  client: Client,
  customerId: string,
  createCustomer: (client: Client) => Promise<JsonObject>,
) {
  const identityVerification = await startVerification(client, customerId)
  const { url } = await verificationIn(client, customerId, identityVerification, 'Open')
  await choose(String(url), 'approve')
  await verificationIn(client, customerId, identityVerification, 'Approved')
  const [erasable, unproved] = [await createCustomer(client), await createCustomer(client)]
  return { identityVerification, erasable: textAt(erasable, 'guid'), unproved: textAt(unproved, 'guid') }
}
