/** Generates `wire/openapi.json`, OpenAPI 3.1, from the operations table. */
import {
  type EventName,
  type Operation,
  type OperationId,
  eventNames,
  events,
  idempotencyKeyCharsMax,
  idempotencyKeyPlace,
  listLimitDefault,
  listLimitMax,
  operationIds,
  operations,
  specificCodes,
  tags,
  usesKey,
} from '@partner-payments/wire'
import { pathExamples, recorded } from './examples.ts'
import { description, idempotencyKeyDescription, summary, tagDescriptions, webhookDescription } from './prose.ts'
import { codesOf, examples, responseOf, sharedResponses } from './refusals.ts'
import { amountSchema, define, place, ref } from './schema.ts'
import { type Schema, pascalCase, shapes } from './shapes.ts'

const json = (schema: Schema, example?: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
})

/** The contract validates `limit` as a string, because query values are strings. The document shows an integer. */
const limitSchema = { type: 'integer', minimum: 1, maximum: listLimitMax, default: listLimitDefault }

type Place = { readonly where: 'path' | 'query'; readonly example?: string | undefined }

function parameter({ where, example }: Place, name: string, schema: Schema) {
  const { description: text, ...rest } = define(schema)
  const documented = where === 'query' && name === 'limit' ? limitSchema : rest
  return {
    name,
    in: where,
    required: where === 'path',
    ...(typeof text === 'string' && { description: text }),
    schema: documented,
    ...(example !== undefined && { example }),
  }
}

function parametersOf(id: OperationId, operation: Operation) {
  const { params = {}, query, path, content, streamed } = operation
  const target = recorded.operations[id]?.request.target
  const examples = target === undefined ? {} : pathExamples(path, target)
  const range = { name: 'Range', in: 'header', required: false, schema: { type: 'string' }, example: 'bytes=0-65535' }
  const fields = ((query as Schema | undefined)?.properties ?? {}) as Record<string, Schema>
  return [
    ...Object.entries(params).map(([name, schema]) =>
      parameter({ where: 'path', example: examples[name] }, name, schema as unknown as Schema),
    ),
    ...Object.entries(fields).map(([name, schema]) => parameter({ where: 'query' }, name, schema)),
    ...(content === undefined || streamed
      ? []
      : [{ ...range, description: 'One range of bytes (RFC 9110, section 14).' }]),
    ...(idempotencyKeyPlace(operation) === undefined ? [] : [ref('parameters', 'IdempotencyKey')]),
  ]
}

function successOf(id: OperationId, operation: Operation) {
  const headers = {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(usesKey(operation) && { 'Idempotent-Replayed': ref('headers', 'IdempotentReplayed') }),
    ...(operation.makesPayout === true && {
      Location: ref('headers', 'Location'),
      'Payout-Id': ref('headers', 'PayoutId'),
    }),
  }
  if (operation.content !== undefined) return contentOf(operation, operation.content, headers)
  if (operation.response === undefined) return { 204: { description: 'Success, without a body.', headers } }
  const schema = place(operation.response as unknown as Schema)
  return { 200: { description: 'Success.', headers, content: json(schema, recorded.operations[id]?.response.body) } }
}

/** A file of one of several media types, whole or in part. */
function contentOf({ streamed }: Operation, mediaTypes: readonly string[], headers: Record<string, unknown>) {
  const answer = (text: string, more: readonly string[]) => ({
    description: text,
    headers: {
      ...headers,
      ...Object.fromEntries(more.map((name) => [name, ref('headers', name.replaceAll('-', ''))])),
    },
    content: Object.fromEntries(mediaTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
  })
  if (streamed) return { 200: answer('A stream.', ['Content-Disposition']) }
  const always = ['ETag', 'Accept-Ranges', 'Content-Disposition', 'Repr-Digest']
  return { 200: answer('The whole file.', always), 206: answer('A range of the file.', [...always, 'Content-Range']) }
}

/** The header suffices where the body takes the key too, so that the field is not required. */
function bodySchema(operation: Operation, body: Schema): Schema {
  const { required } = body
  if (idempotencyKeyPlace(operation) !== 'body' || !Array.isArray(required) || !required.includes('idempotencyKey'))
    return place(body)
  return { ...define(body), required: required.filter((name) => name !== 'idempotencyKey') }
}

function operationObject(id: OperationId, operation: Operation) {
  const { tag, summary, source, permission, body, bodyOptional, sandboxOnly } = operation
  const access = [
    `Permission: \`${permission}\`.`,
    source === 'documented' ? 'Documented interface.' : 'Extension.',
    ...(sandboxOnly === true ? ['Sandbox only: 404 in production.'] : []),
  ]
  const problemCodes = specificCodes(operation)
    .map((code) => `\`${code}\``)
    .join(', ')
  const parameters = parametersOf(id, operation)
  const codes = codesOf(operation)
  const statuses = [...codes.keys()].sort((a, b) => a - b)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [
      operation.description,
      access.join(' '),
      ...(problemCodes === '' ? [] : [`Problem codes of this operation: ${problemCodes}.`]),
    ].join('\n\n'),
    'x-source': source,
    'x-permission': permission,
    ...(sandboxOnly === true && { 'x-sandbox-only': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: bodyOptional !== true,
        content: json(bodySchema(operation, body as unknown as Schema), recorded.operations[id]?.request.body),
      },
    }),
    responses: {
      ...successOf(id, operation),
      ...Object.fromEntries(statuses.map((status) => [status, responseOf(status, codes.get(status) ?? [])])),
    },
  }
}

