/** Generates `sdk/src/generated/types.ts`: the TypeScript types of the schemas and of the client methods. */
import {
  type Operation,
  type OperationId,
  eventNames,
  events,
  operationIds,
  operations,
  specificCodes,
} from '@partner-payments/wire'
import {
  type Schema,
  amountPaths,
  isAmount,
  isEventData,
  isRecord,
  isSchema,
  nameOf,
  nullableOf,
  pascalCase,
  shapes,
} from './shapes.ts'
import { type Method, type Namespace, cursorOf, namespaces } from './methods.ts'

/** `in`: a request, which accepts `undefined` and amounts as strings or numbers. `out`: a response. */
type Direction = 'in' | 'out'

const literal = (value: unknown) => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value))
const key = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name))
const asItem = (type: string) => (/[|&]/.test(type) ? `(${type})` : type)

function place(schema: Schema, direction: Direction, indent: string): string {
  if (isAmount(schema)) return direction === 'in' ? 'AmountInput' : 'Amount'
  return nameOf(schema) ?? define(schema, direction, indent)
}

function define(schema: Schema, direction: Direction, indent = ''): string {
  const inner = nullableOf(schema)
  if (inner !== undefined) return `${place(inner, direction, indent)} | null`
  if (isEventData(schema)) return 'EventData'
  if (isRecord(schema)) return '{ readonly [name: string]: unknown }'
  if ('const' in schema) return literal(schema.const)
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(' | ')
  if (isSchema(schema.properties)) return objectType(schema, direction, indent)
  if (isSchema(schema.items)) return `readonly ${asItem(place(schema.items, direction, indent))}[]`
  if (schema.type === 'integer') return 'number'
  if (schema.type === 'string' || schema.type === 'boolean') return schema.type
  throw new Error(`no TypeScript for the schema ${JSON.stringify(schema)}`)
}

function objectType(schema: Schema, direction: Direction, indent: string): string {
  const required = new Set((schema.required ?? []) as readonly string[])
  const inner = `${indent}  `
  const fields = Object.entries(schema.properties as Record<string, Schema>).flatMap(([name, field]) => {
    const type = place(field, direction, inner)
    const doc = typeof field.description === 'string' ? [`${inner}/** ${field.description} */`] : []
    if (required.has(name)) return [...doc, `${inner}readonly ${key(name)}: ${type}`]
    return [...doc, `${inner}readonly ${key(name)}?: ${type}${direction === 'in' ? ' | undefined' : ''}`]
  })
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n${indent}}`
}

function collectNames(schema: unknown, into: Set<string>): Set<string> {
  if (Array.isArray(schema)) for (const each of schema) collectNames(each, into)
  else if (isSchema(schema)) {
    const name = nameOf(schema)
    if (name !== undefined) into.add(name)
    for (const each of Object.values(schema)) collectNames(each, into)
  }
  return into
}

function directions(): ReadonlyMap<string, Direction> {
  const requestNames = new Set<string>()
  const responseNames = new Set<string>(['Problem'])
  for (const id of operationIds) {
    const { body, response }: Operation = operations[id]
    collectNames(body, requestNames)
    collectNames(response, responseNames)
  }
  for (const name of requestNames) {
    if (responseNames.has(name) && amountPaths(shapes.get(name)).length > 0)
      throw new Error(`${name} has an amount and is used in requests and responses: one type cannot describe both`)
  }
  return new Map([
    ...[...requestNames].map((name) => [name, 'in'] as const),
    ...[...responseNames].map((name) => [name, 'out'] as const),
  ])
}

const queryName = (id: string) => `${id.charAt(0).toUpperCase()}${id.slice(1)}Query`

/** The type of a query. Accepts `limit` also as a number. */
function queryType(id: OperationId): string | undefined {
  const { query }: Operation = operations[id]
  if (query === undefined) return undefined
  const { properties } = query as unknown as Schema
  const fields = Object.entries(properties as Record<string, Schema>)
  const lines = fields.flatMap(([name, field]) => {
    const doc = typeof field.description === 'string' ? [`  /** ${field.description} */`] : []
    const type = name === 'limit' ? 'number | string' : place(field, 'in', '  ')
    return [...doc, `  readonly ${key(name)}?: ${type} | undefined`]
  })
  return `export type ${queryName(id)} = {\n${lines.join('\n')}\n}`
}

/** Breaks a text into lines for a doc comment. */
function wrap(text: string): readonly string[] {
  return text.match(/.{1,110}(?: |$)/g)?.map((line) => line.trimEnd()) ?? []
}

const resultType = ({ response, content }: Operation) =>
  content !== undefined
    ? // Uint8Array is generic since TypeScript 5.7, and the SDK supports 5.0.
      `ReadableStream<ReturnType<Uint8Array['slice']>>`
    : response === undefined
      ? 'void'
      : place(response as unknown as Schema, 'out', '  ')

function docOf(operation: Operation) {
  const { summary, description, permission, sandboxOnly, method: verb, path } = operation
  const codes = specificCodes(operation)
  const lines = [
    `${summary}.`,
    '',
    ...wrap(description),
    '',
    `\`${verb} ${path}\`, permission \`${permission}\`${sandboxOnly === true ? ', sandbox only' : ''}.`,
    ...(codes.length === 0 ? [] : wrap(`Problem codes: ${codes.join(', ')}.`)),
  ]
  return ['    /**', ...lines.map((line) => `     * ${line}`.trimEnd()), '     */'].join('\n')
}

