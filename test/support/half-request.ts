/** A signed request on a keep-alive connection. Sends the head at once, and the body when `finish` is called. */
import { connect } from 'node:net'
import { createSigner } from '../../sdk/src/sign.ts'
import type { Credentials } from './client.ts'

export type HalfRequest = {
  /** Sends the body. Resolves to all received text when the server closes the connection. */
  readonly finish: () => Promise<string>
}

export async function halfRequest(
  baseUrl: string,
  credentials: Credentials,
  path: string,
  value: object,
): Promise<HalfRequest> {
  const body = Buffer.from(JSON.stringify(value), 'utf8')
  const { hostname, port } = new URL(baseUrl)
  const headers = {
    Host: `${hostname}:${port}`,
    Connection: 'keep-alive',
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    // The server sends 100 Continue when it has received the head: then the request is in progress.
    Expect: '100-continue',
    ...createSigner(credentials)({ method: 'POST', path, query: '', body }),
  }
  const head = Object.entries(headers).map(([name, text]) => `${name}: ${text}\r\n`)
  const socket = connect({ port: Number(port), host: hostname })
  let received = ''
  const closed = new Promise<string>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => resolve(received))
  })
  const begun = new Promise<void>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
      if (received.includes('100 Continue')) resolve()
    })
  })
  socket.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`)
  await Promise.race([begun, closed])
  return {
    finish: () => {
      socket.write(body)
      return closed
    },
  }
}
