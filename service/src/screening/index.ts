/**
 * Screening compares the names of partners, their people, customers, owners and beneficiaries with the sanctions lists of the UN, the EU and OFAC, and
 * their countries with rules. README.md describes the comparison of names.
 *
 * Tables: screening.lists, screening.entries and screening.frozen_accounts (shared by all partners); screening.subjects, screening.earlier_names,
 * screening.sweeps, screening.hits, screening.exclusions, screening.decisions. Invariants: a list is loaded completely or not at all. The transaction
 * that writes a name makes it due, and keeps the replaced name. A new list makes all names due again. There is one current hit per name and
 * entry. Only people's decisions end an open or confirmed hit. Decisions are added and never changed.
 */
import type { MessageSource } from '../iso20022/index.ts'
import type { Report, ReportRequest } from './corpus/report.ts'
import type { PepSource, SanctionsList } from './lists/entry.ts'

export { countriesOfAccount, type CountryAction, countryActions, type CountryRules, countrySides } from './countries.ts'
export {
  type Hold,
  type ScreenedCredit,
  strictestHold,
  type ScreenedPayment,
  createScreening,
  type FrozenSubject,
  type Hit,
  hitPairKey,
  type Screening,
} from './service.ts'

export { pepSource, type SanctionsList } from './lists/entry.ts'
export {
  accountKey,
  payeeTextRole,
  type ScreenedParty,
  type HitDisposition,
  allowedDispositions,
  type HitOutcome,
  hitOutcomes,
  partnerParty,
  type SecondData,
  type Subject,
  type SubjectCountry,
  type SubjectKey,
  type SubjectName,
} from './rules.ts'
export { screeningJobs, createScreener, type Screener } from './screener.ts'
export type { HeldPayment, HitView } from './hit-view.ts'
export type { HitSummary } from './store-numbers.ts'

export { sealedEarlierNames, sealedHits } from './sealed.ts'

export { type ExclusionRow, listExclusions } from './store.ts'

// Loaded when the command of the report runs.
export const screeningReport = async (request: ReportRequest): Promise<Report | undefined> =>
  (await import('./corpus/report.ts')).createReport(request)
export const screeningReportText = async (report: Report): Promise<string> =>
  (await import('./corpus/report.ts')).reportText(report)

// The readers of files are loaded with the first call, because only the command that loads a list needs them.
export const readPepList = async (source: MessageSource, list: PepSource): Promise<SanctionsList> =>
  (await import('./lists/peps.ts')).readPepList(source, list)
export const readSanctionsList = async (source: MessageSource): Promise<SanctionsList> =>
  (await import('./lists/read.ts')).readSanctionsList(source)
