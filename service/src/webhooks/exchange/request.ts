/** The signed request of one delivery, as it goes over the wire. */
import { deliverySignature, type SigningKey } from '@partner-payments/wire'
import { secondMs } from '../../kernel/index.ts'

const userAgent = 'PartnerPayments-Webhooks/2'

/** One delivery to send. An unchanged target stays the same object, so that its URL is parsed once. */
export type DeliveryRequest = {
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
  readonly target: DeliveryTarget
}
export type DeliveryTarget = { readonly url: string; readonly keys: readonly SigningKey[] }

/** `headers` are added to those that every delivery has. */
export type LocalRequest = DeliveryRequest & { readonly headers?: Readonly<Record<string, string>> }

/**
 * Interface document, Events: the body has exactly two fields. `data` is inserted as text, because its bytes must not
 * change.
 */
export const envelope = (eventId: string, data: string) => `{"eventId":"${eventId}","data":${data}}`

/**
 * Header names and values, alternating. Standard Webhooks: the event id, the time of this attempt in seconds, and one
 * signature per key, separated by spaces.
 */
export function headersOf({ eventId, target, headers }: LocalRequest, body: Buffer, startedAt: Date): string[] {
  const timestamp = Math.floor(startedAt.getTime() / secondMs)
  const signatures = target.keys.map((key) => deliverySignature(key, eventId, timestamp, body)).join(' ')
  const flat = [
    'content-type',
    'application/json',
    'user-agent',
    userAgent,
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestamp),
    'webhook-signature',
    signatures,
  ]
  if (headers !== undefined) for (const [name, value] of Object.entries(headers)) flat.push(name, value)
  return flat
}

type Destination = { readonly origin: string; readonly path: string }

/** Parses the URL of each target once. */
export function createDestinations(): (target: DeliveryTarget) => Destination {
  const destinations = new WeakMap<DeliveryTarget, Destination>()
  return (target) => {
    const known = destinations.get(target)
    if (known !== undefined) return known
    const { origin, pathname, search } = new URL(target.url)
    const destination = { origin, path: `${pathname}${search}` }
    destinations.set(target, destination)
    return destination
  }
}
