/** Test deliveries: sends one sample to an endpoint at once and returns the result. Stores nothing. */
import {
  type EventName,
  eventNames,
  isEventName,
  type SigningKey,
  type Static,
  type SubscribedEvents,
  type webhooks as wire,
} from '@partner-payments/wire'
import { Refusal, refuseField } from '../../kernel/api/index.ts'
import { type Clock, minuteMs, newId, type Sealer, secondMs } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { type AttemptResult, classifyAttempt } from '../queue/schedule.ts'
import { isSubscribedTo } from './rules.ts'
import { createSecrets } from './secrets.ts'
import { loadSubscription } from './subscriptions.ts'

/** Sends one signed request through the address guard, outside any transaction. Refuses: webhook_test_too_soon. */
export type SendRequest = (request: {
  readonly partnerId: string
  readonly url: string
  readonly keys: readonly SigningKey[]
  readonly eventId: string
  readonly data: string
  readonly headers: Readonly<Record<string, string>>
}) => Promise<AttemptResult>

/** Returns the JSON text of the `data` of a sample event. */
export type CreateSampleData = (partnerId: string, type: EventName, now: Date) => Promise<string>

type TestDeliveryDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly send: SendRequest
  readonly sample: CreateSampleData
}

/** Marks a sample, whose body looks like that of an event. */
const testDeliveryHeaders = { 'webhook-test': 'true' } as const
/** Per subscription and process: enough to test an endpoint, too few to attack a server. */
const testDeliveriesPerMinuteMax = 20
const subscriptionsRememberedMax = 10_000

/** Limits the tests of each subscription per minute. */
function createRateLimit(clock: Clock) {
  const startTimes = new Map<string, number[]>()
  return (subscriptionId: string): void => {
    const now = clock.now().getTime()
    const recent = (startTimes.get(subscriptionId) ?? []).filter((at) => at > now - minuteMs)
    const [oldest] = recent
    if (oldest !== undefined && recent.length >= testDeliveriesPerMinuteMax) {
      const seconds = Math.ceil((oldest + minuteMs - now) / secondMs)
      throw new Refusal(
        'webhook_test_too_soon',
        `An endpoint can be tested ${testDeliveriesPerMinuteMax} times a minute. Try again in ${seconds} seconds.`,
        { headers: { 'retry-after': String(seconds) } },
      )
    }
    // The map is in the order of the last test: the first entry is the oldest.
    startTimes.delete(subscriptionId)
    const first = startTimes.size >= subscriptionsRememberedMax ? startTimes.keys().next().value : undefined
    if (first !== undefined) startTimes.delete(first)
    startTimes.set(subscriptionId, [...recent, now])
  }
}

/** Refuses (400, /eventType): an event type that the service does not emit. */
function readType(given: string | undefined, subscribed: SubscribedEvents): EventName {
  const type = given ?? eventNames.find((name) => isSubscribedTo(subscribed, name)) ?? 'transaction.status.changed'
  if (!isEventName(type))
    throw refuseField({
      pointer: '/eventType',
      code: 'invalid_value',
      message: `must be one of ${eventNames.join(', ')}`,
    })
  return type
}

export function createTestDeliveries({ db, clock, sealer, send, sample }: TestDeliveryDeps) {
  const secrets = createSecrets({ sealer })
  const limitRate = createRateLimit(clock)
  return {
    /**
     * Sends a sample, signed like a delivery, even if the subscription is disabled or does not want that event type.
     * Refuses: validation_failed (/eventType), not_found, webhook_test_too_soon.
     */
    test: async (
      partnerId: string,
      id: string,
      input: Static<typeof wire.TestSend> = {},
    ): Promise<Static<typeof wire.TestResult>> => {
      const subscription = await loadSubscription(db, partnerId, id)
      const type = readType(input.eventType, subscription)
      limitRate(id)
      const now = clock.now()
      const keys = (await secrets.signingKeys(db, [{ partnerId, subscriptionId: id }], now)).get(id)?.keys ?? []
      const data = await sample(partnerId, type, now)
      const eventId = newId()
      const result = await send({ partnerId, url: subscription.url, keys, eventId, data, headers: testDeliveryHeaders })
      return {
        eventId,
        eventType: type,
        delivered: classifyAttempt(result) === 'delivered',
        durationMs: result.durationMs,
        ...(result.status === undefined ? {} : { status: result.status }),
        ...(result.error === undefined ? {} : { error: result.error }),
        ...(result.responseBody === undefined ? {} : { responseBody: result.responseBody }),
      }
    },
  }
}

export type TestDeliveries = ReturnType<typeof createTestDeliveries>
