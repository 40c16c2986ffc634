/** One POST through the real exchange, and receivers below HTTP: what they answer is bytes. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import {
  createExchange,
  type Exchange,
  type ExchangeOptions,
  type Request,
} from '../../service/src/delivery/exchange/exchange.ts'
import type { Resolve } from '../../service/src/delivery/index.ts'
import { newId, randomBytes, systemClock } from '../../service/src/kernel/index.ts'
import type { AttemptResult } from '../../service/src/delivery/index.ts'

/** Key and certificate of hooks.test, proxy.test and 127.0.0.1. */
export const receiversPem = readFileSync(new URL('tls/receivers.pem', import.meta.url), 'utf8')
/** Stands for any public address: a test's proxy leads it where the test likes. */
export const publicAddress = '93.184.216.34'

export const noName: Resolve = async () => {
  throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
}

export const claimOf = (url: string, data = '{"reference":"R","status":"s"}'): Request => ({
  target: { url, keys: [{ kind: 'v1', key: randomBytes(32) }] },
  eventId: newId(),
  data,
})

/** Undefined: it was abandoned. */
export const sendBy = (exchange: Exchange, request: Request) =>
  new Promise<AttemptResult | undefined>((ended) => exchange.send(request, ended))

export async function postBy(exchange: Exchange, request: Request): Promise<AttemptResult> {
  const result = await sendBy(exchange, request)
  if (result === undefined) throw new Error('it was abandoned')
  return result
}

export const exchangeOf = (options: Partial<ExchangeOptions> = {}) =>
  createExchange({ clock: systemClock, allowLoopback: false, resolve: noName, timeoutMs: 5000, ...options })

/** By an exchange of its own. */
export async function postOnce(url: string, options: Partial<ExchangeOptions> = {}, data?: string) {
  const exchange = exchangeOf(options)
  try {
    return await postBy(exchange, claimOf(url, data))
  } finally {
    await exchange.close()
  }
}

/** The client lends a connection again one turn of the event loop after its answer has ended. */
export const connectionFree = () => new Promise<void>((resolve) => setImmediate(resolve))

export type Peer = {
  readonly port: number
  readonly url: string
  /** How many connections ever came. */
  readonly connections: () => number
  /** How many are open. */
  readonly open: () => number
  readonly close: () => void
}

/** A port of loopback; `serve` gets each connection once its first bytes are there. */
export async function startPeer(
  serve: (socket: Socket, first: Buffer) => void,
  { tls = false, host = '127.0.0.1' }: { readonly tls?: boolean; readonly host?: string } = {},
): Promise<Peer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const take = (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    socket.once('data', (first: Buffer) => serve(socket, first))
  }
  const server: Server = tls ? createTlsServer({ key: receiversPem, cert: receiversPem }, take) : createServer(take)
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

export const okAnswer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
