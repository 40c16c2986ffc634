/** Accepts many payouts in one transaction, or none of them. */
import { Refusal } from '../../api/index.ts'
import { type Database, sqlState, stateOf } from '../../postgres/index.ts'
import type { LookedUp, PayoutCall, Payouts } from '../payouts/index.ts'
import type { SubmitAll } from './work.ts'

/** Rolls the transaction back. */
class NotAll extends Error {
  override readonly name = 'NotAll'
  readonly refusals: ReadonlyMap<PayoutCall, Refusal>
  constructor(refusals: ReadonlyMap<PayoutCall, Refusal>) {
    super('a payout of the bulk is refused')
    this.refusals = refusals
  }
}

/** Rolls the transaction back, so that it reads again. */
class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** Another transaction took a key or an amount that this one had read: it reads again. */
const isOvertaken = (error: unknown): boolean =>
  error instanceof Overtaken ||
  [sqlState.uniqueViolation, sqlState.checkViolation].some((state) => state === stateOf(error))
const attemptsMax = 5

type Deps = { readonly db: Database; readonly payouts: Pick<Payouts, 'acceptance'> }

export function createSubmitAll({ db, payouts: accepting }: Deps): SubmitAll {
  const { read, work } = accepting.acceptance()
  const attempt: SubmitAll = async (calls, made) => {
    try {
      await db.transaction<void, LookedUp>(
        async (tx, found) => {
          const outcomes = await work(tx, calls, found, undefined)
          const refusals = new Map<PayoutCall, Refusal>()
          const payouts = outcomes.flatMap((outcome, index) => {
            const call = calls[index]
            if (outcome instanceof Refusal && call !== undefined) refusals.set(call, outcome)
            return outcome instanceof Refusal || outcome === 'resubmit' ? [] : [outcome.payout]
          })
          if (refusals.size > 0) throw new NotAll(refusals)
          // Another process accepted the key of a call while this one waited for the counter of a limit.
          if (outcomes.includes('resubmit')) throw new Overtaken('a key was accepted meanwhile')
          await made(tx, payouts)
        },
        { before: (tx) => read(tx, calls) },
      )
      return undefined
    } catch (error) {
      if (error instanceof NotAll) return error.refusals
      throw error
    }
  }
  return async (calls, made) => {
    for (let attempts = 1; ; attempts += 1)
      try {
        return await attempt(calls, made)
      } catch (error) {
        if (!isOvertaken(error) || attempts === attemptsMax) throw error
      }
  }
}
