/**
 * One endpoint, from an authenticated caller to an answer: permission -> impersonation -> schema -> handler -> filter.
 * Knows nothing of sockets. The order is the contract's.
 */
import { NoFields, type Operation, type OperationId, operations } from '@partner-payments/wire'
import {
  type AllHandlers,
  type Answer,
  type Call,
  type Caller,
  isSpending,
  type OpenNonce,
  refuseField,
  Refusal,
} from '../api/index.ts'
import { requireJson } from './body.ts'
import { readJson } from './json.ts'
import { compileProjector } from './project.ts'
import { compileCheck, compileValidator } from './validate.ts'

export type Incoming = {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  /** As sent, without the leading `?`. */
  readonly query: string
  readonly contentType: string | undefined
  readonly body: Buffer
  readonly requestId: string
  readonly ip: string
  readonly nonce?: OpenNonce
}

export type Outgoing = {
  readonly status: 200 | 204
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Endpoint = {
  /** Spends the nonce of a request that it answers. */
  readonly isSpending: boolean
  /** Refuses: permission_denied, impersonation_write_blocked, not_found (a path parameter fails its constraint). */
  readonly authorize: (caller: Caller, params: Readonly<Record<string, string>>) => void
  /** Refuses what the schema refuses, and whatever the handler refuses. */
  readonly run: (incoming: Incoming) => Promise<Outgoing>
}

export function createEndpoint(
  id: OperationId,
  handlers: AllHandlers,
  options: { readonly sandbox: boolean },
): Endpoint {
  const operation: Operation = operations[id]
  const paramChecks = Object.entries(operation.params ?? {}).map(
    ([name, schema]) => [name, compileCheck(schema)] as const,
  )
  const validateBody = compileValidator(operation.body ?? NoFields)
  const readQuery = compileQuery(operation)
  const project = operation.response ? compileProjector(operation.response) : undefined
  const handler = handlers[id] as unknown as (call: Call<OperationId>) => Promise<Answer<unknown>>
  const isWrite = operation.permission.endsWith(':write')

  const readBody = ({ body, contentType }: Incoming): unknown => {
    if (body.length === 0) {
      if (operation.body && !operation.bodyOptional) throw new Refusal('body_required')
      return undefined
    }
    requireJson(contentType)
    const value = readJson(body)
    validateBody(value)
    return operation.body ? value : undefined
  }

  return {
    isSpending: isSpending(handler),
    authorize: (caller, params) => {
      if (operation.sandboxOnly && !options.sandbox) throw new Refusal('not_found', 'No such resource.')
      if (!caller.permissions.includes(operation.permission))
        throw new Refusal('permission_denied', `The operation needs the permission ${operation.permission}.`)
      if (isWrite && caller.impersonatedBy !== undefined) throw new Refusal('impersonation_write_blocked')
      for (const [name, check] of paramChecks)
        if (!check(params[name])) throw new Refusal('not_found', 'No such resource.')
    },
    run: async (incoming) => {
      const { caller, params, requestId, ip, nonce } = incoming
      const call = { caller, params, query: readQuery(incoming.query), body: readBody(incoming), requestId, ip, nonce }
      const answer = await handler(call as unknown as Call<OperationId>)
      const headers = answer.headers ?? {}
      if (!project) return { status: 204, headers, body: '' }
      return {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
        body: JSON.stringify(project(answer.body)),
      }
    },
  }
}

/** Query parameters: decoded by RFC 3986, none unknown, none twice, none empty. */
function compileQuery(operation: Operation): (query: string) => unknown {
  const validate = compileValidator(operation.query ?? NoFields)
  return (query) => {
    const values = new Map<string, string>()
    for (const pair of query.split('&').filter(Boolean)) {
      const at = pair.indexOf('=')
      const name = decode(at === -1 ? pair : pair.slice(0, at))
      const value = decode(at === -1 ? '' : pair.slice(at + 1))
      const pointer = `/query/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
      if (values.has(name)) throw refuseField({ pointer, code: 'duplicate_key', message: 'is given twice' })
      if (value.includes('\u0000') || !value.isWellFormed())
        throw refuseField({ pointer, code: 'invalid_character', message: 'has a character that is not allowed' })
      values.set(name, value)
    }
    // An own property whatever the name: `__proto__` is an unknown field like any other.
    const given = Object.fromEntries(values)
    validate(given, '/query')
    return given
  }
}

/** A query whose percent-encoding is broken has no signature that verifies, except from the gateway itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Refusal('malformed_request', 'The percent-encoding of the query is broken.')
  }
}
