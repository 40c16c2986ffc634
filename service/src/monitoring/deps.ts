/** Dependencies of the verbs of monitoring, and the form of a rule that is on. */
import type { Cases } from '../cases/index.ts'
import type { Clock, Decider, NotTwo } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { Rates } from '../rates/index.ts'
import type { RuleSettings } from './rules.ts'
import type { RuleRow } from './store.ts'

export type MonitoringDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cases: Pick<Cases, 'hold' | 'record' | 'resolutionsOf'>
  /** The rates by which rules count over all currencies. */
  readonly rates: Pick<Rates, 'converter'>
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** Judges who proposed and who turns a rule on or off, as they stand now. */
  readonly judgeTwo: (tx: Tx, author: Decider, approver: Decider) => Promise<NotTwo | undefined>
  /** How far the clocks of the processes and of the database may differ. */
  readonly clockDifferenceMsMax: number
}

/** A version that is on. */
export type Active = Pick<RuleRow, 'id' | 'version' | 'name'> & {
  readonly settings: RuleSettings
  readonly onSince: Date
}
