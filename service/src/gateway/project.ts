/**
 * The response schema as a filter: a response contains only the fields that the schema names. A customer's identification
 * number does not leave the service, even if a handler returned the whole row. Compiled once per operation.
 */
import type { TSchema } from '@partner-payments/wire'

type Projector = (value: unknown) => unknown

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
    // The only unions of the contract are nullable fields.
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
