/** A partner's webhook endpoint on loopback. It records every delivery unchanged and responds with 204. */
import { once } from 'node:events'
import { type IncomingHttpHeaders, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Delivery = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Receiver = {
  readonly url: string
  /** Requests in the order of arrival. */
  readonly deliveries: readonly Delivery[]
  readonly close: () => Promise<void>
}

/** `statusOf` returns the status of the response to each delivery. */
export async function startReceiver(statusOf: (delivery: Delivery) => number = () => 204): Promise<Receiver> {
  const deliveries: Delivery[] = []
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming
      const delivery = { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') }
      deliveries.push(delivery)
      outgoing.writeHead(statusOf(delivery)).end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    deliveries,
    close: async () => {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}
