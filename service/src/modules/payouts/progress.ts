/**
 * The verbs of the settlement worker. A claim is a lease; its id fences every change, so that a worker that was frozen
 * past its lease changes nothing. A bank notification needs no lease: the status of the payout decides whether it applies.
 * Concurrent calls share a transaction (`advance.ts`).
 */
import { after, type Currency, firstIdOf, type Minor, minuteMs, newId, nilId, present } from '../../kernel/index.ts'
import { balanceStateIn } from '../../ledger/index.ts'
import {
  type Applied,
  applyInBatches,
  oldestOf,
  type OldestUnfinished,
  type Unfinished,
} from '../../lifecycle/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Acknowledgement } from '../../rails/index.ts'
import {
  type BankReport,
  createAdvance,
  type Failure,
  type PayoutTrigger,
  type Person,
  readInstructions,
} from './advance.ts'
import type { PayoutsDeps } from './deps.ts'
import { leaseMs, payoutAgeLimitsMs, payoutLifecycle } from './lifecycle.ts'
import { instructionIdOf, type PayoutStatus } from './rules.ts'
import { createScreened, type ScreenedClaims } from './screened.ts'
import * as store from './store.ts'
import { oldestDue, oldestIn, oldestInScreening } from './store-ages.ts'
import * as matchingStore from './store-matching.ts'

export type PayoutClaim = store.PayoutClaim

type Claiming = {
  /** Ends the leases of dead workers. Only for the embedded database, which serves one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
  /** The due-work scan: the partners that have due payouts of the connector. */
  readonly partnersWithDue: (connector: string, partnersMax: number) => Promise<readonly string[]>
  /** Claims at most `payoutsMax` due payouts of the connector for each partner, oldest first. */
  readonly claim: (
    connector: string,
    partnerIds: readonly string[],
    payoutsMax: number,
  ) => Promise<readonly PayoutClaim[]>
  /** The oldest payout in each status that is not final, of the given partners. */
  readonly oldestUnfinished: (partnerIds: readonly string[]) => Promise<readonly OldestUnfinished[]>
  /** Since when the oldest due payout of the connector waits; null: none is due. */
  readonly oldestDue: (connector: string, now: Date) => Promise<Date | null>
  /** Since when the oldest payout waits for a decision about a name; null: none does. */
  readonly oldestInScreening: () => Promise<Date | null>
}

type Sending = {
  /** The claims that may be sent, and those about which only the bank is asked. The others wait for a decision about a name. */
  readonly screened: (claims: readonly PayoutClaim[]) => Promise<ScreenedClaims>
  /**
   * Pending -> Processing, after the checks have passed. Counts the attempt before the bank receives the instruction.
   * Answers undefined when the lease is lost.
   */
  readonly recordAttempt: (claim: PayoutClaim) => Promise<PayoutClaim | undefined>
  /**
   * Processing -> Sent or Failed, as the bank has answered; due again later if the connector keeps it until then. Changes
   * nothing when the lease is lost.
   */
  readonly recordAcknowledgement: (claim: PayoutClaim, acknowledgement: Acknowledgement) => Promise<void>
  /**
   * Fails the payout after many attempts, and answers whether it did. The caller has asked the bank before this attempt,
   * and the bank does not have the instruction: after a broken attempt that would be unknown.
   */
  readonly failAfterLastAttempt: (claim: PayoutClaim) => Promise<boolean>
  /** The bank was unreachable, so that the outcome of the attempt is unknown. Schedules a query. */
  readonly recordUnreachable: (claim: PayoutClaim) => Promise<void>
}

const hashIn = ({ transactionHash }: { readonly transactionHash?: string | undefined }) =>
  transactionHash === undefined ? {} : { transactionHash }

type Reporting = { readonly partnerId: string; readonly instructionId: string; readonly report: BankReport }

/** See `Applied`: only a report that fits the recorded status changes something. */
type Settling = {
  /** Sent -> Completed. Posts the reserved money. */
  readonly settled: (reporting: Reporting & { readonly transactionHash?: string | undefined }) => Promise<Applied>
  /** Sent -> Failed. Releases the reserved money. */
  readonly rejected: (reporting: Reporting, failure: Failure) => Promise<Applied>
  /** Before settlement as `rejected`. After settlement a new, linked transaction brings the money back. */
  readonly returned: (reporting: Reporting, failure: Failure) => Promise<Applied>
}

