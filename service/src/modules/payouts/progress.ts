/**
 * The verbs of the settlement worker. A claim is a lease; its id fences every change, so that a worker that was frozen
 * past its lease changes nothing. A bank notification needs no lease: the status of the payout decides whether it applies.
 */
import { after, newId, nilId, present, secondMs } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Acknowledgement } from '../../rails/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { createMoves, type Failure, type Moves } from './moves.ts'
import { holdsReserve, mayMove, retryDelayAfter, sendAttemptsMax } from './rules.ts'
import * as store from './store.ts'

export type PayoutClaim = store.PayoutRow & { readonly leaseId: string }

type Claiming = {
  /** Ends the leases of dead workers. Only for the embedded database, which serves one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
  /** The due-work scan: the partners that have due payouts. */
  readonly partnersWithDue: (partnersMax: number) => Promise<readonly string[]>
  readonly claim: (partnerId: string, payoutsMax: number) => Promise<readonly PayoutClaim[]>
  /** Since when the oldest due payout waits; null: none is due. */
  readonly oldestDue: (now: Date) => Promise<Date | null>
}

type Sending = {
  /**
   * Pending -> Processing, after the checks have passed. Counts the attempt before the bank receives the instruction.
   * Answers undefined when the lease is lost.
   */
  readonly recordAttempt: (claim: PayoutClaim) => Promise<PayoutClaim | undefined>
  /** Processing -> Sent or Failed, as the bank has answered. Changes nothing when the lease is lost. */
  readonly recordAcknowledgement: (claim: PayoutClaim, acknowledgement: Acknowledgement) => Promise<void>
  /**
   * Fails the payout after many attempts, and answers whether it did. The caller has asked the bank before this attempt,
   * and the bank does not have the instruction: after a broken attempt that would be unknown.
   */
  readonly failAfterLastAttempt: (claim: PayoutClaim) => Promise<boolean>
  /** The bank was unreachable, so that the outcome of the attempt is unknown. Schedules a query. */
  readonly recordUnreachable: (claim: PayoutClaim) => Promise<void>
}

/** Each answers false for a duplicate notification, which changes nothing. */
type Settling = {
  /** Sent -> Completed. Posts the reserved money. */
  readonly settled: (partnerId: string, instructionId: string) => Promise<boolean>
  /** Sent -> Failed. Releases the reserved money. */
  readonly rejected: (partnerId: string, instructionId: string, failure: Failure) => Promise<boolean>
  /** Before settlement as `rejected`. After settlement a new, linked transaction brings the money back. */
  readonly returned: (partnerId: string, instructionId: string, failure: Failure) => Promise<boolean>
}

export type Progress = Claiming & Sending & Settling

/** Longer than an attempt at a bank, and short enough that another worker soon takes over a killed worker's payouts. */
const leaseMs = 15 * secondMs

export function createProgress(deps: PayoutsDeps): Progress {
  const moves = createMoves(deps)
  return { ...createClaiming(deps), ...createSending(deps, moves), ...createSettling(deps, moves) }
}

function createClaiming({ db, clock }: PayoutsDeps): Claiming {
  let scannedUpTo = nilId
  return {
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId, clock.now()),
    oldestDue: (now) => store.oldestDue(db, now),
    partnersWithDue: async (partnersMax) => {
      const now = clock.now()
      const behind = await store.partnersWithDue(db, now, scannedUpTo, partnersMax)
      const missing = partnersMax - behind.partnerIds.length
      const wrapsAround = behind.complete && missing > 0 && scannedUpTo !== nilId
      const before = wrapsAround ? (await store.partnersWithDue(db, now, nilId, missing)).partnerIds : []
      const partnerIds = [...new Set([...behind.partnerIds, ...before])]
      // The next scan continues here, so that partners with many payouts do not starve the others.
      scannedUpTo = partnerIds.at(-1) ?? nilId
      return partnerIds
    },
    claim: async (partnerId, payoutsMax) => {
      const now = clock.now()
      const leaseId = newId()
      const rows = await store.claimDue(db, partnerId, { now, leaseId, leaseUntil: after(now, leaseMs), payoutsMax })
      return rows.map((row) => ({ ...row, leaseId })).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
  }
}

