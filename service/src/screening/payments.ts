/**
 * Payouts that are compared themselves: their texts name a listed vessel or aircraft, or they have no beneficiary whose country the rules
 * could be compared with. Such a payout is a subject of its own, and waits until the worker has compared it with the newest lists.
 */
import type { Clock } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { countryEntryId, sideOf } from './countries.ts'
import type { Lists } from './lists.ts'
import type { HeldParty } from './rules.ts'
import { requestOutdated } from './store.ts'
import { craftText } from './vessels.ts'

export type ScreenedPayment = {
  readonly partnerId: string
  readonly id: string
  readonly texts: readonly (string | null)[]
  /** The countries of its payee, unless a beneficiary has them. */
  readonly countries: readonly string[]
}

/** The parties that payments are, in their order; undefined: nothing in it is compared. Most payments cost no statement. */
export type PartiesOfPayments = (payments: readonly ScreenedPayment[]) => Promise<readonly (HeldParty | undefined)[]>

export const createPartiesOfPayments = (deps: {
  readonly db: Database
  readonly clock: Clock
  readonly lists: Pick<Lists, 'snapshot'>
}): PartiesOfPayments => {
  const { db, clock, lists } = deps
  return async (payments) => {
    const asked = payments.map((payment) => ({ ...payment, text: craftText(payment.texts) }))
    if (asked.every(({ text, countries }) => text === null && countries.length === 0)) return asked.map(() => undefined)
    const snapshot = await lists.snapshot()
    if (snapshot === undefined) return asked.map(() => undefined)
    const isFound = ({ text, countries }: (typeof asked)[number]): boolean =>
      (text !== null && snapshot.craftsIn(text).length > 0) ||
      countries.some((country) => snapshot.countryEntry(countryEntryId(sideOf('payout'), country)) !== undefined)
    const parties = asked.map((payment): HeldParty | undefined => {
      const { partnerId, id, text, countries } = payment
      if (text === null && countries.length === 0) return undefined
      // Without a match an earlier hit holds still: only persons end it.
      return { partnerId, kind: 'payout', id, ...(isFound(payment) ? { comparedWith: snapshot.generation } : {}) }
    })
    const found = parties
      .filter((party) => party !== undefined)
      .filter(({ comparedWith }) => comparedWith !== undefined)
    for (const [partnerId, group] of Map.groupBy(found, (party) => party.partnerId)) {
      const ids = group.map(({ id }) => id)
      await requestOutdated(db, { partnerId, kind: 'payout', ids }, snapshot.generation, clock.now())
    }
    return parties
  }
}
