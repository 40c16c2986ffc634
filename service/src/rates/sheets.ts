/** Writes sheets, each after the newest one. The caller holds the lock of all sheets. */
import { Refusal } from '../api/index.ts'
import { after, type Currency, dayMs, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { Quotes, RateSheet } from './port.ts'
import type { Rate } from './rate.ts'
import { implausibleIn, quotesByHand, readQuotes, writeQuotes } from './rules.ts'
import { sandboxSourceId } from './sandbox-walk.ts'
import * as store from './store.ts'

export type Sheet = RateSheet & {
  readonly id: string
  readonly source: string
  /** Quotes that a simulation has set. */
  readonly byHand: Quotes
  readonly stopped: boolean
}

/** Change that a simulation makes to the rates of the sandbox. */
export type ByHand = {
  /** Null: the pair follows the source again. */
  readonly pair?: { readonly base: Currency; readonly quote: Currency; readonly rate: Rate | null }
  readonly stopped?: boolean
}

/** Sheets of the sandbox come every few seconds, and can be computed again. */
const sandboxSheetsKeptMs = 7 * dayMs

/** Reads the row of the newest sheet, which is the same one many times, once. */
export function createSheetReader(): (row: store.SheetRow) => Sheet {
  let last: Sheet | undefined
  return ({ id, source, asOf, quotes, byHand, stopped }) => {
    if (last?.id !== id) last = { id, source, asOf, quotes: readQuotes(quotes), byHand: readQuotes(byHand), stopped }
    return last
  }
}

/** Reports whether a sheet of the source has newer rates than the newest one. A source that lags has none. */
export function isNews({ asOf, quotes }: RateSheet, newest: Sheet): boolean {
  if (newest.stopped || asOf < newest.asOf) return false
  return (
    asOf > newest.asOf ||
    writeQuotes({ ...quotes, ...newest.byHand }) !== writeQuotes({ ...newest.quotes, ...newest.byHand })
  )
}

type Keeping = { readonly source: string; readonly now: Date }

/** Stores a sheet of the source, with the rates set by hand. Throws an Error if it is implausible. */
export async function keepSheet(
  tx: Tx,
  { source, now }: Keeping,
  sheet: RateSheet,
  newest: Sheet | undefined,
  jumpMaxPercent: number,
): Promise<void> {
  if (newest !== undefined && !isNews(sheet, newest)) return
  const byHand = newest?.byHand ?? {}
  const quotes = { ...sheet.quotes, ...byHand }
  const jumped = newest && implausibleIn(quotes, newest.quotes, jumpMaxPercent)
  if (jumped !== undefined) throw new Error(`no sheet of rates: ${jumped} has moved by more than ${jumpMaxPercent} %`)
  if (source === sandboxSourceId) await store.deleteSheets(tx, source, after(now, -sandboxSheetsKeptMs))
  await insert(tx, { id: newId(), source, asOf: sheet.asOf, quotes, byHand, stopped: false }, now)
}

/** Refuses: currency_not_supported. `walk`: the present rates of the source. */
export async function setByHand(
  tx: Tx,
  { source, now }: Keeping,
  walk: RateSheet,
  newest: Sheet | undefined,
  { pair, stopped }: ByHand,
): Promise<Sheet> {
  const before = newest?.byHand ?? {}
  const byHand = pair ? { ...before, ...handOf(pair, { ...walk.quotes, ...before }) } : before
  const set = Object.fromEntries(Object.entries(byHand).filter(([, rate]) => rate !== null)) as Quotes
  const sheet: Sheet = {
    id: newId(),
    source,
    // After the newest one, even if that was made in the same millisecond.
    asOf: newest && newest.asOf >= now ? after(newest.asOf, 1) : now,
    quotes: { ...walk.quotes, ...set },
    byHand: set,
    stopped: stopped ?? newest?.stopped ?? false,
  }
  await insert(tx, sheet, now)
  return sheet
}

/** Null: no longer set by hand. */
function handOf(
  { base, quote, rate }: NonNullable<ByHand['pair']>,
  quotes: Quotes,
): Readonly<Partial<Record<Currency, Rate | null>>> {
  if (rate === null) return { [base]: null, [quote]: null }
  const made = quotesByHand(quotes, base, quote, rate)
  if (made === undefined) throw new Refusal('currency_not_supported', `There is no rate between ${base} and ${quote}.`)
  return made
}

function insert(tx: Tx, sheet: Sheet, readAt: Date): Promise<void> {
  const { quotes, byHand, ...rest } = sheet
  return store.insertSheet(tx, { ...rest, readAt, quotes: writeQuotes(quotes), byHand: writeQuotes(byHand) })
}
