/** The port of a source of rates. A connector of another source implements it; README.md says what the service expects. */
import type { Currency } from '../kernel/index.ts'
import type { Rate } from './rate.ts'

/** How much of each currency one euro buys. Those of the service, of which a source may lack some. EUR is not among them. */
export type Quotes = Readonly<Partial<Record<Currency, Rate>>>

/** `asOf`: when the rates held, by the source. */
export type RateSheet = { readonly asOf: Date; readonly quotes: Quotes }

export type RateSource = {
  /** Names the source in sheets, answers and logs. */
  readonly id: string
  /** How old a sheet may be, unless the operator sets another age. */
  readonly maxAgeMs: number
  /** `target_days`: no rates are published on the days on which the payment system of the euro rests. */
  readonly publishes: 'always' | 'target_days'
  /** How often the service reads it. */
  readonly everyMs: number
  /** Throws an Error if there is no sheet, or none that can be read. `signal` ends a read that takes too long. */
  readonly read: (signal: AbortSignal, now: Date) => Promise<RateSheet>
}
