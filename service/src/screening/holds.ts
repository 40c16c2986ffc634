/** Whether payments to and of customers and beneficiaries may go on. */
import { partnerKey } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import type { SubjectKey } from './rules.ts'
import { statesOf, type SubjectState } from './store-holds.ts'
import { currentGeneration } from './store-lists.ts'

/**
 * `unscreened`: the present names were not compared with a list yet. `open`: a person decides about a hit. `confirmed`: it is the
 * listed one.
 */
export type Hold = 'unscreened' | 'open' | 'confirmed'

/** The holds by key; a subject without one lets payments go on. Nothing is held as long as no list was loaded. */
export type HoldsOf = (keys: readonly SubjectKey[]) => Promise<(key: SubjectKey) => Hold | undefined>

const keyOf = ({ partnerId, kind, id }: SubjectKey): string => partnerKey(partnerId, `${kind} ${id}`)

export const createHoldsOf =
  (db: Database): HoldsOf =>
  async (keys) => {
    if (keys.length === 0 || (await currentGeneration(db)) === 0) return () => undefined
    const groups = db.sharded ? [...Map.groupBy(keys, ({ partnerId }) => partnerId).values()] : [keys]
    const found = (await Promise.all(groups.map((group) => statesOf(db, group)))).flat()
    const states = new Map(found.map((state) => [keyOf(state), holdOf(state)]))
    // Written before there were lists, and not swept yet.
    return (key) => (states.has(keyOf(key)) ? states.get(keyOf(key)) : 'unscreened')
  }

function holdOf({ isConfirmed, isOpen, isScreened }: SubjectState): Hold | undefined {
  if (isConfirmed) return 'confirmed'
  if (isOpen) return 'open'
  return isScreened ? undefined : 'unscreened'
}
