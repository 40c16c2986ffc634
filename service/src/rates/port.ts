/** The port of a source of rates. A connector of another source implements it; README.md states the requirements. */
import type { Currency } from '../kernel/index.ts'
import type { Rate } from './rate.ts'

/**
 * The amount of each currency that one euro buys. A source may lack some currencies of the service. EUR is not
 * included.
 */
export type Quotes = Readonly<Partial<Record<Currency, Rate>>>

/** `asOf`: when the rates held, by the source. */
export type RateSheet = { readonly asOf: Date; readonly quotes: Quotes }

export type RateSource = {
  /** Names the source in sheets, answers and logs. */
  readonly id: string
  /** How old a sheet may be, unless the operator sets another age. */
  readonly maxAgeMs: number
  /** `target_days`: no rates are published on days when TARGET is closed. */
  readonly publishes: 'always' | 'target_days'
  /** The time until the service reads it next. */
  readonly nextInMs: (now: Date) => number
  /** Throws an Error if there is no readable sheet. `signal` ends a read that takes too long. */
  readonly read: (signal: AbortSignal, now: Date) => Promise<RateSheet>
}
