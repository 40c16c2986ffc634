/** A node that lies, lags, hangs or fails: a server in front of a real one, which changes its answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
/** `forward` asks the real node. Undefined: the connection is cut. `hang`: no answer. */
type Behave = (request: RpcRequest, forward: () => Promise<unknown>) => Promise<unknown>

export type NodeProxy = {
  readonly url: string
  readonly behave: (behave: Behave | undefined) => void
  /** Requests without an answer whose connection is open. */
  readonly openCalls: () => number
  readonly close: () => Promise<void>
}

export const hanging = Symbol('no answer')
export const cut = Symbol('cut connection')
export const failing = Symbol('status 500')

export async function startNodeProxy(target: string): Promise<NodeProxy> {
  let behaviour: Behave | undefined
  const open = new Set<ServerResponse>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const asked = JSON.parse(body) as RpcRequest
    const forward = async () => {
      const answered = await fetch(target, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
      return (await answered.json()) as unknown
    }
    const given = behaviour === undefined ? await forward() : await behaviour(asked, forward)
    if (given === hanging) return
    if (given === cut) return void response.destroy()
    response.statusCode = given === failing ? 500 : 200
    response.end(given === failing ? 'internal error' : JSON.stringify(given))
  }
  const server = createServer((request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave: (behave) => {
      behaviour = behave
    },
    openCalls: () => open.size,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
