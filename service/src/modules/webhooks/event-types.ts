/** The subscribable event types, live from the contract: the properties of each are the shapes that events are made by. */
import { type EventName, eventNames, events, type Static, type webhooks } from '@partner-payments/wire'

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An amount is kept as its source text on our side, which JSON Schema has no word for; on the wire it is a number. */
function plainSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(plainSchema)
  if (node === null || typeof node !== 'object') return node
  if ('x-json-type' in node) return { type: (node as { readonly 'x-json-type': Json })['x-json-type'] }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, plainSchema(value)]))
}

const describe = (name: EventName): Static<typeof webhooks.EventType> => ({
  name,
  description: events[name].firesWhen,
  emitted: true,
  version: 2,
  // Through text: the shapes carry functions and symbols of their library, which are no part of the schema.
  properties: plainSchema(JSON.parse(JSON.stringify(events[name].data.properties)) as Json) as Record<string, unknown>,
})

export const eventTypes = eventNames.map(describe)
