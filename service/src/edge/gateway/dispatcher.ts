/** Handles an authenticated request: consumes the nonce, authorizes the caller, runs the operation and replies. */
import type { OperationId } from '@partner-payments/wire'
import type { Access } from '../../access/index.ts'
import { type AllHandlers, Unreachable } from '../../kernel/api/index.ts'
import type { Clock, Log } from '../../kernel/index.ts'
import { requireUnencoded } from './body.ts'
import type { ItemRate } from './items.ts'
import { createNonceCheck } from './nonces.ts'
import { compileOperations, type OperationRequest } from './operation.ts'
import { toProblem } from './problems.ts'
import type { RawRequest, Reply } from './server.ts'

export type AuthenticatedRequest = OperationRequest &
  Pick<RawRequest, 'method' | 'path'> & {
    /** 32 lower-case hexadecimal digits. */
    readonly nonce: string
  }

/**
 * Returns the reply, problems included, once the nonce is durable. Without an operation (the not-found route) it only
 * consumes the nonce, and returns undefined unless that is refused.
 */
export type Dispatch = (id: OperationId | undefined, request: AuthenticatedRequest) => Promise<Reply | undefined>

export function createDispatcher(options: {
  readonly access: Pick<Access, 'consumeNonce'>
  readonly handlers: AllHandlers
  readonly clock: Clock
  readonly log: Log
  readonly sandbox: boolean
  readonly itemRate: ItemRate['itemRate']
  readonly windowSeconds: number
}): Dispatch {
  const { log } = options
  const operationOf = compileOperations(options)
  const checkNonce = createNonceCheck({ ...options, asyncCommitOfWrites: true })
  const run: Dispatch = async (id, request) => {
    const { nonce, consume, durable } = checkNonce(request)
    const operation = id && operationOf(id)
    if (!operation?.consumesNonce) await consume()
    try {
      if (operation === undefined) return undefined
      operation.authorize(request.caller, request.params)
      requireUnencoded(request.headers['content-encoding'])
      return await operation.run(request, nonce)
    } catch (error) {
      // A refused request consumes its nonce too, and a replay is reported before any other refusal.
      if (!(error instanceof Unreachable)) await consume()
      throw error
    } finally {
      await durable()
    }
  }
  return async (id, request) => {
    try {
      return await run(id, request)
    } catch (error) {
      const { requestId, path: instance } = request
      return toProblem(error, { requestId, instance, log: log.child({ requestId }) })
    }
  }
}
