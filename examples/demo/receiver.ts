/** The partner's webhook endpoint: believes only what is signed, over the body as it came, and keeps all of it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verifyWebhook, type WebhookEvent } from '@partner-payments/sdk'

export type Arrival = WebhookEvent & { readonly body: string }

export type Receiver = {
  readonly url: string
  /** Everything that arrived and was genuine, in the order of arrival; a retry arrives under the same `eventId`. */
  readonly arrivals: readonly Arrival[]
  /** Why each delivery that was not genuine was refused. */
  readonly refused: readonly string[]
  /** Each event of a transaction once, in the order of first arrival. */
  readonly eventsOf: (reference: string) => readonly Arrival[]
  readonly useSecret: (secret: string) => void
  readonly close: () => Promise<void>
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = []
  const refused: string[] = []
  let secret = ''
  const answer = async (request: IncomingMessage): Promise<number> => {
    const body = await readBody(request)
    try {
      const event = verifyWebhook(secret, request.headers, body)
      arrivals.push({ ...event, body: body.toString('utf8') })
      return 204
    } catch (error) {
      refused.push(String(error))
      return 400
    }
  }
  const server = createServer((request, response) => {
    answer(request).then(
      (status) => void response.writeHead(status).end(),
      // The service was killed in the middle of a delivery: it will deliver it again.
      () => void response.destroy(),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    arrivals,
    refused,
    eventsOf: (reference) => {
      const seen = new Map<string, Arrival>()
      for (const arrival of arrivals)
        if (arrival.data.reference === reference && !seen.has(arrival.eventId)) seen.set(arrival.eventId, arrival)
      return [...seen.values()]
    },
    useSecret: (shown) => {
      secret = shown
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}
