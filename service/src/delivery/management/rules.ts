/** Pure: which URLs are allowed, which events a subscription gets, and which statuses its partner sees. */
import { type FieldErrorCode, isEventName, isExtensionEvent, urlCharsMax, webhooks } from '@partner-payments/wire'
import { type Refusal, refuseField } from '../../api/index.ts'
import { addressLiteral, isAllowedAddress, isLoopbackAddress, isLoopbackName } from '../exchange/addresses.ts'

export type UrlRules = {
  /** Allows endpoints on loopback, also over http. Only for a developer's machine, where others cannot reach the service. */
  readonly allowHttpLoopback: boolean
}

/**
 * Normalises the URL. Refuses (400, /url): a URL that is not absolute https (or http to loopback, if allowed), one with
 * credentials or a fragment, and an address that is not public. The guard checks what a host name resolves to at each
 * connection.
 */
export function readUrl(text: string, { allowHttpLoopback }: UrlRules): string {
  const refuse = (message: string, code: FieldErrorCode = 'invalid_value'): Refusal =>
    refuseField({ pointer: '/url', code, message })
  // `new URL` repairs white space, backslashes and missing slashes. Refuse them, so that the stored URL is as given.
  if (!/^https?:\/\/[^/\\\s]/i.test(text) || /[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text))
    throw refuse('must be an absolute https URL, for example https://partner.example.com/webhooks', 'invalid_format')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw refuse('must not contain credentials')
  if (url.hash !== '' || text.includes('#')) throw refuse('must not contain a fragment')
  const literal = addressLiteral(url.hostname)
  const loopback = literal === undefined ? isLoopbackName(url.hostname) : isLoopbackAddress(literal)
  if (url.protocol === 'http:' && !(loopback && allowHttpLoopback))
    throw refuse(allowHttpLoopback ? 'must be https, or http to a loopback address' : 'must be https')
  const allowed = loopback
    ? allowHttpLoopback
    : literal === undefined || isAllowedAddress(literal, { allowLoopback: false })
  if (!allowed) throw refuse('must not be a private or reserved address')
  if (url.href.length > urlCharsMax) throw refuse(`must have at most ${urlCharsMax} characters`, 'too_long')
  return url.href
}

/** Refuses (400): U+0000, which PostgreSQL cannot store in a text. */
export function readText(text: string, pointer: string): string {
  if (text.includes('\u0000'))
    throw refuseField({ pointer, code: 'invalid_character', message: 'must not contain U+0000' })
  return text
}

/** The default is all events. Refuses (400, /events): "*" together with names, and U+0000. */
export function readEvents(events: readonly string[] = [webhooks.allEvents]): readonly string[] {
  if (events.includes(webhooks.allEvents) && events.length > 1)
    throw refuseField({ pointer: '/events', code: 'invalid_value', message: 'must be event names, or only "*"' })
  return events.map((name, index) => readText(name, `/events/${index}`))
}

/**
 * Reports whether a subscription to `events` includes an event type. The emitted set is that of the interface document
 * (Endpoints, rule 3): an extension is delivered only to subscriptions that list it.
 */
export function wants(events: readonly string[], type: string): boolean {
  return events.includes(type) || (events[0] === webhooks.allEvents && !isExtensionEvent(type))
}

/** Interface document, Endpoints, rule 3: a name outside the emitted set is accepted and yields no deliveries. */
export function warningsFor(events: readonly string[]): readonly string[] {
  return events
    .filter((name) => name !== webhooks.allEvents && !isEventName(name))
    .map((name) => `${name} is not emitted: it yields no deliveries`)
}

export type DeliveryStatus = (typeof webhooks.deliveryStatuses)[number]
export type SubscriptionStatus = (typeof webhooks.subscriptionStatuses)[number]

/** The pending deliveries of a disabled subscription appear as held, so that disabling it changes no rows. */
export function statusSeen(stored: DeliveryStatus, subscription: SubscriptionStatus): DeliveryStatus {
  return stored === 'Pending' && subscription === 'Disabled' ? 'Held' : stored
}

/** The stored statuses that appear as `seen`: the inverse of `statusSeen`. */
export function statusesStored(seen: DeliveryStatus, subscription: SubscriptionStatus): readonly DeliveryStatus[] {
  const stored: readonly DeliveryStatus[] = ['Pending', 'Delivered', 'Held']
  return stored.filter((status) => statusSeen(status, subscription) === seen)
}
