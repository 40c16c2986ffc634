/**
 * Safeguarding: each day, client money by the ledger against the designated accounts by the banks' statements, in each currency; with
 * the parts of the difference, signed and kept. Design: README.md.
 *
 * Tables: safeguarding.accounts, safeguarding.records. Invariants: `resource - requirement = own + timing + discrepancy`; a record never
 * changes, a correction is a new version that names the one before; a missing statement is a status, not a zero.
 */
export { type SafeguardingContent, contentDigest, findFaults, type SignedContent } from './content.ts'
export { safeguardingCsv, readSignedCsv } from './csv.ts'
export {
  safeguardingJob,
  createSafeguarding,
  type Safeguarding,
  type SafeguardingDeps,
  type SafeguardingRecord,
  toSigned,
} from './service.ts'
export { safeguardingPdf } from './pdf.ts'
export { isDay } from './rules.ts'
