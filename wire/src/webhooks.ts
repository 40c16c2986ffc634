/** Webhooks: event types (documented); subscriptions, deliveries, recoveries and the event feed (extensions). */
import {
  Timestamp,
  Type,
  Url,
  Uuid,
  closed,
  described,
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
export const feedOrders = ['oldest', 'newest'] as const
export const breakerStates = ['Closed', 'Open'] as const
/** Wildcard as the only entry of `events` or `extensionEvents`: every event type of the field, also later ones. */
export const allEvents = '*'
/** Longest time for which earlier secrets sign after a rotation. */
export const overlapSecondsMax = 7 * 24 * 60 * 60
export const overlapSecondsDefault = 24 * 60 * 60
/** Per subscription. Each active secret adds a signature to the headers of each delivery. */
export const activeSecretsMax = 5
/** Older events are deleted with their deliveries. */
export const eventRetentionDays = 30

const instant = (description: string) => Type.String({ format: 'date-time', pattern: timestampPattern, description })

const eventNamesText = `Event types with \`emitted: true\`, or ["${allEvents}"] for all, also later ones. Other names are accepted but never delivered, and are listed in \`warnings\`.`
const extensionNamesText = `Event types with \`emitted: false\`, which are extensions, or ["${allEvents}"] for all, also later ones. \`events\` never delivers them.`
const namesOf = (description: string) => Type.Array(text(100), { maxItems: 50, uniqueItems: true, description })
const events = optional(namesOf(`${eventNamesText} Default: all.`))
const extensionEvents = optional(namesOf(`${extensionNamesText} Default: none.`))
const orderedText = 'True: the events of a reference are delivered strictly in order, each after the previous one.'
const urlText =
  'Address of the endpoint: an `https` URL on a public address. The sandbox also allows `http` on loopback.'
const signatureText = '`v1`: HMAC-SHA256 with a shared secret. `v1a`: Ed25519 with a public key.'
const statusText = '`Enabled`: events are delivered. `Disabled`: events are kept and not delivered.'
const descriptionText = 'Your note about the subscription, 1 to 255 characters.'

export const EventType = closed({
  name: described(Type.String(), 'Name of the event type, as in `events` of a subscription.'),
  description: described(Type.String(), 'When the event occurs.'),
  emitted: described(
    Type.Boolean(),
    'True for the emitted set of the interface document, which `events` of a subscription delivers. False for an extension.',
  ),
  subscribedIn: described(
    oneOf(['events', 'extensionEvents'] as const),
    'The field of a subscription that delivers the event type. In the other field the name has no effect.',
  ),
  version: described(Type.Integer(), 'Version of the envelope.'),
  properties: described(
    Type.Record(Type.String(), Type.Unknown()),
    'The fields of `data` by name, each with its JSON Schema.',
  ),
})
export const EventTypes = closed({ data: described(Type.Array(EventType), 'All event types.') })

export const SubscriptionCreate = closed({
  url: described(Url, urlText, { examples: ['https://partner.example.com/hooks'] }),
  events,
  extensionEvents,
  description: described(optional(text(255)), descriptionText, { examples: ['Ledger'] }),
  apiVersion: optional(
    Type.Integer({ minimum: 2, maximum: 2, description: 'Version of the envelope. The only one is 2.' }),
  ),
  ordered: optional(Type.Boolean({ description: `${orderedText} Default: false.` })),
  signature: optional(Type.Enum([...signatures], { description: `${signatureText} Default: \`v1\`.` })),
})
export const SubscriptionUpdate = closed({
  url: described(optional(Url), urlText, { examples: ['https://partner.example.com/hooks'] }),
  events: optional(namesOf(eventNamesText)),
  extensionEvents: optional(namesOf(extensionNamesText)),
  description: described(optional(nullable(text(255))), `${descriptionText} Null clears it.`, { examples: ['Ledger'] }),
  ordered: described(optional(Type.Boolean()), orderedText),
  status: described(optional(oneOf(subscriptionStatuses)), statusText),
})

const publicKey = optional(
  Type.String({
    description: 'Only for `v1a`: the public key that verifies signatures of the newest key (`whpk_...`).',
  }),
)
const subscription = {
  id: described(Uuid, 'Identifies the subscription.'),
  url: described(Type.String(), 'Address of the endpoint.'),
  events: described(Type.Array(Type.String()), eventNamesText),
  extensionEvents: described(Type.Array(Type.String()), extensionNamesText),
  description: described(optional(Type.String()), 'Your note about the subscription. Absent if none was given.'),
  apiVersion: described(Type.Integer(), 'Version of the envelope.'),
  ordered: described(Type.Boolean(), orderedText),
  signature: described(oneOf(signatures), signatureText),
  publicKey,
  status: described(oneOf(subscriptionStatuses), statusText),
  disabledReason: optional(
    Type.Enum([...disabledReasons], {
      description:
        '`Partner`: disabled by PATCH. `Gone`: the endpoint returned 410. `Failing`: no success for five days. Absent if enabled.',
    }),
  ),
  disabledAt: described(optional(Timestamp), 'Time at which the subscription was disabled. Absent if enabled.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
  warnings: described(
    optional(Type.Array(Type.String())),
    'One line for each name that is not delivered from its field, with the remedy. Absent if there is none.',
  ),
}
export const Subscription = closed(subscription)
const secret = optional(
  Type.String({ description: 'Only for `v1`: the signing secret (`whsec_...`). No later response contains it.' }),
)
export const SubscriptionCreated = closed({ ...subscription, secret })
export const SubscriptionPage = page(Subscription)
export const SubscriptionQuery = closed(pageQuery)

export const SecretRotate = closed({
  overlapSeconds: optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      description:
        'Seconds for which earlier keys continue to sign, 0 to 604800. Default: 86400. Use 0 if a secret has leaked.',
    }),
  ),
  signature: optional(
    Type.Enum([...signatures], { description: 'Signature scheme of the new key. Default: the current scheme.' }),
  ),
})
export const SecretRotated = closed({
  id: described(Uuid, 'Identifies the new key.'),
  signature: described(oneOf(signatures), signatureText),
  secret,
  publicKey,
  createdAt: described(Timestamp, 'Time of creation of the new key.'),
  overlapUntil: instant('Earlier keys also sign until this time.'),
})

