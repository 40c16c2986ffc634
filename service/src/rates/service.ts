/** The operations of rates: a background loop stores the source's sheets, and everyone else reads the newest sheet. */
import { Refusal } from '../kernel/api/index.ts'
import {
  after,
  type Clock,
  currencies,
  type Currency,
  dayMs,
  isCurrency,
  type Log,
  type Minor,
  newId,
  secondMs,
  type Money,
} from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import {
  type Quotes,
  type Rate,
  parseStoredRate,
  type RateSheet,
  type RateSource,
  formatRate,
  roundedRate,
} from './rate.ts'
import { sandboxSourceId } from './sandbox-walk.ts'
import * as store from './store.ts'
import { setTimeout as pause } from 'node:timers/promises'
import { ownJson } from '@partner-payments/wire'

// Writes sheets, each after the newest one. The caller has locked all sheets.

export type StoredSheet = RateSheet & {
  readonly id: string
  readonly source: string
  /** Rates that a simulation has set. */
  readonly byHand: Quotes
  readonly stopped: boolean
}

/** Change to the rates of the sandbox by a simulation. */
export type ManualRateChange = {
  /** Null: the pair follows the source again. */
  readonly pair?: { readonly base: Currency; readonly quote: Currency; readonly rate: Rate | null }
  readonly stopped?: boolean
}

/** The sandbox creates a sheet every few seconds, and can compute each one again. */
const sandboxSheetsKeptMs = 7 * dayMs

/** Creates a reader that parses the newest row only once. */
function createSheetReader(): (row: store.SheetRow) => StoredSheet {
  let last: StoredSheet | undefined
  return ({ id, source, asOf, quotes, byHand, stopped }) => {
    if (last?.id !== id) last = { id, source, asOf, quotes: parseQuotes(quotes), byHand: parseQuotes(byHand), stopped }
    return last
  }
}

/** Reports whether a sheet of the source has newer rates than the newest stored one. */
function isNewer({ asOf, quotes }: RateSheet, newest: StoredSheet): boolean {
  if (newest.stopped || asOf < newest.asOf) return false
  return (
    asOf > newest.asOf ||
    formatQuotes({ ...quotes, ...newest.byHand }) !== formatQuotes({ ...newest.quotes, ...newest.byHand })
  )
}

type SheetContext = { readonly source: string; readonly now: Date }

/**
 * Stores a sheet of the source, in which the rates set by a simulation remain. Throws an Error if the sheet is
 * implausible.
 */
async function keepSheet(
  tx: Tx,
  { source, now }: SheetContext,
  sheet: RateSheet,
  newest: StoredSheet | undefined,
  jumpMaxPercent: number,
): Promise<void> {
  if (newest !== undefined && !isNewer(sheet, newest)) return
  const byHand = newest?.byHand ?? {}
  const quotes = { ...sheet.quotes, ...byHand }
  const jumped = newest && findImplausibleCurrency(quotes, newest.quotes, jumpMaxPercent)
  if (jumped !== undefined)
    throw new Error(`no usable sheet of rates: ${jumped} has moved by more than ${jumpMaxPercent} %`)
  if (source === sandboxSourceId) await store.deleteSheets(tx, source, after(now, -sandboxSheetsKeptMs))
  await insert(tx, { id: newId(), source, asOf: sheet.asOf, quotes, byHand, stopped: false }, now)
}

/** Stores a sheet with the changed rates. `walk`: the present rates of the source. Refuses: currency_not_supported. */
async function setByHand(
  tx: Tx,
  { source, now }: SheetContext,
  walk: RateSheet,
  newest: StoredSheet | undefined,
  { pair, stopped }: ManualRateChange,
): Promise<StoredSheet> {
  const before = newest?.byHand ?? {}
  const byHand = pair ? { ...before, ...changedRates(pair, { ...walk.quotes, ...before }) } : before
  const set = Object.fromEntries(Object.entries(byHand).filter(([, rate]) => rate !== null)) as Quotes
  const sheet: StoredSheet = {
    id: newId(),
    source,
    // Later than the newest sheet, even if that was stored in the same millisecond.
    asOf: newest && newest.asOf >= now ? after(newest.asOf, 1) : now,
    quotes: { ...walk.quotes, ...set },
    byHand: set,
    stopped: stopped ?? newest?.stopped ?? false,
  }
  await insert(tx, sheet, now)
  return sheet
}

/** Returns the changed rates. Null: the currency follows the source again. */
function changedRates(
  { base, quote, rate }: NonNullable<ManualRateChange['pair']>,
  quotes: Quotes,
): Readonly<Partial<Record<Currency, Rate | null>>> {
  if (rate === null) return { [base]: null, [quote]: null }
  const made = quotesWithMidRate(quotes, base, quote, rate)
  if (made === undefined) throw new Refusal('currency_not_supported', `There is no rate between ${base} and ${quote}.`)
  return made
}

