/** The balances of a partner at several moments, read from checkpoints and the transfers between them (README.md). */
import { type Currency, firstIdOf, type Minor, nilId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import * as store from './store.ts'
import * as stored from './store-closings.ts'
import type { IdRange } from './store-history.ts'

type Sums = { readonly posted: Minor; readonly reserved: Minor }

export type Closings = {
  readonly currency: Currency
  /** The sums before each moment, in the order of the moments. Zero before the balance existed. */
  readonly sums: readonly Sums[]
  /** The sums of the account row. */
  readonly now: Sums
}

export type ClosingBalances = {
  /**
   * The balances of a partner before each of some different moments, the first one first. To be read in one snapshot. Four statements, however many transfers the
   * partner has: the ranges do not overlap, so a transfer is read once at most, and each range ends within a stretch of 1,000 transfers
   * after its checkpoint or after the moment before.
   */
  readonly closingBalances: (tx: Tx, partnerId: string, moments: readonly Date[]) => Promise<readonly Closings[]>
}

type Step = {
  /** The end of a stretch whose checkpoints the sums begin with. Undefined: with the sums of the moment before. */
  readonly base: string | undefined
  readonly range: IdRange
}

/** Plans what is read for each moment. `boundaries`: the last end of a stretch before each. */
function stepsOf(ends: readonly string[], boundaries: ReadonlyMap<string, string>): readonly Step[] {
  return ends.map((end, index) => {
    const before = ends[index - 1]
    const boundary = boundaries.get(end) ?? nilId
    return before === undefined || boundary > before
      ? { base: boundary, range: { after: boundary, end } }
      : { base: undefined, range: { after: before, end } }
  })
}

const none: Sums = { posted: 0n, reserved: 0n }
const plus = (one: Sums, other: Sums): Sums => ({
  posted: one.posted + other.posted,
  reserved: one.reserved + other.reserved,
})

export const closingBalances: ClosingBalances = {
  closingBalances: async (tx, partnerId, moments) => {
    const accounts = await store.balances(tx, partnerId)
    const ids = accounts.map(({ id }) => id)
    const ends = moments.map(firstIdOf)
    const found = await stored.boundariesBefore(tx, partnerId, ends)
    const steps = stepsOf(ends, new Map(found.map(({ endId, position }) => [endId, position])))
    const positions = steps.flatMap(({ base }) => (base === undefined || base === nilId ? [] : [base]))
    const bases = await stored.checkpointsAt(tx, partnerId, ids, positions)
    const ranges = steps.map(({ range }) => range)
    const changes = await stored.changesIn(tx, partnerId, ids, ranges)
    const [baseOf, changeOf] = [
      new Map(bases.map((sum) => [`${sum.position} ${sum.accountId}`, sum])),
      new Map(changes.map((sum) => [`${sum.endId} ${sum.accountId}`, sum])),
    ]
    return accounts.map(({ id, currency, posted, reserved }) => {
      let last = none
      const sums = steps.map(({ base, range }) => {
        const start = base === undefined ? last : (baseOf.get(`${base} ${id}`) ?? none)
        last = plus(start, changeOf.get(`${range.end} ${id}`) ?? none)
        return last
      })
      return { currency, sums, now: { posted, reserved } }
    })
  },
}
