/**
 * The queue of facts: the transaction of a change adds what persons may be told of it, so that no committed change stays untold and no other one
 * is told. Nothing is written for a change that concerns no person, such as a payout that goes as usual.
 */
import { type Clock, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { FactType } from './kinds.ts'
import * as store from './store.ts'

type NewFact = {
  readonly partnerId: string
  readonly type: FactType
  /** Id of the thing. */
  readonly subject: string
  /** The same for what is told once. Default: the subject. */
  readonly occasion?: string
  /** No names of customers and no free text: these are read when a person reads them. */
  readonly facts?: store.Facts
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
