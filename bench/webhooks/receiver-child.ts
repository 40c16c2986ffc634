/**
 * Endpoints on loopback, in one process. Each has a port, counts requests and keeps them in memory. Results are computed
 * after the measurement. The endpoints share the cores of the contestants, so they parse only what every sender writes:
 * HTTP/1.1 with a content-length. `node:http` would cost twice as much.
 */
import { hash } from 'node:crypto'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { serveRequests } from '../child.ts'
import { type Behaviour, type ReceivedRequest, type SampledRequest, splitBody } from './received.ts'

type Message =
  | { readonly listen: readonly Behaviour[] }
  | { readonly count: true }
  | { readonly take: { readonly sampled: number } }
type RawRequest = { readonly endpoint: number; readonly atMs: number; readonly head: Buffer; readonly body: Buffer }

let kept: RawRequest[] = []
let count = 0

/** A clock that all processes of a machine share. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

const endOfHead = '\r\n\r\n'
const contentLength = /\r\ncontent-length: *(\d+)/i

/**
 * Calls `take` with each request, and `ended` after the requests of a chunk. A chunk may contain several requests, and
 * parts of requests.
 */
function readRequests(
  socket: Socket,
  take: (request: Omit<RawRequest, 'endpoint'>) => void,
  ended: (count: number) => void,
) {
  let rest: Buffer | undefined
  /** The first request, when its head is complete. */
  let open: { readonly atMs: number; readonly headBytes: number; readonly bytes: number } | undefined
  socket.on('data', (chunk: Buffer) => {
    let bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
    let requests = 0
    for (;;) {
      if (open === undefined) {
        const at = bytes.indexOf(endOfHead, 0, 'latin1')
        if (at < 0) break
        const headBytes = at + endOfHead.length
        const length = contentLength.exec(bytes.toString('latin1', 0, at))?.[1]
        if (length === undefined) return socket.destroy(new Error('a request without a length'))
        open = { atMs: nowMs(), headBytes, bytes: headBytes + Number(length) }
      }
      if (bytes.length < open.bytes) break
      const { atMs, headBytes } = open
      take({ atMs, head: bytes.subarray(0, headBytes), body: bytes.subarray(headBytes, open.bytes) })
      requests += 1
      bytes = bytes.subarray(open.bytes)
      open = undefined
    }
    rest = bytes.length > 0 ? bytes : undefined
    if (requests > 0) ended(requests)
  })
  // A sender may close its connections at any time.
  socket.on('error', () => {})
}

const responseOf = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`
const ok = responseOf('200 OK')
const error = responseOf('500 Internal Server Error')

const endpoints = {
  ok: (endpoint: number) => (socket: Socket) =>
    readRequests(
      socket,
      ({ atMs, head, body }) => {
        kept.push({ endpoint, atMs, head, body })
        count += 1
      },
      (requests) => socket.write(ok.repeat(requests), 'latin1'),
    ),
  hang: () => (socket: Socket) =>
    readRequests(
      socket,
      () => {},
      () => {},
    ),
  error: () => (socket: Socket) =>
    readRequests(
      socket,
      () => {},
      (requests) => socket.write(error.repeat(requests), 'latin1'),
    ),
} as const

function listen(behaviour: Behaviour, endpoint: number): Promise<number> {
  const server: Server = createServer({ noDelay: true }, endpoints[behaviour](endpoint))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => resolve((server.address() as AddressInfo).port))
  })
}

/** Headers by lower-case name, without the request line. */
const headersOf = (head: Buffer): Readonly<Record<string, string>> =>
  Object.fromEntries(
    head
      .toString('latin1')
      .split('\r\n')
      .slice(1)
      .flatMap((line) => {
        const colon = line.indexOf(':')
        return colon < 0 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const]
      }),
  )
const signedBy = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** Returns all requests since the last call, and a sample of them with headers and body, to verify signatures. */
function take(sampledMax: number): {
  readonly received: readonly ReceivedRequest[]
  readonly sampled: readonly SampledRequest[]
} {
  const received = kept.map(({ endpoint, atMs, head, body }) => {
    const { eventId, data, reference } = splitBody(body.toString())
    const digest = hash('sha256', data, 'hex')
    return { endpoint, atMs, id: String(headersOf(head)['webhook-id']), eventId, reference, digest }
  })
  const step = Math.max(1, Math.floor(kept.length / sampledMax))
  const sampled = kept
    .filter((_, at) => at % step === 0)
    .map(({ endpoint, head, body }) => {
      const headers = headersOf(head)
      const some = Object.fromEntries(signedBy.map((name) => [name, String(headers[name])]))
      return { endpoint, headers: some, body: body.toString() }
    })
  kept = []
  count = 0
  return { received, sampled }
}

serveRequests<Message>((message) => {
  if ('listen' in message) return Promise.all(message.listen.map(listen))
  if ('count' in message) return count
  return take(message.take.sampled)
})