function paths() {
  const result: Record<string, Record<string, unknown>> = {}
  for (const id of operationIds) {
    const operation: Operation = operations[id]
    const methods = (result[operation.path] ??= {})
    methods[operation.method.toLowerCase()] = operationObject(id, operation)
  }
  return result
}

const header = (name: string, text: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description: text,
  schema: { type: 'string' },
  example,
})

/** `partner.customer.deposit.created` -> `Customer deposit created`. */
function eventSummary(name: EventName): string {
  const words = name.replace(/^partner\./, '').replaceAll('.', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function webhooks() {
  return Object.fromEntries(
    eventNames.map((name) => [
      name,
      {
        post: {
          operationId: `on${pascalCase(name)}`,
          tags: ['webhooks'],
          summary: eventSummary(name),
          description: `Fires when ${events[name].firesWhen}.\n\n${webhookDescription}`,
          'x-source': events[name].source,
          security: [],
          parameters: ['WebhookId', 'WebhookTimestamp', 'WebhookSignature'].map((each) => ref('parameters', each)),
          requestBody: {
            required: true,
            content: json(
              {
                type: 'object',
                required: ['eventId', 'data'],
                properties: {
                  eventId: {
                    type: 'string',
                    format: 'uuid',
                    description: 'Identifies the delivery; the same on every retry. Equal to `webhook-id`.',
                  },
                  data: { ...ref('schemas', pascalCase(name)), description: 'The payload of the event.' },
                },
                additionalProperties: false,
              },
              recorded.events[name],
            ),
          },
          responses: {
            '2XX': { description: 'Delivered. Any other response, including a redirect, is a failure and is retried.' },
          },
        },
      },
    ]),
  )
}

const keyHeader = (name: string, text: string) => ({ type: 'apiKey', in: 'header', name, description: text })

const securitySchemes = {
  ApiKey: keyHeader('ApiKey', "The service account's API key."),
  Nonce: keyHeader('Nonce', 'A single-use GUID. Only a request with a valid signature consumes it.'),
  Timestamp: keyHeader('Timestamp', 'Unix time in seconds, at most 300 seconds before or after the server time.'),
  Signature: keyHeader(
    'Signature',
    'Base64 of the RSA signature of the canonical string: SHA-256, PKCS#1 v1.5 padding.',
  ),
}

const components = () => ({
  schemas: {
    Amount: amountSchema,
    ...Object.fromEntries([...shapes].map(([name, schema]) => [name, define(schema)])),
  },
  responses: sharedResponses(),
  examples: examples(),
  headers: {
    RequestId: {
      description: 'Identifies the request in problem bodies and in the logs of the service.',
      schema: { type: 'string' },
    },
    IdempotentReplayed: {
      description: '`true` if the response is the result of an earlier request with the same idempotency key.',
      schema: { type: 'string', enum: ['true'] },
    },
    Location: {
      description: 'The path of the transaction, or of the refund.',
      schema: { type: 'string', format: 'uri-reference' },
    },
    PayoutId: {
      description: 'The `id` of the payout, by which it is read, cancelled, approved and recalled.',
      schema: { type: 'string', format: 'uuid' },
    },
    ETag: { description: 'The SHA-256 of the whole content, in quotes.', schema: { type: 'string' } },
    AcceptRanges: { description: '`bytes`: a request may have `Range`.', schema: { type: 'string', enum: ['bytes'] } },
    ContentDisposition: { description: 'The name of the file.', schema: { type: 'string' } },
    ReprDigest: { description: 'The SHA-256 of the whole content (RFC 9530).', schema: { type: 'string' } },
    ContentRange: { description: 'The range that is sent, and the length of the whole.', schema: { type: 'string' } },
    RetryAfter: { description: 'Seconds to wait before a retry.', schema: { type: 'integer', minimum: 0 } },
  },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: idempotencyKeyDescription,
      schema: { type: 'string', minLength: 1, maxLength: idempotencyKeyCharsMax },
      example: '3b241101-e2bb-4255-8caf-4136c566a962',
    },
    WebhookId: header('webhook-id', 'Equal to `eventId`.', '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'),
    WebhookTimestamp: header('webhook-timestamp', 'Unix time of the attempt in seconds.', '1767225600'),
    WebhookSignature: header(
      'webhook-signature',
      'Signatures separated by spaces: `v1,<Base64>` or `v1a,<Base64>`.',
      'v1,g0hM9SsE...',
    ),
  },
  securitySchemes,
})

export function openapi(): string {
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Partner Payments Service',
      version: 'v1',
      summary,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, []]))],
    tags: tags.map((name) => ({ name, description: tagDescriptions[name] })),
    paths: paths(),
    webhooks: webhooks(),
    components: components(),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
