/**
 * Reads the transfers of a period for reports, a few thousand with each short statement. No transaction stays open,
 * because one that is open for minutes would stop the checkpoints and the vacuuming of tables. Transfers never change:
 * the pages agree if the period ended before the oldest open transaction began.
 */
import { firstIdOf, idAfter, type Minor } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import * as store from './store-history.ts'

export type PeriodLine = {
  /** Id of the transfer. Its first 48 bits are its time. */
  readonly id: string
  readonly posted: boolean
  /** Change of the account's posted sum. */
  readonly amount: Minor
  readonly counterAccountId: string
  readonly partyId: string
  readonly reference: string
}
export type LineFilter = store.LineFilter
type Sums = store.PeriodSums
export type AccountSums = store.AccountPeriodSums
export type Period = { readonly from: Date; readonly to: Date }

/** Page of a period. `end`: the moment up to which the period is read. */
export type PeriodPage<T> = { readonly content: T; readonly end: string }

export type PeriodReader = {
  /** Reads the lines of an account, oldest first. While the caller works with a page, the next one is read. */
  readonly linesOfPeriod: (
    tx: Tx,
    filter: LineFilter,
    period: Period,
  ) => AsyncGenerator<PeriodPage<readonly PeriodLine[]>>
  readonly sumOfPeriod: (tx: Tx, filter: LineFilter, period: Period) => Promise<Sums>
  /** Sums the movements on each account of a partner. */
  readonly sumsOfPeriod: (tx: Tx, partnerId: string, period: Period) => Promise<readonly AccountSums[]>
}

/** A page is formatted in about 5 ms, so that other requests of the process do not wait longer. */
const linesPerPartMax = 4_000
/** Size of a page of which only sums leave the database. It is read in about 20 ms. */
const summedPerPartMax = 50_000
/** Looking up 100,000 keys takes about 15 ms. */
const pagesPerLookMax = 25
/** Each page holds a connection while it is read. */
const pagesAheadMax = 2

const idLength = 36
const chars = { sign: idLength, counter: idLength + 1, kind: idLength * 2 + 1 }

function unpack(text: string): readonly PeriodLine[] {
  if (text === '') return []
  const lines: PeriodLine[] = []
  for (const line of text.split('\u001e')) {
    const amountAt = line.indexOf('\u001f', chars.kind) + 1
    const partyAt = line.indexOf('\u001f', amountAt) + 1
    const amount = BigInt(line.slice(amountAt, partyAt - 1))
    lines.push({
      id: line.slice(0, idLength),
      posted: line.charAt(chars.kind) === 'p',
      amount: line.charAt(chars.sign) === '-' ? -amount : amount,
      counterAccountId: line.slice(chars.counter, chars.kind),
      partyId: line.slice(partyAt, partyAt + idLength),
      reference: line.slice(partyAt + idLength + 1),
    })
  }
  return lines
}

const rangeOf = ({ from, to }: Period): store.IdRange => ({ after: firstIdOf(from), end: firstIdOf(to) })

/** Computes the id ranges of the pages. The primary key gives the ends of many pages with one look-up. */
async function* rangesOf(
  tx: Tx,
  partnerId: string,
  { after, end }: store.IdRange,
  perPart: number,
): AsyncGenerator<store.IdRange> {
  for (let start = after; ;) {
    const ends = await store.pageEnds(tx, partnerId, { after: start, end }, perPart, pagesPerLookMax)
    for (const last of ends) {
      yield { after: start, end: idAfter(last, 1) }
      start = last
    }
    if (ends.length === pagesPerLookMax) continue
    yield { after: start, end }
    return
  }
}

/** Reads two pages ahead, so that the database works while the caller does. */
async function* parts<T>(
  tx: Tx,
  partnerId: string,
  range: store.IdRange,
  perPart: number,
  read: (part: store.IdRange) => Promise<T>,
): AsyncGenerator<PeriodPage<T>> {
  const ahead: { readonly end: string; readonly content: Promise<T> }[] = []
  for await (const part of rangesOf(tx, partnerId, range, perPart)) {
    const content = read(part)
    // The caller may stop before it awaits this page.
    content.catch(() => undefined)
    ahead.push({ end: part.end, content })
    const first = ahead.length > pagesAheadMax ? ahead.shift() : undefined
    if (first) yield { end: first.end, content: await first.content }
  }
  for (const { end, content } of ahead) yield { end, content: await content }
}

export const periodReader: PeriodReader = {
  linesOfPeriod: async function* linesOfPeriod(tx, filter, period) {
    const read = (part: store.IdRange) => store.readLinesAsText(tx, filter, part)
    for await (const { content, end } of parts(tx, filter.partnerId, rangeOf(period), linesPerPartMax, read))
      yield { content: unpack(content), end }
  },
  sumOfPeriod: async (tx, filter, period) => {
    let total: Sums = { lines: 0n, creditLines: 0n, credits: 0n, debits: 0n }
    const read = (part: store.IdRange) => store.sumLines(tx, filter, part)
    for await (const { content } of parts(tx, filter.partnerId, rangeOf(period), summedPerPartMax, read))
      total = addSums(total, content)
    return total
  },
  sumsOfPeriod: async (tx, partnerId, period) => {
    const totals = new Map<string, Sums>()
    const read = (part: store.IdRange) => store.sumsByAccount(tx, partnerId, part)
    for await (const { content } of parts(tx, partnerId, rangeOf(period), summedPerPartMax, read))
      for (const { accountId, ...sums } of content) totals.set(accountId, addSums(totals.get(accountId), sums))
    return [...totals].map(([accountId, sums]) => ({ accountId, ...sums }))
  },
}

const addSums = (one: Sums | undefined, other: Sums): Sums => ({
  lines: (one?.lines ?? 0n) + other.lines,
  creditLines: (one?.creditLines ?? 0n) + other.creditLines,
  credits: (one?.credits ?? 0n) + other.credits,
  debits: (one?.debits ?? 0n) + other.debits,
})
