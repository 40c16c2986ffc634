/** Requests that the parser of Node refuses before Fastify sees them: the problem is written to the socket. */
import type { Socket } from 'node:net'
import { type ProblemCode, problemPath, problems } from '@partner-payments/wire'
import { newId, systemClock } from '../../kernel/index.ts'

/** A client that still sends when it is refused has this time to read the answer. */
const lingerMs = 2000

const socketProblems: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

type Refused = {
  readonly requestId: string
  readonly status: number
  readonly code: ProblemCode
  readonly ip: string | undefined
}

export function refuseOnSocket(
  error: Error & { readonly code?: string },
  socket: Socket,
  refused: (refused: Refused) => void,
): void {
  // After an earlier answer on the connection, the client would take this one for the answer to its next request.
  const isLateAgain = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesWritten > 0
  if (error.code === 'ECONNRESET' || !socket.writable || isLateAgain) {
    socket.destroy()
    return
  }
  const code = socketProblems[error.code ?? ''] ?? 'malformed_request'
  const { status, title, detail } = problems[code]
  const requestId = newId()
  refused({ requestId, status, code, ip: socket.remoteAddress })
  const body = JSON.stringify({ type: problemPath(code), title, status, detail, instance: '/', code, requestId })
  const lines = [
    `HTTP/1.1 ${status} ${title}`,
    `Date: ${systemClock.now().toUTCString()}`,
    'Content-Type: application/problem+json',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ]
  socket.end(lines.join('\r\n'))
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
}
