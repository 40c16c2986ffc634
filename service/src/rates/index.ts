/**
 * Exchange rates: sheets of published rates for one euro, which every process reads.
 *
 * Table: rates.sheets. Invariants: a sheet never changes; the newest sheet of a source is the one with the latest time.
 * Rates are exact decimals. README.md states how sheets are read, and when they are too old.
 */
export { type Rate, parseStoredRate, formatRate, parseRate, roundedRate } from './rate.ts'
export {
  currenciesOf,
  findMidRate,
  type ReferenceAmount,
  type ReferenceConverter,
  type Rates,
  type ManualRateChange,
  type StoredSheet,
} from './service.ts'

export type { FxTerms } from './settings.ts'

export { createConfiguredRates } from './configured.ts'
