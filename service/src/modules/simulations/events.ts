/** Samples of events, which go the way of real ones. */
import { type EventName, isEventName } from '@partner-payments/wire'
import { sampleOf } from '../../events/index.ts'
import { assert, randomText } from '../../kernel/index.ts'
import { inTransaction } from '../../postgres/index.ts'
import type { SimulationsDeps } from './deps.ts'
import type { Simulations } from './service.ts'

/** 60 random bits: samples do not share a reference, by which deliveries are ordered. */
const referenceRandomChars = 12

export function createSamples({ db, clock, access, eventOutbox }: SimulationsDeps): Simulations['event'] {
  return async ({ partnerId }, { eventType }, outerTx) => {
    assert(isEventName(eventType), 'checked with the request')
    const type: EventName = eventType
    const reference = `SAMPLE-${randomText(referenceRandomChars)}`
    return inTransaction(db, outerTx, async (tx) => {
      const now = clock.now()
      const partnerName = await access.partnerName(tx, partnerId)
      eventOutbox.append(tx, partnerId, type, now, { ...sampleOf(type, { partnerId, partnerName, now }), reference })
      return { eventType, reference }
    })
  }
}
