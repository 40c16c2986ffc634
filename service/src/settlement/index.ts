/**
 * Settlement: payouts on their way to a bank, and what banks tell. Claim -> rail -> the module's verb, the same path as a
 * request. Owns no tables: the claim is the payout's own.
 *
 * Promises: an attempt is on the books before the bank hears of it; after a crash the bank is asked whether it has the
 * instruction before it is handed over again; a notice is acknowledged only after its transaction has committed. So an
 * instruction is never sent twice and none is lost, whichever line the process dies at.
 */
import { Unreachable } from '../api/index.ts'
import { type Log, type Loop, startLoop } from '../kernel/index.ts'
import type { Notice, Rail } from '../rails/index.ts'
import type { Deposits } from '../modules/deposits/index.ts'
import type { PayoutClaim, Payouts } from '../modules/payouts/index.ts'

export type SettlementDeps = {
  readonly log: Log
  readonly rail: Rail
  readonly payouts: Payouts
  readonly deposits: Deposits
  readonly idleMs: number
}

const partnersPerStepMax = 20
const payoutsPerClaimMax = 20
const noticesPerStepMax = 5000
/** What is taken is acknowledged while the rest of the step is still on its way. */
const noticesPerAcknowledgementMax = 500
/** What a bank tells of one payment. */
const noticesPerSubjectMax = 5
const depositsPerStepMax = 100
const failedNoticeRestMs = 30_000

export function startSettlement(deps: SettlementDeps): readonly Loop[] {
  const { log, idleMs, deposits } = deps
  const resting = new Map<string, number>()
  return [
    startLoop({ name: 'settlement.instructions', idleMs, log, step: () => sendDue(deps) }),
    startLoop({ name: 'settlement.notices', idleMs, log, step: () => takeNotices(deps, resting) }),
    startLoop({ name: 'settlement.expiry', idleMs, log, step: () => deposits.expireDue(depositsPerStepMax) }),
  ]
}

/** One round over the partners with due payouts; answers how many payouts it looked at. */
export async function sendDue(deps: SettlementDeps): Promise<number> {
  let looked = 0
  for (const partnerId of await deps.payouts.partnersWithDue(partnersPerStepMax)) {
    const claims = await deps.payouts.claim(partnerId, payoutsPerClaimMax)
    // A payout that fails in an unexpected way must not hold up the others: its lease brings it back.
    for (const claim of claims)
      await send(deps, claim).catch((error: unknown) => {
        deps.log.error({ err: error, payoutId: claim.id }, 'payout step failed')
      })
    looked += claims.length
  }
  return looked
}

async function send({ payouts, rail, log }: SettlementDeps, claimed: PayoutClaim): Promise<void> {
  const triedBefore = claimed.sendAttempts > 0
  const claim = await payouts.beginSending(claimed)
  if (!claim) return
  const { partnerId, id } = claim
  try {
    const found = triedBefore ? await rail.find(partnerId, id) : undefined
    if (triedBefore && found === undefined && (await payouts.giveUp(claim))) return
    const { endToEndId, amount, currency, creditorName, creditorAccount, creditorBic, remittance, simulatedOutcome } =
      claim
    const acknowledgement =
      found ??
      (await rail.instruct({
        partnerId,
        id,
        endToEndId,
        amount,
        currency,
        creditorName,
        creditorAccount,
        creditorBic,
        remittance,
        simulatedOutcome,
      }))
    await payouts.recordAcknowledgement(claim, acknowledgement)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    log.warn({ err: error, payoutId: id, attempt: claim.sendAttempts }, 'bank unreachable')
    await payouts.recordUnreachable(claim)
  }
}

/**
 * Takes what the banks tell, of each payment in its order; answers how many notices it took. One that fails stays
 * unacknowledged and holds up what comes after it for the same payment, but nobody else's; `resting` says until when it
 * is left alone.
 */
