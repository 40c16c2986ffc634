/** The operations of the group `webhooks`. */
import * as webhooks from '../webhooks.ts'
import { pastTime, resource } from './example.ts'
import type { Operation } from './operation.ts'
import { subscriptionId, deliveryId, eventId, recoveryId } from './params.ts'

export const webhooksOperations = {
  listEventTypes: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/event-types',
    response: webhooks.EventTypes,
    permission: 'webhooks:read',
    source: 'documented',
    summary: 'List subscribable event types',
    description:
      'Returns each event type with the JSON Schema of its properties. Those with `emitted: true` are the emitted set: ' +
      '`events` of a subscription delivers them. The others are extensions: only `extensionEvents` delivers them. The ' +
      'feed `GET /v1/events` has all.',
    refusals: [],
    example: {},
  },
  createSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks',
    body: webhooks.SubscriptionCreate,
    response: webhooks.SubscriptionCreated,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Create a webhook subscription',
    description:
      'Subscribes a URL to event types: without `events` to the whole emitted set, also to later event types. Extensions ' +
      'are delivered only if `extensionEvents` has them. With `signature: v1` the response contains the signing secret; only a replay ' +
      'of the request shows it again. With `v1a` the response contains the public key. The URL must be `https` on a public ' +
      'address; a local sandbox also allows `http` on a loopback address. At most 20 subscriptions per partner. ' +
      'Idempotent by `Idempotency-Key`; without a key a repeated request creates a second subscription.',
    refusals: ['validation_failed', 'webhook_limit_reached'],
    example: {
      body: {
        url: 'https://partner.example.com/hooks',
        events: ['partner.customer.deposit.completed'],
        description: 'Ledger',
        apiVersion: 2,
        ordered: false,
        signature: 'v1',
      },
    },
  },
  listSubscriptions: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks',
    query: webhooks.SubscriptionQuery,
    response: webhooks.SubscriptionPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List webhook subscriptions',
    description: "Returns the partner's webhook subscriptions, newest first, without their secrets.",
    refusals: [],
    example: {},
  },
  getSubscription: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    response: webhooks.Subscription,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a webhook subscription',
    description: 'Returns a webhook subscription without its secret.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  updateSubscription: {
    tag: 'webhooks',
    method: 'PATCH',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    body: webhooks.SubscriptionUpdate,
    response: webhooks.Subscription,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Update a webhook subscription',
    description:
      'Sets the given fields; at least one is required. A `null` description clears it. `status: Disabled` stops ' +
      'deliveries; pending ones become `Held`. `status: Enabled` has the effect of `POST /v1/webhooks/{id}/enable`.',
    refusals: ['validation_failed', 'not_found'],
    example: {
      params: { id: resource('subscription') },
      body: {
        url: 'https://partner.example.com/hooks',
        events: ['transaction.status.changed'],
        description: 'Ledger',
        ordered: false,
        status: 'Enabled',
      },
    },
  },
  deleteSubscription: {
    tag: 'webhooks',
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    params: subscriptionId,
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Delete a webhook subscription',
    description:
      'Deletes the subscription and its secrets, and drops its undelivered events. Those events stay in `GET ' +
      '/v1/events`.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  listDeliveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries',
    params: subscriptionId,
    query: webhooks.DeliveryQuery,
    response: webhooks.DeliveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List deliveries of a webhook subscription',
    description:
      'Returns deliveries with their attempts, ordered by event time, newest first. Filter by status, event type, ' +
      'reference and event time. A page may hold fewer deliveries than `limit` while `hasMore` is true.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  getDelivery: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/deliveries/{eventId}',
    params: deliveryId,
    response: webhooks.Delivery,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a delivery',
    description: 'Returns a delivery with its newest attempts, including the beginning of each response body.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription'), eventId: resource('delivery') } },
  },
  redeliver: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/deliveries/{eventId}/redeliver',
    params: deliveryId,
    response: webhooks.Delivery,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Redeliver an event',
    description:
      'Schedules the delivery for immediate sending, whether or not it was delivered before, and returns at once. ' +
      'The `eventId` stays the same. The retry schedule restarts at its first step. A delivery with an attempt in ' +
      'progress keeps the result of that attempt. Idempotent by `Idempotency-Key`; without a key each request sends ' +
      'the event again.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription'), eventId: resource('delivery') } },
  },
  rotateSecret: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/rotate-secret',
    params: subscriptionId,
    body: webhooks.SecretRotate,
    bodyOptional: true,
    response: webhooks.SecretRotated,
    idempotency: 'header',
    makes: 'nothing',
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Rotate a webhook signing secret',
    description:
      'Creates a new signing key. Deliveries carry a signature of the new key and of each earlier key until the ' +
      'overlap ends, 24 hours later by default. With `v1` the response contains the new secret; only a replay of the ' +
      'request shows it again. Set `overlapSeconds` to 0 if a secret has leaked. At most 5 keys are active at once. ' +
      'Idempotent by `Idempotency-Key`; without a key each request creates a signing key.',
    refusals: ['not_found', 'webhook_secret_limit_reached'],
    example: { params: { id: resource('subscription') }, body: { overlapSeconds: 60, signature: 'v1' } },
  },
  testSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/test',
    params: subscriptionId,
    body: webhooks.TestSend,
    bodyOptional: true,
    response: webhooks.TestResult,
    idempotency: 'kept',
    callsChosenHost: true,
    permission: 'webhooks:write',
    sdkMethod: 'sendTest',
    source: 'extension',
    summary: 'Send a test event',
    description:
      'Sends one signed sample event to the endpoint and returns the result of that single attempt. The header ' +
      '`webhook-test: true` marks the sample. The sample is neither stored nor retried. It is sent even if the ' +
      'subscription is disabled. At most 20 tests a minute per subscription.',
    refusals: ['validation_failed', 'not_found', 'webhook_test_too_soon'],
    example: { params: { id: resource('subscription') }, body: { eventType: 'transaction.status.changed' } },
  },
  enableSubscription: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/enable',
    params: subscriptionId,
    response: webhooks.Subscription,
    idempotency: 'kept',
    permission: 'webhooks:write',
    repeatable: true,
    source: 'extension',
    summary: 'Re-enable a webhook subscription',
    description:
      'Enables the subscription. Pending and held deliveries resume with slow start, from the first step of the ' +
      'retry schedule. A repeated request makes the deliveries that are still undelivered due again.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  startRecovery: {
    tag: 'webhooks',
    method: 'POST',
    path: '/v1/webhooks/{id}/recover',
    params: subscriptionId,
    body: webhooks.RecoveryStart,
    response: webhooks.Recovery,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'webhooks:write',
    source: 'extension',
    summary: 'Start a recovery',
    description:
      'Redelivers every undelivered event in a time range that matches the subscription. The recovery runs in the ' +
      'background; follow it at `GET /v1/webhooks/{id}/recoveries/{recoveryId}`. The range begins at most 30 days ' +
      'ago and may begin before the subscription was created. One recovery runs at a time per subscription. ' +
      'Idempotent by `Idempotency-Key`.',
    refusals: ['validation_failed', 'not_found', 'recovery_in_progress'],
    example: { params: { id: resource('subscription') }, body: { since: pastTime(1), until: pastTime(0) } },
  },
  listRecoveries: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries',
    params: subscriptionId,
    query: webhooks.RecoveryQuery,
    response: webhooks.RecoveryPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List recoveries',
    description: 'Returns the recoveries of a webhook subscription, newest first.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  getRecovery: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/recoveries/{recoveryId}',
    params: recoveryId,
    response: webhooks.Recovery,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve a recovery',
    description: 'Returns the status and the progress of a recovery.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription'), recoveryId: resource('recovery') } },
  },
  getSubscriptionStatistics: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/webhooks/{id}/statistics',
    params: subscriptionId,
    response: webhooks.SubscriptionStatistics,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve delivery statistics',
    description:
      'Returns delivery counts, the state of the circuit breaker, and the success rate and latency of the endpoint ' +
      'in the last 24 hours. Rates and latencies cover at most the newest 10,000 attempts.',
    refusals: ['not_found'],
    example: { params: { id: resource('subscription') } },
  },
  listEvents: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/events',
    query: webhooks.FeedQuery,
    response: webhooks.FeedPage,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'List events',
    description:
      'Returns all events of the partner of the last 30 days, oldest first, whether or not a subscription matches ' +
      'them. Sequence numbers have no gaps. Store `nextCursor` and pass it as `after` to continue without missing ' +
      'an event. A cursor older than 30 days is refused with 410 `cursor_expired`. With `order=newest` the list leads ' +
      'back from the latest event; its cursors are its own. A page with filters examines 1,000 events and may be short ' +
      'while `hasMore` is true.',
    refusals: ['validation_failed', 'not_found', 'cursor_expired'],
    example: {},
  },
  getEvent: {
    tag: 'webhooks',
    method: 'GET',
    path: '/v1/events/{id}',
    params: eventId,
    response: webhooks.Event,
    permission: 'webhooks:read',
    source: 'extension',
    summary: 'Retrieve an event',
    description:
      'Returns an event of the last 30 days with its data, and names its deliveries: follow each at ' +
      '`GET /v1/webhooks/{id}/deliveries/{eventId}`.',
    refusals: ['not_found'],
    example: { params: { id: resource('event') } },
  },
} as const satisfies Record<string, Operation>