function insert(tx: Tx, sheet: StoredSheet, readAt: Date): Promise<void> {
  const { quotes, byHand, ...rest } = sheet
  return store.insertSheet(tx, { ...rest, readAt, quotes: formatQuotes(quotes), byHand: formatQuotes(byHand) })
}

type RatesAge = { readonly ageMs: number; readonly limitMs: number }

/** Computes an amount in a reference currency; by default that of the settings. Undefined: no rate is recent enough. */
export type ReferenceConverter = (money: Money, reference?: Currency) => ReferenceAmount | undefined

export type Rates = {
  /** The currency in which limits across all currencies are counted. */
  readonly referenceCurrency: Currency
  /** Reads the newest sheet with one statement. Rules accept older sheets than quotes do (REFERENCE_RATES_MAX_AGE_DAYS). */
  readonly converter: (tx: Tx) => Promise<ReferenceConverter>
  /** Reads the newest sheet, however old. Undefined: none exists. */
  readonly newest: (tx: Tx) => Promise<StoredSheet | undefined>
  /**
   * Reads the newest sheet. Refuses: fx_rates_unavailable (none exists, it is too old, or a simulation has stopped the
   * rates).
   */
  readonly current: (tx: Tx) => Promise<StoredSheet>
  /** Reads the source once and stores a newer sheet. Logs a failure. Returns 0, because a source has no backlog. */
  readonly refreshStep: () => Promise<number>
  /** Returns the time until the next `refreshStep`. Undefined: no source is configured. */
  readonly nextInMs: (() => number) | undefined
  /** Reads the first sheet of a sandbox before the first request. */
  readonly prepare: () => Promise<void>
  /** Sets rates of the sandbox for all its partners. Refuses: fx_rates_unavailable, currency_not_supported. */
  readonly setByHand: (change: ManualRateChange) => Promise<StoredSheet>
}

export type RatesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Null: no source is configured. */
  readonly source: RateSource | null
  /** Undefined: the default of the source. */
  readonly maxAgeMs: number | undefined
  readonly jumpMaxPercent: number
  readonly reference: { readonly currency: Currency; readonly daysMax: number }
  /** Receives the age of the newest sheet after each read. */
  readonly observe?: ((age: RatesAge) => void) | undefined
}

export function createRates(deps: RatesDeps): Rates {
  const { clock, reference, source } = deps
  const rates = source === null ? withoutSource : createSourceRates(deps, source)
  return {
    ...rates,
    referenceCurrency: reference.currency,
    converter: async (tx) => {
      const sheet = await rates.newest(tx)
      return (money, currency = reference.currency) =>
        convertToReference(sheet, money, currency, { now: clock.now(), daysMax: reference.daysMax })
    },
  }
}

type SourceRates = Omit<Rates, 'converter' | 'referenceCurrency'>

const unavailable = (reason: string) => new Refusal('fx_rates_unavailable', `${reason} Retry later.`)
const refuseNoSource = () => Promise.reject(unavailable('No source of exchange rates is configured.'))

const withoutSource: SourceRates = {
  newest: () => Promise.resolve(undefined),
  current: refuseNoSource,
  refreshStep: () => Promise.resolve(0),
  nextInMs: undefined,
  prepare: () => Promise.resolve(),
  setByHand: refuseNoSource,
}

