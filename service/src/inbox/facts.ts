/**
 * The queue of facts. The transaction of a change adds the facts that people are notified of, so that they are notified
 * of exactly the committed changes. A change that concerns no person, such as a payout without problems, adds no fact.
 */
import { type Clock, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { FactType } from './kinds.ts'
import * as store from './store.ts'

type NewFact = {
  readonly partnerId: string
  readonly type: FactType
  /** The id of the subject, such as a payout or a case. */
  readonly subject: string
  /** People are notified once of the facts with one occasion. Default: the subject. */
  readonly occasion?: string
  /** Values for the text, without names of customers and free text, which are read when a person opens the entry. */
  readonly facts?: store.StoredFacts
  /** Default: now. */
  readonly dueAt?: Date
}

export type FactQueue = {
  /** Adds facts in the caller's transaction. Sent with the next statement or with the commit. */
  readonly append: (tx: Tx, facts: readonly NewFact[]) => void
}

export const createFactQueue = ({ clock }: { readonly clock: Clock }): FactQueue => ({
  append: (tx, facts) => {
    if (facts.length === 0) return
    const now = clock.now()
    store.insertFacts(
      tx,
      facts.map(({ subject, occasion = subject, facts: said = {}, dueAt = now, ...fact }) => ({
        ...{ ...fact, id: newId(), subject, occasion, facts: JSON.stringify(said), occurredAt: now, dueAt },
      })),
    )
  },
})
