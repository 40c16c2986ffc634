/** Judges approvals by the daily maxima of their persons, and gives back what ends without a settlement. */
import type { Refusal } from '../../api/index.ts'
import { partnerKey } from '../../kernel/index.ts'
import type { Move } from '../../lifecycle/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { countApprovals } from '../payout-controls/index.ts'
import type { PayoutEvent } from './lifecycle.ts'
import type { PayoutRow } from './store.ts'
import { countedApprovals, keepCounted } from './store-approvals.ts'
import type { PayoutTrigger } from './triggers.ts'

export type PayoutMove = Move<PayoutRow, PayoutTrigger, PayoutEvent>

/** Reports whether a payout that a second person has approved ends without a settlement. */
const isReturned = ({ row, transition }: PayoutMove) =>
  transition.ledger === 'release' && row.approvalExpiresAt !== null && row.status !== 'PendingApproval'

/**
 * The approvals of a batch that are beyond the maximum of their person: approver_limit_exceeded. Counts the others. A batch without
 * approvals, and without the end of a payout that was approved, sends no statement.
 */
export async function refusedApprovals(
  tx: Tx,
  moves: readonly PayoutMove[],
  now: Date,
): Promise<ReadonlyMap<PayoutMove, Refusal>> {
  const approvals = moves.flatMap((move) => {
    const { row: payout, trigger } = move
    return trigger.kind === 'approved' ? [{ move, payout, by: trigger.by }] : []
  })
  const ended = moves.filter(isReturned).map(({ row }) => row)
  if (approvals.length === 0 && ended.length === 0) return new Map()
  const counted = new Map(
    (await countedApprovals(tx, ended)).map((row) => [partnerKey(row.partnerId, row.payoutId), row]),
  )
  const returned = ended.flatMap((payout) => {
    const row = counted.get(partnerKey(payout.partnerId, payout.id))
    if (row === undefined) return []
    const { decidedBy: id, decidedName: name, decidedAt, countedIn } = row
    return [{ payout, by: { id, name }, decidedAt, countedIn }]
  })
  const judged = await countApprovals(tx, approvals, returned, now)
  const refused = new Map<PayoutMove, Refusal>()
  const kept = judged.flatMap((answer, index) => {
    const approval = approvals[index]
    if (approval === undefined) return []
    if ('refusal' in answer) refused.set(approval.move, answer.refusal)
    else if (answer.countedIn !== undefined) {
      const { partnerId, id: payoutId } = approval.payout
      return [{ partnerId, payoutId, countedIn: answer.countedIn }]
    }
    return []
  })
  if (kept.length > 0) keepCounted(tx, kept)
  return refused
}