export const TestSend = closed({
  eventType: optional(
    text(100, {
      description: 'Event type of the sample. Default: the first event type of the subscription.',
      examples: ['transaction.status.changed'],
    }),
  ),
})
const responseBodyText = 'The beginning of the response body, as text. Absent without a response.'
const durationText = 'Duration of the attempt in milliseconds.'
const endpointStatusText = 'HTTP status of the response. Absent without a response.'
const errorText = 'Reason for the failure. Absent after a success.'
export const TestResult = closed({
  eventId: described(Uuid, 'Identifies the sample. Equal to `webhook-id`.'),
  eventType: described(Type.String(), 'Event type of the sample.'),
  delivered: Type.Boolean({
    description: 'True if the endpoint returned a complete 2xx response within the time limit.',
  }),
  durationMs: described(Type.Integer(), durationText),
  status: described(optional(Type.Integer()), endpointStatusText),
  error: described(optional(Type.String()), errorText),
  responseBody: described(optional(Type.String()), responseBodyText),
})

export const DeliveryAttempt = closed({
  attempt: described(Type.Integer(), 'Number of the attempt, from 1.'),
  startedAt: described(Timestamp, 'Time at which the attempt started.'),
  durationMs: described(Type.Integer(), durationText),
  status: described(optional(Type.Integer()), endpointStatusText),
  error: described(optional(Type.String()), errorText),
  responseBody: described(optional(Type.String()), responseBodyText),
})
const deliveryStatusText =
  '`Pending`: will be attempted. `Delivered`: the endpoint returned 2xx. `Held`: waits until the subscription is enabled or the event is redelivered.'
export const Delivery = closed({
  eventId: described(Uuid, 'Identifies the delivery; the same on every attempt. Equal to `webhook-id`.'),
  eventType: described(Type.String(), 'Name of the event type.'),
  reference: described(Type.String(), 'Reference of the transaction.'),
  status: described(oneOf(deliveryStatuses), deliveryStatusText),
  attemptCount: described(Type.Integer(), 'Attempts so far.'),
  nextAttemptAt: described(nullable(Timestamp), 'Time of the next attempt. Null unless the status is `Pending`.'),
  createdAt: described(Timestamp, 'Time of creation of the delivery.'),
  deliveredAt: described(optional(Timestamp), 'Time of the successful attempt. Absent until then.'),
  attempts: Type.Array(DeliveryAttempt, { description: 'The newest twenty attempts, oldest first.' }),
})
export const DeliveryPage = page(Delivery)
export const DeliveryQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(deliveryStatuses)), 'Only deliveries with this status.'),
  eventType: described(optional(text(100)), 'Only deliveries of this event type.'),
  reference: described(optional(text(140)), 'Only deliveries of this transaction reference.'),
  from: optional(timeInput('Only events at or after this time')),
  to: optional(timeInput('Only events before this time')),
})

