/** Before a payout is sent, its names and the account of its payee must let it go on. */
import type { NewCase } from '../../cases/index.ts'
import { after, secondMs } from '../../kernel/index.ts'
import type { Applied } from '../../lifecycle/index.ts'
import { accountKey, type Hold, type HoldKey, worst } from '../../screening/index.ts'
import type { Failure, PayoutTrigger } from './advance.ts'
import type { PayoutsDeps } from './deps.ts'
import * as store from './store.ts'

type PayoutClaim = store.PayoutClaim

/** Names are compared within a second or two; persons take longer. */
const waitMs = { unscreened: secondMs, open: 30 * secondMs, confirmed: 30 * secondMs } as const

/** It says no more than the partner must know: a listed person is not to be warned. */
const failure: Failure = { errorKey: 'RecipientBlocked', details: 'The payment cannot be made to this beneficiary.' }

type Screened = { readonly claim: PayoutClaim; readonly hold: Hold | undefined }
type Advance = (trigger: PayoutTrigger) => Promise<Applied>

/** Whom a payout concerns: its payee and its customer, whatever they are called now, and the account that it pays. */
export function partiesOf({ partnerId, beneficiaryId, customerId, creditorAccount }: store.PayoutRow): HoldKey[] {
  return [
    { partnerId, kind: 'account', id: accountKey(creditorAccount) },
    ...(beneficiaryId === null ? [] : [{ partnerId, kind: 'beneficiary' as const, id: beneficiaryId }]),
    ...(customerId === null ? [] : [{ partnerId, kind: 'customer' as const, id: customerId }]),
  ]
}

/** `attempted`: the bank may have it, and is asked; it is not sent again. */
export type ScreenedClaims = { readonly cleared: readonly PayoutClaim[]; readonly attempted: readonly PayoutClaim[] }

export function createScreened(deps: PayoutsDeps, advance: Advance) {
  return async (claims: readonly PayoutClaim[]): Promise<ScreenedClaims> => {
    const holdOf = await deps.screening.holdsOf(claims.flatMap(partiesOf))
    const screened = claims.map((claim): Screened => ({ claim, hold: worst(partiesOf(claim).map(holdOf)) }))
    const cleared = screened.flatMap(({ claim, hold }) => (hold === undefined ? [claim] : []))
    for (const claim of cleared) if (claim.isHeld) await release(deps, claim)
    const held = screened.filter(({ claim, hold }) => hold !== undefined && claim.status === 'Pending')
    const stopped = new Set<PayoutClaim>()
    for (const { claim, hold } of held)
      if (hold === 'confirmed' && (await isClosed(deps, claim))) {
        const { partnerId, id: payoutId, leaseId } = claim
        await advance({ partnerId, payoutId, leaseId, kind: 'stopped', failure })
        stopped.add(claim)
      }
    const waiting = held.filter(({ claim }) => !stopped.has(claim))
    if (waiting.length > 0) await wait(deps, waiting)
    const attempted = screened.flatMap(({ claim, hold }) => (hold && claim.status !== 'Pending' ? [claim] : []))
    return { cleared, attempted }
  }
}

/** The money of a listed party stays reserved until two persons close the case of its payout, which this opens. */
async function isClosed({ db, cases }: PayoutsDeps, claim: PayoutClaim): Promise<boolean> {
  const found = await cases.byId(db, claim.partnerId, claim.id)
  if (found === undefined) await db.transaction((tx) => cases.record(tx, [caseOf(claim)]))
  return found?.resolution === 'noted'
}

function caseOf({ partnerId, id, connector, reference, amount, currency }: PayoutClaim): NewCase {
  const report = { kind: 'payout', reference, money: { currency, amount } }
  const named = { connector, notificationId: `payout ${id}`, subject: id }
  return { partnerId, id, kind: 'sanctions_hold', ...named, report, booked: null }
}

/** A decision was taken back: the payout goes on, and the case has no reason any more. */
async function release({ db, cases }: PayoutsDeps, { partnerId, id }: PayoutClaim): Promise<void> {
  const found = await cases.byId(db, partnerId, id)
  if (found?.resolution === null)
    await db.transaction((tx) => cases.release(tx, [{ partnerId, id }], 'The names were cleared: the payout goes on.'))
}

/** The timeline says once that the payout waits for a decision. */
async function wait({ db, clock, transactions }: PayoutsDeps, held: readonly Screened[]): Promise<void> {
  const now = clock.now()
  const rows = held.map(({ claim: { partnerId, id, leaseId }, hold = 'open' }): store.Postponed => {
    const heldAt = hold === 'unscreened' ? null : now
    return { partnerId, id, leaseId, dueAt: after(now, waitMs[hold]), heldAt }
  })
  const groups = db.sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
  for (const group of groups)
    await db.transaction(async (tx) => {
      const begun = await store.postpone(tx, group)
      const moves = begun.map(({ partnerId, transactionId: id }) => ({ partnerId, id, steps: ['Screening'] as const }))
      if (moves.length > 0) await transactions.moveMany(tx, moves)
    })
}
