/** Rates from the source that the settings name. */
import { fileURLToPath } from 'node:url'
import { secondMs } from '../kernel/index.ts'
import { ecbFile, ecbUrl } from './ecb-sources.ts'
import type { RateSource } from './port.ts'
import { sandboxWalk } from './sandbox-walk.ts'
import { createRates, type Rates, type RatesDeps } from './service.ts'
import type { ChosenSource, RatesConfig } from './settings.ts'

export function createConfiguredRates(
  config: RatesConfig,
  deps: Pick<RatesDeps, 'db' | 'clock' | 'log' | 'observe'>,
): Rates {
  const { FX_RATES_MAX_AGE_SECONDS: seconds, FX_RATES_JUMP_MAX_PERCENT: jumpMaxPercent } = config
  const reference = { currency: config.REFERENCE_CURRENCY, daysMax: config.REFERENCE_RATES_MAX_AGE_DAYS }
  const maxAgeMs = seconds === undefined ? undefined : seconds * secondMs
  return createRates({ ...deps, source: sourceOf(config.FX_RATES), maxAgeMs, jumpMaxPercent, reference })
}

/** Every sandbox has the same rates at the same time. */
const sandboxSeed = 'sandbox'

function sourceOf(chosen: ChosenSource): RateSource | null {
  if (chosen.kind !== 'url') return chosen.kind === 'none' ? null : sandboxWalk(sandboxSeed)
  return chosen.url.protocol === 'file:' ? ecbFile(fileURLToPath(chosen.url)) : ecbUrl(chosen.url.href)
}
