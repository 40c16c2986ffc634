/** A client without a valid signature that sends a request slowly, or only a part of it. */
import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { nowSeconds } from './client.ts'

export type SlowSender = {
  readonly socket: Socket
  readonly received: () => string
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
}

export function openSender(baseUrl: string, text: string): SlowSender {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.setEncoding('latin1').on('data', (part: string) => (received += part))
  // The server resets a connection that it closes.
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(text, 'latin1')
  return { socket, received: () => received, closed }
}

/** The head of a request with a forged signature, which the service can refuse only when the body is complete. */
export const forgedHead = (contentLength: number): string =>
  [
    'POST /v1/customers HTTP/1.1',
    'Host: localhost',
    `ApiKey: pk_${'a'.repeat(42)}`,
    `Nonce: ${randomUUID()}`,
    `Timestamp: ${nowSeconds()}`,
    `Signature: ${Buffer.alloc(256).toString('base64')}`,
    'Content-Type: application/json',
    `Content-Length: ${contentLength}`,
    '',
    '',
  ].join('\r\n')