type Deciding = {
  /** For the verbs of approvals: what the trigger did. */
  readonly decide: (trigger: PayoutTrigger) => Promise<Applied>
}

type Cancelling = {
  /** Pending or PendingApproval -> Cancelled, before a worker records its first attempt. Answers false if the payout is in another status. */
  readonly cancelPending: (partnerId: string, payoutId: string, canceller?: 'operator' | Person) => Promise<boolean>
}

type Matching = {
  /**
   * What an operator has found out about money: it paid this payout, or came back from it. As a report of the bank, in the caller's
   * transaction. `payoutId`: of the payout, or of its instruction.
   */
  readonly matched: (
    tx: Tx,
    matching: {
      readonly partnerId: string
      readonly payoutId: string
      readonly report: BankReport
      readonly returned?: Failure | undefined
    },
  ) => Promise<Applied>
  /** The instruction of a payout; an id that is none of a payout is that of an instruction. */
  readonly instructionOf: (tx: Tx, partnerId: string, payoutId: string) => Promise<string>
  /** What became of payouts that instructions name, by the id of the instruction; unknown ones are absent. */
  readonly statusesOf: (
    tx: Tx,
    keys: readonly { readonly partnerId: string; readonly instructionId: string }[],
  ) => Promise<ReadonlyMap<string, PayoutStatus>>
  /** Payouts of a partner with this amount, made since a time, newest first. */
  readonly ofAmount: (
    tx: Tx,
    partnerId: string,
    money: { readonly currency: Currency; readonly amount: Minor },
    since: Date,
  ) => Promise<readonly matchingStore.PayoutOfAmount[]>
}

const ofAmountMax = 100

/** Instructions are named by their end-to-end ids. */
async function statusesOf(
  tx: Tx,
  keys: readonly { readonly partnerId: string; readonly instructionId: string }[],
): Promise<ReadonlyMap<string, PayoutStatus>> {
  const named = keys.map(({ partnerId, instructionId: id }) => ({ partnerId, endToEndId: id.replaceAll('-', '') }))
  const groups = tx.sharded ? [...Map.groupBy(named, ({ partnerId }) => partnerId).values()] : [named]
  const found = new Map<string, PayoutStatus>()
  for (const group of groups.filter(({ length }) => length > 0))
    for (const { endToEndId, status } of await matchingStore.statusesOfInstructions(tx, group))
      found.set(instructionIdOf({ endToEndId }), status)
  return found
}

export type Progress = Claiming & Sending & Settling & Deciding & Cancelling & Matching

export function createProgress(deps: PayoutsDeps): Progress {
  const work = createAdvance(deps)
  const advance = applyInBatches({ db: deps.db, read: readInstructions, work })
  return {
    ...createClaiming(deps),
    screened: createScreened(deps, advance),
    ...createSending(advance, deps.attemptsMax),
    ...createSettling(deps, advance),
    decide: advance,
    cancelPending: async (partnerId, payoutId, canceller) =>
      (await advance({ partnerId, payoutId, kind: 'cancelled', canceller })) === true,
    statusesOf,
    instructionOf: async (tx, partnerId, payoutId) => {
      const row = await matchingStore.endToEndIdOf(tx, partnerId, payoutId)
      return row === undefined ? payoutId : instructionIdOf(row)
    },
    ofAmount: (tx, partnerId, money, since) =>
      matchingStore.payoutsOfAmount(tx, partnerId, { ...money, after: firstIdOf(since), rowsMax: ofAmountMax }),
    matched: async (tx, { partnerId, payoutId: instructionId, report, returned }) => {
      const named = { partnerId, instructionId, report }
      const trigger: PayoutTrigger =
        returned === undefined ? { ...named, kind: 'settled' } : { ...named, kind: 'returned', failure: returned }
      // Deferred: the report implies an earlier transition, which was made.
      for (;;) {
        const [advanced] = await work(tx, [trigger], await readInstructions(tx, [trigger]))
        if (advanced !== 'deferred') return present(advanced, 'a trigger has an answer')
      }
    },
  }
}

