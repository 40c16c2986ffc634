/**
 * The owner of a case, who looks into it, and notes. An owner has no part in the decision, which two persons make. Each step locks the
 * case and is in its history.
 */
import type { Clock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { type CaseKey, decide, lockUndecided } from './decisions.ts'
import { Overtaken } from './overtaken.ts'
import type { CaseRow } from './store.ts'

/** An account of staff. */
type Person = { readonly id: string; readonly fullName: string }

export type Assigning = CaseKey & {
  /** The person who assigns it. */
  readonly by: Person
  /** The new owner. Null: the case has none again. */
  readonly owner: Person | null
  /** The owner that the person saw. Null: none. Of two at once the second one saw an owner that the case no longer has. */
  readonly seen: string | null
}

export type CaseOwners = {
  /** Gives a case to a person, or takes its owner away. Refuses: not_found, validation_failed (decided, or another owner than the one seen). */
  readonly assign: (tx: Tx, assigning: Assigning) => Promise<CaseRow>
  /** Adds a note to the history of a case that is open. Refuses: not_found, validation_failed (decided). */
  readonly remark: (tx: Tx, remark: CaseKey & { readonly by: Person; readonly note: string }) => Promise<CaseRow>
}

export const createCaseOwners = (deps: { readonly clock: Clock }): CaseOwners => ({
  assign: async (tx, { partnerId, id, by, owner, seen }) => {
    const row = await lockUndecided(tx, partnerId, id)
    if (row.ownerId !== seen) throw ownedMeanwhile('the case', row)
    if (row.ownerId === (owner?.id ?? null)) return row
    const ownedSince = owner && deps.clock.now()
    const changed = { ...row, ownerId: owner?.id ?? null, ownerName: owner?.fullName ?? null, ownedSince }
    const kind = owner === null ? 'handed_back' : owner.id === by.id ? 'taken' : 'given'
    const note = kind === 'given' ? `to ${owner?.fullName}` : ''
    return decide(deps, tx, row, changed, { kind, actor: by.fullName, note })
  },
  remark: async (tx, { partnerId, id, by, note }) => {
    const row = await lockUndecided(tx, partnerId, id)
    return decide(deps, tx, row, row, { kind: 'remarked', actor: by.fullName, note })
  },
})

/** The refusal of an assignment whose author saw another owner. `what`: `the case`, or `it`. */
export const ownedMeanwhile = (
  what: string,
  { ownerName: who, ownedSince: at }: Pick<CaseRow, 'ownerName' | 'ownedSince'>,
): Overtaken =>
  who === null
    ? new Overtaken(
        'handedBack',
        `${what.replace(/^./, (first) => first.toUpperCase())} was handed back meanwhile, and has no owner.`,
        {},
      )
    : new Overtaken('owned', `${who} has ${what} since ${at?.toISOString() ?? ''}.`, { who, at })
