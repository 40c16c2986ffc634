/** Before a payout is first sent, the names of its beneficiary and its customer must let it go on. */
import { after, secondMs } from '../../kernel/index.ts'
import type { Applied } from '../../lifecycle/index.ts'
import { type Hold, worst } from '../../screening/index.ts'
import type { Failure, PayoutTrigger } from './advance.ts'
import type { PayoutsDeps } from './deps.ts'
import * as store from './store.ts'

/** Names are compared within a second or two; a person takes longer. */
const waitMs = { unscreened: secondMs, open: 30 * secondMs } as const

/** It says no more than the partner must know: a listed person is not to be warned. */
const failure: Failure = { errorKey: 'RecipientBlocked', details: 'The payment cannot be made to this beneficiary.' }

type Claim = store.PayoutRow & { readonly leaseId: string }
type Screened = { readonly claim: Claim; readonly hold: Hold | undefined }

export function createScreened(deps: PayoutsDeps, advance: (trigger: PayoutTrigger) => Promise<Applied>) {
  const { screening } = deps
  return async <C extends Claim>(claims: readonly C[]): Promise<readonly C[]> => {
    const unsent = claims.filter(({ status }) => status === 'Pending')
    const holdOf = await screening.holdsOf(unsent.flatMap(subjectsOf))
    const held = unsent.flatMap((claim): readonly Screened[] => {
      const hold = worst(subjectsOf(claim).map(holdOf))
      return hold === undefined ? [] : [{ claim, hold }]
    })
    if (held.length === 0) return claims
    await Promise.all([wait(deps, held), ...held.filter(({ hold }) => hold === 'confirmed').map(stop(advance))])
    const stopped = new Set<Claim>(held.map(({ claim }) => claim))
    return claims.filter((claim) => !stopped.has(claim))
  }
}

function subjectsOf({ partnerId, beneficiaryId, customerId }: Claim) {
  return [
    ...(beneficiaryId === null ? [] : [{ partnerId, kind: 'beneficiary' as const, id: beneficiaryId }]),
    ...(customerId === null ? [] : [{ partnerId, kind: 'customer' as const, id: customerId }]),
  ]
}

const stop =
  (advance: (trigger: PayoutTrigger) => Promise<Applied>) =>
  ({ claim: { partnerId, id: payoutId, leaseId } }: Screened) =>
    advance({ partnerId, payoutId, leaseId, kind: 'stopped', failure })

/** The timeline says once that the payout waits for a decision. */
async function wait({ db, clock, transactions }: PayoutsDeps, held: readonly Screened[]): Promise<void> {
  const now = clock.now()
  const rows = held.flatMap(({ claim: { partnerId, id, leaseId }, hold }): readonly store.Postponed[] =>
    hold === 'open' || hold === 'unscreened'
      ? [{ partnerId, id, leaseId, dueAt: after(now, waitMs[hold]), heldAt: hold === 'open' ? now : null }]
      : [],
  )
  const groups = db.sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
  for (const group of groups.filter(({ length }) => length > 0))
    await db.transaction(async (tx) => {
      const begun = await store.postpone(tx, group)
      const moves = begun.map(({ partnerId, transactionId: id }) => ({ partnerId, id, steps: ['Screening'] as const }))
      if (moves.length > 0) await transactions.moveMany(tx, moves)
    })
}
