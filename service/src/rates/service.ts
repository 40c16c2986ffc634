/** The verbs of rates: a background loop reads the source into sheets, and everyone else reads the newest sheet. */
import { Refusal } from '../api/index.ts'
import type { Clock, Currency, Log, Minor } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { ageMs } from './age.ts'
import type { RateSource } from './port.ts'
import { createReading } from './reading.ts'
import { type ReferenceAmount, referenceAmount } from './rules.ts'
import { sandboxSourceId } from './sandbox-walk.ts'
import { type ByHand, createSheetReader, isNews, keepSheet, setByHand, type Sheet } from './sheets.ts'
import * as store from './store.ts'

type RatesAge = { readonly ageMs: number; readonly limitMs: number }

/** Computes amounts in a reference currency; by default that of the settings. Undefined: there is no rate of the last days. */
export type Converter = (
  money: { readonly amount: Minor; readonly currency: Currency },
  reference?: Currency,
) => ReferenceAmount | undefined

export type Rates = {
  /** The currency in which the operator counts over all currencies. */
  readonly referenceCurrency: Currency
  /** Reads the newest sheet with one statement. Judgements accept older sheets than quotes: REFERENCE_RATES_MAX_AGE_DAYS. */
  readonly converter: (tx: Tx) => Promise<Converter>
  /** The newest sheet, however old; undefined if there is none. */
  readonly newest: (tx: Tx) => Promise<Sheet | undefined>
  /** The newest sheet. Refuses: fx_rates_unavailable (there is none, it is too old, or a simulation has stopped them). */
  readonly current: (tx: Tx) => Promise<Sheet>
  /**
   * Reads the source once and keeps a newer sheet. Returns 0, because the next sheet comes later. A failure is logged.
   */
  readonly refreshStep: () => Promise<number>
  /** The time until the next `refreshStep`; undefined: there is no source. */
  readonly nextInMs: (() => number) | undefined
  /** Reads the first sheet of a sandbox before the first request. */
  readonly prepare: () => Promise<void>
  /** Sets rates of the sandbox, for every partner in it. Refuses: fx_rates_unavailable, currency_not_supported. */
  readonly setByHand: (change: ByHand) => Promise<Sheet>
}

export type RatesDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Null: none is configured. */
  readonly source: RateSource | null
  /** Undefined: by the source. */
  readonly maxAgeMs: number | undefined
  readonly jumpMaxPercent: number
  readonly reference: { readonly currency: Currency; readonly daysMax: number }
  /** The age of the newest sheet, after each read. */
  readonly observe?: ((age: RatesAge) => void) | undefined
}

export function createRates(deps: RatesDeps): Rates {
  const { clock, reference, source } = deps
  const rates = source === null ? withoutSource : createRatesOf(deps, source)
  return {
    ...rates,
    referenceCurrency: reference.currency,
    converter: async (tx) => {
      const sheet = await rates.newest(tx)
      return (money, currency = reference.currency) =>
        referenceAmount(sheet, money, currency, { now: clock.now(), daysMax: reference.daysMax })
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

function createRatesOf({ db, clock, log, observe, ...deps }: RatesDeps, source: RateSource): SourceRates {
  const limitMs = deps.maxAgeMs ?? source.maxAgeMs
  const read = createReading(source, clock)
  const toSheet = createSheetReader()
  const newest = async (tx: Tx) => {
    const row = await store.newestSheet(tx, source.id)
    return row && toSheet(row)
  }
  const newestLocked = async (tx: Tx) => {
    await store.lockSheets(tx)
    return newest(tx)
  }
  const keeping = () => ({ source: source.id, now: clock.now() })
  const ageOf = (asOf: Date) => ageMs(asOf, clock.now(), source.publishes)

  const refreshStep = async () => {
    const known = await newest(db)
    const asOf = await read()
      .then(async (sheet) => {
        if (known !== undefined && !isNews(sheet, known)) return known.asOf
        await db.transaction(async (tx) => keepSheet(tx, keeping(), sheet, await newestLocked(tx), deps.jumpMaxPercent))
        return sheet.asOf
      })
      .catch((error: unknown) => {
        log.warn({ err: error, source: source.id }, 'exchange rates could not be read')
        return known?.asOf
      })
    // Without a sheet: the age of the epoch.
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
      return db.transaction(async (tx) => setByHand(tx, keeping(), walk, await newestLocked(tx), change))
    },
  }
}
