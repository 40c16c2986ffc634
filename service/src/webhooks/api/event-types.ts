/** The event types that partners can subscribe to, derived from the contract, with the schemas that type the events. */
import {
  type EventName,
  eventNames,
  events,
  ownJson,
  type Static,
  subscribedIn,
  type webhooks,
} from '@partner-payments/wire'

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Replaces `x-json-type`, which JSON Schema does not define: the service keeps an amount as text, the wire has a number. */
function plainSchema(node: Json): Json {
  if (Array.isArray(node)) return node.map(plainSchema)
  if (node === null || typeof node !== 'object') return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key === 'x-json-type' ? 'type' : key, plainSchema(value)]),
  )
}

const describe = (name: EventName): Static<typeof webhooks.EventType> => ({
  name,
  description: events[name].firesWhen,
  emitted: subscribedIn(name) === 'events',
  subscribedIn: subscribedIn(name),
  version: 2,
  // The conversion to text removes the functions and symbols of the schema library.
  properties: plainSchema(ownJson<Json>(JSON.stringify(events[name].data.properties))) as Record<string, unknown>,
})

export const eventTypes = eventNames.map(describe)
