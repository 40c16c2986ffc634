/**
 * Compiles an operation into its steps: permission -> impersonation -> path parameters -> schema -> normal form ->
 * handler -> response filter. The contract defines this order.
 */
import { Readable } from 'node:stream'
import {
  closed,
  type FieldError,
  identifierPatterns,
  isWrite,
  NoFields,
  type Operation,
  type OperationId,
  operations,
  timeInputPattern,
  type TSchema,
} from '@partner-payments/wire'
import {
  type AllHandlers,
  type OperationAnswer,
  type OperationCall,
  type Caller,
  type FileContent,
  type Download,
  type OpenNonce,
  type Operate,
  parseTime,
  Refusal,
  refuseField,
  refuseFields,
  type StreamContent,
  createRecordWriter,
} from '../../kernel/api/index.ts'
import { minuteMs, present } from '../../kernel/index.ts'
import { requireJson } from './incoming.ts'
import { pointToGivenKey, compileIdempotencyKey, idempotencyKeyHeader, mentionHeader } from './idempotency-key.ts'
import { compileItemCount, createItemLimiter, type ItemLimiter, type ItemRate } from './rate.ts'
import { escapePointer, readJson } from './json.ts'
import type { Headers } from './signature.ts'
import { compileCheck, compileValidator } from './validate.ts'

export type OperationRequest = {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  /** The query as sent, without the leading `?`. */
  readonly query: string
  readonly contentType: string | undefined
  readonly headers: Headers
  readonly body: Buffer
  readonly requestId: string
  readonly ip: string
}

type OperationReply = {
  readonly status: 200 | 204 | 206
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Readable
}

type CompiledOperation = {
  /** True: the handler consumes the nonce of its request. */
  readonly consumesNonce: boolean
  /**
   * Checks the permission of the caller. Refuses: permission_denied, impersonation_write_blocked, not_found (a path parameter does not
   * match its schema).
   */
  readonly authorize: (caller: Caller, params: Readonly<Record<string, string>>) => void
  /** Runs the operation. Refuses as the schema and the handler do, and with rate_limited. */
  readonly run: (request: OperationRequest, nonce?: OpenNonce) => Promise<OperationReply>
}

export type OperateOptions = { readonly handlers: AllHandlers; readonly sandbox: boolean } & ItemRate

export type OperationOf = (id: OperationId) => CompiledOperation

/** Compiles each operation at its first use. Compiling all of them would delay each start by a third of a second. */
export function compileOperations(options: OperateOptions): OperationOf {
  const limitItems = createItemLimiter(options)
  const compiled = new Map<OperationId, CompiledOperation>()
  return (id) => {
    const known = compiled.get(id) ?? compileOperation(id, options, limitItems)
    compiled.set(id, known)
    return known
  }
}

function compileOperation(
  id: OperationId,
  { handlers, sandbox }: OperateOptions,
  limitItems: ItemLimiter,
): CompiledOperation {
  const operation: Operation = operations[id]
  const paramChecks = Object.entries(operation.params ?? {}).map(
    ([name, schema]) => [name, compileCheck(schema)] as const,
  )
  const validateBody = compileValidator(operation.body ?? NoFields)
  const readQuery = compileQuery(operation)
  const normalizeParams = compileNormalizer(closed(operation.params ?? {})) ?? unchanged
  const normalizeBody = compileNormalizer(operation.body ?? NoFields) ?? unchanged
  const key = compileIdempotencyKey(operation)
  const project = operation.response ? createRecordWriter(operation.response) : undefined
  const handler = handlers[id] as unknown as (call: OperationCall<OperationId>) => Promise<OperationAnswer<unknown>>
  const countItems = compileItemCount(operation)
  const changes = isWrite(operation)

  const readSent = ({ body, contentType }: OperationRequest): unknown => {
    if (body.length === 0) {
      if (operation.body && !operation.bodyOptional) throw new Refusal('body_required')
      return undefined
    }
    requireJson(contentType)
    return readJson(body)
  }

  const readBody = (sent: unknown, header: string | undefined): unknown => {
    if (sent === undefined) return undefined
    const value = key.complete(sent, header)
    try {
      validateBody(value)
    } catch (error) {
      throw mentionHeader(error)
    }
    return operation.body ? normalizeBody(value) : undefined
  }

  return {
    consumesNonce: operation.nonce === 'handler',
    authorize: (caller, params) => {
      if (operation.sandboxOnly && !sandbox) throw new Refusal('not_found')
      if (!caller.permissions.includes(operation.permission))
        throw new Refusal('permission_denied', `The operation requires the permission ${operation.permission}.`)
      if (changes && caller.impersonatedBy !== undefined) throw new Refusal('impersonation_write_blocked')
      for (const [name, check] of paramChecks) if (!check(params[name])) throw new Refusal('not_found')
    },
    run: async (request, nonce) => {
      const { caller, requestId, ip, headers: given } = request
      const params = normalizeParams(request.params)
      const query = readQuery(request.query)
      const header = key.header(given)
      const sent = readSent(request)
      const body = readBody(sent, header)
      const idempotencyKey = key.agreed(body, header)
      limitItems(caller, countItems(body))
      const call = { caller: { ...caller, requestId }, params, query, body, requestId, ip, nonce, idempotencyKey }
      const answer = await handler(call as unknown as OperationCall<OperationId>).catch((error: unknown) => {
        throw pointToGivenKey(error, sent)
      })
      const headers = answer.headers ?? {}
      if (operation.streamed)
        return createStreamReply(
          present(answer.stream, `no stream in the answer of ${operation.method} ${operation.path}`),
        )
      if (operation.content)
        return createContentReply(
          present(answer.content, `no content in the answer of ${operation.method} ${operation.path}`),
          given,
        )
      if (!project) return { status: 204, headers, body: '' }
      return {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
        body: JSON.stringify(project(answer.body)),
      }
    },
  }
}

