/** `sdk/src/generated/types.ts`: the shapes and the signatures of the client, as plain TypeScript. */
import { type Operation, eventNames, events, operationIds, operations } from '@partner-payments/wire'
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

/** An input takes `undefined` for an absent field and an amount in either spelling; an output promises one form. */
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

/** The names of the shapes that a shape is made of, itself included. */
function reach(schema: unknown, into: Set<string>): Set<string> {
  if (Array.isArray(schema)) for (const each of schema) reach(each, into)
  else if (isSchema(schema)) {
    const name = nameOf(schema)
    if (name !== undefined) into.add(name)
    for (const each of Object.values(schema)) reach(each, into)
  }
  return into
}

function directions(): ReadonlyMap<string, Direction> {
  const taken = new Set<string>()
  const answered = new Set<string>(['Problem'])
  for (const id of operationIds) {
    const { body, response }: Operation = operations[id]
    reach(body, taken)
    reach(response, answered)
  }
  for (const name of taken) {
    if (answered.has(name) && amountPaths(shapes.get(name)).length > 0)
      throw new Error(`${name} carries an amount both ways: one type cannot describe it`)
  }
  return new Map([
    ...[...taken].map((name) => [name, 'in'] as const),
    ...[...answered].map((name) => [name, 'out'] as const),
  ])
}

/** A query in the client: `limit` may be given as the number that it is. */
function queryType(query: Schema): string {
  const fields = Object.entries(query.properties as Record<string, Schema>)
  const lines = fields.map(([name, field]) => {
    const doc = typeof field.description === 'string' ? `    /** ${field.description} */\n` : ''
    return `${doc}    readonly ${key(name)}?: ${name === 'limit' ? 'number | string' : place(field, 'in', '    ')} | undefined`
  })
  return `{\n${lines.join('\n')}\n  }`
}

function method(id: string, operation: Operation): string {
  const { params = {}, query, body, bodyOptional, response, summary, permission, refusals, sandboxOnly } = operation
  const args = [
    ...Object.keys(params).map((name) => `${name}: string`),
    ...(body === undefined
      ? []
      : [`body${bodyOptional === true ? '?' : ''}: ${place(body as unknown as Schema, 'in', '  ')}`]),
    ...(query === undefined ? [] : [`query?: ${queryType(query as unknown as Schema)}`]),
    'options?: CallOptions',
  ]
  const answer = response === undefined ? 'void' : place(response as unknown as Schema, 'out', '  ')
  const lines = [
    `${summary}.`,
    `\`${operation.method} ${operation.path}\`, permission \`${permission}\`${sandboxOnly === true ? ', sandbox only' : ''}.`,
    ...(refusals.length === 0 ? [] : [`Refuses: ${refusals.join(', ')}.`]),
  ]
  return [
    '  /**',
    ...lines.map((line) => `   * ${line}`),
    '   */',
    `  readonly ${id}: (${args.join(', ')}) => Promise<${answer}>`,
  ].join('\n')
}

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
  return `// Generated by \`npm run generate\` from wire/src/operations.ts. Change the table, not this file.
import type { CallOptions } from '../call.ts'

/** An exact decimal as the service wrote it, for example \`'12.50'\`: no amount passes through a binary float. */
export type Amount = string

/** An amount to send: a decimal text is sent digit for digit; a number as JavaScript writes it. */
export type AmountInput = string | number

${namedTypes()}

${eventTypes()}

/** One method per operation: path parameters first, then the body or the query, then options. */
export type OperationMethods = {
${operationIds.map((id) => method(id, operations[id])).join('\n')}
}
`
}
