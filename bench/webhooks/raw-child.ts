/** The raw client, as a process: sends requests that are signed in memory, as fast as the client can. */
import { hash, randomUUID } from 'node:crypto'
import { parseSigningKey } from '@partner-payments/wire'
import { usageNow } from '../usage.ts'
import { serveRequests } from '../child.ts'
import { createClient, type SignedRequest, signRequest } from './client.ts'
import { newReference, payloadOf } from './events.ts'

type RawPrepare = { readonly urls: readonly string[]; readonly secret: string; readonly count: number }
export type RawPosted = { readonly endpoint: number; readonly id: string; readonly digest: string }
type Message =
  | { readonly prepare: RawPrepare }
  /** Concurrent requests to each endpoint. */
  | { readonly go: { readonly inFlight: number } }
  | { readonly usage: true }

const client = createClient()
let requestsByEndpoint: readonly (readonly SignedRequest[])[] = []

function prepare({ urls, secret, count }: RawPrepare): readonly RawPosted[] {
  const key = parseSigningKey(secret)
  const posted: RawPosted[] = []
  const perEndpoint = Math.ceil(count / urls.length)
  requestsByEndpoint = urls.map((url, endpoint) =>
    Array.from({ length: perEndpoint }, () => {
      const id = randomUUID()
      const data = payloadOf(newReference(), new Date())
      posted.push({ endpoint, id, digest: hash('sha256', data, 'hex') })
      return signRequest(url, key, id, data)
    }),
  )
  return posted
}

async function go(inFlight: number): Promise<void> {
  const post = async (waiting: Iterator<SignedRequest>) => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      const status = await client.post(next.value)
      if (status !== 200) throw new Error(`an endpoint responded with ${status}`)
    }
  }
  await Promise.all(
    requestsByEndpoint.flatMap((requests) => {
      const waiting = requests.values()
      return Array.from({ length: inFlight }, () => post(waiting))
    }),
  )
}

serveRequests<Message>((message) => {
  if ('prepare' in message) return prepare(message.prepare)
  if ('go' in message) return go(message.go.inFlight)
  return usageNow()
})
