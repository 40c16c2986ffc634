/** Rules that every table of transitions must hold: the money and the transaction of a payment end together, and once. */
import assert from 'node:assert/strict'
import { type Lifecycle, type Transition, findTransition } from '../../service/src/lifecycle/index.ts'

/** Invariants of each payment in a status, on any path. */
type State = { readonly reserve: 'none' | 'held' | 'posted' | 'released'; readonly ended: boolean }

const before: State = { reserve: 'none', ended: false }

const transitionsOf = ({ transitions }: Lifecycle): readonly (readonly [name: string, row: Transition])[] =>
  Object.entries(transitions)

function after({ reserve, ended }: State, row: Transition, name: string): State {
  const allowed: Readonly<Record<NonNullable<Transition['ledger']>, boolean>> = {
    reserve: reserve === 'none' && row.from.length === 0,
    post: reserve === 'held',
    release: reserve === 'held',
    credit: reserve === 'none' && !ended,
    refund: reserve === 'posted' && ended,
  }
  const { ledger } = row
  if (ledger !== undefined) assert.ok(allowed[ledger], `${name}: ${ledger}, while the reserve is ${reserve}`)
  if (row.concludes !== undefined) assert.ok(!ended, `${name}: a transaction ends once`)
  if (ended && row.from.some((status) => status !== row.to))
    assert.equal(ledger, 'refund', `${name}: only a refund follows the end`)
  const held = { reserve: 'held', post: 'posted', release: 'released', refund: 'released', credit: 'none' } as const
  return { reserve: ledger === undefined ? reserve : held[ledger], ended: ended || row.concludes !== undefined }
}

/** Walks every path from the beginning. Answers the states of each status. */
export function checkSoundness(lifecycle: Lifecycle): ReadonlyMap<string, readonly State[]> {
  const states = new Map<string, State[]>()
  const visit = (name: string, row: Transition, from: State) => {
    const state = after(from, row, name)
    assert.equal(state.reserve === 'held' && state.ended, false, `${name}: the reserve ends with the transaction`)
    const known = states.get(row.to) ?? []
    if (known.some((each) => each.reserve === state.reserve && each.ended === state.ended)) return
    states.set(row.to, [...known, state])
    for (const [next, follower] of transitionsOf(lifecycle))
      if (follower.from.includes(row.to)) visit(next, follower, state)
  }
  for (const [name, row] of transitionsOf(lifecycle)) if (row.from.length === 0) visit(name, row, before)
  for (const [name, row] of transitionsOf(lifecycle)) {
    for (const status of [...row.from, row.to]) {
      assert.ok(lifecycle.statuses.includes(status), `${name}: ${status} is no status`)
      assert.ok(states.has(status), `${name}: no path leads to ${status}`)
    }
    assert.ok(row.by.length > 0 && row.on.length + (row.impliedBy?.length ?? 0) > 0, `${name} has a cause`)
    checkImplied(lifecycle, name, row)
  }
  return states
}

/** A trigger that implies a transition is repeated afterwards, which comes to an end. */
function checkImplied(lifecycle: Lifecycle, name: string, row: Transition): void {
  for (const trigger of row.impliedBy ?? []) {
    const next = findTransition(lifecycle, row.to, trigger)
    assert.ok(next !== undefined, `${name}: ${trigger} makes a transition of its own afterwards`)
    assert.notEqual(next.transition, row, `${name}: ${trigger} comes to an end`)
  }
}
