/** Reads the fields of a body schema, and makes bodies with one invalid field. */
import type { Json, JsonObject } from './client.ts'

export type Kind = 'string' | 'enum' | 'array' | 'object' | 'integer' | 'boolean' | 'amount'

export type Field = {
  readonly path: readonly (string | number)[]
  /** RFC 6901. */
  readonly pointer: string
  readonly kind: Kind
  readonly nullable: boolean
  readonly required: boolean
  readonly charsMax: number | undefined
}

type Schema = {
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly maxLength?: number
  readonly 'x-json-type'?: string
}

function kindOf(schema: Schema): Kind {
  if (schema['x-json-type'] === 'number') return 'amount'
  if (schema.enum !== undefined) return 'enum'
  const kinds = { string: 'string', array: 'array', object: 'object', integer: 'integer', boolean: 'boolean' } as const
  const kind = kinds[schema.type as keyof typeof kinds]
  if (kind === undefined) throw new Error(`unknown kind of schema: ${JSON.stringify(schema)}`)
  return kind
}

/** Every field, including those of nested objects and of the first item of each list of objects. */
export function fieldsOf(given: unknown, base: readonly (string | number)[] = []): readonly Field[] {
  const schema = given as Schema
  return Object.entries(schema.properties ?? {}).flatMap(([name, declared]) => {
    const nullable = declared.anyOf?.some((branch) => branch.type === 'null') ?? false
    const inner = declared.anyOf?.find((branch) => branch.type !== 'null') ?? declared
    const path = [...base, name]
    const field: Field = {
      path,
      pointer: `/${path.join('/')}`,
      kind: kindOf(inner),
      nullable,
      required: schema.required?.includes(name) ?? false,
      charsMax: inner.maxLength,
    }
    const nested = inner.items === undefined ? fieldsOf(inner, path) : fieldsOf(inner.items, [...path, 0])
    return [field, ...nested]
  })
}

/** A copy of `body` with the value at `path` replaced. Undefined removes it. Missing parents are created. */
export function spoiled(body: JsonObject, path: readonly (string | number)[], value: Json | undefined): JsonObject {
  const copy = structuredClone(body)
  let parent = copy as Record<string | number, unknown>
  for (const step of path.slice(0, -1)) {
    parent[step] ??= {}
    parent = parent[step] as Record<string | number, unknown>
  }
  const last = path.at(-1) ?? ''
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

const wrong: Readonly<Record<Kind, readonly Json[]>> = {
  string: [12345, true, {}, ['text']],
  enum: ['Nope', 1, {}, ''],
  array: ['text', {}, 5],
  object: ['text', [], 5],
  integer: ['3', 1.5, true, {}],
  boolean: ['true', 1, {}],
  amount: ['10.00', true, {}, []],
}

/** Values of a wrong type, including null if the field is not nullable. */
export function wrongValues(field: Field): readonly Json[] {
  return field.nullable ? wrong[field.kind] : [...wrong[field.kind], null]
}
