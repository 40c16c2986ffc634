/** Dependencies of the verbs of monitoring, and the form of a rule that is on. */
import type { Cases } from '../../cases/index.ts'
import type { Clock } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { RuleSettings } from './rules.ts'
import type { RuleRow } from './store.ts'

export type MonitoringDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cases: Pick<Cases, 'hold' | 'record' | 'resolutionsOf'>
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** How far the clocks of the processes and of the database may differ. */
  readonly clockDifferenceMsMax: number
}

/** A version that is on. */
export type Active = Pick<RuleRow, 'id' | 'version' | 'name'> & {
  readonly settings: RuleSettings
  readonly onSince: Date
}
