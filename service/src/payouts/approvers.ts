/** Judges approvals by the daily maxima of their persons, and gives back what ends without a settlement. */
import { Refusal } from '../kernel/api/index.ts'
import { partnerKey } from '../kernel/index.ts'
import type { Move } from '../lifecycle/index.ts'
import type { Tx } from '../postgres/index.ts'
import { countApprovals } from './controls/index.ts'
import type { PayoutLifeDeps } from './advance.ts'
import type { PayoutEvent, PayoutTrigger } from './lifecycle.ts'
import type { PayoutRow } from './store.ts'
import { countedApprovals, keepCounted } from './store-waiting.ts'

export type PayoutMove = Move<PayoutRow, PayoutTrigger, PayoutEvent>

/** Reports whether a payout that a second person has approved ends without a settlement. */
const isReturned = ({ row, transition }: PayoutMove) =>
  transition.ledger === 'release' && row.approvalExpiresAt !== null && row.status !== 'PendingApproval'

/**
 * The approvals of a batch by who may no longer approve (permission_denied), or beyond the maximum of their person (approver_limit_exceeded).
 * Counts the others. A batch without approvals, and without the end of a payout that was approved, sends no statement.
 */
export async function refusedApprovals(
  deps: Pick<PayoutLifeDeps, 'mayPay' | 'rates'>,
  tx: Tx,
  moves: readonly PayoutMove[],
  now: Date,
): Promise<ReadonlyMap<PayoutMove, Refusal>> {
  const refused = new Map<PayoutMove, Refusal>()
  const given = moves.flatMap((move) => {
    const { row: payout, trigger } = move
    return trigger.kind === 'approved' ? [{ move, payout, by: trigger.by }] : []
  })
  const lost = await lostRights(deps, tx, given)
  for (const { move, by } of given) if (lost.has(by.id)) refused.set(move, mayNoLonger(by.name))
  const approvals = given.filter(({ move }) => !refused.has(move))
  const ended = moves.filter(isReturned).map(({ row }) => row)
  if (approvals.length === 0 && ended.length === 0) return refused
  const counted = new Map(
    (await countedApprovals(tx, ended)).map((row) => [partnerKey(row.partnerId, row.payoutId), row]),
  )
  const returned = ended.flatMap((payout) => {
    const row = counted.get(partnerKey(payout.partnerId, payout.id))
    if (row === undefined) return []
    const { decidedBy: id, decidedName: name, decidedAt, countedIn } = row
    return [{ payout, by: { id, name }, decidedAt, countedIn }]
  })
  const judged = await countApprovals(deps, tx, approvals, returned, now)
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

const mayNoLonger = (name: string) =>
  new Refusal('permission_denied', `${name} may no longer approve payouts. Another person must approve this one.`)

/** The persons of approvals who lost the right since they decided, as the rows of this transaction say. */
async function lostRights(
  { mayPay }: Pick<PayoutLifeDeps, 'mayPay'>,
  tx: Tx,
  approvals: readonly { readonly payout: PayoutRow; readonly by: { readonly id: string } }[],
): Promise<ReadonlySet<string>> {
  const persons = new Map(approvals.map(({ payout: { partnerId }, by }) => [by.id, partnerId]))
  const lost = new Set<string>()
  for (const [id, partnerId] of persons) if (!(await mayPay(tx, partnerId, id))) lost.add(id)
  return lost
}
