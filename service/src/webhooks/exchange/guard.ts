/** The guarded connector refuses connections to addresses that are not public. README.md, The guard, has the reasons. */
import { createRequire } from 'node:module'
import { isIP, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import type * as undici from 'undici'
import { isAllowedAddress, isLoopbackAddress, type Resolve } from './resolver.ts'
import { openTunnel, type Proxy } from './proxy.ts'

export { type Resolve, systemResolve } from './resolver.ts'

const require = createRequire(import.meta.url)

/** Partners see this text. It contains no address, because partners must not learn what internal names resolve to. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}
const notPublic = 'the endpoint has an address that is not public'

/** Limits the time of a DNS lookup. The connector must always call back, because the agent waits for it when it closes. */
async function lookupWithin<T>(timeoutMs: number, lookup: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    const error = Object.assign(new Error('the resolver did not answer in time'), { code: 'EAI_AGAIN' })
    timer = setTimeout(() => reject(error), timeoutMs)
  })
  try {
    return await Promise.race([lookup, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Addresses tried per name. Each may use the full connect timeout, and three use up the time limit of the exchange. */
const addressesTriedMax = 3

type GuardOptions = {
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  /** Applies to the lookup and to each address, so that a dead first address leaves time for the next. */
  readonly connectTimeoutMs: number
  readonly proxy?: Proxy | undefined
}

type Guard = {
  readonly connect: undici.buildConnector.connector
  /** Returns the address of the newest open connection to an origin, for the attempt log. */
  readonly addressOf: (origin: string) => string | undefined
}

export function createGuard({ allowLoopback, resolve, connectTimeoutMs, proxy }: GuardOptions): Guard {
  const { buildConnector } = require('undici') as typeof undici
  const dial = buildConnector({ allowH2: false, timeout: connectTimeoutMs, autoSelectFamily: false })
  const addresses = new Map<string, { readonly socket: Socket; readonly address: string }>()

  const allowedAddresses = async ({
    hostname,
    protocol,
  }: undici.buildConnector.Options): Promise<readonly string[]> => {
    const found = isIP(hostname) === 0 ? await lookupWithin(connectTimeoutMs, resolve(hostname)) : [hostname]
    // One forbidden address refuses the name: it is a rebinding attempt, or a mistake that would fail intermittently.
    if (found.length === 0 || !found.every((address) => isAllowedAddress(address, { allowLoopback })))
      throw new AddressRefused(notPublic)
    if (protocol !== 'https:' && !found.every(isLoopbackAddress))
      throw new AddressRefused('the endpoint must use https')
    return found
  }

  const connectTo = async (options: undici.buildConnector.Options, address: string): Promise<Socket> => {
    // Loopback means this machine. At the proxy, the same address would be another machine.
    const direct = proxy === undefined || isLoopbackAddress(address)
    const port = Number(options.port === '' ? 443 : options.port)
    const tunnel = direct ? {} : { httpSocket: await openTunnel(proxy, { address, port }, connectTimeoutMs) }
    // TLS verifies the certificate against the name, not against the address.
    const { servername: _servername, ...rest } = options
    const hasName = options.protocol === 'https:' && isIP(options.hostname) === 0
    const serverName = hasName ? { servername: options.hostname } : {}
    return new Promise<Socket>((resolveSocket, reject) => {
      dial({ ...rest, ...tunnel, ...serverName, hostname: address }, (error, socket) => {
        if (error !== null) return reject(error)
        const peer = direct ? socket.remoteAddress : address
        if (peer !== undefined && isAllowedAddress(peer, { allowLoopback }))
          return resolveSocket(filterInterimResponses(socket))
        socket.destroy()
        reject(new AddressRefused(notPublic))
      })
    })
  }

  const remember = ({ protocol, host = '' }: undici.buildConnector.Options, socket: Socket, address: string) => {
    const origin = `${protocol}//${host}`
    addresses.set(origin, { socket, address })
    socket.once('close', () => {
      if (addresses.get(origin)?.socket === socket) addresses.delete(origin)
    })
  }

  const connectGuarded = async (options: undici.buildConnector.Options): Promise<Socket> => {
    let failure: unknown
    for (const address of (await allowedAddresses(options)).slice(0, addressesTriedMax)) {
      try {
        const socket = await connectTo(options, address)
        remember(options, socket, address)
        return socket
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  // `callbackify` calls back outside the promise, so that an error thrown by the agent is not an unhandled rejection.
  const connectWithCallback = callbackify(connectGuarded)
  return {
    connect: (options, callback) =>
      connectWithCallback(options, (error: Error | null, socket) =>
        error ? callback(error, null) : callback(null, socket),
      ),
    addressOf: (origin) => addresses.get(origin)?.address,
  }
}

// Skips interim responses. undici closes the connection at a `100 Continue` or a `101`, but a client must skip every 1xx that it did not ask for
// (RFC 9110, section 15.2). undici skips a 103, so the filter changes 100 and 101 to 103.

const statusAt = 'HTTP/1.1 '.length
const headEnd = '\r\n\r\n'

/** Changes the status of interim responses in place, wherever the chunks end. `begin`: a request was sent, and its response comes next. */
export function createInterimFilter() {
  /** The status line as far as it was read. Undefined: inside a final response, which is not changed. */
  let line: string | undefined = ''
  /** Characters of `headEnd` read so far. */
  let ended = 0

  const pass = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length && line !== undefined; at += 1) {
      const char = String.fromCharCode(chunk[at] ?? 0)
      if (line.length < statusAt + 3) {
        line += char
        if (line.length < statusAt + 3) continue
        if (!/^HTTP\/1\.[01] 1\d\d$/.test(line)) line = undefined
        else if (/0[01]$/.test(line)) chunk[at] = '3'.charCodeAt(0)
        ended = 0
        continue
      }
      ended = char === headEnd[ended] ? ended + 1 : Number(char === '\r')
      if (ended === headEnd.length) line = ''
    }
  }
  return {
    pass,
    begin: () => {
      line ??= ''
    },
  }
}

/** Puts the filter between the socket and undici, which reads by `read`. A connection has one request at a time. */
export function filterInterimResponses(socket: Socket): Socket {
  const filter = createInterimFilter()
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...given: readonly unknown[]) => boolean
  socket.read = (size?: number) => {
    const chunk = read(size) as Buffer | null
    if (chunk !== null) filter.pass(chunk)
    return chunk
  }
  socket.write = ((...given: readonly unknown[]) => {
    filter.begin()
    return write(...given)
  }) as Socket['write']
  return socket
}
