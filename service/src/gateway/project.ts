/**
 * The response schema as a filter: what it does not name cannot leave. Compiled once an operation into plain functions;
 * the identification number of a customer stays inside even if a handler were to answer the whole row.
 */
import type { TSchema } from '@partner-payments/wire'

export type Projector = (value: unknown) => unknown

type SchemaLike = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly anyOf?: readonly TSchema[]
}

const same: Projector = (value) => value

export function compileProjector(schema: TSchema): Projector {
  const { type, properties, items, anyOf } = schema as SchemaLike
  if (type === 'object' && properties) return projectObject(properties)
  if (type === 'array' && items) {
    const item = compileProjector(items)
    return (value) => (Array.isArray(value) ? value.map(item) : undefined)
  }
  if (anyOf) {
    // The contract's only unions are `nullable` ones.
    const branch = anyOf.find((candidate) => (candidate as SchemaLike).type !== 'null')
    const inner = branch ? compileProjector(branch) : same
    return (value) => (value === null ? null : inner(value))
  }
  return same
}

function projectObject(properties: Readonly<Record<string, TSchema>>): Projector {
  const fields = Object.entries(properties).map(([name, schema]) => [name, compileProjector(schema)] as const)
  return (value) => {
    if (typeof value !== 'object' || value === null) return undefined
    const source = value as Record<string, unknown>
    const result: Record<string, unknown> = {}
    for (const [name, project] of fields) {
      const field = source[name]
      if (field !== undefined) result[name] = project(field)
    }
    return result
  }
}