const unchanged = (value: unknown): unknown => value

/** Parses query parameters, decoded by RFC 3986. Refuses unknown, duplicate and empty parameters. */
function compileQuery(operation: Operation): (query: string) => unknown {
  const validate = compileValidator(operation.query ?? NoFields, 'parameter')
  const refusePeriods = compilePeriods(operation.query ?? NoFields)
  const normalize = compileNormalizer(operation.query ?? NoFields) ?? unchanged
  return (query) => {
    const values = new Map<string, string>()
    for (const pair of query.split('&').filter(Boolean)) {
      const at = pair.indexOf('=')
      const name = decode(at === -1 ? pair : pair.slice(0, at))
      const value = decode(at === -1 ? '' : pair.slice(at + 1))
      const pointer = `/query/${escapePointer(name)}`
      if (values.has(name)) throw refuseField({ pointer, code: 'duplicate_key', message: 'appears more than once' })
      if (value.includes('\u0000') || !value.isWellFormed())
        throw refuseField({ pointer, code: 'invalid_character', message: 'contains a character that is not allowed' })
      values.set(name, value)
    }
    // Makes own properties, so that `__proto__` is an unknown field too.
    const given = Object.fromEntries(values)
    validate(given, '/query')
    refusePeriods(given)
    return normalize(given)
  }
}

/**
 * Decodes percent-encoding. Only an api process can refuse here: no signature is valid for a query with invalid
 * encoding.
 */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Refusal('malformed_request', 'The query has invalid percent-encoding.')
  }
}

// The periods of queries: a pair of times named `from` and `to`, or `createdFrom` and `createdTo` and the like.

type SchemaLike = { readonly properties?: Readonly<Record<string, { readonly pattern?: string }>> }

/**
 * Creates a check that refuses (400, with a pointer) a period that ends before it begins, because its list would be empty. Equal times
 * are an empty period. The query has passed its schema.
 */
function compilePeriods(schema: TSchema): (query: Readonly<Record<string, string>>) => void {
  const { properties = {} } = schema as SchemaLike
  const isTime = (name: string) => properties[name]?.pattern === timeInputPattern
  const periods = Object.keys(properties).flatMap((from) => {
    const to = from.replace(/from$/, 'to').replace(/From$/, 'To')
    return to !== from && isTime(from) && isTime(to) ? [{ from, to }] : []
  })
  return (query) => {
    refuseFields(
      periods.flatMap(({ from, to }): readonly FieldError[] => {
        const [begin, end] = [query[from], query[to]]
        if (begin === undefined || end === undefined || parseTime(end) >= parseTime(begin)) return []
        return [{ pointer: `/query/${to}`, code: 'out_of_range', message: `must not be before ${from}` }]
      }),
    )
  }
}

// The normal form of identifiers: a UUID in lower case (RFC 9562 section 4). Applied before a handler runs, so that no
// key, lock, limit or sealing context depends on how a caller spells an identifier.

/** Returns the same object if nothing changes. The value has passed the schema. */
type Normalize = (value: unknown) => unknown

