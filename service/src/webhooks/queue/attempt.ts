/** Types of an attempt: a delivery from the queue and its target. */
import type { SigningKey } from '@partner-payments/wire'
import type { SubscriptionKey } from '../management/store-subscriptions.ts'
import type { QueueRow } from './store-queue.ts'

/** A row of the queue with the payload of its event. */
export type QueuedDelivery = QueueRow & { readonly data: string }

/** URL and signing key of a subscription's deliveries. */
export type Target = {
  readonly url: string
  readonly ordered: boolean
  readonly keys: readonly SigningKey[]
  /** When the first of the keys ends. */
  readonly until: Date | null
  /** Set while the rows of a subscription that became ordered are being marked. None of them may be read before that ends. */
  readonly orderPending: string | null
  /** `updatedAt` of the subscription when it was read. */
  readonly updatedAt: Date
}

export const isSameTarget = (a: Target, b: Target): boolean =>
  a.url === b.url &&
  a.ordered === b.ordered &&
  a.updatedAt.getTime() === b.updatedAt.getTime() &&
  a.until?.getTime() === b.until?.getTime() &&
  a.keys.length === b.keys.length &&
  a.keys.every((key, index) => key === b.keys[index])

/** Placeholder before the first read. */
export const targetUnread: Target = {
  url: '',
  ordered: false,
  keys: [],
  until: null,
  orderPending: null,
  updatedAt: new Date(0),
}

/** Every delivery that fan-out created for a subscription between two numbers of the partner's feed. */
export type NewDeliveries = SubscriptionKey & {
  /** `updatedAt` of the subscription when fan-out read it. */
  readonly updatedAt: Date
  readonly after: bigint
  readonly upTo: bigint
  readonly rows: readonly QueuedDelivery[]
}

/** An attempt to make. */
export type Attempt = SubscriptionKey & {
  /** The id of the event within the service. */
  readonly deliveryId: string
  readonly target: Target
  /** The id of the delivery that the partner sees. */
  readonly eventId: string
  /** The exact JSON text of `data`. */
  readonly data: string
  /** Attempts made before. */
  readonly attemptCount: number
}
