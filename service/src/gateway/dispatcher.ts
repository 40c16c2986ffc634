/**
 * From an identified request to its answer: nonce -> permission -> schema -> handler. Knows nothing of sockets, so that
 * these may be on another thread (`threaded.ts`).
 */
import { type OperationId, operationIds } from '@partner-payments/wire'
import type { Access } from '../access/index.ts'
import { type AllHandlers, type Caller, Unreachable } from '../api/index.ts'
import { type Clock, type Log } from '../kernel/index.ts'
import { createAdmit, type Entrance } from './nonces.ts'
import { requireIdentity } from './body.ts'
import { createEndpoint, type Endpoint } from './operation.ts'
import { toProblem } from './problems.ts'
import type { Reply } from './server.ts'

export type Visit = Entrance & {
  /** Undefined for a path that leads nowhere. */
  readonly operation: OperationId | undefined
  readonly params: Readonly<Record<string, string>>
  /** As sent, without the leading `?`. */
  readonly query: string
  readonly contentType: string | undefined
  readonly contentEncoding: string | string[] | undefined
  readonly body: Buffer
  readonly ip: string
}

export type Desk = {
  /** The answer, refusals too, once nothing can forget it. Undefined where the visit leads nowhere: its nonce is spent. */
  readonly serve: (caller: Caller, visit: Visit) => Promise<Reply | undefined>
}

export type DeskOptions = {
  readonly access: Pick<Access, 'spendNonce'>
  readonly handlers: AllHandlers
  readonly clock: Clock
  readonly log: Log
  readonly sandbox: boolean
  readonly windowSeconds: number
}

export type Endpoints = Readonly<Record<OperationId, Endpoint>>

export const createEndpoints = (options: Pick<DeskOptions, 'handlers' | 'sandbox'>): Endpoints =>
  Object.fromEntries(
    operationIds.map((id) => [id, createEndpoint(id, options.handlers, options)]),
  ) as unknown as Endpoints

export function createDesk(options: DeskOptions): Desk {
  const { log } = options
  const endpoints = createEndpoints(options)
  const admit = createAdmit({ ...options, swiftWrites: true })
  const answer = async (caller: Caller, visit: Visit): Promise<Reply | undefined> => {
    const { nonce, spend, durable } = admit(caller, visit)
    const endpoint = visit.operation && endpoints[visit.operation]
    if (!endpoint?.isSpending) await spend()
    try {
      if (endpoint === undefined) return undefined
      endpoint.authorize(caller, visit.params)
      requireIdentity(visit.contentEncoding)
      return await endpoint.run({ ...visit, caller, nonce })
    } catch (error) {
      // Refused before anything was written for it: its nonce is spent all the same, and a replay is told first.
      if (!(error instanceof Unreachable)) await spend()
      throw error
    } finally {
      await durable()
    }
  }
  return {
    serve: (caller, visit) =>
      answer(caller, visit).catch((error: unknown) => {
        const { requestId, path: instance } = visit
        return toProblem(error, { requestId, instance, log: log.child({ requestId }) })
      }),
  }
}
