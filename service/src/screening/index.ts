/**
 * Screening: names of partners, their people, customers, owners and beneficiaries against the sanctions lists of the UN, the EU and OFAC, and their countries
 * against rules. README.md has how names are compared.
 *
 * Tables: screening.lists, screening.entries (of no partner); screening.frozen_accounts (of no partner); screening.subjects, screening.earlier_names, screening.sweeps,
 * screening.hits, screening.exclusions, screening.decisions. Invariants: a list is loaded whole or not at all. The transaction that writes a name makes it due,
 * and keeps the name that it replaces. What was screened against an older list is due again. One hit per name and entry stands at a time.
 * An open or a confirmed hit ends only by a decision of persons. Decisions are added and never changed.
 */
import type { Source } from '../iso20022/index.ts'
import type { Report, ReportWanted } from './corpus/report.ts'
import type { PepSource, SanctionsList } from './lists/entry.ts'

export {
  type Countries,
  countriesOfAccount,
  type CountryAction,
  countryActions,
  type CountryRules,
  type CountrySide,
  countrySides,
} from './countries.ts'
export {
  type Hold,
  type ScreenedCredit,
  worst,
  type ScreenedPayment,
  createScreening,
  type Frozen,
  type Hit,
  pairOf,
  type Screening,
} from './service.ts'

export { pepSource, type SanctionsList } from './lists/entry.ts'
export {
  accountKey,
  craftRole,
  type HeldParty,
  type HitDisposition,
  hitDispositionsOf,
  type HoldKey,
  type Outcome,
  outcomes,
  partnerOf,
  type SecondData,
  type Subject,
  type SubjectCountry,
  type SubjectKey,
  type SubjectKind,
  type SubjectName,
  type SweptKind,
} from './rules.ts'
export { screeningJobs, createScreener, type Screener, type ScreenerDeps } from './screener.ts'
export type { HeldPayment, HitView } from './hit-view.ts'
export type { ShownHit } from './store-numbers.ts'

export { sealedEarlierNames, sealedHits } from './sealed.ts'

export type { Report, ReportWanted } from './corpus/report.ts'
export { type ExclusionRow, exclusionsOf } from './store.ts'

// The report is made by one command, which loads it.
export const screeningReport = async (wanted: ReportWanted): Promise<Report | undefined> =>
  (await import('./corpus/report.ts')).createReport(wanted)
export const screeningReportText = async (report: Report): Promise<string> =>
  (await import('./corpus/report.ts')).reportText(report)

// The first call loads the readers of files: only the command that loads a list reads one.
export const readPepList = async (source: Source, list: PepSource): Promise<SanctionsList> =>
  (await import('./lists/peps.ts')).readPepList(source, list)
export const readSanctionsList = async (source: Source): Promise<SanctionsList> =>
  (await import('./lists/read.ts')).readSanctionsList(source)
