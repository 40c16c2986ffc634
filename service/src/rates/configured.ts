/** Rates from the source that the settings name. */
import { fileURLToPath } from 'node:url'
import { hourMs, minuteMs, secondMs } from '../kernel/index.ts'
import type { RateSource } from './port.ts'
import { sandboxWalk } from './sandbox-walk.ts'
import { createRates, type Rates, type RatesDeps } from './service.ts'
import type { ChosenSource, RatesConfig } from './settings.ts'
import { open } from 'node:fs/promises'
import { readEcbSheet, sheetBytesMax } from './ecb.ts'

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

// Sources of sheets in the ECB's format: a file that another program writes, or a URL.

/**
 * A sheet is valid until the next one, at about the same time of the next publication day. Days without one do not
 * count (`age.ts`), so that the age survives Easter and Christmas. Six hours are for a late publication.
 */
const maxAgeMs = 30 * hourMs
const everyMs = 5 * minuteMs
const published = { maxAgeMs, nextInMs: () => everyMs, publishes: 'target_days' } as const

const tooLong = () => new Error(`no sheet of rates: it is longer than ${sheetBytesMax} bytes`)

const ecbFile = (path: string): RateSource => ({
  id: 'file',
  ...published,
  read: async (_signal, now) => {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if (size > sheetBytesMax) throw tooLong()
      return readEcbSheet(await file.readFile('utf8'), now)
    } finally {
      await file.close()
    }
  },
})

/** A redirect is refused: the operator has chosen the host. */
const ecbUrl = (url: string): RateSource => ({
  id: new URL(url).hostname,
  ...published,
  read: async (signal, now) => {
    const { request } = await import('undici')
    const { statusCode, body } = await request(url, { signal, headers: { accept: 'application/xml, text/xml' } })
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of body) {
      parts.push(part as Buffer)
      bytes += (part as Buffer).length
      if (bytes > sheetBytesMax) throw tooLong()
    }
    if (statusCode !== 200) throw new Error(`no sheet of rates: the source answers ${statusCode}`)
    return readEcbSheet(Buffer.concat(parts).toString('utf8'), now)
  },
})
