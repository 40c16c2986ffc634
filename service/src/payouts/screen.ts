/**
 * Holds payouts before the bank has them, by screening and by rules of monitoring: a payout continues, waits for a
 * decision, or is stopped. A payout with a sanctions match, or one that a rule has found, keeps its reserve until two
 * operators decide. The partner sees the same for both.
 */
import type { NewCase } from '../cases/index.ts'
import { after, secondMs } from '../kernel/index.ts'
import type { AppliedOutcome } from '../lifecycle/index.ts'
import { groupByShard, type Tx } from '../postgres/index.ts'
import {
  accountKey,
  countriesOfAccount,
  payeeTextRole,
  type ScreenedParty,
  type Hold,
  partnerParty,
  type ScreenedPayment,
  type Subject,
  strictestHold,
} from '../screening/index.ts'
import type { PayoutLifeDeps } from './advance.ts'
import * as store from './store.ts'
import { postponePayouts, type PostponedPayout } from './store-held.ts'
import type { PayoutFailure, PayoutTrigger } from './lifecycle.ts'

export type AdvancePayout = (trigger: PayoutTrigger) => Promise<AppliedOutcome>

const countriesOf = ({ creditorAccount: account, creditorBic: bic, creditorCountry: country }: store.PayoutRow) =>
  countriesOfAccount({ account, bic, country })

/** Lists the parties of a payout: payee, customer and partner with their present names, and the account that is paid. */
function namedParties(payout: store.PayoutRow): ScreenedParty[] {
  const { partnerId, beneficiaryId, customerId } = payout
  const countries = countriesOf(payout).map((one) => one.country)
  return [
    partnerParty(partnerId, customerId),
    { partnerId, kind: 'account', id: accountKey(payout.creditorAccount) },
    ...(beneficiaryId === null ? [] : [{ partnerId, kind: 'beneficiary' as const, id: beneficiaryId, countries }]),
    ...(customerId === null ? [] : [{ partnerId, kind: 'customer' as const, id: customerId }]),
  ]
}

/** Lists the parties of a payout and the payout itself, whose texts and countries operators may decide about. */
export const screenedParties = (payout: store.PayoutRow): readonly ScreenedParty[] => {
  const { partnerId, id } = payout
  return [...namedParties(payout), { partnerId, kind: 'payout', id }]
}

/** Lists the partner's texts of a payout. Includes the name of a payee that is not a beneficiary. */
const textsOf = ({ remittance, partnerEndToEndId, creditorName, beneficiaryId }: store.PayoutRow) => [
  ...[remittance, partnerEndToEndId],
  ...(beneficiaryId === null ? [creditorName] : []),
]

/**
 * Reads the data of a payout for screening. A payout that has left is not screened again. A beneficiary is screened
 * separately, under its own names and countries.
 */
export async function subjectOfPayout(tx: Tx, partnerId: string, id: string): Promise<Subject> {
  const payout = await store.payoutById(tx, partnerId, id)
  if (payout === undefined || !isPending(payout)) return { names: [], account: null, countries: [] }
  const payee = payout.beneficiaryId === null ? [] : [{ role: payeeTextRole, name: payout.creditorName }]
  const texts = [...textsOf(payout).flatMap((name) => (name === null ? [] : [{ role: 'text', name }])), ...payee]
  return { names: [], account: null, countries: payout.beneficiaryId === null ? countriesOf(payout) : [], texts }
}

/** `attempted`: the bank may have the payout. The worker asks the bank about it, and does not send it again. */
export type ScreenedClaims = {
  readonly cleared: readonly store.PayoutClaim[]
  readonly attempted: readonly store.PayoutClaim[]
}
type ScreenedClaim<Payout = store.PayoutClaim> = { readonly claim: Payout; readonly hold: Hold | undefined }

/** Screening takes a second or two; people take longer to decide. */
const screeningWaitMs = { unscreened: secondMs, open: 30 * secondMs, confirmed: 30 * secondMs } as const
/** States no more than the partner must know: a listed person must not be warned. */
const stoppedFailure: PayoutFailure = {
  errorKey: 'RecipientBlocked',
  details: 'The payment cannot be made to this beneficiary.',
}

/** Reads the hold of each payout by the names, countries and texts of its parties. */
async function readHolds<Payout extends store.PayoutRow>(
  { screening }: PayoutLifeDeps,
  payouts: readonly Payout[],
): Promise<readonly ScreenedClaim<Payout>[]> {
  const own = await screening.partiesOfPayments(payouts.map(toScreenedPayment))
  const parties = payouts.map((payout, index) => [...namedParties(payout), ...(own[index] ? [own[index]] : [])])
  const holdOf = await screening.holdsOf(parties.flat())
  return payouts.map((claim, index) => ({ claim, hold: strictestHold((parties[index] ?? []).map(holdOf)) }))
}

/**
 * Selects the payouts that no worker has begun, that were never held, and that neither screening nor monitoring holds
 * now.
 */
