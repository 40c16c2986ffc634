/**
 * The guarded connector: no connection to an address that is not public. Judged here rather than in a `lookup`, which
 * Node never calls for a literal; every address that the name resolves to is judged, the connection is pinned to one of
 * them (a second look-up could answer otherwise), and the peer is judged once more when it stands. A connection that is
 * used again leads where it was judged to lead, whatever the name says by then; each new one is judged anew.
 */
import { isIP, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isAllowedAddress, isLoopbackAddress } from './addresses.ts'
import { openTunnel, type Proxy } from './proxy.ts'
import type { Resolve } from './resolver.ts'

export { type Resolve, systemResolve } from './resolver.ts'

/** Its text is shown to the partner, so it names no address: what internal names resolve to is not theirs to learn. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** A connector that never calls back would hold up the end of the process: the agent waits for it. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('no answer from the resolver'), { code: 'EAI_AGAIN' })), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Each may take its whole time to fail, and after three the time of the exchange is over. */
const addressesTriedMax = 3

export type GuardOptions = {
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  /** For the look-up, and for each address: a dead first one leaves time for the next. */
  readonly connectTimeoutMs: number
  readonly proxy?: Proxy | undefined
}

export type Guard = {
  readonly connect: buildConnector.connector
  /** The address of the newest open connection to an origin, for the log of attempts. */
  readonly addressOf: (origin: string) => string | undefined
}

export function createGuard({ allowLoopback, resolve, connectTimeoutMs, proxy }: GuardOptions): Guard {
  const dial = buildConnector({ allowH2: false, timeout: connectTimeoutMs, autoSelectFamily: false })
  const addresses = new Map<string, { readonly socket: Socket; readonly address: string }>()

  const vetted = async ({ hostname, protocol }: buildConnector.Options): Promise<readonly string[]> => {
    const found = isIP(hostname) === 0 ? await within(connectTimeoutMs, resolve(hostname)) : [hostname]
    // One forbidden address refuses the name: it is a rebinding attempt, or a mistake that would fail now and then.
    if (found.length === 0 || !found.every((address) => isAllowedAddress(address, { allowLoopback })))
      throw new AddressRefused('the endpoint has an address that may not be called')
    if (protocol !== 'https:' && !found.every(isLoopbackAddress))
      throw new AddressRefused('the endpoint may be called by https only')
    return found
  }

  const dialOne = async (options: buildConnector.Options, address: string): Promise<Socket> => {
    // Loopback is this machine: at the proxy the same address would be another one.
    const direct = proxy === undefined || isLoopbackAddress(address)
    // Over TLS the certificate is held against the name, not against the address that the name was pinned to.
    const { servername: _servername, ...rest } = options
    const port = Number(options.port === '' ? 443 : options.port)
    const through = direct ? {} : { httpSocket: await openTunnel(proxy, { address, port }, connectTimeoutMs) }
    const named = options.protocol === 'https:' && isIP(options.hostname) === 0
    return new Promise<Socket>((resolveSocket, reject) => {
      const pinned = { ...rest, ...through, hostname: address, ...(named ? { servername: options.hostname } : {}) }
      dial(pinned, (error, socket) => {
        if (error !== null) return reject(error)
        const peer = direct ? socket.remoteAddress : address
        if (peer !== undefined && isAllowedAddress(peer, { allowLoopback })) return resolveSocket(socket)
        socket.destroy()
        reject(new AddressRefused('the endpoint has an address that may not be called'))
      })
    })
  }

  const remember = ({ protocol, host = '' }: buildConnector.Options, socket: Socket, address: string) => {
    const origin = `${protocol}//${host}`
    addresses.set(origin, { socket, address })
    socket.once('close', () => {
      if (addresses.get(origin)?.socket === socket) addresses.delete(origin)
    })
  }

  const connectVetted = async (options: buildConnector.Options): Promise<Socket> => {
    let failure: unknown
    for (const address of (await vetted(options)).slice(0, addressesTriedMax)) {
      try {
        const socket = await dialOne(options, address)
        remember(options, socket, address)
        return socket
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  // Called back outside of the promise: what the agent throws there is not a rejection that nobody handles.
  const dialVetted = callbackify(connectVetted)
  return {
    connect: (options, callback) =>
      dialVetted(options, (error: Error | null, socket) => (error ? callback(error, null) : callback(null, socket))),
    addressOf: (origin) => addresses.get(origin)?.address,
  }
}
