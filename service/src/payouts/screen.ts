/**
 * The holds of payouts before the bank has them, by names and by rules of monitoring: they continue, wait for a decision, or are stopped. A
 * payout to a listed name, or one that a rule has found, keeps its money until two persons decide. The partner sees the same for both.
 */
import type { NewCase } from '../cases/index.ts'
import { after, secondMs } from '../kernel/index.ts'
import type { Applied } from '../lifecycle/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  accountKey,
  countriesOfAccount,
  craftRole,
  type HeldParty,
  type Hold,
  partnerOf,
  type ScreenedPayment,
  type Subject,
  worst,
} from '../screening/index.ts'
import type { PayoutLifeDeps } from './advance.ts'
import * as store from './store.ts'
import { postpone, type Postponed } from './store-waiting.ts'
import type { Failure, PayoutTrigger } from './lifecycle.ts'

type PayoutClaim = store.PayoutClaim
type Advance = (trigger: PayoutTrigger) => Promise<Applied>

const countriesOf = ({ creditorAccount: account, creditorBic: bic, creditorCountry: country }: store.PayoutRow) =>
  countriesOfAccount({ account, bic, country })

/** The parties of a payout: its payee, customer and partner, under their present names, and the account that it pays. */
function namedParties(payout: store.PayoutRow): HeldParty[] {
  const { partnerId, beneficiaryId, customerId } = payout
  const countries = countriesOf(payout).map((one) => one.country)
  return [
    partnerOf(partnerId, customerId),
    { partnerId, kind: 'account', id: accountKey(payout.creditorAccount) },
    ...(beneficiaryId === null ? [] : [{ partnerId, kind: 'beneficiary' as const, id: beneficiaryId, countries }]),
    ...(customerId === null ? [] : [{ partnerId, kind: 'customer' as const, id: customerId }]),
  ]
}

/** The parties of a payout, and the payout itself, by whose texts and countries persons may decide. */
export const partiesOf = (payout: store.PayoutRow): readonly HeldParty[] => {
  const { partnerId, id } = payout
  return [...namedParties(payout), { partnerId, kind: 'payout', id }]
}

/** The texts of a payout, in the words of the partner. A payee that is no beneficiary is compared by its name here. */
const textsOf = ({ remittance, partnerEndToEndId, creditorName, beneficiaryId }: store.PayoutRow) => [
  ...[remittance, partnerEndToEndId],
  ...(beneficiaryId === null ? [creditorName] : []),
]

/**
 * Reads what screening compares of a payout itself. One that has left is not compared again. A beneficiary is compared under its own names and
 * countries.
 */
export async function subjectOfPayout(tx: Tx, partnerId: string, id: string): Promise<Subject> {
  const payout = await store.payoutById(tx, partnerId, id)
  if (payout === undefined || !isPending(payout)) return { names: [], account: null, countries: [] }
  const payee = payout.beneficiaryId === null ? [] : [{ role: craftRole, name: payout.creditorName }]
  const texts = [...textsOf(payout).flatMap((name) => (name === null ? [] : [{ role: 'text', name }])), ...payee]
  return { names: [], account: null, countries: payout.beneficiaryId === null ? countriesOf(payout) : [], texts }
}

/** `attempted`: the bank may have the payout, and is asked; the payout is not sent again. */
export type ScreenedClaims = { readonly cleared: readonly PayoutClaim[]; readonly attempted: readonly PayoutClaim[] }
type Screened<Payout = PayoutClaim> = { readonly claim: Payout; readonly hold: Hold | undefined }

/** Names are compared within a second or two; people take longer to decide. */
const screeningWaitMs = { unscreened: secondMs, open: 30 * secondMs, confirmed: 30 * secondMs } as const
/** States no more than the partner must know: a listed person must not be warned. */
const stopped: Failure = { errorKey: 'RecipientBlocked', details: 'The payment cannot be made to this beneficiary.' }

/** The hold of each payout by the names, countries and texts of its parties. */
async function byNames<Payout extends store.PayoutRow>(
  { screening }: PayoutLifeDeps,
  payouts: readonly Payout[],
): Promise<readonly Screened<Payout>[]> {
  const own = await screening.partiesOfPayments(payouts.map(toPayment))
  const parties = payouts.map((payout, index) => [...namedParties(payout), ...(own[index] ? [own[index]] : [])])
  const holdOf = await screening.holdsOf(parties.flat())
  return payouts.map((claim, index) => ({ claim, hold: worst((parties[index] ?? []).map(holdOf)) }))
}

