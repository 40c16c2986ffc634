/**
 * Limits what clients can use before their signature is verified: connections, bytes of incomplete bodies, and the time
 * to send a body. Beyond a limit the oldest connection is closed, so that a fast client is served while thousands of
 * others send slowly.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ProblemCode } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { retryHeaders } from './admission.ts'

export type IncomingLimits = {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  /** Maximum bytes of all incomplete bodies together. A single body may always be completed, even beyond this limit. */
  readonly unauthenticatedBytesMax: number
  readonly unauthenticatedConnectionsMax: number
}

export type IncomingRequests = {
  /** Counts a connection as unauthenticated until a signature is verified on it. */
  readonly open: (socket: Socket) => void
  /**
   * Reads the body, up to `bytesMax` or the limit of requests. Refuses: body_too_large, malformed_request, request_timeout (408),
   * overloaded (503).
   */
  readonly read: (message: IncomingMessage, bytesMax?: number) => Promise<Buffer>
  /**
   * Prevents that a connection is closed while its request is verified. Returns a function that ends the protection.
   */
  readonly protect: (socket: Socket) => () => void
  /** Records that a signature was verified on the connection. From now on only its incomplete bodies count. */
  readonly verified: (socket: Socket) => void
}

type Connection = {
  readonly socket: Socket
  /** Functions that refuse the incomplete bodies. */
  readonly refusals: Set<() => void>
  heldBytes: number
  inVerification: number
}

type Connections = {
  /** Marks the connection as the most recent. */
  readonly renew: (socket: Socket) => Connection
  readonly find: (socket: Socket) => Connection | undefined
  readonly remove: (socket: Socket) => void
  /** Changes the held bytes, and closes other connections until the limits hold. */
  readonly hold: (connection: Connection, bytes: number) => void
}

/** Headers that close the connection, so that a refused client cannot keep it open. */
const closeHeaders = { connection: 'close' } as const

function createConnections(limits: IncomingLimits): Connections {
  // Oldest first.
  const connections = new Map<Socket, Connection>()
  let heldBytes = 0
  const remove = (socket: Socket) => {
    const connection = connections.get(socket)
    if (connection === undefined) return
    heldBytes -= connection.heldBytes
    connection.heldBytes = 0
    connections.delete(socket)
  }
  const oldest = (except: Connection, isCandidate: (connection: Connection) => boolean): Connection | undefined => {
    for (const connection of connections.values())
      if (connection !== except && connection.inVerification === 0 && isCandidate(connection)) return connection
    return undefined
  }
  const end = (connection: Connection) => {
    remove(connection.socket)
    endConnection(connection)
  }
  const hold = (connection: Connection, bytes: number) => {
    if (connections.get(connection.socket) !== connection) return
    connection.heldBytes += bytes
    heldBytes += bytes
    while (heldBytes > limits.unauthenticatedBytesMax) {
      const holder = oldest(connection, (each) => each.heldBytes > 0)
      if (holder === undefined) break
      end(holder)
    }
    while (connections.size > limits.unauthenticatedConnectionsMax) {
      const waiting = oldest(connection, () => true)
      if (waiting === undefined) break
      end(waiting)
    }
  }
  return {
    remove,
    hold,
    find: (socket) => connections.get(socket),
    renew: (socket) => {
      const connection = connections.get(socket) ?? { socket, refusals: new Set(), heldBytes: 0, inVerification: 0 }
      connections.delete(socket)
      connections.set(socket, connection)
      hold(connection, 0)
      return connection
    },
  }
}