function bodyArgument({ body, bodyOptional }: Operation): string | undefined {
  if (body === undefined) return undefined
  return `body${bodyOptional === true ? '?' : ''}: ${place(body as unknown as Schema, 'in', '    ')}`
}

/** A body with a required idempotency key may omit the key if the options have it. */
function keyInOptions({ body }: Operation): string | undefined {
  const required = (body as unknown as Schema | undefined)?.required as readonly string[] | undefined
  if (required?.includes('idempotencyKey') !== true) return undefined
  return `body: Omit<${place(body as unknown as Schema, 'in', '    ')}, 'idempotencyKey'>, options: CallOptionsWithKey`
}

function method({ id, name }: Method): string {
  const operation: Operation = operations[id]
  const params = Object.keys(operation.params ?? {}).map((each) => `${each}: string`)
  const query = operation.query === undefined ? [] : [`query?: ${queryName(id)}`]
  const result = resultType(operation)
  const body = bodyArgument(operation)
  const args = [...params, ...(body === undefined ? [] : [body]), ...query, 'options?: CallOptions'].join(', ')
  const otherArgs = keyInOptions(operation)
  const type = `(${args}) => Promise<${result}>`
  const lines = [docOf(operation)]
  if (otherArgs === undefined) lines.push(`    readonly ${name}: ${type}`)
  else lines.push(`    readonly ${name}: (${type}) & ((${otherArgs}) => Promise<${result}>)`)
  if (cursorOf(operation) !== undefined)
    lines.push(
      `    /** Like \`${name}\`, and requests page after page. The default of \`limit\` is 100. */`,
      `    readonly ${name.replace(/^list/, 'listAll')}: (${args}) => Pages<${result}>`,
    )
  return lines.join('\n')
}

const namespace = ({ tag, methods }: Namespace) => `  readonly ${tag}: {\n${methods.map(method).join('\n')}\n  }`

function namedTypes(): string {
  const used = directions()
  return [...used.keys()]
    .sort()
    .map((name) => `export type ${name} = ${define(shapes.get(name) as Schema, used.get(name) ?? 'out')}`)
    .join('\n\n')
}

function eventTypes(): string {
  const types = eventNames.map((name) => {
    const shape = shapes.get(pascalCase(name)) as Schema
    return `/** Fires when ${events[name].firesWhen}. */\nexport type ${pascalCase(name)} = ${define(shape, 'out')}`
  })
  const union = eventNames.map((name) => `  | ${pascalCase(name)}`).join('\n')
  return `${types.join('\n\n')}\n\nexport type EventData =\n${union}`
}

export function sdkTypes(): string {
  return `// Generated by \`npm run generate\` from wire/src/operations.ts. Edit the table, not this file.
import type { CallOptions, CallOptionsWithKey } from '../call.ts'
import type { Pages } from '../pages.ts'

/** An exact decimal as a string, for example \`'12.50'\`. It never passes through a binary float. */
export type Amount = string

/** An amount in a request. A decimal string is sent digit for digit, a number as JavaScript formats it. */
type AmountInput = string | number

${namedTypes()}

${eventTypes()}

${operationIds.flatMap((id) => queryType(id) ?? []).join('\n\n')}

/** The result of each operation. */
export type OperationResults = {
${operationIds.map((id) => `  readonly ${id}: ${resultType(operations[id])}`).join('\n')}
}

/** One method per operation, in a namespace per group. Arguments: path parameters, then the body or the query, then options. */
export type Namespaces = {
${namespaces.map(namespace).join('\n')}
}
`
}
