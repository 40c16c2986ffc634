/** Samples of events: what each module's own builders make of a payment that never was. */
import type { EventData, EventName } from '@partner-payments/wire'

export type SampleContext = { readonly partnerId: string; readonly partnerName: string; readonly now: Date }

/** By event, what an event of that name carries. The modules that tell the events have them. */
export type Samples<N extends EventName> = {
  readonly [K in N]: (context: SampleContext) => Omit<EventData<K>, 'eventType' | 'timestamp'>
}
