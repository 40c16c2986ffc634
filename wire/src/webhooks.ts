/** Webhooks: event types (documented); subscriptions, deliveries, recoveries and the event feed (extensions). */
import {
  Timestamp,
  Type,
  Url,
  Uuid,
  closed,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  text,
  timeInput,
  timestampPattern,
  uuidPattern,
} from './shapes.ts'

export const subscriptionsPerPartnerMax = 20
export const subscriptionStatuses = ['Enabled', 'Disabled'] as const
export const disabledReasons = ['Partner', 'Gone', 'Failing'] as const
export const deliveryStatuses = ['Pending', 'Delivered', 'Held'] as const
/** The signature schemes of Standard Webhooks: HMAC-SHA256 and Ed25519. */
export const signatures = ['v1', 'v1a'] as const
export const recoveryStatuses = ['Running', 'Completed'] as const
export const breakerStates = ['Closed', 'Open'] as const
/** As the only entry of `events`: every event type, including future ones. */
export const allEvents = '*'
/** After a rotation, earlier secrets continue to sign for this time. */
export const overlapSecondsMax = 7 * 24 * 60 * 60
export const overlapSecondsDefault = 24 * 60 * 60
/** Per subscription. Every active secret adds a signature to the headers of each delivery. */
export const activeSecretsMax = 5
/** Older events are deleted with their deliveries. */
export const eventRetentionDays = 30

const EventNames = Type.Array(text(100), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: `Event names, or ["${allEvents}"] for every event type, including future ones`,
})

export const EventType = closed({
  name: Type.String(),
  description: Type.String(),
  emitted: Type.Boolean(),
  version: Type.Integer(),
  properties: Type.Record(Type.String(), Type.Unknown()),
})
export const EventTypes = closed({ data: Type.Array(EventType) })

export const SubscriptionCreate = closed({
  url: Url,
  events: optional(EventNames),
  description: optional(text(255)),
  apiVersion: optional(Type.Integer({ minimum: 2, maximum: 2, description: 'Version of the envelope: 2' })),
  ordered: optional(
    Type.Boolean({ description: 'Deliver the events of a reference strictly in order, each after the previous one' }),
  ),
  signature: optional(
    Type.Enum([...signatures], {
      description: 'v1: HMAC-SHA256 with a shared secret. v1a: Ed25519 with a public key. Default: v1',
    }),
  ),
})
export const SubscriptionUpdate = closed({
  url: optional(Url),
  events: optional(EventNames),
  description: optional(nullable(text(255))),
  ordered: optional(Type.Boolean()),
  status: optional(oneOf(subscriptionStatuses)),
})

const publicKey = optional(
  Type.String({ description: 'Only for v1a: the public key that verifies signatures of the newest key (whpk_...)' }),
)
const subscription = {
  id: Uuid,
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: optional(Type.String()),
  apiVersion: Type.Integer(),
  ordered: Type.Boolean(),
  signature: oneOf(signatures),
  publicKey,
  status: oneOf(subscriptionStatuses),
  disabledReason: optional(
    Type.Enum([...disabledReasons], {
      description: 'Partner: disabled by PATCH. Gone: the endpoint returned 410. Failing: no success for five days',
    }),
  ),
  disabledAt: optional(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  warnings: optional(Type.Array(Type.String())),
}
export const Subscription = closed(subscription)
const secret = optional(
  Type.String({ description: 'Only for v1: the signing secret (whsec_...). No later response contains it' }),
)
export const SubscriptionCreated = closed({ ...subscription, secret })
export const SubscriptionPage = page(Subscription)
export const SubscriptionQuery = closed(pageQuery)

export const SecretRotate = closed({
  overlapSeconds: optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      description: 'How long earlier secrets continue to sign. Default: 86400. Use 0 if a secret has leaked',
    }),
  ),
  signature: optional(
    Type.Enum([...signatures], { description: 'Signature scheme of the new key. Default: the current scheme' }),
  ),
})
export const SecretRotated = closed({
  id: Uuid,
  signature: oneOf(signatures),
  secret,
  publicKey,
  createdAt: Timestamp,
  overlapUntil: Type.String({
    format: 'date-time',
    pattern: timestampPattern,
    description: 'Earlier secrets also sign until this time',
  }),
})

