/**
 * Endpoints on loopback, a process of their own: each has a port, counts, and keeps what came in memory. Nothing is
 * verified while it is measured; what is asked for afterwards is made of what was kept.
 */
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerAsked } from './ask.ts'
import { type Behaviour, type Received, type Sampled, splitBody } from './received.ts'

type Question =
  | { readonly listen: readonly Behaviour[] }
  | { readonly count: true }
  | { readonly take: { readonly sampled: number } }
type Kept = { readonly endpoint: number; readonly atMs: number; readonly request: IncomingMessage; body: Buffer }

let kept: Kept[] = []
let count = 0

/** The clock that all processes of a machine share. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

const endpoints = {
  ok: (endpoint: number) => (request: IncomingMessage, response: ServerResponse) => {
    const entry: Kept = { endpoint, atMs: nowMs(), request, body: Buffer.alloc(0) }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      entry.body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      kept.push(entry)
      count += 1
      response.writeHead(200, { 'content-length': '0' }).end()
    })
  },
  hang: () => (request: IncomingMessage) => void request.resume(),
  error: () => (request: IncomingMessage, response: ServerResponse) => {
    request.resume()
    response.writeHead(500, { 'content-length': '0' }).end()
  },
} as const

function listen(behaviour: Behaviour, endpoint: number): Promise<number> {
  const server: Server = createServer(endpoints[behaviour](endpoint))
  // Connections stay: the sender of the next round finds the ones of the last.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, timeout: 0 })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => resolve((server.address() as AddressInfo).port))
  })
}

const headersOf = ({ headers }: IncomingMessage) => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})

/** Everything since it was last asked, and the first few whole, for their signatures. */
function take(sampledMax: number): { readonly received: readonly Received[]; readonly sampled: readonly Sampled[] } {
  const received = kept.map(({ endpoint, atMs, request, body }) => {
    const { eventId, data, reference } = splitBody(body.toString())
    const digest = hash('sha256', data, 'hex')
    return { endpoint, atMs, id: String(request.headers['webhook-id']), eventId, reference, digest }
  })
  const step = Math.max(1, Math.floor(kept.length / sampledMax))
  const sampled = kept
    .filter((_, at) => at % step === 0)
    .map(({ endpoint, request, body }) => ({ endpoint, headers: headersOf(request), body: body.toString() }))
  kept = []
  count = 0
  return { received, sampled }
}

answerAsked<Question>((question) => {
  if ('listen' in question) return Promise.all(question.listen.map(listen))
  if ('count' in question) return count
  return take(question.take.sampled)
})
