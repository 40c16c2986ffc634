/** Samples of events, which are delivered like real ones. */
import { type BodyOf, type EventName, isEventName, type ResponseOf } from '@partner-payments/wire'
import type { Caller } from '../../api/index.ts'
import { sampleOf } from '../../events/index.ts'
import { assert, randomText } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../postgres/index.ts'
import type { SimulationsDeps } from './deps.ts'

export type EventSimulations = {
  /** Appends a sample of an event. */
  readonly event: (caller: Caller, body: BodyOf<'simulateEvent'>, tx?: Tx) => Promise<ResponseOf<'simulateEvent'>>
}

/** 60 random bits, so that samples do not share a reference, by which deliveries are ordered. */
const referenceRandomChars = 12

export function createSamples({ db, clock, access, eventOutbox }: SimulationsDeps): EventSimulations['event'] {
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
