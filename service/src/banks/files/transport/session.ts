/**
 * Keeps one connection to an SFTP server and reopens it. Every request has a time limit, after which the socket is
 * destroyed, so that a hanging server leaves no connection open.
 */
import { connect as connectSocket, type Socket } from 'node:net'
import { once } from 'node:events'
import { createHash, timingSafeEqual } from 'node:crypto'
import type SftpClient from 'ssh2-sftp-client'
import { Unreachable } from '../../../kernel/api/index.ts'
import { secondMs } from '../../../kernel/index.ts'
import type { SftpConfig } from './settings.ts'

/** The request channel of ssh2-sftp-client's connection. */
export type Channel = Awaited<ReturnType<SftpClient['connect']>>

export type Session = {
  /** Runs one request within its time limit. */
  readonly request: <T>(
    what: string,
    signal: AbortSignal,
    send: (channel: Channel, done: RequestCallback<T>) => void,
  ) => Promise<T>
  readonly close: () => Promise<void>
}
type RequestCallback<T> = (error: unknown, value?: T) => void

type SftpServer = Omit<SftpConfig, 'kind'>
/** Shorter than the lease of a file, which must outlast a whole attempt. */
export const requestMsDefault = 10 * secondMs
const keepaliveMs = 10 * secondMs
const keepalivesMax = 3

/** Reports whether the server answered with an error, which shows that the connection works. */
const isAnswer = (error: unknown): error is Error & { readonly code: number } =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number'

export function createSession(config: SftpServer, requestMs: number): Session {
  let current: { readonly socket: Socket; readonly channel: Promise<Channel> } | undefined
  let isClosed = false

  const drop = (socket: Socket) => {
    socket.destroy()
    if (current?.socket === socket) current = undefined
  }
  const connected = () => {
    if (isClosed) throw new Unreachable('downstream_unreachable', 'the connection to the bank is closed')
    if (current !== undefined && !current.socket.destroyed) return current
    const socket = connectSocket({ host: config.host, port: config.port, noDelay: true, keepAlive: true })
    // Each open request listens for the close of the socket.
    socket.setMaxListeners(0)
    const opened = { socket, channel: openChannel(config, socket, requestMs) }
    current = opened
    socket.once('close', () => drop(socket))
    opened.channel.catch(() => drop(socket))
    return opened
  }

  return {
    request: async <T>(
      what: string,
      signal: AbortSignal,
      send: (channel: Channel, done: RequestCallback<T>) => void,
    ) => {
      signal.throwIfAborted()
      const { socket, channel } = connected()
      try {
        return await withTimeLimit<T>(
          what,
          AbortSignal.any([signal, AbortSignal.timeout(requestMs)]),
          socket,
          async () => {
            const { promise, resolve, reject } = Promise.withResolvers<T>()
            send(await channel, (error, value) => (error ? reject(error as Error) : resolve(value as T)))
            return promise
          },
        )
      } catch (error) {
        if (isAnswer(error)) throw error
        drop(socket)
        if (error instanceof Unreachable) throw error
        throw new Unreachable('downstream_unreachable', `sftp ${what}: ${(error as Error).message}`, error)
      }
    },
    close: () => {
      isClosed = true
      if (current) drop(current.socket)
      return Promise.resolve()
    },
  }
}

/** Runs `work` until it ends, the signal aborts or the socket closes. */
async function withTimeLimit<T>(what: string, signal: AbortSignal, socket: Socket, work: () => Promise<T>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const late = () => reject(new Unreachable('downstream_timeout', `sftp ${what}: the server does not answer in time`))
  const lost = () => reject(new Unreachable('downstream_unreachable', `sftp ${what}: the connection was lost`))
  signal.addEventListener('abort', late)
  socket.once('close', lost)
  try {
    if (signal.aborted) late()
    else if (socket.destroyed) lost()
    return await Promise.race([work(), ended])
  } finally {
    signal.removeEventListener('abort', late)
    socket.off('close', lost)
  }
}

/** Opens the channel on our own socket, which can be destroyed at any point of the handshake. */
async function openChannel(config: SftpServer, socket: Socket, requestMs: number): Promise<Channel> {
  const nothing = () => undefined
  socket.on('error', nothing)
  const signal = AbortSignal.timeout(requestMs)
  await withTimeLimit('connect', signal, socket, () => once(socket, 'connect', { signal }))
  const { default: Client } = await import('ssh2-sftp-client')
  const client = new Client('partner-payments', { error: nothing, end: nothing, close: nothing })
  const isPinned = (key: Buffer): boolean => {
    const seen = createHash('sha256').update(key).digest()
    const pinned = Buffer.from(config.hostKey.slice('SHA256:'.length), 'base64')
    return seen.length === pinned.length && timingSafeEqual(seen, pinned)
  }
  let wrongKey = false
  try {
    return await withTimeLimit('connect', signal, socket, () =>
      client.connect({
        sock: socket,
        username: config.username,
        privateKey: config.privateKey,
        ...(config.passphrase === undefined ? {} : { passphrase: config.passphrase }),
        hostVerifier: (key: Buffer) => {
          wrongKey = !isPinned(key)
          return !wrongKey
        },
        readyTimeout: requestMs,
        keepaliveInterval: keepaliveMs,
        keepaliveCountMax: keepalivesMax,
      }),
    )
  } catch (error) {
    socket.destroy()
    if (wrongKey)
      throw new Unreachable(
        'downstream_unreachable',
        `sftp connect: the server has another host key than ${config.hostKey}`,
      )
    throw error
  }
}
