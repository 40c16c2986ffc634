/** `wire/openapi.json`: OpenAPI 3.1, built from the operations table. */
import {
  type Operation,
  eventNames,
  events,
  listLimitDefault,
  listLimitMax,
  operationIds,
  operations,
  tags,
} from '@partner-payments/wire'
import { description, tagDescriptions, webhookDescription } from './prose.ts'
import { codesOf, examples, responseOf, sharedResponses } from './refusals.ts'
import { amountSchema, define, place, ref } from './schema.ts'
import { type Schema, isSchema, pascalCase, shapes } from './shapes.ts'

const json = (schema: Schema) => ({ 'application/json': { schema } })

/** Query values arrive as text, so the table judges `limit` by a pattern; to a reader it is a whole number. */
const limitSchema = { type: 'integer', minimum: 1, maximum: listLimitMax, default: listLimitDefault }

function parameter(where: 'path' | 'query', name: string, schema: Schema, required: boolean) {
  const { description: text, ...rest } = define(schema)
  const shown = where === 'query' && name === 'limit' ? limitSchema : rest
  return {
    name,
    in: where,
    required,
    ...(typeof text === 'string' && { description: text }),
    schema: shown,
  }
}

function parametersOf({ params = {}, query }: Operation) {
  const fields = ((query as Schema | undefined)?.properties ?? {}) as Record<string, Schema>
  return [
    ...Object.entries(params).map(([name, schema]) => parameter('path', name, schema as unknown as Schema, true)),
    ...Object.entries(fields).map(([name, schema]) => parameter('query', name, schema, false)),
  ]
}

const takesKey = ({ body }: Operation) =>
  isSchema(body) && isSchema(body.properties) && 'idempotencyKey' in body.properties

function successOf(id: string, operation: Operation) {
  const headers = {
    'X-Request-Id': ref('headers', 'RequestId'),
    ...(takesKey(operation) && { 'Idempotent-Replayed': ref('headers', 'IdempotentReplayed') }),
    ...(id === 'createFiatPayout' && { Location: ref('headers', 'Location') }),
  }
  if (operation.response === undefined) return { 204: { description: 'Done; no body.', headers } }
  const schema = place(operation.response as unknown as Schema)
  return { 200: { description: 'Success.', headers, content: json(schema) } }
}

function operationObject(id: string, operation: Operation) {
  const { tag, summary, source, permission, body, bodyOptional, sandboxOnly } = operation
  const parameters = parametersOf(operation)
  const codes = codesOf(operation)
  const statuses = [...codes.keys()].sort((a, b) => a - b)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: [
      `Permission: \`${permission}\`. ${source === 'documented' ? 'Documented interface' : 'Extension'}.`,
      ...(sandboxOnly === true ? ['Sandbox only: 404 in production.'] : []),
      ...(operation.refusals.length > 0
        ? [`Refusals of its own: ${operation.refusals.map((code) => `\`${code}\``).join(', ')}.`]
        : []),
    ].join(' '),
    'x-source': source,
    'x-permission': permission,
    ...(sandboxOnly === true && { 'x-sandbox-only': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: bodyOptional !== true, content: json(place(body as unknown as Schema)) },
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

function webhooks() {
  return Object.fromEntries(
    eventNames.map((name) => [
      name,
      {
        post: {
          operationId: `on${pascalCase(name)}`,
          tags: ['webhooks'],
          summary: `Fires when ${events[name].firesWhen}`,
          description: webhookDescription,
          'x-source': 'documented',
          security: [],
          parameters: ['WebhookId', 'WebhookTimestamp', 'WebhookSignature'].map((each) => ref('parameters', each)),
          requestBody: {
            required: true,
            content: json({
              type: 'object',
              required: ['eventId', 'data'],
              properties: {
                eventId: { type: 'string', format: 'uuid', description: 'The same on every retry; also `webhook-id`.' },
                data: ref('schemas', pascalCase(name)),
              },
              additionalProperties: false,
            }),
          },
          responses: {
            '2XX': { description: 'Taken. Any other status, and a redirect, is a failure and is retried.' },
          },
        },
      },
    ]),
  )
}

const keyHeader = (name: string, text: string) => ({ type: 'apiKey', in: 'header', name, description: text })

const securitySchemes = {
  ApiKey: keyHeader('ApiKey', "The service account's API key."),
  Nonce: keyHeader('Nonce', 'A GUID, used once. It is consumed only when the signature holds.'),
  Timestamp: keyHeader('Timestamp', 'Unix time in seconds, within 300 s of the server either way.'),
  Signature: keyHeader('Signature', 'Base64 of RSA PKCS#1 v1.5 with SHA-256 over the canonical string.'),
}

const components = () => ({
  schemas: {
    Amount: amountSchema,
    ...Object.fromEntries([...shapes].map(([name, schema]) => [name, define(schema)])),
  },
  responses: sharedResponses(),
  examples: examples(),
  headers: {
    RequestId: { description: 'Names this request in our logs and in problem bodies.', schema: { type: 'string' } },
    IdempotentReplayed: {
      description: '`true` where the answer is that of an earlier request with the same idempotency key.',
      schema: { type: 'string', enum: ['true'] },
    },
    Location: { description: 'Where the transaction is read.', schema: { type: 'string', format: 'uri-reference' } },
    RetryAfter: { description: 'Seconds to wait before the same request.', schema: { type: 'integer', minimum: 0 } },
  },
  parameters: {
    WebhookId: header('webhook-id', 'The `eventId`.', '018f3c5e-7d1a-7c3e-9a52-6f1f0a9f4d21'),
    WebhookTimestamp: header('webhook-timestamp', 'Unix time in seconds of this attempt.', '1767225600'),
    WebhookSignature: header('webhook-signature', 'Space-separated `v1,<Base64>` signatures.', 'v1,g0hM9SsE...'),
  },
  securitySchemes,
})

export function openapi(): string {
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Partner Payments Service',
      version: 'v1',
      summary: 'Customers, IBANs, fiat payouts, transactions and webhooks, over an RSA-signed HTTP/JSON API.',
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