type NormalFormSchemaLike = {
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

/** Compiles a normalizer. Undefined: the schema contains no identifier. */
function compileNormalizer(schema: TSchema): Normalize | undefined {
  const { pattern, properties, items, anyOf } = schema as NormalFormSchemaLike
  if (pattern !== undefined && identifierPatterns.has(pattern)) return lowerCase
  if (properties) return normalizeObject(properties)
  if (items) return normalizeItems(compileNormalizer(items))
  // The only unions of the contract are nullable fields.
  return anyOf?.map(compileNormalizer).find((normalize) => normalize !== undefined)
}

const lowerCase: Normalize = (value) => (typeof value === 'string' ? value.toLowerCase() : value)

function normalizeItems(item: Normalize | undefined): Normalize | undefined {
  return item && ((value) => (Array.isArray(value) ? value.map(item) : value))
}

function normalizeObject(properties: Readonly<Record<string, TSchema>>): Normalize | undefined {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const normalize = compileNormalizer(schema)
    return normalize ? [{ name, normalize }] : []
  })
  if (fields.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    const source = value as Record<string, unknown>
    const changes: Record<string, unknown> = {}
    for (const { name, normalize } of fields) {
      const given = source[name]
      if (given === undefined) continue
      const normal = normalize(given)
      if (normal !== given) changes[name] = normal
    }
    return Object.keys(changes).length === 0 ? value : { ...source, ...changes }
  }
}

// The answer of an operation with `streamed` content, whose length is not known in advance. The deadline of a request ends
// with the head of its answer. A stream holds one part in memory: the next is read when the socket has accepted the previous part.
// A stream that fails breaks the connection without the last chunk, so that the client does not take it for complete.

type StreamReply = {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

/** The longest time for which a client may pause. A paused client costs a socket and one part in memory. */
const readerPauseMsMax = minuteMs

export function createStreamReply(
  { mediaType, fileName, read, closed }: StreamContent,
  pauseMsMax = readerPauseMsMax,
): StreamReply {
  const giveUp = () => body.destroy(new Error('the client does not read the stream'))
  // Starts now, because an answer that is never sent must not stay open.
  let timer = setTimeout(giveUp, pauseMsMax)
  async function* parts() {
    for await (const part of read()) {
      yield part
      clearTimeout(timer)
      timer = setTimeout(giveUp, pauseMsMax)
    }
  }
  const body: Readable = Readable.from(parts(), { objectMode: false, highWaterMark: 1 })
  body.once('close', () => {
    clearTimeout(timer)
    closed()
  })
  // Without a listener an error would end the process. The server closes the connection.
  body.on('error', () => undefined)
  return {
    status: 200,
    headers: { 'content-type': mediaType, 'content-disposition': `attachment; filename="${fileName}"` },
    body,
  }
}

// The answer of an operation with `content`: a stream that supports range requests (RFC 9110, section 14). The deadline of
// a request ends with the head of its answer, so that a download may take as long as the client needs. A paused client
// costs only a socket and one part in memory.

type ContentReply = {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

type Range = { readonly from: number; readonly until: number }

const singleValue = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined)

/**
 * Parses the requested range. Undefined: the whole content, also for another unit, several ranges or another version.
 */
function requestedRange(headers: Headers, bytes: number, etag: string): Range | undefined {
  const text = singleValue(headers['range'])
  const condition = singleValue(headers['if-range'])
  if (text === undefined || (condition !== undefined && condition !== etag)) return undefined
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(text.trim()) ?? []
  if (first === '' && last === '') return undefined
  const suffix = first === ''
  if (!suffix && last !== '' && Number(last) < Number(first)) return undefined
  const from = suffix ? Math.max(0, bytes - Number(last)) : Number(first)
  const until = suffix || last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  if (from >= until)
    throw new Refusal('range_not_satisfiable', undefined, { headers: { 'content-range': `bytes */${bytes}` } })
  return { from, until }
}

/** Creates the reply with the content or a range of it. Refuses: range_not_satisfiable (416). */
export function createContentReply(content: FileContent, headers: Headers): ContentReply {
  const { mediaType, fileName, bytes, sha256, read } = content
  const etag = `"${sha256}"`
  const range = requestedRange(headers, bytes, etag)
  const { from, until } = range ?? { from: 0, until: bytes }
  return {
    status: range ? 206 : 200,
    headers: {
      'content-type': mediaType,
      'content-length': String(until - from),
      'content-disposition': `attachment; filename="${fileName}"`,
      'accept-ranges': 'bytes',
      etag,
      // RFC 9530: the digest is of the whole content, also in the answer to a range.
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      ...(range ? { 'content-range': `bytes ${from}-${until - 1}/${bytes}` } : {}),
    },
    // Reads the next part when the socket has accepted the previous part.
    body: Readable.from(read(from, until), { objectMode: false, highWaterMark: 1 }),
  }
}

// Calls operations in this process, without a socket: the steps after the authentication of a request.

const nothing = Buffer.alloc(0)

/** `operationOf`: for the gateway, so that requests and calls share the rate of items. */
export type InProcess = { readonly operate: Operate; readonly download: Download; readonly operationOf: OperationOf }

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
    operationOf,
  }
}
