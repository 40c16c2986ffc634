/** Composes safeguarding with the calendars of the configured banks. */
import { type Config, usedIsoBanks } from './config.ts'
import { createSafeguarding, type Safeguarding, type SafeguardingDeps } from '../reports/safeguarding/index.ts'
import { dayMs } from '../kernel/index.ts'
import { internalConnectorId, lastListedOn } from '../rails/index.ts'

type Deps = Omit<
  SafeguardingDeps,
  'addOperator' | 'clockDifferenceMsMax' | 'dueOn' | 'internalConnector' | 'partnerIds' | 'waitMs'
> & {
  readonly config: Config
  readonly access: {
    readonly partnerIds: SafeguardingDeps['partnerIds']
    readonly addOperator: SafeguardingDeps['addOperator']
  }
}

export function composeSafeguarding(deps: Deps): Safeguarding {
  const { config, access } = deps
  const closedDays = new Map(usedIsoBanks(config).map((bank) => [bank.id, bank.closedDays]))
  return createSafeguarding({
    ...deps,
    partnerIds: access.partnerIds,
    addOperator: access.addOperator,
    dueOn: ({ connector, currency }, day) =>
      lastListedOn(day, { closedDays: closedDays.get(connector) ?? new Set() }, currency),
    internalConnector: internalConnectorId,
    // Until noon of the next day.
    waitMs: dayMs / 2,
    clockDifferenceMsMax: config.REPORT_CLOCK_DIFFERENCE_MS,
  })
}