function createSourceRates({ db, clock, log, observe, ...deps }: RatesDeps, source: RateSource): SourceRates {
  const limitMs = deps.maxAgeMs ?? source.maxAgeMs
  const read = createSourceReader(source, clock)
  const toSheet = createSheetReader()
  const newest = async (tx: Tx) => {
    const row = await store.newestSheet(tx, source.id)
    return row && toSheet(row)
  }
  const newestLocked = async (tx: Tx) => {
    await store.lockSheets(tx)
    return newest(tx)
  }
  const sheetContext = () => ({ source: source.id, now: clock.now() })
  const ageOf = (asOf: Date) => sheetAgeMs(asOf, clock.now(), source.publishes)

  const refreshStep = async () => {
    const known = await newest(db)
    const asOf = await read()
      .then(async (sheet) => {
        if (known !== undefined && !isNewer(sheet, known)) return known.asOf
        await db.transaction(async (tx) =>
          keepSheet(tx, sheetContext(), sheet, await newestLocked(tx), deps.jumpMaxPercent),
        )
        return sheet.asOf
      })
      .catch((error: unknown) => {
        log.warn({ err: error, source: source.id }, 'exchange rates could not be read')
        return known?.asOf
      })
    // Without a sheet: the time since the epoch.
    observe?.({ ageMs: ageOf(asOf ?? new Date(0)), limitMs })
    return 0
  }
  return {
    newest,
    current: async (tx) => {
      const sheet = await newest(tx)
      if (sheet === undefined) throw unavailable('No exchange rates are available yet.')
      if (sheet.stopped) throw unavailable('A simulation has stopped the exchange rates of the sandbox.')
      if (ageOf(sheet.asOf) > limitMs) throw unavailable(`The newest rates are of ${sheet.asOf.toISOString()}.`)
      return sheet
    },
    refreshStep,
    nextInMs: () => source.nextInMs(clock.now()),
    prepare: async () => {
      if (source.id !== sandboxSourceId) return
      await refreshStep().catch((error: unknown) => log.warn({ err: error }, 'waiting for the first exchange rates'))
    },
    setByHand: async (change) => {
      if (source.id !== sandboxSourceId) throw unavailable('Rates are set by hand only where FX_RATES is sandbox.')
      const walk = await source.read(AbortSignal.abort(), clock.now())
      return db.transaction(async (tx) => setByHand(tx, sheetContext(), walk, await newestLocked(tx), change))
    },
  }
}

/**
 * Creates a reader with at most one concurrent read of the source. A source may ignore its signal: a hanging file holds
 * a thread. The reader throws an Error if the read fails or takes too long.
 */
export function createSourceReader(
  source: RateSource,
  clock: Clock,
  readMsMax = 10 * secondMs,
): () => Promise<RateSheet> {
  let underWay = false
  return async () => {
    if (underWay) throw new Error('the previous read of the source has not ended')
    underWay = true
    const timer = new AbortController()
    const limit = new AbortController()
    const reading = source.read(limit.signal, clock.now()).finally(() => {
      underWay = false
    })
    const late = pause(readMsMax, undefined, { signal: timer.signal }).then(() => {
      limit.abort()
      throw new Error(`the source does not answer within ${readMsMax / secondMs} s`)
    })
    try {
      return await Promise.race([reading, late])
    } finally {
      reading.catch(() => undefined)
      late.catch(() => undefined)
      timer.abort()
    }
  }
}

/** Significant digits of a mid rate between two currencies. */
const midDigits = 8
/** Significant digits of a rate that is derived from a rate set by a simulation: enough to compute the same mid rate again. */
const derivedDigits = 20
const one: Rate = { digits: 1n, scale: 0 }

/** Computes the mid rate of a pair. Undefined: the sheet lacks one of the currencies. */
export function findMidRate(quotes: Quotes, sell: Currency, buy: Currency): Rate | undefined {
  const [sold, bought] = [forOneEuro(quotes, sell), forOneEuro(quotes, buy)]
  return sold && bought && quotient(bought, sold, midDigits)
}

const forOneEuro = (quotes: Quotes, currency: Currency): Rate | undefined =>
  currency === 'EUR' ? one : quotes[currency]

const quotient = (over: Rate, under: Rate, digits: number): Rate =>
  roundedRate(over.digits * 10n ** BigInt(under.scale), under.digits * 10n ** BigInt(over.scale), digits, 'half-even')

/** Amount in a reference currency, in minor units. The rate is in units of the reference currency for one unit. */
export type ReferenceAmount = {
  readonly amount: Minor
  readonly currency: Currency
  /** Plain decimal text. */
  readonly rate: string
  /** YYYY-MM-DD, in UTC. */
  readonly rateOn: string
}

/** The fiat currency that a token represents, for sheets that do not quote the token. */
const pegs: Readonly<Partial<Record<Currency, Currency>>> = { USDC: 'USD', EURC: 'EUR' }

const pegged = (quotes: Quotes, currency: Currency): Currency =>
  forOneEuro(quotes, currency) === undefined ? (pegs[currency] ?? currency) : currency

/**
 * Converts an amount by the newest sheet. Rounds up, so that many small payments cannot stay below a limit. An amount
 * in the reference currency needs no sheet. Undefined: the sheet is too old, or lacks one of the currencies.
 */
