/** Calls operations in this process: what a request passes after its authentication, without a socket. */
import type { AllHandlers, Operate } from '../api/index.ts'
import { idempotencyKeyHeader } from './idempotency-key.ts'
import type { ItemRate } from './items.ts'
import { readJson } from './json.ts'
import { compileOperations } from './operation.ts'

const nothing = Buffer.alloc(0)

export type OperateOptions = { readonly handlers: AllHandlers; readonly sandbox: boolean } & ItemRate

export function createOperate(options: OperateOptions): Operate {
  const operations = compileOperations(options)
  return async (id, { caller, params = {}, query = '', body, idempotencyKey, requestId, ip }) => {
    operations[id].authorize(caller, params)
    const sent = body === undefined ? nothing : Buffer.from(JSON.stringify(body))
    const headers = idempotencyKey === undefined ? {} : { [idempotencyKeyHeader]: idempotencyKey }
    const json = { contentType: 'application/json', headers }
    const reply = await operations[id].run({ caller, params, query, body: sent, requestId, ip, ...json })
    return (
      typeof reply.body === 'string' && reply.body !== '' ? readJson(Buffer.from(reply.body)) : undefined
    ) as never
  }
}
