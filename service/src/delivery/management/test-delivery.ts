/** The button that every partner presses first: one sample, sent now, and what came of it. Nothing of it is kept. */
import {
  eventNames,
  isEventName,
  type EventName,
  type SigningKey,
  type Static,
  type webhooks as wire,
} from '@partner-payments/wire'
import { Refusal, refuseField } from '../../api/index.ts'
import { type Clock, minuteMs, newId, type Sealer, secondMs } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import { wants } from './rules.ts'
import { type AttemptResult, verdictOf } from '../queue/schedule.ts'
import { createSecrets } from './secrets.ts'
import { loadSubscription } from './subscriptions.ts'

/** One signed POST, outside of any transaction. It comes from whoever sends the deliveries, with the same guard. */
export type Post = (request: {
  readonly url: string
  readonly keys: readonly SigningKey[]
  readonly eventId: string
  readonly data: string
  readonly headers: Readonly<Record<string, string>>
}) => Promise<AttemptResult>

/** The JSON text of a sample's `data`. */
export type Sample = (partnerId: string, type: EventName, now: Date) => Promise<string>

export type TestDeliveryDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly post: Post
  readonly sample: Sample
}

/** What tells a sample from an event; the body does not. */
export const testDeliveryHeaders = { 'webhook-test': 'true' } as const
/** Of one subscription, in one process: enough for a person at a button, too little for an attack on somebody's server. */
export const testDeliveriesPerMinuteMax = 20
const subscriptionsRememberedMax = 10_000
/**
 * Under way at once, of a partner and of a process. A test lasts as long as its endpoint likes, up to the limit of an
 * exchange, and holds a place among the requests of the API: endpoints that hang must not take them all.
 */
export const testDeliveriesOfPartnerMax = 4
export const testDeliveriesInProgressMax = 16

/** When the tests of the last minute began, by subscription. */
function createPace(clock: Clock) {
  const begun = new Map<string, number[]>()
  return (subscriptionId: string): void => {
    const now = clock.now().getTime()
    const recent = (begun.get(subscriptionId) ?? []).filter((at) => at > now - minuteMs)
    const [oldest] = recent
    if (oldest !== undefined && recent.length >= testDeliveriesPerMinuteMax) {
      const seconds = Math.ceil((oldest + minuteMs - now) / secondMs)
      throw new Refusal(
        'webhook_test_too_soon',
        `An endpoint is tested ${testDeliveriesPerMinuteMax} times a minute at most.`,
        {
          headers: { 'retry-after': String(seconds) },
        },
      )
    }
    // The one that was tested last goes to the end, so that the first is the one to forget.
    begun.delete(subscriptionId)
    const first = begun.size >= subscriptionsRememberedMax ? begun.keys().next().value : undefined
    if (first !== undefined) begun.delete(first)
    begun.set(subscriptionId, [...recent, now])
  }
}

/** Runs `work` where there is a place for it. */
function createPlaces() {
  const taken = new Map<string, number>()
  let underWay = 0
  return async <T>(partnerId: string, work: () => Promise<T>): Promise<T> => {
    const ofPartner = taken.get(partnerId) ?? 0
    if (ofPartner >= testDeliveriesOfPartnerMax || underWay >= testDeliveriesInProgressMax)
      throw new Refusal('webhook_test_too_soon', 'Too many tests of endpoints are under way.', {
        headers: { 'retry-after': '15' },
      })
    taken.set(partnerId, ofPartner + 1)
    underWay += 1
    try {
      return await work()
    } finally {
      underWay -= 1
      const left = (taken.get(partnerId) ?? 1) - 1
      if (left === 0) taken.delete(partnerId)
      else taken.set(partnerId, left)
    }
  }
}

/** Refuses (400, /eventType): an event that is not emitted. */
function readType(given: string | undefined, subscribed: readonly string[]): EventName {
  const type = given ?? eventNames.find((name) => wants(subscribed, name)) ?? 'transaction.status.changed'
  if (!isEventName(type))
    throw refuseField({ pointer: '/eventType', code: 'invalid_value', message: 'is not an event that is emitted' })
  return type
}

export function createTestDeliveries({ db, clock, sealer, post, sample }: TestDeliveryDeps) {
  const secrets = createSecrets({ sealer })
  const pace = createPace(clock)
  const inPlace = createPlaces()
  return {
    /**
     * Sends a sample, signed as deliveries are, whether or not the subscription is enabled or wants that event.
     * Refuses: validation_failed (/eventType), not_found, webhook_test_too_soon.
     */
    test: async (
      partnerId: string,
      id: string,
      input: Static<typeof wire.TestSend> = {},
    ): Promise<Static<typeof wire.TestResult>> => {
      const subscription = await loadSubscription(db, partnerId, id)
      const type = readType(input.eventType, subscription.events)
      pace(id)
      const now = clock.now()
      const keys = (await secrets.signingKeys(db, [{ partnerId, subscriptionId: id }], now)).get(id)?.keys ?? []
      const data = await sample(partnerId, type, now)
      const eventId = newId()
      const result = await inPlace(partnerId, () =>
        post({ url: subscription.url, keys, eventId, data, headers: testDeliveryHeaders }),
      )
      return {
        eventId,
        eventType: type,
        delivered: verdictOf(result) === 'delivered',
        durationMs: result.durationMs,
        ...(result.status === undefined ? {} : { status: result.status }),
        ...(result.error === undefined ? {} : { error: result.error }),
        ...(result.responseBody === undefined ? {} : { responseBody: result.responseBody }),
      }
    },
  }
}

export type TestDeliveries = ReturnType<typeof createTestDeliveries>
