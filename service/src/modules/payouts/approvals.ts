/** Approvals: the operator's rules, and the verbs with which a second person decides. */
import { type Caller, notFound, Refusal } from '../../api/index.ts'
import { type Clock, isSamePerson, newId } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Applied } from '../../lifecycle/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { PayoutTrigger } from './advance.ts'
import type { ApprovalRule } from '../payout-controls/approval-rules.ts'
import { changeControls } from '../payout-controls/controls.ts'
import type { PayoutRow } from './store.ts'
import * as store from './store-approvals.ts'

export type ApprovalRules = {
  /** Sets the rule of a currency, or replaces it. Payouts that wait keep the time that they have. */
  readonly set: (tx: Tx, rule: Omit<ApprovalRule, 'id'>) => Promise<ApprovalRule>
  readonly list: (tx: Tx, partnerId: string) => Promise<readonly ApprovalRule[]>
  /** Payouts that wait go on waiting. Refuses: not_found. */
  readonly remove: (tx: Tx, partnerId: string, id: string) => Promise<ApprovalRule>
}

export const createApprovalRules = ({
  clock,
  ledger,
}: {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'setControlled'>
}): ApprovalRules => ({
  set: (tx, rule) =>
    changeControls(tx, ledger, rule, () => store.setApprovalRule(tx, { ...rule, id: newId() }, clock.now())),
  list: store.listApprovalRules,
  remove: async (tx, partnerId, id) => {
    const rule = (await store.listApprovalRules(tx, partnerId)).find((each) => each.id === id)
    if (rule === undefined) throw notFound('approval rule')
    return changeControls(tx, ledger, rule, async () => {
      if ((await store.removeApprovalRule(tx, partnerId, id)) === 0) throw notFound('approval rule')
      return rule
    })
  },
})

export type Approvals = {
  /**
   * Lets a payout that waits be sent. A repetition by the same caller answers the payout. Refuses: not_found,
   * approver_is_creator, payout_not_awaiting_approval.
   */
  readonly approve: (caller: Caller, id: string) => Promise<PayoutRow>
  /** Cancels a payout that waits. Repetition and refusals as of `approve`. */
  readonly reject: (caller: Caller, id: string, reason: string) => Promise<PayoutRow>
  /** What became of the approvals of these payouts of the partner, by their ids. A payout that needs none has none. */
  readonly decisionsOf: (partnerId: string, payouts: readonly PayoutRow[]) => Promise<ReadonlyMap<string, MadeDecision>>
  /** Cancels payouts whose time for an approval has ended. Returns how many. */
  readonly lapseStep: () => Promise<number>
}

export type MadeDecision = store.MadeDecision

type ApprovalsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly get: (partnerId: string, id: string) => Promise<PayoutRow>
  readonly advance: (trigger: PayoutTrigger) => Promise<Applied>
}

/** A step ends soon, so that a stop does not wait for it. */
const lapsedPerStepMax = 100

export function createApprovals({ db, clock, get, advance }: ApprovalsDeps): Approvals {
  const decide = async (caller: Caller, id: string, decided: 'approved' | 'declined', reason: string | null) => {
    const { partnerId, serviceAccountId, name } = caller
    await get(partnerId, id)
    const approval = await store.approvalById(db, partnerId, id)
    if (approval?.decision === null) requireSecondPerson(caller, approval)
    const by = { id: serviceAccountId, name }
    const isMoved =
      approval !== undefined && (await advance({ partnerId, payoutId: id, kind: decided, by, reason })) === true
    const payout = await get(partnerId, id)
    if (isMoved) return payout
    const made = await store.approvalById(db, partnerId, id)
    const decision = decided === 'approved' ? 'approved' : 'rejected'
    if (made?.decision === decision && made.decidedBy === serviceAccountId) return payout
    throw new Refusal('payout_not_awaiting_approval', whyNot(payout, made))
  }
  return {
    approve: (caller, id) => decide(caller, id, 'approved', null),
    reject: (caller, id, reason) => decide(caller, id, 'declined', reason),
    decisionsOf: async (partnerId, payouts) => {
      const ids = payouts.filter(({ approvalExpiresAt }) => approvalExpiresAt !== null).map((each) => each.id)
      const rows = ids.length === 0 ? [] : await store.decisionsOf(db, partnerId, ids)
      return new Map(rows.map((row) => [row.payoutId, row]))
    },
    lapseStep: async () => {
      const lapsed = await store.lapsedApprovals(db, clock.now(), lapsedPerStepMax)
      const moved = await Promise.all(
        lapsed.map(({ partnerId, id }) => advance({ partnerId, payoutId: id, kind: 'lapsed' })),
      )
      return moved.filter((applied) => applied === true).length
    },
  }
}

/** A new credential of the creator has another id and the same name, and a second account for the same person one that looks the same. */
function requireSecondPerson(caller: Caller, { requestedBy, requestedName }: store.Approval): void {
  if (caller.serviceAccountId !== requestedBy && !isSamePerson(caller.name, requestedName)) return
  throw new Refusal(
    'approver_is_creator',
    `The payout was created by ${requestedName}. Another service account approves it.`,
  )
}

function whyNot({ status }: PayoutRow, approval: store.Approval | undefined): string {
  if (approval === undefined) return `The payout is ${status}, and needs no approval.`
  if (approval.decision === null) return `The time for an approval ended at ${approval.expiresAt.toISOString()}.`
  return `The payout is ${status}: it was ${approval.decision} before.`
}
