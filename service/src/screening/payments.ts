/**
 * Payouts that are compared themselves: their texts name a listed vessel, aircraft, person or organisation, or they have no beneficiary
 * whose country the rules could be compared with. Such a payout is a subject of its own, and waits until the worker has compared it with the newest lists.
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
  /** Texts that may name anybody. */
  readonly texts: readonly (string | null)[]
  /** The name of a payee who is compared by itself: it may be that of a vessel. */
  readonly payee: string | null
  /** The countries of its payee, unless a beneficiary has them. */
  readonly countries: readonly string[]
}

/** The parties that payments are, in their order; undefined: nothing in it is compared. Most payments cost no statement. */
export type PartiesOfPayments = (payments: readonly ScreenedPayment[]) => Promise<readonly (HeldParty | undefined)[]>

export const createPartiesOfPayments = (deps: {
  readonly db: Database
  readonly clock: Clock
  readonly lists: Pick<Lists, 'recent'>
}): PartiesOfPayments => {
  const { db, clock, lists } = deps
  return async (payments) => {
    const asked = payments.map((payment) => ({
      ...payment,
      texts: payment.texts.filter((text) => text !== null && text.trim() !== ''),
      crafts: craftText([...payment.texts, payment.payee]),
    }))
    const isSilent = ({ texts, crafts, countries }: (typeof asked)[number]): boolean =>
      texts.length === 0 && crafts === null && countries.length === 0
    if (asked.every(isSilent)) return asked.map(() => undefined)
    const snapshot = await lists.recent()
    if (snapshot === undefined) return asked.map(() => undefined)
    const isFound = ({ texts, crafts, countries }: (typeof asked)[number]): boolean =>
      (crafts !== null && snapshot.craftsIn(crafts).length > 0) ||
      texts.some((text) => text !== null && snapshot.namesIn(text).length > 0) ||
      countries.some((country) => snapshot.countryEntry(countryEntryId(sideOf('payout'), country)) !== undefined)
    const parties = asked.map((payment): HeldParty | undefined => {
      const { partnerId, id } = payment
      if (isSilent(payment)) return undefined
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
