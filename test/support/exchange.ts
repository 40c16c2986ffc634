/** Requests through the real exchange, and TCP receivers that respond with raw bytes. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import {
  createExchange,
  type DeliveryRequest,
  type Exchange,
  type ExchangeOptions,
} from '../../service/src/webhooks/exchange/exchange.ts'
import type { AttemptResult, Resolve } from '../../service/src/webhooks/index.ts'
import { newId, randomBytes, systemClock } from '../../service/src/kernel/index.ts'

/** The key and the certificate of hooks.test, proxy.test and 127.0.0.1. */
export const receiversPem = readFileSync(new URL('tls/receivers.pem', import.meta.url), 'utf8')
/** Stands for any public address. The proxy of a test connects it to the receiver of the test. */
export const publicAddress = '93.184.216.34'

export const resolveNothing: Resolve = async () => {
  throw Object.assign(new Error('the host name does not resolve'), { code: 'ENOTFOUND' })
}

export const requestTo = (url: string, data = '{"reference":"R","status":"s"}'): DeliveryRequest => ({
  target: { url, keys: [{ kind: 'v1', key: randomBytes(32) }] },
  eventId: newId(),
  data,
})

/** Returns undefined if the exchange abandons the request. */
export const trySend = (exchange: Exchange, request: DeliveryRequest) =>
  new Promise<AttemptResult | undefined>((onResult) => exchange.send(request, onResult))

export async function send(exchange: Exchange, request: DeliveryRequest): Promise<AttemptResult> {
  const result = await trySend(exchange, request)
  if (result === undefined) throw new Error('the request was abandoned')
  return result
}

export const exchangeOf = (options: Partial<ExchangeOptions> = {}) =>
  createExchange({ clock: systemClock, allowLoopback: false, resolve: resolveNothing, timeoutMs: 5000, ...options })

/** Sends one request by an exchange of its own. */
export async function sendOnce(url: string, options: Partial<ExchangeOptions> = {}, data?: string) {
  const exchange = exchangeOf(options)
  try {
    return await send(exchange, requestTo(url, data))
  } finally {
    await exchange.close()
  }
}

/** The client reuses a connection one turn of the event loop after the end of its response. */
export const connectionFree = () => new Promise<void>((resolve) => setImmediate(resolve))

export type TcpReceiver = {
  readonly port: number
  readonly url: string
  /** All connections since the start. */
  readonly connections: () => number
  /** Connections that are open now. */
  readonly open: () => number
  readonly close: () => void
}

/** Listens on loopback. Calls `serve` for each connection when its first bytes have arrived. */
export async function startTcpReceiver(
  serve: (socket: Socket, first: Buffer) => void,
  { tls = false, host = '127.0.0.1' }: { readonly tls?: boolean; readonly host?: string } = {},
): Promise<TcpReceiver> {
  const sockets = new Set<Socket>()
  let connections = 0
  const onConnection = (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    socket.once('data', (first: Buffer) => serve(socket, first))
  }
  const server: Server = tls
    ? createTlsServer({ key: receiversPem, cert: receiversPem }, onConnection)
    : createServer(onConnection)
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    connections: () => connections,
    open: () => sockets.size,
    close: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}

export const okResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