const sinceText = `Start of the time range, at most ${eventRetentionDays} days ago`
export const RecoveryStart = closed({
  since: timeInput(sinceText),
  until: optional(timeInput('End of the time range. Default: now')),
})
export const Recovery = closed({
  id: described(Uuid, 'Identifies the recovery.'),
  status: described(
    oneOf(recoveryStatuses),
    '`Running`: examines events in the background. `Completed`: examined the whole range.',
  ),
  since: described(Timestamp, 'Start of the time range, inclusive.'),
  until: described(Timestamp, 'End of the time range, exclusive.'),
  examined: Type.Integer({ description: 'Number of events examined so far.' }),
  recovered: Type.Integer({ description: 'Number of deliveries rescheduled, or created because they were missing.' }),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last progress.'),
})
export const RecoveryPage = page(Recovery)
export const RecoveryQuery = closed(pageQuery)

export const FeedQuery = closed({
  after: optional(
    text(512, { description: 'The `nextCursor` of the previous page. Default: start at the oldest stored event.' }),
  ),
  limit: pageQuery.limit,
  types: optional(text(2000, { description: 'Only these event types: names separated by commas.' })),
  subscriptionId: optional(
    Type.String({
      format: 'uuid',
      pattern: uuidPattern,
      description: 'Adds `eventId` to each event: its id in the deliveries of this subscription.',
    }),
  ),
  reference: described(optional(text(140)), 'Only events of this transaction reference.'),
  order: described(
    optional(oneOf(feedOrders)),
    '`oldest` (default) continues with events to come. `newest` begins with the latest event and leads back.',
  ),
})
const event = {
  id: described(Uuid, 'Identifies the event within the feed.'),
  eventType: described(Type.String(), 'Name of the event type.'),
  reference: described(Type.String(), 'Reference of the transaction.'),
  occurredAt: described(Timestamp, 'Time at which the event occurred.'),
}
const data = Type.Record(Type.String(), Type.Unknown(), {
  description: 'The same `data` as in the deliveries.',
  'x-event-data': true,
})
export const Event = closed({
  ...event,
  deliveries: described(
    Type.Array(
      closed({
        subscriptionId: described(Uuid, 'The webhook subscription.'),
        eventId: described(Uuid, 'The `eventId` of the delivery to it.'),
      }),
    ),
    'The deliveries of the event, one for each subscription that got it.',
  ),
  data,
})
export const FeedEvent = closed({
  ...event,
  sequence: Type.Integer({ description: 'Sequence number within the partner, from 1, without gaps.' }),
  eventId: described(
    optional(Uuid),
    'The `eventId` of the deliveries of `subscriptionId`. Absent without that parameter.',
  ),
  data,
})
/** `nextCursor` is also present on the last page, so that a reader can continue from there. */
export const FeedPage = closed({
  data: described(Type.Array(FeedEvent), 'The events of the page, in the order asked for.'),
  nextCursor: described(
    Type.String(),
    'Opaque. Store the value and pass it as `after`. Also present on the last page.',
  ),
  hasMore: described(Type.Boolean(), 'True if there are more events already.'),
})

/** Rates and latencies cover at most this many attempts: those of the newest events. */
export const statisticsAttemptsMax = 10_000
/** Counting stops at this many rows. A higher count is reported as this value, with `capped`. */
export const statisticsCountMax = 100_000
const latency = (description: string) => described(nullable(Type.Integer()), description)
const Latencies = closed({
  p50: latency('Median duration in milliseconds. Null without attempts.'),
  p95: latency('The 95th percentile of the duration in milliseconds. Null without attempts.'),
  p99: latency('The 99th percentile of the duration in milliseconds. Null without attempts.'),
})
export const SubscriptionStatistics = closed({
  owed: Type.Integer({ description: 'Number of deliveries in the retention period: delivered + pending + held.' }),
  delivered: described(Type.Integer(), 'Number of deliveries that succeeded.'),
  pending: described(Type.Integer(), 'Number of deliveries that will be attempted.'),
  held: described(Type.Integer(), 'Number of deliveries that are held.'),
  capped: Type.Boolean({
    description: `True if a count reached ${statisticsCountMax}, where counting stops.`,
  }),
  oldestPendingAt: described(nullable(Timestamp), 'Time of the oldest pending event. Null if none is pending.'),
  failingSince: described(
    nullable(Timestamp),
    'Time of the first failure since the last success. Null after a success.',
  ),
  breaker: described(
    oneOf(breakerStates),
    'Circuit breaker. `Closed`: deliveries run. `Open`: only probes are sent until one succeeds.',
  ),
  last24Hours: closed(
    {
      attempts: described(Type.Integer(), 'Number of attempts.'),
      successes: described(Type.Integer(), 'Number of attempts that succeeded.'),
      failures: described(Type.Integer(), 'Number of attempts that failed.'),
      latencyMs: described(Latencies, 'Durations of the attempts in milliseconds.'),
    },
    { description: `The last 24 hours: at most the newest ${statisticsAttemptsMax} attempts, by event.` },
  ),
})
