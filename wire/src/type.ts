/**
 * Builders of the typebox schemas that the contract uses. The builders of typebox load 373 files, which would slow down every operator
 * command. `type.test.ts` compares both. The gateway compiles the schemas with typebox.
 */
import type Typebox from 'typebox'
import type { TSchema } from 'typebox'

type Options = Readonly<Record<string, unknown>>
type Builders = Pick<
  typeof Typebox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Null'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'Refine'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
  | 'With'
>

/** Sets a hidden property, which typebox reads but JSON does not contain. */
const hide = <T extends object>(schema: T, name: string, value: unknown): T =>
  Object.defineProperty(schema, name, { value, configurable: true, writable: true, enumerable: false })

const make = (kind: string, keywords: Options, options: Options = {}): object =>
  hide({ ...keywords, ...options }, '~kind', kind)

/** Copies a schema with its hidden properties. */
const copy = (schema: object): object => Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema))

/** Adds keywords. A repeated keyword moves to the end. */
function annotate(schema: object, options: Options): object {
  const copied = copy(schema)
  for (const name of Object.keys(options)) Reflect.deleteProperty(copied, name)
  return Object.assign(copied, options)
}

const isOptional = (schema: object): boolean => '~optional' in schema

function objectOf(properties: Readonly<Record<string, TSchema>>, options?: Options): object {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}))
  return make('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
}

export const Type = {
  Array: (items: TSchema, options?: Options) => make('Array', { type: 'array', items }, options),
  Boolean: (options?: Options) => make('Boolean', { type: 'boolean' }, options),
  Enum: (values: readonly string[], options?: Options) => make('Enum', { enum: values }, options),
  Integer: (options?: Options) => make('Integer', { type: 'integer' }, options),
  Null: (options?: Options) => make('Null', { type: 'null' }, options),
  Object: objectOf,
  Optional: (schema: TSchema) => hide(copy(schema), '~optional', true),
  /** Keys are always texts. */
  Record: (_key: TSchema, value: TSchema, options?: Options) =>
    make('Record', { type: 'object', patternProperties: { '^.*$': value } }, options),
  Refine: (schema: object, check: (value: unknown) => boolean, error: () => string) =>
    hide(copy(schema), '~refine', [{ check, error }]),
  String: (options?: Options) => make('String', { type: 'string' }, options),
  Union: (anyOf: readonly TSchema[], options?: Options) => make('Union', { anyOf }, options),
  Unknown: (options?: Options) => make('Unknown', {}, options),
  Unsafe: (schema: Options) => hide({ ...schema }, '~unsafe', null),
  With: annotate,
} as unknown as Builders
