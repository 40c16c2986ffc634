/**
 * Decisions about hits: `clear` says that it is another person, `confirm` that it is the listed one. Every step locks
 * the hit, so that of two concurrent decisions one counts and the other is refused; and each leaves a row.
 */
import { Refusal } from '../api/index.ts'
import { type Clock, isNoName, isSamePerson } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { hasExpired, needsTwoPersons, type Outcome, statusAfter, twoPersonsScoreMin } from './rules.ts'
import { comparedWith } from './store.ts'
import * as store from './store-hits.ts'

export type Deciding = {
  readonly partnerId: string
  readonly id: string
  readonly outcome: Outcome
  readonly staff: string
  readonly note: string
}

type DecisionsDeps = { readonly clock: Clock }

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const createDecide =
  ({ clock }: DecisionsDeps) =>
  async (tx: Tx, { partnerId, id, outcome, staff, note }: Deciding): Promise<store.HitRow> => {
    if (isNoName(staff)) throw refuse('State who decides it.')
    if (note.trim() === '') throw refuse('A note is required.')
    const row = await store.lockHit(tx, partnerId, id)
    if (row === undefined) throw new Refusal('not_found', 'No such hit.')
    refuseEnded(row, outcome)
    const now = clock.now()
    // The list as the person saw it: the worker compares a newer list, and ends the hit if the entry has changed.
    const generation = Math.max(row.generation, (await comparedWith(tx, row)) ?? 0)
    const decision = { partnerId, hitId: id, outcome, actor: staff, note, generation, decidedAt: now }
    if (needsTwoPersons(row) && !isProposed(row, outcome, now)) {
      const proposed = { ...row, proposal: outcome, proposedBy: staff, proposedAt: now }
      await store.updateHit(tx, proposed)
      await store.appendDecision(tx, { ...decision, kind: 'proposed' })
      return proposed
    }
    const { proposedBy } = row
    if (needsTwoPersons(row) && proposedBy !== null && isSamePerson(proposedBy, staff))
      throw refuse(`${proposedBy} proposed it: another person decides. Hits of ${twoPersonsScoreMin} or more need two.`)
    const decidedBy = needsTwoPersons(row) && proposedBy !== null ? `${proposedBy}, approved by ${staff}` : staff
    const withoutProposal = { proposal: null, proposedBy: null, proposedAt: null }
    const decided = { ...row, ...withoutProposal, status: statusAfter[outcome], decidedAt: now, decidedBy }
    await store.updateHit(tx, decided)
    await store.appendDecision(tx, { ...decision, kind: 'decided' })
    return decided
  }

function refuseEnded({ endedAt, endReason, status, decidedBy }: store.HitRow, outcome: Outcome): void {
  if (endedAt !== null) throw refuse(`The hit has ended (${endReason}): look for the one that replaced it.`)
  if (status === statusAfter[outcome]) throw refuse(`The hit was ${status} by ${decidedBy}.`)
}

const isProposed = ({ proposal, proposedAt }: store.HitRow, outcome: Outcome, now: Date): boolean =>
  proposal === outcome && proposedAt !== null && !hasExpired(proposedAt, now)