function createSending({ db, clock }: PayoutsDeps, moves: Moves): Sending {
  /** Works on the locked row, or does nothing when another worker has taken the lease. */
  const fenced = <T>(claim: PayoutClaim, work: (tx: Tx, payout: store.PayoutRow) => Promise<T>) =>
    db.transaction(async (tx) => {
      const payout = await locked(tx, claim.partnerId, claim.id)
      return payout.leaseId === claim.leaseId ? work(tx, payout) : undefined
    })
  return {
    recordAttempt: (claim) =>
      fenced(claim, async (tx, payout) => {
        const now = clock.now()
        const sendAttempts = payout.sendAttempts + 1
        const change = {
          status: 'Processing',
          errorKey: null,
          errorDetails: null,
          sendAttempts,
          dueAt: after(now, leaseMs),
          leaseId: claim.leaseId,
        } as const
        await store.updatePayout(tx, payout.partnerId, payout.id, change, now)
        if (payout.status === 'Pending') await moves.accept(tx, payout)
        return { ...claim, status: 'Processing', sendAttempts }
      }),
    recordAcknowledgement: async (claim, acknowledgement) => {
      await fenced(claim, async (tx, payout) => {
        if (acknowledgement.accepted) await moves.send(tx, payout)
        else await moves.fail(tx, payout, acknowledgement, 'Failed')
      })
    },
    failAfterLastAttempt: async (claim) => {
      if (claim.sendAttempts <= sendAttemptsMax) return false
      const failure = { errorKey: 'BankUnreachable', details: 'The bank could not be reached.' } as const
      await fenced(claim, (tx, payout) => moves.fail(tx, payout, failure, 'Failed'))
      return true
    },
    recordUnreachable: async (claim) => {
      await fenced(claim, async (tx, payout) => {
        const { status, sendAttempts, partnerId, id } = payout
        const now = clock.now()
        const dueAt = after(now, retryDelayAfter(sendAttempts))
        const change = { status, errorKey: null, errorDetails: null, sendAttempts, dueAt, leaseId: null }
        return store.updatePayout(tx, partnerId, id, change, now)
      })
    },
  }
}

function createSettling({ db }: PayoutsDeps, moves: Moves): Settling {
  /**
   * A notification proves that the bank has the instruction, even if the acknowledgement was lost with its worker. So a
   * Processing payout becomes Sent first, which ends its lease and keeps other workers from sending it again.
   */
  const onNotification = (
    partnerId: string,
    instructionId: string,
    work: (tx: Tx, payout: store.PayoutRow) => Promise<boolean>,
  ) =>
    db.transaction(async (tx) => {
      const payout = present(
        (await store.lockPayoutOfInstruction(tx, partnerId, instructionId.replaceAll('-', ''))) ??
          // Submitted by a process of an earlier version, during an upgrade.
          (await store.lockPayout(tx, partnerId, instructionId)),
        'a payout that a bank names exists',
      )
      return work(tx, payout.status === 'Processing' ? await moves.send(tx, payout) : payout)
    })
  return {
    settled: (partnerId, instructionId) =>
      onNotification(partnerId, instructionId, async (tx, payout) => {
        if (!mayMove(payout.status, 'Completed')) return false
        await moves.complete(tx, payout)
        return true
      }),
    rejected: (partnerId, instructionId, failure) =>
      onNotification(partnerId, instructionId, async (tx, payout) => {
        if (payout.status !== 'Sent') return false
        await moves.fail(tx, payout, failure, 'Failed')
        return true
      }),
    returned: (partnerId, instructionId, failure) =>
      onNotification(partnerId, instructionId, async (tx, payout) => {
        if (!mayMove(payout.status, 'Returned')) return false
        if (holdsReserve(payout.status)) await moves.fail(tx, payout, failure, 'Returned')
        else await moves.refund(tx, payout, failure)
        return true
      }),
  }
}

async function locked(tx: Tx, partnerId: string, id: string): Promise<store.PayoutRow> {
  return present(await store.lockPayout(tx, partnerId, id), 'a payout that a worker claimed exists')
}
