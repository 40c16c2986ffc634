/** The named schemas of the contract, and helpers that all generators share. */
import * as wire from '@partner-payments/wire'

export type Schema = { readonly [keyword: string]: unknown }

const groups = [
  wire.accounts,
  wire.beneficiaries,
  wire.customers,
  wire.payouts,
  wire.simulations,
  wire.transactions,
  wire.users,
  wire.webhooks,
]

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An exported object or enumeration with a capitalised name. Excludes queries, which become parameters. */
const isNamed = (name: string, value: unknown): value is Schema =>
  /^[A-Z]/.test(name) && !name.endsWith('Query') && isSchema(value) && ('properties' in value || 'enum' in value)

/** `partner.customer.deposit.created` -> `PartnerCustomerDepositCreated`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[.-])([a-z])/g, (_match, letter: string) => letter.toUpperCase())
}

export function eventShape(name: wire.EventName): Schema {
  const data = wire.events[name].data as unknown as Schema
  const properties = data.properties as Record<string, Schema>
  return { ...data, properties: { ...properties, eventType: { ...properties.eventType, const: name } } }
}

function collect(): ReadonlyMap<string, Schema> {
  const shapes = new Map<string, Schema>([['Problem', wire.Problem as unknown as Schema]])
  for (const group of groups) {
    for (const [name, value] of Object.entries(group)) {
      if (!isNamed(name, value)) continue
      if (shapes.has(name)) throw new Error(`two groups export a shape named ${name}`)
      shapes.set(name, value)
    }
  }
  for (const name of wire.eventNames) shapes.set(pascalCase(name), eventShape(name))
  return shapes
}

/** All named schemas by name: the problem body, the schemas of the groups and the data of the events. */
export const shapes = collect()

/** Names by structure instead of identity, because TypeBox copies a schema to mark it optional. The first name wins. */
const names = new Map<string, string>()
/** Removes the description and the examples: they say what a property means, and the named schema stays the same. */
const structureOf = (schema: unknown) => {
  if (!isSchema(schema)) return undefined
  const { description: _description, examples: _examples, ...structure } = schema
  return JSON.stringify(structure)
}
for (const [name, schema] of shapes) {
  const structure = structureOf(schema) ?? ''
  if (!names.has(structure)) names.set(structure, name)
}

export function nameOf(schema: unknown): string | undefined {
  const structure = structureOf(schema)
  return structure === undefined ? undefined : names.get(structure)
}

export const isAmount = (schema: Schema): boolean => schema['x-json-type'] === 'number'
/** The data of an event of any type. */
export const isEventData = (schema: Schema): boolean => schema['x-event-data'] === true
export const isRecord = (schema: Schema): boolean => 'patternProperties' in schema

/** The schema X of `X | null`, or undefined if the schema does not have that form. */
export function nullableOf(schema: Schema): Schema | undefined {
  const options = schema.anyOf
  if (!Array.isArray(options) || options.length !== 2 || options[1]?.type !== 'null') return undefined
  return options[0] as Schema
}

/** The paths of the amounts in a schema: `amount`, `data.*.amount` (`*` stands for every item of an array). */
export function amountPaths(schema: Schema | undefined, at: readonly string[] = []): readonly string[] {
  if (schema === undefined) return []
  if (isAmount(schema)) return [at.join('.')]
  if (isEventData(schema)) return [...new Set(wire.eventNames.flatMap((name) => amountPaths(eventShape(name), at)))]
  const inner = nullableOf(schema)
  if (inner !== undefined) return amountPaths(inner, at)
  if (isSchema(schema.items)) return amountPaths(schema.items, [...at, '*'])
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([key, value]) =>
    amountPaths(value, [...at, key]),
  )
}
