/** Calls operations in this process: what a request passes after its authentication, without a socket. */
import type { OperationId } from '@partner-payments/wire'
import type { AllHandlers, Download, Operate } from '../../kernel/api/index.ts'
import { idempotencyKeyHeader } from './idempotency-key.ts'
import type { ItemRate } from './items.ts'
import { readJson } from './json.ts'
import { compileOperations } from './operation.ts'

const nothing = Buffer.alloc(0)

export type OperateOptions = { readonly handlers: AllHandlers; readonly sandbox: boolean } & ItemRate

export type InProcess = { readonly operate: Operate; readonly download: Download }

export function createOperate(options: OperateOptions): InProcess {
  const operationOf = compileOperations(options)
  const run = async (id: OperationId, call: Parameters<Operate>[1]) => {
    const { caller, params = {}, query = '', body, idempotencyKey, requestId, ip } = call
    const { authorize, run: operate } = operationOf(id)
    authorize(caller, params)
    const sent = body === undefined ? nothing : Buffer.from(JSON.stringify(body))
    const headers = idempotencyKey === undefined ? {} : { [idempotencyKeyHeader]: idempotencyKey }
    const json = { contentType: 'application/json', headers }
    return operate({ caller, params, query, body: sent, requestId, ip, ...json })
  }
  return {
    operate: async (id, call) => {
      const { body } = await run(id, call)
      return (typeof body === 'string' && body !== '' ? readJson(Buffer.from(body)) : undefined) as never
    },
    download: run,
  }
}
