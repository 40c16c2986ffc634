/** Creates the rates from the source in the settings. */
import { fileURLToPath } from 'node:url'
import { dayMs, hourMs, isCurrency, minuteMs, secondMs } from '../kernel/index.ts'
import { type Rate, type RateSheet, type RateSource, parseRate } from './rate.ts'
import { sandboxWalk } from './sandbox-walk.ts'
import { createRates, type Rates, type RatesDeps } from './service.ts'
import type { RateSourceSetting, RatesConfig } from './settings.ts'
import { open } from 'node:fs/promises'
import sax from 'sax'

export function createConfiguredRates(
  config: RatesConfig,
  deps: Pick<RatesDeps, 'db' | 'clock' | 'log' | 'observe'>,
): Rates {
  const { FX_RATES_MAX_AGE_SECONDS: seconds, FX_RATES_JUMP_MAX_PERCENT: jumpMaxPercent } = config
  const reference = { currency: config.REFERENCE_CURRENCY, daysMax: config.REFERENCE_RATES_MAX_AGE_DAYS }
  const maxAgeMs = seconds === undefined ? undefined : seconds * secondMs
  return createRates({ ...deps, source: createSource(config.FX_RATES), maxAgeMs, jumpMaxPercent, reference })
}

/** The same seed everywhere: all sandboxes have the same rates at the same time. */
const sandboxSeed = 'sandbox'

function createSource(chosen: RateSourceSetting): RateSource | null {
  if (chosen.kind !== 'url') return chosen.kind === 'none' ? null : sandboxWalk(sandboxSeed)
  return chosen.url.protocol === 'file:' ? ecbFile(fileURLToPath(chosen.url)) : ecbUrl(chosen.url.href)
}

// Sources of sheets in the ECB's format: a local file or a URL.

/**
 * A sheet is valid until about the same time of the next publication day, plus six hours for a late publication. Only
 * publication days count (`sheetAgeMs`), so that the age survives Easter and Christmas.
 */
const maxAgeMs = 30 * hourMs
const everyMs = 5 * minuteMs
const published = { maxAgeMs, nextInMs: () => everyMs, publishes: 'target_days' } as const

const tooLong = () => new Error(`no usable sheet of rates: it is longer than ${sheetBytesMax} bytes`)

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

/** Redirects are refused, because the operator has chosen the host. */
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
    if (statusCode !== 200) throw new Error(`no usable sheet of rates: the source answers ${statusCode}`)
    return readEcbSheet(Buffer.concat(parts).toString('utf8'), now)
  },
})

// Reads the daily reference rates of the European Central Bank (eurofxref-daily.xml): `Cube[@time]` with a
// `Cube[@currency @rate]` for each currency. A partial sheet is useless, so that anything unexpected makes the whole
// sheet invalid.

/** A daily sheet has about 2 KiB and 40 elements in four levels. */
export const sheetBytesMax = 64 * 1024
const elementsMax = 500
const depthMax = 10

/** The ECB publishes at about 16:00 in Frankfurt: 14:00 UTC in summer, 15:00 UTC in winter. */
const publishedAfterMs = 14 * hourMs
/** A sheet with a future date is a mistake of the source. */
const aheadMaxMs = dayMs

const dateForm = /^\d{4}-\d{2}-\d{2}$/
const currencyForm = /^[A-Z]{3,5}$/

const refuseSheet = (reason: string): never => {
  throw new Error(`no usable sheet of rates: ${reason}`)
}

export function readEcbSheet(text: string, now: Date): RateSheet {
  const found = { times: [] as string[], rates: new Map<string, Rate>() }
  parse(text, (attributes) => take(found, attributes))
  const [time, ...others] = found.times
  if (time === undefined || others.length > 0 || !dateForm.test(time))
    return refuseSheet('it does not have exactly one date')
  const day = Date.parse(`${time}T00:00:00Z`)
  if (Number.isNaN(day) || !new Date(day).toISOString().startsWith(time)) return refuseSheet(`${time} is not a date`)
  if (day > now.getTime() + aheadMaxMs) return refuseSheet(`${time} is in the future`)
  if (found.rates.size === 0) return refuseSheet('it has no rates')
  const own = [...found.rates].filter(([currency]) => isCurrency(currency) && currency !== 'EUR')
  return { asOf: new Date(day + publishedAfterMs), quotes: Object.fromEntries(own) }
}

type Attributes = Readonly<Record<string, string>>

function take(
  found: { readonly times: string[]; readonly rates: Map<string, Rate> },
  { time, currency, rate }: Attributes,
): void {
  if (time !== undefined) found.times.push(time)
  if (currency === undefined && rate === undefined) return
  if (currency === undefined || !currencyForm.test(currency)) refuseSheet('a rate has no currency')
  const read = parseRate(rate ?? '')
  if (currency !== undefined && read !== undefined && !found.rates.has(currency)) found.rates.set(currency, read)
  else refuseSheet(`the rate of ${currency} is invalid or repeated`)
}

/**
 * Calls `onCube` for each `Cube`. Refuses broken XML, and what an ECB sheet never has: a document type, deep nesting,
 * many elements.
 */
function parse(text: string, onCube: (attributes: Attributes) => void): void {
  if (text.length > sheetBytesMax) refuseSheet('it is too long')
  const parser = sax.parser(true)
  let elements = 0
  let depth = 0
  let root = ''
  parser.onerror = () => refuseSheet('it is not well-formed XML')
  // A document type could define entities, which grow without bound.
  parser.ondoctype = () => refuseSheet('it has a document type')
  parser.onopentag = ({ name, attributes }) => {
    const local = name.replace(/^[^:]*:/, '')
    if (elements === 0) root = local
    // The parser accepts several roots and unclosed elements.
    else if (depth === 0) refuseSheet('it has several roots')
    elements += 1
    depth += 1
    if (elements > elementsMax || depth > depthMax) refuseSheet('it has too many elements')
    if (local === 'Cube') onCube(attributes as Attributes)
  }
  parser.onclosetag = () => {
    depth -= 1
  }
  parser.write(text).close()
  if (depth > 0) refuseSheet('it ends too early')
  if (root !== 'Envelope') refuseSheet('its root element is not Envelope')
}