export async function selectUnheldPayouts(
  deps: PayoutLifeDeps,
  due: readonly store.DuePayout[],
): Promise<readonly store.DuePayout[]> {
  const screened = await readHolds(
    deps,
    due.filter((payout) => isPending(payout) && !payout.isHeld),
  )
  const cleared = screened.flatMap(({ claim, hold }) => (hold === undefined ? [claim] : []))
  const monitored = await deps.monitoring.findHolds(cleared)
  return cleared.filter((payout) => monitored(payout) === undefined)
}

export function createScreen(
  deps: PayoutLifeDeps,
  advance: AdvancePayout,
): (claims: readonly store.PayoutClaim[]) => Promise<ScreenedClaims> {
  return async (claims) => {
    const screened = await readHolds(deps, claims)
    const cleared = screened.flatMap(({ claim, hold }) => (hold === undefined ? [claim] : []))
    for (const claim of cleared) if (claim.isHeld) await releaseHeld(deps, claim)
    const monitored = await deps.monitoring.findHolds(cleared.filter(isPending))
    const waiting: ScreenedClaim[] = []
    for (const claim of cleared.filter(isPending))
      if (monitored(claim) === 'refused') await stopPayout(advance, claim)
      else if (monitored(claim) === 'open') waiting.push({ claim, hold: 'open' })
    for (const held of screened.filter(({ claim, hold }) => hold !== undefined && isPending(claim)))
      if (held.hold === 'confirmed' && (await hasClosedCase(deps, held.claim))) await stopPayout(advance, held.claim)
      else waiting.push(held)
    if (waiting.length > 0) await postponeHeldPayout(deps, waiting)
    const attempted = screened.flatMap(({ claim, hold }) => (hold && !isPending(claim) ? [claim] : []))
    return { cleared: cleared.filter((claim) => !isPending(claim) || monitored(claim) === undefined), attempted }
  }
}

const isPending = ({ status }: store.PayoutRow): boolean => status === 'Pending'

function toScreenedPayment(claim: store.PayoutRow): ScreenedPayment {
  const { partnerId, id, beneficiaryId } = claim
  // The bank may have the payout: it is not held.
  if (!isPending(claim)) return { partnerId, id, texts: [], payee: null, countries: [] }
  const countries = beneficiaryId === null ? countriesOf(claim).map(({ country }) => country) : []
  return { partnerId, id, texts: textsOf(claim), payee: claim.creditorName, countries }
}

const stopPayout = (advance: AdvancePayout, { partnerId, id: payoutId, leaseId }: store.PayoutClaim) =>
  advance({ partnerId, payoutId, leaseId, kind: 'stopped', failure: stoppedFailure })

/**
 * Reports whether two operators closed the case of a payout with a sanctions match. Opens the case; until it is closed
 * the money stays reserved.
 */
async function hasClosedCase({ db, cases }: PayoutLifeDeps, claim: store.PayoutClaim): Promise<boolean> {
  const found = await cases.byId(db, claim.partnerId, claim.id)
  if (found === undefined) await db.transaction((tx) => cases.record(tx, [toCase(claim)]))
  // `noted`: an earlier version has closed it.
  return found?.resolution === 'refused' || found?.resolution === 'noted'
}

function toCase({ partnerId, id, connector, reference, amount, currency }: store.PayoutClaim): NewCase {
  const report = { kind: 'payout', reference, money: { currency, amount } }
  const named = { connector, notificationId: `payout ${id}`, subject: id }
  return { partnerId, id, kind: 'sanctions_hold', ...named, report, booked: null }
}

/** Releases a payout after a decision was withdrawn, and closes its case. */
async function releaseHeld({ db, cases }: PayoutLifeDeps, { partnerId, id }: store.PayoutClaim): Promise<void> {
  const found = await cases.byId(db, partnerId, id)
  if (found?.resolution === null)
    await db.transaction((tx) =>
      cases.release(tx, [{ partnerId, id }], 'The names were cleared: the payout continues.'),
    )
}

/**
 * Postpones a payout. The timeline states once that it waits for a decision. Without a hold, the payout is cleared and
 * its bank is unavailable.
 */
export async function postponeHeldPayout(
  { db, clock, transactions }: PayoutLifeDeps,
  held: readonly ScreenedClaim[],
): Promise<void> {
  const now = clock.now()
  const rows = held.map(({ claim: { partnerId, id, leaseId }, hold }): PostponedPayout => {
    const heldAt = hold === undefined || hold === 'unscreened' ? null : now
    return { partnerId, id, leaseId, dueAt: after(now, screeningWaitMs[hold ?? 'open']), heldAt }
  })
  for (const group of groupByShard(db, rows))
    await db.transaction(async (tx) => {
      const begun = await postponePayouts(tx, group)
      const moves = begun.map(({ partnerId, transactionId: id }) => ({ partnerId, id, steps: ['Screening'] as const }))
      if (moves.length > 0) await transactions.moveMany(tx, moves)
    })
}
