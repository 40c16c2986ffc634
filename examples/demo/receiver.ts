/** The partner's webhook endpoint. It verifies the signature over the raw body and keeps every genuine delivery. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verifyWebhook, type WebhookEvent } from '@partner-payments/sdk'

export type Arrival = WebhookEvent & { readonly body: string }

export type Receiver = {
  readonly url: string
  /** Every genuine delivery, in the order of arrival. A retry has the same `eventId`. */
  readonly arrivals: readonly Arrival[]
  /** The reason of each refused delivery. */
  readonly refused: readonly string[]
  /** The events of a transaction without duplicates, in the order of first arrival. */
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
      // A kill interrupted the delivery; the service repeats it.
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
    useSecret: (issued) => {
      secret = issued
    },
    close: async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}
