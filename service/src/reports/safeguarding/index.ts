/**
 * Safeguarding: compares, for each day and currency, the client money in the ledger with the designated accounts on the
 * banks' statements. Signs and stores the result with the parts of the difference. Design: README.md.
 *
 * Tables: safeguarding.accounts, safeguarding.records. Invariants: `resource - requirement = own + timing +
 * discrepancy`; a record never changes, a correction is a new version with the digest of the previous one; a missing
 * statement is a status, not a zero.
 */
export { type SafeguardingContent, contentDigest, findContradictions, type SignedContent } from './content.ts'
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
export { isCalendarDay } from './rules.ts'