/** Refuses the incomplete bodies of a connection. Closes a connection without any: it has not sent a complete head. */
function endConnection({ socket, refusals }: Connection): void {
  if (refusals.size === 0) socket.destroy()
  for (const refuse of [...refusals]) refuse()
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

export function createIncomingRequests(limits: IncomingLimits): IncomingRequests {
  const { bodyBytesMax, bodyTimeoutMs } = limits
  const connections = createConnections(limits)
  const verifiedSockets = new WeakSet<Socket>()
  return {
    open: (socket) => {
      connections.renew(socket)
      socket.once('close', () => connections.remove(socket))
    },
    verified: (socket) => {
      verifiedSockets.add(socket)
      if ((connections.find(socket)?.refusals.size ?? 0) === 0) connections.remove(socket)
    },
    protect: (socket) => {
      const connection = connections.find(socket)
      if (connection !== undefined) connection.inVerification += 1
      return () => {
        if (connection === undefined) return
        connection.inVerification -= 1
        if (connections.find(socket) === connection) connections.renew(socket)
      }
    },
    read: (message, bytesMax = bodyBytesMax) => {
      if (!hasBody(message))
        return readBody(
          message,
          createBodyBuffer(bytesMax, () => undefined),
        )
      const { socket } = message
      const connection = connections.renew(socket)
      const body = createBodyBuffer(bytesMax, (bytes) => connections.hold(connection, bytes))
      return new Promise((resolve, reject) => {
        const finish = () => {
          clearTimeout(timer)
          body.release()
          connection.refusals.delete(refuse)
          if (verifiedSockets.has(socket) && connection.refusals.size === 0) connections.remove(socket)
        }
        const refuseAs = (code: ProblemCode, headers: Readonly<Record<string, string>>) => {
          finish()
          reject(new Refusal(code, undefined, { headers }))
        }
        const refuse = () => refuseAs('overloaded', { ...retryHeaders, ...closeHeaders })
        const timer = setTimeout(() => refuseAs('request_timeout', closeHeaders), bodyTimeoutMs)
        connection.refusals.add(refuse)
        readBody(message, body).then(resolve, reject).finally(finish)
      })
    },
  }
}

// Reads the raw body, because the signature covers these bytes.

/**
 * Bytes of a too large body that are read and discarded. Above this size the connection is closed. A client whose
 * connection is closed while it writes sees a reset instead of the 413.
 */
const discardBytesMax = 32 * 1024 * 1024

/**
 * The body received so far, in one block of memory. An object per chunk would need too much memory for a body sent byte
 * by byte.
 */
type BodyBuffer = {
  readonly bytesMax: number
  /** Ignores everything after `bytesMax`. */
  readonly append: (chunk: Buffer) => void
  /** Bytes received, including those that were ignored. */
  readonly received: () => number
  readonly take: () => Buffer
  /** Frees the memory and ignores later chunks. */
  readonly release: () => void
}

/** Creates a buffer that calls `hold` with each change of its size in memory, in bytes. */
export function createBodyBuffer(bytesMax: number, hold: (bytes: number) => void): BodyBuffer {
  let block: Buffer = Buffer.alloc(0)
  let isReleased = false
  let length = 0
  let received = 0
  const replace = (next: Buffer) => {
    hold(next.length - block.length)
    block = next
  }
  const grow = (needed: number) => {
    const next = Buffer.allocUnsafeSlow(Math.min(bytesMax, Math.max(needed, 2 * block.length)))
    block.copy(next, 0, 0, length)
    replace(next)
  }
  const release = () => {
    isReleased = true
    replace(Buffer.alloc(0))
    length = 0
  }
  return {
    bytesMax,
    received: () => received,
    take: () => block.subarray(0, length),
    release,
    append: (chunk) => {
      received += chunk.length
      if (isReleased) return
      if (received > bytesMax) return release()
      if (length + chunk.length > block.length) grow(length + chunk.length)
      chunk.copy(block, length)
      length += chunk.length
    },
  }
}

/**
 * Reads the body of a request. Refuses: body_too_large (413), malformed_request (400) if the connection ends before the
 * body is complete.
 */
export function readBody(request: IncomingMessage, body: BodyBuffer): Promise<Buffer> {
  const { bytesMax } = body
  return new Promise((resolve, reject) => {
    const tooLarge = () => new Refusal('body_too_large', `The body must not exceed ${bytesMax} bytes.`)
    request.on('data', (chunk: Buffer) => {
      body.append(chunk)
      if (body.received() > discardBytesMax) {
        request.pause()
        reject(tooLarge())
      }
    })
    request.once('end', () => (body.received() > bytesMax ? reject(tooLarge()) : resolve(body.take())))
    request.once('error', reject)
    request.once('aborted', () =>
      reject(new Refusal('malformed_request', 'The connection ended before the body was complete.')),
    )
    if (Number(request.headers['content-length'] ?? 0) > discardBytesMax) reject(tooLarge())
  })
}

/** Requires `application/json`, without parameters or with the charset UTF-8. Refuses: unsupported_media_type. */
export function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? '').split(';').map((part) => part.trim().toLowerCase())
  const charsetIsUtf8 = parameters.every((parameter) => /^charset="?utf-?8"?$/.test(parameter) || parameter === '')
  if (type !== 'application/json' || !charsetIsUtf8)
    throw new Refusal('unsupported_media_type', 'Content-Type must be application/json in UTF-8.')
}

/** Refuses compressed bodies, because the signature covers the bytes as sent: unsupported_media_type. */
export function requireUnencoded(contentEncoding: string | string[] | undefined): void {
  if (contentEncoding !== undefined && contentEncoding !== 'identity')
    throw new Refusal('unsupported_media_type', 'Content-Encoding is not supported. Send the body unencoded.')
}
