/** Pure: which URLs are allowed, which events a subscription gets, and which statuses its partner sees. */
import {
  type FieldErrorCode,
  type SubscribedEvents,
  subscriptionField,
  type SubscriptionField,
  urlCharsMax,
  webhooks,
} from '@partner-payments/wire'
import { type Refusal, refuseField } from '../../kernel/api/index.ts'
import { addressLiteral, isAllowedAddress, isLoopbackAddress, isLoopbackName } from '../exchange/resolver.ts'

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

/** Refuses (400, at the field): "*" together with names, and U+0000. */
export function readEvents(field: SubscriptionField, names: readonly string[]): readonly string[] {
  if (names.includes(webhooks.allEvents) && names.length > 1)
    throw refuseField({ pointer: `/${field}`, code: 'invalid_value', message: 'must be event names, or only "*"' })
  return names.map((name, index) => readText(name, `/${field}/${index}`))
}

/** Refuses (400, /events): a subscription without any event. */
export function requireEvents({ events, extensionEvents }: SubscribedEvents): void {
  if (events.length + extensionEvents.length > 0) return
  const message = 'must have an event name, or "*", unless extensionEvents has one'
  throw refuseField({ pointer: '/events', code: 'too_few', message })
}

/** Reports whether a subscription delivers an event type, by the rule of `subscribedIn`. */
export function isSubscribedTo(subscribed: SubscribedEvents, type: string): boolean {
  const field = subscriptionField(type)
  if (field === undefined) return false
  const names = subscribed[field]
  return names[0] === webhooks.allEvents || names.includes(type)
}

/** Warns about each event name that cannot cause deliveries in its field. */
export function warningsFor(subscribed: SubscribedEvents): readonly string[] {
  return (['events', 'extensionEvents'] as const).flatMap((field) =>
    subscribed[field]
      .filter((name) => name !== webhooks.allEvents && subscriptionField(name) !== field)
      .map((name) => {
        const other = subscriptionField(name)
        const cure = other === undefined ? '' : `. List it in ${other}`
        return `${name} in ${field} is not emitted: it yields no deliveries${cure}`
      }),
  )
}

export type DeliveryStatus = (typeof webhooks.deliveryStatuses)[number]
export type SubscriptionStatus = (typeof webhooks.subscriptionStatuses)[number]

/** Returns the status that the partner sees. Pending deliveries of a disabled subscription appear as held, so disabling it changes no rows. */
export function visibleStatus(stored: DeliveryStatus, subscription: SubscriptionStatus): DeliveryStatus {
  return stored === 'Pending' && subscription === 'Disabled' ? 'Held' : stored
}

/** Returns the stored statuses that appear as `seen`: the inverse of `visibleStatus`. */
export function storedStatuses(seen: DeliveryStatus, subscription: SubscriptionStatus): readonly DeliveryStatus[] {
  const stored: readonly DeliveryStatus[] = ['Pending', 'Delivered', 'Held']
  return stored.filter((status) => visibleStatus(status, subscription) === seen)
}
