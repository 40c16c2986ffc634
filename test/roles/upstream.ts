/** A faulty api process. It records the requests that it receives. */
import { once } from 'node:events'
import { createServer, type Socket, type AddressInfo } from 'node:net'

const http = (status: string, type: string, body: string, length = body.length) =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${body}`

/** Undefined: reads the request and never responds. */
const manners = {
  garbage: 'SSH-2.0-OpenSSH_9.9\r\n\r\n\u0000\u0001',
  page: http('200 OK', 'text/html', '<h1>It works!</h1>'),
  errorPage: http('500 Internal Server Error', 'text/html', '<h1>Oh no</h1>'),
  hangUp: '',
  refusal: http('401 Unauthorized', 'application/problem+json', '{"code":"signature_invalid"}'),
  silence: undefined,
} as const
export type UpstreamBehaviour = keyof typeof manners

export async function startUpstream() {
  let manner: UpstreamBehaviour = 'garbage'
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
    socket.setEncoding('utf8').on('data', (text: string) => {
      requests.push(text)
      const answer = manners[manner]
      if (answer !== undefined) socket.end(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    behave: (next: UpstreamBehaviour) => {
      manner = next
    },
    close: async () => {
      if (!server.listening) return
      const closed = once(server.close(), 'close')
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
