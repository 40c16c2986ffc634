/**
 * Exchange rates: the published rates of a source for one euro, as sheets that every process reads.
 *
 * Table: rates.sheets. Invariants: a sheet never changes; the newest one of a source is that with the latest time.
 * Rates are exact decimals. README.md says how sheets are read, and when they are too old.
 */
export { type Rate, rateOf, rateText, readRate, roundedRate } from './rate.ts'
export {
  currenciesOf,
  midRateOf,
  type ReferenceAmount,
  type Converter,
  type Rates,
  type ByHand,
  type Sheet,
} from './service.ts'

export type { FxTerms } from './settings.ts'

export { createConfiguredRates } from './configured.ts'
