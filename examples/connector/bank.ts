/**
 * A small bank over HTTP and JSON, to write a connector against. It does not share code with the service and has its own ids, amounts and
 * reasons. It keeps its records in memory. Certain amounts choose what it does with an order.
 *
 *   POST /orders            {orders}      -> {results}: one for each order that it answers, in any order
 *   POST /orders/search     {references}  -> {orders}: those that it has
 *   GET  /messages?after=&limit=          -> {messages}: unconfirmed, 20 at most, numbered in the order in which they were made
 *   POST /messages/confirm  {numbers}     -> {}
 *   GET  /statement                       -> {orders}: everything
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRecords, type Order, type Records } from './records.ts'

/**
 * A fault of a call. `lose half`: the bank takes the first half of the orders and does not answer. `error before` and `error after`: it
 * answers with an error status, before or after it has run the call.
 */
export type BankFault = 'lose call' | 'lose answer' | 'lose half' | 'error before' | 'error after' | 'hang'

/** Faults that a test injects into the bank, read at every call. */
export type Weather = {
  readonly fault?: (path: string) => BankFault | undefined
  /** The messages of one answer, as they are sent. */
  readonly disorder?: <T>(messages: readonly T[]) => readonly T[]
  /** Reports whether the messages about the orders of this call wait for `sendHeld`. */
  readonly holds?: () => boolean
}

export type Bank = Pick<Records, 'statement' | 'sendHeld'> & {
  readonly url: string
  /** Calls without an answer whose connection is open. */
  readonly openCalls: () => number
  readonly close: () => Promise<void>
}

/** The fields of a call, by its path. The bank trusts its clients to send no other fields. */
type Body = {
  readonly orders?: readonly Order[]
  readonly references?: readonly string[]
  readonly numbers?: readonly number[]
}

const ordersPerCallMax = 100
const messagesPerAnswerMax = 20

export async function startBank(weather: Weather = {}, port = 0): Promise<Bank> {
  const records = createRecords()
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    answer(records, weather, request, response).catch((error: unknown) => {
      // Like a bank after an internal fault: without a reason.
      response.destroy(error instanceof Error ? error : undefined)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    statement: records.statement,
    sendHeld: records.sendHeld,
    openCalls: () => open.size,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(records: Records, weather: Weather, request: IncomingMessage, response: ServerResponse) {
  const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://bank')
  const text = (await request.setEncoding('utf8').toArray()).join('')
  const fault = weather.fault?.(path)
  // It waits for the client to give up.
  if (fault === 'hang') return
  if (fault === 'lose call') return void response.destroy()
  if (fault === 'error before') return void response.writeHead(503).end('<h1>Down for maintenance</h1>')
  const { orders = [], ...rest } = (text === '' ? {} : JSON.parse(text)) as Body
  const taken = fault === 'lose half' ? orders.slice(0, Math.ceil(orders.length / 2)) : orders
  const done = act(records, weather, `${request.method} ${path}`, searchParams, { ...rest, orders: taken })
  const status = fault === 'error after' ? 500 : done === undefined ? 400 : 200
  const answered = JSON.stringify(status === 200 ? done : {})
  response.writeHead(status, { 'content-type': 'application/json' })
  if (fault === undefined || fault === 'error after') return void response.end(answered)
  // A part of the answer arrives.
  response.write(answered.slice(0, answered.length / 2), () => response.destroy())
}

/** Runs a call. Undefined: the bank does not know the call. */
function act(records: Records, weather: Weather, call: string, query: URLSearchParams, body: Body): object | undefined {
  switch (call) {
    case 'POST /orders': {
      const { orders = [] } = body
      if (orders.length > ordersPerCallMax) return undefined
      const isHeld = weather.holds?.() ?? false
      const results = orders.flatMap((order) => records.take(order, isHeld) ?? [])
      // Results are not in the order of the orders, which no bank guarantees.
      return { results: results.toReversed() }
    }
    case 'POST /orders/search':
      return { orders: records.search(body.references ?? []).toReversed() }
    case 'GET /messages': {
      const limit = Math.min(messagesPerAnswerMax, Number(query.get('limit') ?? messagesPerAnswerMax))
      const messages = records.messages(Number(query.get('after') ?? 0)).slice(0, limit)
      return { messages: weather.disorder?.(messages) ?? messages }
    }
    case 'POST /messages/confirm':
      records.confirm(body.numbers ?? [])
      return {}
    case 'GET /statement':
      return { orders: records.statement() }
    default:
      return undefined
  }
}
