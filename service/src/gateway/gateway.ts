/** The forms of the gateway, put together. */
import type { AddressInfo } from 'node:net'
import type { Access } from '../access/index.ts'
import type { AllHandlers, Caller } from '../api/index.ts'
import type { Clock, Log } from '../kernel/index.ts'
import { createAdmit } from './nonces.ts'
import { readBody, requireIdentity } from './body.ts'
import { type Capacity, createCapacity } from './admission.ts'
import { createDesk, createEndpoints, type Visit } from './dispatcher.ts'
import { createForwarder, type Forwarder } from './forward.ts'
import { createEntry, createFront, type EntryOptions } from './authentication.ts'
import { createInternalPass, type InternalPass, targetOf } from './internal.ts'
import { createServer, type Page, type Pipeline, type RawRequest, type Reply, type ServerOptions } from './server.ts'
import { createTurns } from './signature-throttle.ts'

export type Settings = {
  /** Requests below this many bytes of body, and of headers. */
  readonly bodyBytesMax: number
  readonly headerBytesMax: number
  /** Under way at once, once their bodies have arrived. */
  readonly requestsMax: number
}

export type GatewayOptions = Settings & {
  readonly log: Log
  readonly clock: Clock
  readonly sandbox: boolean
  readonly handlers: AllHandlers
  readonly pages: readonly Page[]
  readonly internalKey: Uint8Array
  readonly observe?: ServerOptions['observe']
} & (Local | Edge | Inner)

type Signed = {
  readonly access: Access
  readonly windowSeconds: number
  readonly rate: EntryOptions['rate']
}
type Local = Signed & { readonly form: 'local' }
type Edge = Signed & { readonly form: 'edge'; readonly apiUrl: string; readonly apiTimeoutMs: number }
type Inner = { readonly form: 'inner' }

export type Gateway = {
  /** Resolves to the port; rejects with the socket's error (EADDRINUSE, EACCES, ...). */
  readonly listen: (host: string, port: number) => Promise<number>
  /** No new requests; those under way are answered, if they have arrived and are answered within `drainMsMax`. */
  readonly close: () => Promise<void>
}

/** Less than a millisecond of signatures, where the same thread speaks to the database. */
const signaturesPerTurn = 8

/** What takes longer (the database gives up after as long) or has not even been sent whole does not hold the stop. */
const drainMsMax = 15_000

export function createGateway(options: GatewayOptions): Gateway {
  const capacity = createCapacity(options.requestsMax)
  if (options.form === 'local') {
    const desk = createDesk(options)
    const { credential } = options.access
    const serve = ({ caller }: { readonly caller: Caller }, visit: Visit) => desk.serve(caller, visit)
    const turn = createTurns(signaturesPerTurn)
    return openGateway(options, capacity, createFront({ ...options, credential, serve, turn }, capacity))
  }
  const pass = createInternalPass({ key: options.internalKey, clock: options.clock })
  if (options.form === 'inner') return openGateway({ ...options, targetOf }, capacity, inner(options, pass, capacity))
  const forwarder = createForwarder({ ...options, pass })
  return openGateway(options, capacity, edge(options, forwarder, capacity), forwarder.mount)
}

/** `pipeline` behind a socket. */
export function openGateway(
  options: Omit<ServerOptions, 'capacity' | 'pipeline'>,
  capacity: Capacity,
  pipeline: Pipeline,
  mount: Forwarder['mount'] = () => {},
): Gateway {
  const app = createServer({ ...options, capacity, pipeline })
  mount(app)
  return {
    listen: async (host, port) => {
      await app.listen({ host, port })
      return (app.server.address() as AddressInfo).port
    },
    close: async () => {
      const timer = setTimeout(() => app.server.closeAllConnections(), drainMsMax)
      await app.close()
      clearTimeout(timer)
    },
  }
}

/** The signature is judged and the nonce spent here, what is asked for is done by an api process. */
function edge(options: GatewayOptions & Edge, { forward }: Forwarder, capacity: Capacity): Pipeline {
  const turn = createTurns(signaturesPerTurn)
  const enter = createEntry({ ...options, credential: options.access.credential, turn }, capacity)
  // What the api commits is not known to be durable here.
  const admit = createAdmit({ ...options, swiftWrites: false })
  const endpoints = createEndpoints(options)
  return {
    knock: async (request) => {
      const { caller, nonce, leave } = await enter(request)
      await admit(caller, { ...request, nonce })
        .spend()
        .finally(leave)
      return undefined
    },
    run: async (id, request, reply) => {
      const { caller, nonce, body, headers, leave } = await enter(request)
      try {
        await admit(caller, { ...request, nonce }).spend()
        endpoints[id].authorize(caller, request.params)
        requireIdentity(request.headers['content-encoding'])
        const answer = await forward(request, { caller, body, headers }, reply)
        return answer && { ...answer, headers: { ...headers, ...answer.headers } }
      } finally {
        leave()
      }
    },
  }
}

/** Whoever asks has been believed at the edge. */
function inner(options: GatewayOptions & Inner, pass: InternalPass, capacity: Capacity): Pipeline {
  const endpoints = createEndpoints(options)
  const enter = async <T>(request: RawRequest, work: (entered: Passed) => T | Promise<T>): Promise<T> => {
    const body = await readBody(request.message, options.bodyBytesMax)
    const { caller, ip } = pass.read(request.headers, { method: request.method, url: request.url, body })
    const leave = capacity.enter()
    try {
      return await work({ caller, ip, body })
    } finally {
      leave()
    }
  }
  return {
    knock: (request) => enter(request, () => undefined),
    run: (id, request) =>
      enter(request, (passed): Promise<Reply> => {
        endpoints[id].authorize(passed.caller, request.params)
        requireIdentity(request.headers['content-encoding'])
        return endpoints[id].run({ ...request, ...passed })
      }),
  }
}

type Passed = { readonly caller: Caller; readonly ip: string; readonly body: Buffer }
