/** The ceiling, a process of its own: posts that lie signed in memory, as fast as the client sends them. */
import { hash, randomUUID } from 'node:crypto'
import { readSigningKey } from '@partner-payments/wire'
import { usageNow } from '../usage.ts'
import { answerAsked } from './ask.ts'
import { createClient, type Post, signedPost } from './client.ts'
import { newReference, payloadOf } from './events.ts'

export type RawPrepare = { readonly urls: readonly string[]; readonly secret: string; readonly count: number }
export type RawPosted = { readonly endpoint: number; readonly id: string; readonly digest: string }
type Question =
  | { readonly prepare: RawPrepare }
  /** Posts under way at once to each endpoint. */
  | { readonly go: { readonly inFlight: number } }
  | { readonly usage: true }

const client = createClient()
let endpointQueues: readonly (readonly Post[])[] = []

function prepare({ urls, secret, count }: RawPrepare): readonly RawPosted[] {
  const key = readSigningKey(secret)
  const posted: RawPosted[] = []
  const perEndpoint = Math.ceil(count / urls.length)
  endpointQueues = urls.map((url, endpoint) =>
    Array.from({ length: perEndpoint }, () => {
      const id = randomUUID()
      const data = payloadOf(newReference(), new Date())
      posted.push({ endpoint, id, digest: hash('sha256', data, 'hex') })
      return signedPost(url, key, id, data)
    }),
  )
  return posted
}

async function go(inFlight: number): Promise<void> {
  const post = async (waiting: Iterator<Post>) => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      const status = await client.post(next.value)
      if (status !== 200) throw new Error(`an endpoint answered ${status}`)
    }
  }
  await Promise.all(
    endpointQueues.flatMap((endpointQueue) => {
      const waiting = endpointQueue.values()
      return Array.from({ length: inFlight }, () => post(waiting))
    }),
  )
}

answerAsked<Question>((question) => {
  if ('prepare' in question) return prepare(question.prepare)
  if ('go' in question) return go(question.go.inFlight)
  return usageNow()
})
