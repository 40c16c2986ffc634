/** The OpenAPI document as this service serves it: a service without simulations does not document them. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type JsonObject = { readonly [key: string]: Json }

export type Operation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly 'x-sandbox-only'?: true
}
export type OpenApiDocument = {
  readonly info: { readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: JsonObject
    readonly examples: Readonly<Record<string, { readonly value: Json }>>
  }
}

function referencesIn(node: Json, into: Set<string>): Set<string> {
  if (Array.isArray(node)) for (const item of node) referencesIn(item as Json, into)
  else if (typeof node === 'object' && node !== null)
    for (const [key, value] of Object.entries(node as JsonObject))
      if (key === '$ref' && typeof value === 'string') into.add(value)
      else referencesIn(value, into)
  return into
}

/** Keeps the schemas that the rest of the document uses, directly or through other schemas. */
function usedSchemas(document: OpenApiDocument): JsonObject {
  const { schemas, ...components } = document.components
  const used = referencesIn({ ...document, components } as unknown as Json, new Set())
  for (const reference of used) referencesIn(schemas[reference.replace('#/components/schemas/', '')] ?? null, used)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(`#/components/schemas/${name}`)))
}

const isOfSimulations = (value: Json): boolean => typeof value === 'string' && value.startsWith('simulations:')

/** Leaves out the permissions of simulations, of which a service account needs none here. What has none is kept as it is: exact numbers are objects. */
function withoutSimulations(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    const kept = items.filter((each) => !isOfSimulations(each)).map((each) => withoutSimulations(each))
    return kept.length === items.length && kept.every((each, index) => each === items[index]) ? items : kept
  }
  const entries = Object.entries(value)
  const kept = entries.map(([name, each]) => [name, withoutSimulations(each)] as const)
  return kept.every(([, each], index) => each === entries[index]?.[1]) ? value : Object.fromEntries(kept)
}

export function servedDocument(document: OpenApiDocument, simulations: boolean): OpenApiDocument {
  if (simulations) return document
  const paths = Object.entries(document.paths)
    .map(([path, methods]) => {
      const kept = Object.entries(methods).filter(([, operation]) => operation['x-sandbox-only'] !== true)
      return [path, Object.fromEntries(kept)] as const
    })
    .filter(([, methods]) => Object.keys(methods).length > 0)
  const used = new Set(paths.flatMap(([, methods]) => Object.values(methods).flatMap(({ tags }) => tags)))
  const served = {
    ...document,
    tags: document.tags.filter(({ name }) => used.has(name)),
    paths: Object.fromEntries(paths),
  }
  const whole = { ...served, components: { ...served.components, schemas: usedSchemas(served) } }
  return withoutSimulations(whole as unknown as Json) as unknown as OpenApiDocument
}
