/** Shows what waits besides cases: its owner and last note, its page and its runbook. */
import type { Assignment, ThingKey, WaitingThing } from '../../people/staff/index.ts'
import { thingName } from '../../people/staff/index.ts'

type Why = WaitingThing['why']

/** Things of one kind that the queue shows. A list of a thousand hits would hide all else. */
export const thingsPerReasonMax = 20

const runbooks: Readonly<Partial<Record<Why, string>>> = {
  hit: 'screening-hit',
  payoutHeld: 'screening-hit',
  depositHeld: 'screening-hit',
  payoutUnknown: 'stuck-payout',
  payoutStands: 'stuck-payout',
  depositStands: 'alerts/PaymentsStandStill',
  recallUnsent: 'alerts/PaymentsRecallUnsent',
  recallOverdue: 'recall-overdue',
  connectorFails: 'alerts/PaymentsBankUnreachable',
  poolLow: 'alerts/PaymentsIbanPoolLow',
}
/** Undefined: the page of the thing says what to do. */
export const runbookOfThing = (why: Why): string | undefined => runbooks[why]

/** The page of a thing, from the root of the desk. Hits and payouts have pages of their own. */
export function thingHref({ partnerId, kind, subject }: ThingKey): string {
  if (kind === 'hit') return `hits/${partnerId}/${subject}`
  if (kind === 'payout') return `payouts/${partnerId}/${subject}`
  return `waiting?${new URLSearchParams({ kind, partner: partnerId, id: subject }).toString()}`
}

export type Owner = { readonly id: string; readonly fullName: string }
export type OwnedThing = WaitingThing & { readonly owner: Owner | null; readonly lastNote: string | null }

/** The owner of an assignment. Null: none. */
export const ownerOf = (found: Assignment | undefined): Owner | null =>
  found === undefined || found.ownerId === null ? null : { id: found.ownerId, fullName: found.ownerName ?? '' }

export function withOwners(things: readonly WaitingThing[], assignments: readonly Assignment[]): readonly OwnedThing[] {
  const known = new Map(assignments.map((each) => [thingName(each), each]))
  return things.map((thing) => {
    const found = known.get(thingName(thing))
    return { ...thing, owner: ownerOf(found), lastNote: found?.lastNote ?? null }
  })
}

/** Sorts by age. A thing without one comes last. */
export const oldestFirst = <T extends { readonly since?: Date }>(things: readonly T[]): readonly T[] =>
  things.toSorted((a, b) => (a.since?.getTime() ?? Infinity) - (b.since?.getTime() ?? Infinity) || 0)

/** Takes at most 20 of each kind, in their order. */
export function someOfEach<T extends { readonly why: Why }>(things: readonly T[]): readonly T[] {
  const counts = new Map<Why, number>()
  return things.filter(({ why }) => {
    const count = (counts.get(why) ?? 0) + 1
    counts.set(why, count)
    return count <= thingsPerReasonMax
  })
}
