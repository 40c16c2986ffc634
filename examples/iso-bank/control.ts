/**
 * The bank's control over HTTP, on the loopback address:
 *
 *   POST /orders   one order or a list -> {answers}
 *   POST /step     does what is due    -> {done}
 *   GET  /book                         -> what the bank did
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { IsoBank } from './bank.ts'
import { fromJson, toJson } from './json.ts'
import type { Order } from './model.ts'

export type Control = { readonly url: string; readonly close: () => Promise<void> }

export async function startControl(bank: IsoBank, port: number): Promise<Control> {
  const server = createServer((request, response) => {
    answer(bank, request).then(
      (body) => void response.writeHead(200, { 'content-type': 'application/json' }).end(`${toJson(body)}\n`),
      (error: unknown) =>
        void response.writeHead(400).end(`${error instanceof Error ? error.message : String(error)}\n`),
    )
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(bank: IsoBank, request: IncomingMessage): Promise<unknown> {
  const text = (await request.setEncoding('utf8').toArray()).join('')
  switch (`${request.method} ${request.url}`) {
    case 'POST /orders': {
      const orders = fromJson(text) as Order | readonly Order[]
      return { answers: [orders].flat().map((order) => bank.order(order as Order)) }
    }
    case 'POST /step':
      return { done: bank.step() }
    case 'GET /book':
      return bank.book()
    default:
      throw new Error('the bank takes POST /orders, POST /step and GET /book')
  }
}
