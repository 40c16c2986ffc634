/**
 * The guarded connector: no connection to an address that is not public. Judged here rather than in a `lookup`, which
 * Node never calls for a literal; every address that the name resolves to is judged, the connection is pinned to one of
 * them (a second look-up could answer otherwise), and the peer is judged once more when it stands.
 */
import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isAllowedAddress } from '../rooms/webhooks/index.ts'

export type Resolve = (hostname: string) => Promise<readonly string[]>

/** Its text is shown to the partner, so it names no address: what internal names resolve to is not theirs to learn. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

/** The system's resolver: every address, in its order. */
export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address)

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

export type GuardOptions = {
  readonly allowLoopback: boolean
  readonly resolve: Resolve
  /** For the look-up, and for each address: a dead first one leaves time for the next. */
  readonly connectTimeoutMs: number
}

export type Guard = {
  readonly connect: buildConnector.connector
  /** The address of the newest open connection to an origin, for the log of attempts. */
  readonly addressOf: (origin: string) => string | undefined
}

export function createGuard({ allowLoopback, resolve, connectTimeoutMs }: GuardOptions): Guard {
  const dial = buildConnector({ allowH2: false, timeout: connectTimeoutMs, autoSelectFamily: false })
  const addresses = new Map<string, { readonly socket: Socket; readonly address: string }>()

  const vetted = async (hostname: string): Promise<readonly string[]> => {
    const found = isIP(hostname) === 0 ? await within(connectTimeoutMs, resolve(hostname)) : [hostname]
    // One forbidden address refuses the name: it is a rebinding attempt, or a mistake that would fail now and then.
    if (found.length === 0 || !found.every((address) => isAllowedAddress(address, { allowLoopback })))
      throw new AddressRefused('the endpoint has an address that may not be called')
    return found
  }

  const dialOne = (options: buildConnector.Options, address: string) =>
    new Promise<Socket>((resolveSocket, reject) => {
      // Over TLS the certificate is held against the name, not against the address that the name was pinned to.
      const { servername: _servername, ...rest } = options
      const named = options.protocol === 'https:' && isIP(options.hostname) === 0
      dial({ ...rest, hostname: address, ...(named ? { servername: options.hostname } : {}) }, (error, socket) => {
        if (error !== null) return reject(error)
        const peer = socket.remoteAddress
        if (peer !== undefined && isAllowedAddress(peer, { allowLoopback })) return resolveSocket(socket)
        socket.destroy()
        reject(new AddressRefused('the endpoint has an address that may not be called'))
      })
    })

  const remember = ({ protocol, host = '' }: buildConnector.Options, socket: Socket, address: string) => {
    const origin = `${protocol}//${host}`
    addresses.set(origin, { socket, address })
    socket.once('close', () => {
      if (addresses.get(origin)?.socket === socket) addresses.delete(origin)
    })
  }

  const connectVetted = async (options: buildConnector.Options): Promise<Socket> => {
    let failure: unknown
    for (const address of await vetted(options.hostname)) {
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