/** The payouts that no worker has begun and that nothing holds or has held. */
export async function free(deps: PayoutLifeDeps, due: readonly store.DuePayout[]): Promise<readonly store.DuePayout[]> {
  const screened = await byNames(
    deps,
    due.filter((payout) => isPending(payout) && !payout.isHeld),
  )
  const cleared = screened.flatMap(({ claim, hold }) => (hold === undefined ? [claim] : []))
  const monitored = await deps.monitoring.holdsOf(cleared)
  return cleared.filter((payout) => monitored(payout) === undefined)
}

export function createScreen(
  deps: PayoutLifeDeps,
  advance: Advance,
): (claims: readonly PayoutClaim[]) => Promise<ScreenedClaims> {
  return async (claims) => {
    const screened = await byNames(deps, claims)
    const cleared = screened.flatMap(({ claim, hold }) => (hold === undefined ? [claim] : []))
    for (const claim of cleared) if (claim.isHeld) await releaseHeld(deps, claim)
    const monitored = await deps.monitoring.holdsOf(cleared.filter(isPending))
    const waiting: Screened[] = []
    for (const claim of cleared.filter(isPending))
      if (monitored(claim) === 'refused') await stop(advance, claim)
      else if (monitored(claim) === 'open') waiting.push({ claim, hold: 'open' })
    for (const held of screened.filter(({ claim, hold }) => hold !== undefined && isPending(claim)))
      if (held.hold === 'confirmed' && (await isClosedCase(deps, held.claim))) await stop(advance, held.claim)
      else waiting.push(held)
    if (waiting.length > 0) await postponeHeld(deps, waiting)
    const attempted = screened.flatMap(({ claim, hold }) => (hold && !isPending(claim) ? [claim] : []))
    return { cleared: cleared.filter((claim) => !isPending(claim) || monitored(claim) === undefined), attempted }
  }
}

const isPending = ({ status }: store.PayoutRow): boolean => status === 'Pending'

function toPayment(claim: store.PayoutRow): ScreenedPayment {
  const { partnerId, id, beneficiaryId } = claim
  // The bank may have it: nothing is held.
  if (!isPending(claim)) return { partnerId, id, texts: [], payee: null, countries: [] }
  const countries = beneficiaryId === null ? countriesOf(claim).map(({ country }) => country) : []
  return { partnerId, id, texts: textsOf(claim), payee: claim.creditorName, countries }
}

const stop = (advance: Advance, { partnerId, id: payoutId, leaseId }: PayoutClaim) =>
  advance({ partnerId, payoutId, leaseId, kind: 'stopped', failure: stopped })

/**
 * Reports whether two persons closed the case of a payout to a listed party. Opens the case; until it is closed the money stays
 * reserved.
 */
async function isClosedCase({ db, cases }: PayoutLifeDeps, claim: PayoutClaim): Promise<boolean> {
  const found = await cases.byId(db, claim.partnerId, claim.id)
  if (found === undefined) await db.transaction((tx) => cases.record(tx, [caseOf(claim)]))
  // `noted`: a version before has closed it.
  return found?.resolution === 'refused' || found?.resolution === 'noted'
}

function caseOf({ partnerId, id, connector, reference, amount, currency }: PayoutClaim): NewCase {
  const report = { kind: 'payout', reference, money: { currency, amount } }
  const named = { connector, notificationId: `payout ${id}`, subject: id }
  return { partnerId, id, kind: 'sanctions_hold', ...named, report, booked: null }
}

/** Releases a payout after a decision was withdrawn. Its case no longer has a reason. */
async function releaseHeld({ db, cases }: PayoutLifeDeps, { partnerId, id }: PayoutClaim): Promise<void> {
  const found = await cases.byId(db, partnerId, id)
  if (found?.resolution === null)
    await db.transaction((tx) =>
      cases.release(tx, [{ partnerId, id }], 'The names were cleared: the payout continues.'),
    )
}

/** Postpones a payout. The timeline states once that it waits for a decision. No hold: it is cleared, and its bank is away. */
export async function postponeHeld(
  { db, clock, transactions }: PayoutLifeDeps,
  held: readonly Screened[],
): Promise<void> {
  const now = clock.now()
  const rows = held.map(({ claim: { partnerId, id, leaseId }, hold }): Postponed => {
    const heldAt = hold === undefined || hold === 'unscreened' ? null : now
    return { partnerId, id, leaseId, dueAt: after(now, screeningWaitMs[hold ?? 'open']), heldAt }
  })
  const groups = db.sharded ? [...Map.groupBy(rows, ({ partnerId }) => partnerId).values()] : [rows]
  for (const group of groups)
    await db.transaction(async (tx) => {
      const begun = await postpone(tx, group)
      const moves = begun.map(({ partnerId, transactionId: id }) => ({ partnerId, id, steps: ['Screening'] as const }))
      if (moves.length > 0) await transactions.moveMany(tx, moves)
    })
}