export async function takeNotices(deps: SettlementDeps, resting = new Map<string, number>()): Promise<number> {
  // Those that rest are still among the oldest: they must not take the places of what could be taken.
  const told = await deps.rail.notices(noticesPerStepMax + resting.size * noticesPerSubjectMax)
  const awake = told.filter(({ subjectId }) => (resting.get(subjectId) ?? 0) <= performance.now())
  const bySubject = Map.groupBy(awake, ({ subjectId }) => subjectId)
  let taken = 0
  for (let round = 0; bySubject.size > 0; round += 1) {
    const next = [...bySubject.values()].flatMap((notices) => notices[round] ?? [])
    const isOfDeposit = ({ kind }: Notice) => kind.startsWith('deposit.')
    const outcomes = await Promise.all([
      // These travel together; those of payouts would only wait for each other at the balance.
      ...chunksOf(next.filter(isOfDeposit), noticesPerAcknowledgementMax).map(async (notices) =>
        acknowledged(deps, await Promise.all(notices.map((notice) => takeOne(deps, notice)))),
      ),
      inTurn(next.filter((notice) => !isOfDeposit(notice)).map((notice) => () => takeOne(deps, notice))).then((taken) =>
        acknowledged(deps, taken),
      ),
    ])
    for (const { notice, failure } of outcomes.flat()) {
      if (failure === undefined) {
        resting.delete(notice.subjectId)
        taken += 1
      }
      if (failure instanceof Unreachable) throw failure
      if (failure !== undefined) resting.set(notice.subjectId, performance.now() + failedNoticeRestMs)
      const isLast = (bySubject.get(notice.subjectId)?.length ?? 0) <= round + 1
      if (failure !== undefined || isLast) bySubject.delete(notice.subjectId)
    }
  }
  return taken
}

/** All that were taken, at once. Where the bank does not hear it they are taken again, and are no news then. */
async function acknowledged({ rail, log }: SettlementDeps, taken: readonly TakenNotice[]) {
  if (taken.length === 0) return taken
  try {
    await rail.acknowledge(taken.filter(({ failure }) => failure === undefined).map(({ notice }) => notice))
    return taken
  } catch (error) {
    log.error({ err: error, notices: taken.length }, 'notices not acknowledged')
    return taken.map(({ notice, failure = error }) => ({ notice, failure }))
  }
}

function chunksOf<T>(list: readonly T[], sizeMax: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / sizeMax) }, (_none, at) =>
    list.slice(at * sizeMax, (at + 1) * sizeMax),
  )
}

async function inTurn<T>(steps: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const done: T[] = []
  for (const step of steps) done.push(await step())
  return done
}

type TakenNotice = { readonly notice: Notice; readonly failure?: unknown }

async function takeOne(deps: SettlementDeps, notice: Notice): Promise<TakenNotice> {
  const { log } = deps
  try {
    const isNews = await take(deps, notice)
    // A repetition after a crash, as a rule. Where it contradicts what is known, this line is what an operator has.
    if (!isNews) log.warn({ noticeId: notice.id, subjectId: notice.subjectId, kind: notice.kind }, 'notice was no news')
    return { notice }
  } catch (error) {
    if (!(error instanceof Unreachable))
      log.error({ err: error, noticeId: notice.id, kind: notice.kind }, 'notice not taken')
    return { notice, failure: error }
  }
}

function take({ payouts, deposits }: SettlementDeps, notice: Notice): Promise<boolean> {
  switch (notice.kind) {
    case 'payout.settled':
      return payouts.settled(notice.partnerId, notice.subjectId)
    case 'payout.rejected':
      return payouts.rejected(notice.partnerId, notice.subjectId, notice)
    case 'payout.returned':
      return payouts.returned(notice.partnerId, notice.subjectId, notice)
    case 'deposit.initiated':
    case 'deposit.submitted':
    case 'deposit.accepted':
    case 'deposit.settled':
    case 'deposit.failed':
      return deposits.take(notice)
  }
}