export function convertToReference(
  sheet: RateSheet | undefined,
  { amount, currency }: Money,
  reference: Currency,
  { now, daysMax }: { readonly now: Date; readonly daysMax: number },
): ReferenceAmount | undefined {
  const dayOf = (time: Date) => time.toISOString().slice(0, 10)
  if (currency === reference) return { amount, currency, rate: '1', rateOn: dayOf(now) }
  if (sheet === undefined || now.getTime() - sheet.asOf.getTime() > daysMax * dayMs) return undefined
  const { asOf, quotes } = sheet
  const rate = findMidRate(quotes, pegged(quotes, currency), pegged(quotes, reference))
  if (rate === undefined) return undefined
  const over = amount * rate.digits * 10n ** BigInt(currencies[reference].digits)
  const under = 10n ** BigInt(rate.scale + currencies[currency].digits)
  return { amount: (over + under - 1n) / under, currency: reference, rate: formatRate(rate), rateOn: dayOf(asOf) }
}

export const currenciesOf = (quotes: Quotes): readonly Currency[] =>
  (Object.keys(currencies) as Currency[]).filter((currency) => forOneEuro(quotes, currency) !== undefined)

/** Finds a currency whose rate has moved by more than `percentMax`: the source may have misplaced a decimal point. */
export function findImplausibleCurrency(next: Quotes, before: Quotes, percentMax: number): Currency | undefined {
  return currenciesOf(next).find((currency) => {
    const [now, then] = [forOneEuro(next, currency), forOneEuro(before, currency)]
    if (now === undefined || then === undefined) return false
    const [after, earlier] = [now.digits * 10n ** BigInt(then.scale), then.digits * 10n ** BigInt(now.scale)]
    const moved = after > earlier ? after - earlier : earlier - after
    return moved * 100n > earlier * BigInt(percentMax)
  })
}

/**
 * Computes rates for one euro that make `rate` the mid rate of a pair. The rate of the sold currency does not change.
 */
export function quotesWithMidRate(quotes: Quotes, sell: Currency, buy: Currency, rate: Rate): Quotes | undefined {
  const [sold, bought] = [forOneEuro(quotes, sell), forOneEuro(quotes, buy)]
  if (sold === undefined || bought === undefined) return undefined
  if (buy === 'EUR') return { [sell]: quotient(one, rate, derivedDigits) }
  const made = roundedRate(
    sold.digits * rate.digits,
    10n ** BigInt(sold.scale + rate.scale),
    derivedDigits,
    'half-even',
  )
  return sell === 'EUR' ? { [buy]: made } : { [sell]: sold, [buy]: made }
}

export const formatQuotes = (quotes: Quotes): string =>
  JSON.stringify(Object.fromEntries(Object.entries(quotes).map(([currency, rate]) => [currency, formatRate(rate)])))

export const parseQuotes = (json: string): Quotes =>
  Object.fromEntries(
    Object.entries(ownJson<Record<string, string>>(json)).flatMap(([currency, text]) =>
      isCurrency(currency) ? [[currency, parseStoredRate(text)]] : [],
    ),
  )

// Computes the age of a sheet. If the source publishes only on TARGET days, other days do not count.

/** Above this many days the exact age does not matter. */
const daysMax = 60

export function sheetAgeMs(asOf: Date, now: Date, publishes: RateSource['publishes']): number {
  const whole = Math.max(0, now.getTime() - asOf.getTime())
  if (publishes === 'always' || whole > daysMax * dayMs) return whole
  let closed = 0
  for (let day = startOfDay(asOf.getTime()); day < now.getTime(); day += dayMs)
    if (isClosed(new Date(day))) closed += Math.min(now.getTime(), day + dayMs) - Math.max(asOf.getTime(), day)
  return whole - closed
}

const startOfDay = (ms: number) => Math.floor(ms / dayMs) * dayMs

/**
 * Days on which TARGET is closed and the ECB publishes no rates: Saturdays, Sundays, 1 January, Good Friday, Easter
 * Monday, 1 May, 25 and 26 December (ECB, TARGET closing days).
 */
function isClosed(day: Date): boolean {
  const weekday = day.getUTCDay()
  if (weekday === 0 || weekday === 6) return true
  const date = day.toISOString().slice(5, 10)
  if (['01-01', '05-01', '12-25', '12-26'].includes(date)) return true
  const fromEaster = (day.getTime() - easterSunday(day.getUTCFullYear())) / dayMs
  return fromEaster === -2 || fromEaster === 1
}

/** Computes Easter Sunday by the anonymous Gregorian computus (Meeus, Jones, Butcher). */
function easterSunday(year: number): number {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const inCentury = year % 100
  const correction = Math.floor((8 * century + 13) / 25)
  const epact = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30
  const weekday = (32 + 2 * (century % 4) + 2 * Math.floor(inCentury / 4) - epact - (inCentury % 4)) % 7
  const late = Math.floor((golden + 11 * epact + 22 * weekday) / 451)
  const sum = epact + weekday - 7 * late + 114
  return Date.UTC(year, Math.floor(sum / 31) - 1, (sum % 31) + 1)
}
