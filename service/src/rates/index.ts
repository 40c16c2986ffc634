/**
 * Exchange rates: what a source publishes for one euro, as sheets that every process reads.
 *
 * Table: rates.sheets. Invariants: a sheet never changes; the newest one is that with the latest time. Rates are exact
 * decimals. README.md says how sheets are read and when they are too old.
 */
export { type Rate, roundedRate } from './rate.ts'
