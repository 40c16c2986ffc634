/** Pure: which URLs may be subscribed, and what a subscription is told about its events. */
import { type FieldErrorCode, isEventName, urlCharsMax, webhooks } from '@partner-payments/wire'
import { type Refusal, refuseField } from '../../api/index.ts'
import { addressLiteral, isAllowedAddress, isLoopbackAddress, isLoopbackName } from '../exchange/addresses.ts'

export type UrlRules = {
  /** A developer's machine: endpoints on loopback, over http as well. Never where others can reach the service. */
  readonly allowHttpLoopback: boolean
}

/**
 * The URL as it is called. Refuses (400, /url): not absolute https (http to loopback where allowed), credentials or a
 * fragment in it, an address that is not public. What a name resolves to is judged when it is called.
 */
export function readUrl(text: string, { allowHttpLoopback }: UrlRules): string {
  const refuse = (message: string, code: FieldErrorCode = 'invalid_value'): Refusal =>
    refuseField({ pointer: '/url', code, message })
  // `new URL` repairs what it can: white space, backslashes, missing slashes. A partner should see what will be called.
  if (!/^https?:\/\/[^/\\\s]/i.test(text) || /[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text))
    throw refuse('must be an absolute https URL', 'invalid_format')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw refuse('must not carry credentials')
  if (url.hash !== '' || text.includes('#')) throw refuse('must not have a fragment')
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

/** Refuses (400): a character that PostgreSQL's text cannot hold. */
export function readText(text: string, pointer: string): string {
  if (text.includes('\u0000'))
    throw refuseField({ pointer, code: 'invalid_character', message: 'must not contain U+0000' })
  return text
}

/** As they are stored; absent is all of them. Refuses (400, /events): "*" beside others, a character. */
export function readEvents(events: readonly string[] = [webhooks.allEvents]): readonly string[] {
  if (events.includes(webhooks.allEvents) && events.length > 1)
    throw refuseField({ pointer: '/events', code: 'invalid_value', message: `must be names, or "*" alone` })
  return events.map((name, index) => readText(name, `/events/${index}`))
}

/** Whether a subscription to `events` wants events of a type. */
export function wants(events: readonly string[], type: string): boolean {
  return events.includes(type) || events[0] === webhooks.allEvents
}

/** Interface document, Endpoints, rule 3: a name outside the emitted set is accepted and yields no deliveries. */
export function warningsFor(events: readonly string[]): readonly string[] {
  return events
    .filter((name) => name !== webhooks.allEvents && !isEventName(name))
    .map((name) => `${name} is not emitted: it yields no deliveries`)
}

export type DeliveryStatus = (typeof webhooks.deliveryStatuses)[number]
export type SubscriptionStatus = (typeof webhooks.subscriptionStatuses)[number]

/** What a disabled subscription is owed is held; the rows need not be touched for that, however many they are. */
export function statusSeen(stored: DeliveryStatus, subscription: SubscriptionStatus): DeliveryStatus {
  return stored === 'Pending' && subscription === 'Disabled' ? 'Held' : stored
}

/** The stored statuses that are seen as `seen`: the inverse of `statusSeen`. */
export function statusesStored(seen: DeliveryStatus, subscription: SubscriptionStatus): readonly DeliveryStatus[] {
  const stored: readonly DeliveryStatus[] = ['Pending', 'Delivered', 'Held']
  return stored.filter((status) => statusSeen(status, subscription) === seen)
}