function createClaiming({ db, clock }: PayoutsDeps): Claiming {
  /** By connector. */
  const scannedUpTo = new Map<string, string>()
  return {
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId, clock.now()),
    oldestUnfinished: async (partnerIds) => {
      const statuses = Object.keys(payoutAgeLimitsMs) as (keyof typeof payoutAgeLimitsMs)[]
      const rows: Unfinished[] = []
      const size = db.sharded ? 1 : partnersPerLookMax
      const keptBeyond = after(clock.now(), keptMsMin)
      for (let from = 0; from < partnerIds.length; from += size)
        rows.push(...(await oldestIn(db, partnerIds.slice(from, from + size), statuses, keptBeyond)))
      return oldestOf(payoutLifecycle.subject, payoutAgeLimitsMs, rows, clock.now())
    },
    oldestDue: (connector, now) => oldestDue(db, connector, now),
    oldestInScreening: () => oldestInScreening(db),
    partnersWithDue: async (connector, partnersMax) => {
      const now = clock.now()
      const from = scannedUpTo.get(connector) ?? nilId
      const behind = await store.partnersWithDue(db, connector, now, from, partnersMax)
      const missing = partnersMax - behind.partnerIds.length
      const wrapsAround = behind.complete && missing > 0 && from !== nilId
      const before = wrapsAround ? (await store.partnersWithDue(db, connector, now, nilId, missing)).partnerIds : []
      const partnerIds = [...new Set([...behind.partnerIds, ...before])]
      // The next scan continues here, so that partners with many payouts do not starve the others.
      scannedUpTo.set(connector, partnerIds.at(-1) ?? nilId)
      return partnerIds
    },
    claim: async (connector, partnerIds, payoutsMax) => {
      const now = clock.now()
      const leaseId = newId()
      const claim = { connector, now, leaseId, leaseUntil: after(now, leaseMs), payoutsMax }
      const groups = db.sharded ? partnerIds.map((partnerId) => [partnerId]) : partnerIds.length > 0 ? [partnerIds] : []
      const rows = await Promise.all(groups.map((group) => store.claimDue(db, group, claim)))
      return rows
        .flat()
        .map((row) => ({ ...row, leaseId }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
  }
}

/** A payout that is due so much later is kept by its connector: longer than every delay between attempts. */
const keptMsMin = 10 * minuteMs
/** Partners of one statement, which makes a look-up for each of them and each status. */
const partnersPerLookMax = 50

type Advance = (trigger: PayoutTrigger) => Promise<Applied>

function createSending(advance: Advance, attemptsMax: number): Omit<Sending, 'screened'> {
  const held = ({ partnerId, id: payoutId, leaseId }: PayoutClaim) => ({ partnerId, payoutId, leaseId })
  return {
    recordAttempt: async (claim) => {
      const isRecorded = await advance({ ...held(claim), kind: 'attempt' })
      return isRecorded === true ? { ...claim, status: 'Processing', sendAttempts: claim.sendAttempts + 1 } : undefined
    },
    recordAcknowledgement: async (claim, acknowledgement) => {
      if (!acknowledgement.accepted) await advance({ ...held(claim), kind: 'refused', failure: acknowledgement })
      else if (acknowledgement.notBefore !== undefined)
        await advance({ ...held(claim), kind: 'kept', until: acknowledgement.notBefore })
      else await advance({ ...held(claim), kind: 'accepted', ...hashIn(acknowledgement) })
    },
    failAfterLastAttempt: async (claim) => {
      if (claim.sendAttempts <= attemptsMax) return false
      const failure = { errorKey: 'BankUnreachable', details: 'The bank could not be reached.' } as const
      await advance({ ...held(claim), kind: 'refused', failure })
      return true
    },
    recordUnreachable: async (claim) => {
      await advance({ ...held(claim), kind: 'unreachable' })
    },
  }
}

const createSettling = ({ db, ledger }: PayoutsDeps, advance: Advance): Settling => ({
  settled: ({ transactionHash, ...reporting }) =>
    advance({ ...reporting, kind: 'settled', ...hashIn({ transactionHash }) }),
  rejected: (reporting, failure) => advance({ ...reporting, kind: 'rejected', failure }),
  returned: async (reporting, failure) => {
    const { partnerId, report } = reporting
    // A closed balance takes nothing back: the money goes to suspense, with a case.
    if (report.money !== undefined && (await isClosed(db, ledger, partnerId, report.money.currency)))
      return 'contradiction'
    return advance({ ...reporting, kind: 'returned', failure })
  },
})

async function isClosed(
  tx: Tx,
  ledger: PayoutsDeps['ledger'],
  partnerId: string,
  currency: Currency,
): Promise<boolean> {
  const accounts = await ledger.accountsOf(tx, [{ partnerId, currency, debit: 'suspense', credit: 'balance' }])
  return balanceStateIn(accounts, partnerId, currency) === 'Closed'
}
