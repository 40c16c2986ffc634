/** The three forms of the gateway, put together. */
import type { AddressInfo } from 'node:net'
import { type OperationId, operationIds } from '@partner-payments/wire'
import type { FastifyReply } from 'fastify'
import type { Access } from '../access/index.ts'
import { type AllHandlers, type Clock, type Log } from '../kernel/index.ts'
import { createAuthenticator, readClaim } from './authenticate.ts'
import { readBody, requireIdentity } from './body.ts'
import { type Capacity, createCapacity } from './capacity.ts'
import { createEndpoint, type Endpoint } from './endpoint.ts'
import { createForwarder, type Forwarder } from './forward.ts'
import { createInternalPass, type InternalPass, targetOf } from './internal.ts'
import { createRateLimiter } from './rate.ts'
import { createServer, type Entered, type Page, type Pipeline, type RawRequest, type ServerOptions } from './server.ts'

export type GatewayOptions = {
  readonly log: Log
  readonly clock: Clock
  readonly sandbox: boolean
  readonly bodyBytesMax: number
  /** Under way at once, once their bodies have arrived. */
  readonly requestsMax: number
  readonly headerBytesMax: number
  readonly pages: readonly Page[]
  readonly internalKey: Uint8Array
  readonly observe?: ServerOptions['observe']
} & (Local | Edge | Inner)

type Signed = {
  readonly access: Access
  readonly windowSeconds: number
  readonly rate: { readonly perSecond: number; readonly burst: number }
}
type Local = Signed & { readonly form: 'local'; readonly handlers: AllHandlers }
type Edge = Signed & {
  readonly form: 'edge'
  readonly handlers: AllHandlers
  readonly apiUrl: string
  readonly apiTimeoutMs: number
}
type Inner = { readonly form: 'inner'; readonly handlers: AllHandlers }

export type Gateway = {
  /** Resolves to the port; rejects with the socket's error (EADDRINUSE, EACCES, ...). */
  readonly listen: (host: string, port: number) => Promise<number>
  /** No new requests; those under way are answered, if they have arrived and are answered within `drainMsMax`. */
  readonly close: () => Promise<void>
}

/** What takes longer (the database gives up after as long) or has not even been sent whole does not hold the stop. */
const drainMsMax = 15_000

export function createGateway(options: GatewayOptions): Gateway {
  const pass = createInternalPass({ key: options.internalKey, clock: options.clock })
  const capacity = createCapacity(options.requestsMax)
  const endpoints = Object.fromEntries(
    operationIds.map((id) => [id, createEndpoint(id, options.handlers, options)]),
  ) as Readonly<Record<OperationId, Endpoint>>
  const forwarder = options.form === 'edge' ? createForwarder({ ...options, pass }) : undefined
  const app = createServer({
    log: options.log,
    headerBytesMax: options.headerBytesMax,
    pages: options.pages,
    ...(options.form === 'inner' ? { targetOf } : {}),
    ...(options.observe ? { observe: options.observe } : {}),
    capacity,
    pipeline: {
      enter: options.form === 'inner' ? enterFromGateway(options, pass, capacity) : enterSigned(options, capacity),
      run: run(endpoints, forwarder),
    },
  })
  if (forwarder) forwarder.mount(app)
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

function run(endpoints: Readonly<Record<OperationId, Endpoint>>, forwarder: Forwarder | undefined): Pipeline['run'] {
  return async (id: OperationId, request: RawRequest, entered: Entered, reply: FastifyReply) => {
    const endpoint = endpoints[id]
    endpoint.authorize(entered.caller, request.params)
    requireIdentity(request.headers['content-encoding'])
    if (forwarder) return forwarder.forward(request, entered, reply)
    return endpoint.run({ ...request, ...entered })
  }
}

function enterSigned(options: GatewayOptions & (Local | Edge), capacity: Capacity): Pipeline['enter'] {
  const limiter = createRateLimiter({ clock: options.clock, ...options.rate })
  const { authenticate } = createAuthenticator({
    ...options,
    // What an api process behind this one commits is not known to be durable here.
    swiftWrites: options.form === 'local',
    spendAllowance: limiter.spend,
  })
  return async (request) => {
    const claim = readClaim(request.headers)
    const body = await readBody(request.message, options.bodyBytesMax)
    // Not before the body is there: a sender that takes its time takes no place.
    const leave = capacity.enter()
    const { caller, durable } = await authenticate(claim, { ...request, body }).catch((error: unknown) => {
      leave()
      throw error
    })
    if (caller.impersonatedBy !== undefined) {
      const { impersonatedBy, partnerId } = caller
      options.log.info(
        {
          requestId: request.requestId,
          audit: true,
          impersonatedBy,
          partnerId,
          method: request.method,
          path: request.path,
        },
        'impersonated request',
      )
    }
    return { caller, settled: () => durable().finally(leave), body, ip: request.ip, headers: limiter.headers(caller) }
  }
}

function enterFromGateway(options: GatewayOptions, pass: InternalPass, capacity: Capacity): Pipeline['enter'] {
  return async (request) => {
    const body = await readBody(request.message, options.bodyBytesMax)
    const { caller, ip } = pass.read(request.headers, { method: request.method, url: request.url, body })
    const leave = capacity.enter()
    return { caller, settled: async () => leave(), body, ip, headers: {} }
  }
}
