/**
 * A reverse proxy as operators run it: keeps connections to its backends, reads `/readyz`, respects `Connection: close`, and
 * never repeats a request.
 */
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Backend = { readonly url: string; readonly opsUrl: string }

export type Balancer = {
  readonly url: string
  /** One line for each request without a response of a backend, or with a response of 500 or more. */
  readonly failures: readonly string[]
  readonly answered: () => number
  /** Requests that were sent on a connection that an earlier request had used. */
  readonly reused: () => number
  readonly close: () => Promise<void>
}

/** Much shorter than `STOP_DELAY_MS` of the tests, as an operator sets it. */
const checkMs = 400

export async function startBalancer(backends: readonly Backend[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const failures: string[] = []
  const counts = { answered: 0, reused: 0, next: 0 }
  const ready = new Set<Backend>()
  const check = async (backend: Backend) => {
    const answer = await fetch(`${backend.opsUrl}/readyz`).catch(() => undefined)
    await answer?.text().catch(() => undefined)
    if (answer?.ok) ready.add(backend)
    else ready.delete(backend)
  }
  await Promise.all(backends.map(check))
  const timers = backends.map((backend) => setInterval(() => void check(backend), checkMs))

  const server = createServer((incoming, outgoing) => {
    const candidates = [...ready]
    counts.next += 1
    const backend = candidates[counts.next % Math.max(1, candidates.length)]
    const asked = `${incoming.method} ${incoming.url}`
    const fail = (reason: string) => {
      failures.push(`${asked}: ${reason}`)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    }
    if (backend === undefined) return fail('no backend is ready')
    const { hostname, port } = new URL(backend.url)
    const { method, url: path } = incoming
    const headers = { ...incoming.headers, connection: 'keep-alive' }
    const forwarded = request({ hostname, port, path, method, headers, agent }, (answer) => {
      if (forwarded.reusedSocket) counts.reused += 1
      counts.answered += 1
      const status = answer.statusCode ?? 0
      if (status >= 500) failures.push(`${asked}: ${status} from ${backend.url}`)
      const { connection: _connection, 'keep-alive': _keepAlive, ...answerHeaders } = answer.headers
      outgoing.writeHead(status, answerHeaders)
      answer.on('error', (error) => fail(error.message))
      answer.pipe(outgoing)
    })
    forwarded.on('error', (error) => fail(`${error.message} from ${backend.url}`))
    incoming.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    answered: () => counts.answered,
    reused: () => counts.reused,
    close: async () => {
      for (const timer of timers) clearInterval(timer)
      const closed = once(server.close(), 'close')
      server.closeAllConnections()
      agent.destroy()
      await closed
    },
  }
}
