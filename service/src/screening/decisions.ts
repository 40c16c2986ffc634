/**
 * Decisions about hits: `clear` says that it is another person, `confirm` that it is the listed one. Every step locks
 * the hit, so that of two concurrent decisions one counts and the other is refused; and each leaves a row.
 */
import { Refusal } from '../api/index.ts'
import { type Clock, type Decider, isNoName, type NotTwo } from '../kernel/index.ts'
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

export type HitDecisionsDeps = {
  readonly clock: Clock
  /** Judges who proposed and who decides, as they stand now. */
  readonly judgeTwo: (tx: Tx, author: Decider, approver: Decider) => Promise<NotTwo | undefined>
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const createDecide =
  ({ clock, judgeTwo }: HitDecisionsDeps) =>
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
    const { proposedBy } = row
    const not =
      needsTwoPersons(row) && isProposed(row, outcome, now) && proposedBy !== null
        ? await judgeTwo(tx, { name: proposedBy }, { name: staff })
        : undefined
    // Who proposed it and may no longer decide has proposed nothing: this person proposes it again.
    if (needsTwoPersons(row) && (!isProposed(row, outcome, now) || not?.who === 'author')) {
      const proposed = { ...row, proposal: outcome, proposedBy: staff, proposedAt: now }
      await store.updateHit(tx, proposed)
      await store.appendDecision(tx, { ...decision, kind: 'proposed' })
      return proposed
    }
    if (not !== undefined) throw refuse(`${not.why} Hits of ${twoPersonsScoreMin} or more need two persons.`)
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