export const TestSend = closed({
  eventType: optional(text(100, { description: 'Default: the first event type of the subscription' })),
})
export const TestResult = closed({
  eventId: Uuid,
  eventType: Type.String(),
  delivered: Type.Boolean({
    description: 'True if the endpoint returned a complete 2xx response within the time limit',
  }),
  durationMs: Type.Integer(),
  status: optional(Type.Integer()),
  error: optional(Type.String()),
  responseBody: optional(Type.String({ description: 'The beginning of the response body' })),
})

export const DeliveryAttempt = closed({
  attempt: Type.Integer(),
  startedAt: Timestamp,
  durationMs: Type.Integer(),
  status: optional(Type.Integer()),
  error: optional(Type.String()),
  responseBody: optional(Type.String()),
})
export const Delivery = closed({
  eventId: Uuid,
  eventType: Type.String(),
  reference: Type.String(),
  status: oneOf(deliveryStatuses),
  attemptCount: Type.Integer(),
  nextAttemptAt: nullable(Timestamp),
  createdAt: Timestamp,
  deliveredAt: optional(Timestamp),
  attempts: Type.Array(DeliveryAttempt, { description: 'The newest twenty attempts, oldest first' }),
})
export const DeliveryPage = page(Delivery)
export const DeliveryQuery = closed({
  ...pageQuery,
  status: optional(oneOf(deliveryStatuses)),
  eventType: optional(text(100)),
  reference: optional(text(140)),
  from: optional(timeInput('Only events at or after this time')),
  to: optional(timeInput('Only events before this time')),
})

export const RecoveryStart = closed({
  since: timeInput(`Start of the time range, at most ${eventRetentionDays} days ago`),
  until: optional(timeInput('End of the time range. Default: now')),
})
export const Recovery = closed({
  id: Uuid,
  status: oneOf(recoveryStatuses),
  since: Timestamp,
  until: Timestamp,
  examined: Type.Integer({ description: 'Events examined so far' }),
  recovered: Type.Integer({ description: 'Deliveries rescheduled, or created because they were missing' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export const RecoveryPage = page(Recovery)
export const RecoveryQuery = closed(pageQuery)

export const FeedQuery = closed({
  after: optional(
    text(512, { description: 'The `nextCursor` of the previous page. Default: start at the oldest stored event' }),
  ),
  limit: pageQuery.limit,
  types: optional(text(2000, { description: 'Event names, separated by commas' })),
  subscriptionId: optional(
    Type.String({
      format: 'uuid',
      pattern: uuidPattern,
      description: 'Adds `eventId` to each event: its id in the deliveries of this subscription',
    }),
  ),
})
export const FeedEvent = closed({
  id: Uuid,
  sequence: Type.Integer({ description: 'Sequence number within the partner, from 1, without gaps' }),
  eventType: Type.String(),
  reference: Type.String(),
  occurredAt: Timestamp,
  eventId: optional(Uuid),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The same `data` as in the deliveries',
    'x-event-data': true,
  }),
})
/** Oldest first. `nextCursor` is also present on the last page, so that a reader can continue from there. */
export const FeedPage = closed({
  data: Type.Array(FeedEvent),
  nextCursor: Type.String(),
  hasMore: Type.Boolean(),
})

/** Rates and latencies cover at most this many attempts: those of the newest events. */
export const statisticsAttemptsMax = 10_000
/** Counting stops at this many rows. A higher count is reported as this value, with `capped`. */
export const statisticsCountMax = 100_000
const latency = nullable(Type.Integer())
export const SubscriptionStatistics = closed({
  owed: Type.Integer({ description: 'Deliveries in the retention period: delivered + pending + held' }),
  delivered: Type.Integer(),
  pending: Type.Integer(),
  held: Type.Integer(),
  capped: Type.Boolean({
    description: `True if a count reached ${statisticsCountMax}, where counting stops`,
  }),
  oldestPendingAt: nullable(Timestamp),
  failingSince: nullable(Timestamp),
  breaker: oneOf(breakerStates),
  last24Hours: closed(
    {
      attempts: Type.Integer(),
      successes: Type.Integer(),
      failures: Type.Integer(),
      latencyMs: closed({ p50: latency, p95: latency, p99: latency }),
    },
    { description: `At most the newest ${statisticsAttemptsMax} attempts, by event` },
  ),
})
