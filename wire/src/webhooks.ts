/** Webhooks: the event types (documented), and the partner's subscriptions, deliveries and feed of events (extensions). */
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
  timestampPattern,
  uuidPattern,
} from './shapes.ts'

export const subscriptionsPerPartnerMax = 20
export const subscriptionStatuses = ['Enabled', 'Disabled'] as const
export const disabledReasons = ['Partner', 'Gone', 'Failing'] as const
export const deliveryStatuses = ['Pending', 'Delivered', 'Held'] as const
export const signatures = ['v1', 'v1a'] as const
export const recoveryStatuses = ['Running', 'Completed'] as const
export const breakerStates = ['Closed', 'Open'] as const
/** Alone in `events`, it stands for every event type, those to come included. */
export const allEvents = '*'
/** How long the secrets before the newest go on signing. */
export const overlapSecondsMax = 7 * 24 * 60 * 60
export const overlapSecondsDefault = 24 * 60 * 60
/** Of one subscription at once; each is a signature in the headers of every delivery. */
export const secretsAliveMax = 5
/** What is older is dropped with its deliveries. */
export const eventDaysKept = 30

const instant = (description: string) => Type.String({ format: 'date-time', pattern: timestampPattern, description })

const EventNames = Type.Array(text(100), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: `Names of events, or ["${allEvents}"] for all`,
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
  apiVersion: optional(Type.Integer({ minimum: 2, maximum: 2, description: 'The format of the envelope: 2' })),
  ordered: optional(
    Type.Boolean({ description: 'Strict order of the events of one reference: one waits for the one before it' }),
  ),
  signature: optional(
    Type.Enum([...signatures], { description: 'v1: HMAC-SHA256 with a shared secret; v1a: Ed25519. Default v1' }),
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
  Type.String({ description: 'Of v1a only: verifies the signatures of the newest key (whpk_...)' }),
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
      description: 'Partner: by PATCH; Gone: the endpoint answered 410; Failing: nothing succeeded for five days',
    }),
  ),
  disabledAt: optional(Timestamp),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  warnings: optional(Type.Array(Type.String())),
}
export const Subscription = closed(subscription)
const secret = optional(Type.String({ description: 'Of v1 only, and shown this once (whsec_...)' }))
export const SubscriptionCreated = closed({ ...subscription, secret })
export const SubscriptionPage = page(Subscription)
export const SubscriptionQuery = closed(pageQuery)

export const SecretRotate = closed({
  overlapSeconds: optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      description: 'How long the secrets before go on signing, default 86400; 0 where one has leaked',
    }),
  ),
  signature: optional(Type.Enum([...signatures], { description: 'The kind of the new key; default: as before' })),
})
export const SecretRotated = closed({
  id: Uuid,
  signature: oneOf(signatures),
  secret,
  publicKey,
  createdAt: Timestamp,
  overlapUntil: instant('Until then the secrets before it sign as well'),
})

export const TestSend = closed({
  eventType: optional(text(100, { description: 'Default: the first that is subscribed to' })),
})
export const TestResult = closed({
  eventId: Uuid,
  eventType: Type.String(),
  delivered: Type.Boolean({ description: 'A complete 2xx within the time limit' }),
  durationMs: Type.Integer(),
  status: optional(Type.Integer()),
  error: optional(Type.String()),
  responseBody: optional(Type.String({ description: 'The beginning of the answer' })),
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
  attempts: Type.Array(DeliveryAttempt, { description: 'The newest twenty, oldest first' }),
})
export const DeliveryPage = page(Delivery)
export const DeliveryQuery = closed({
  ...pageQuery,
  status: optional(oneOf(deliveryStatuses)),
  eventType: optional(text(100)),
  reference: optional(text(140)),
  from: optional(instant('Events from this time on')),
  to: optional(instant('Events before this time')),
})

export const RecoveryStart = closed({
  since: instant(`At most ${eventDaysKept} days ago`),
  until: optional(instant('Default: now')),
})
export const Recovery = closed({
  id: Uuid,
  status: oneOf(recoveryStatuses),
  since: Timestamp,
  until: Timestamp,
  examined: Type.Integer({ description: 'Events looked at so far' }),
  recovered: Type.Integer({ description: 'Deliveries made due again, or made because they were missing' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export const RecoveryPage = page(Recovery)
export const RecoveryQuery = closed(pageQuery)

export const FeedQuery = closed({
  after: optional(text(512, { description: 'The `nextCursor` of the page before; absent: the oldest event kept' })),
  limit: pageQuery.limit,
  types: optional(text(2000, { description: 'Names of events, separated by commas' })),
  subscriptionId: optional(
    Type.String({
      format: 'uuid',
      pattern: uuidPattern,
      description: 'Adds `eventId`: the id that the event has in its deliveries there',
    }),
  ),
})
export const FeedEvent = closed({
  id: Uuid,
  sequence: Type.Integer({ description: 'Of this partner, from 1, without a gap' }),
  eventType: Type.String(),
  reference: Type.String(),
  occurredAt: Timestamp,
  eventId: optional(Uuid),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Exactly the `data` of the deliveries',
    'x-event-data': true,
  }),
})
/** Oldest first; `nextCursor` is there at the end as well: the place to go on from. */
export const FeedPage = closed({
  data: Type.Array(FeedEvent),
  nextCursor: Type.String(),
  hasMore: Type.Boolean(),
})

/** Of this many attempts at most are rates and latencies made: the newest by event. */
export const statisticsAttemptsMax = 10_000
/** Rows are counted up to here; more is told as this many, and `capped`. */
export const statisticsCountMax = 100_000
const latency = nullable(Type.Integer())
export const SubscriptionStatistics = closed({
  owed: Type.Integer({ description: 'Deliveries of what is kept: delivered + pending + held' }),
  delivered: Type.Integer(),
  pending: Type.Integer(),
  held: Type.Integer(),
  capped: Type.Boolean({
    description: `True where more than ${statisticsCountMax} rows of one kind are there: counted no further`,
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
    { description: `Of the newest ${statisticsAttemptsMax} attempts at most, by event` },
  ),
})
