/**
 * Returns: the connector sends the money of a case back to its sender. The instruction has the id of the approved
 * proposal, so that a second return after a rejection is another instruction. The money leaves suspense when the bank
 * reports the payment.
 */
import { after, type Clock, newId, present, secondMs, type Money, type RowKey } from '../kernel/index.ts'
import type { Entry, Ledger } from '../ledger/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { recordDecision } from './decisions.ts'
import { caseEntry, resolutions, reversingTransfer } from './rules.ts'
import { toReturn } from './report.ts'
import type { NewCase } from './service.ts'
import * as store from './store.ts'

export type ReturnClaim = store.ReturnRow & { readonly leaseId: string }
type ReturnKey = { readonly partnerId: string; readonly id: string }

/** Bank notification about a return. */
export type ReturnReport = {
  readonly kind: 'payout.settled' | 'payout.rejected' | 'payout.returned'
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly connector: string
  readonly money?: Money
  readonly details?: string
}

export type Returns = {
  /** Starts a return, as a step of the approval. */
  readonly start: (tx: Tx, row: store.CaseRow, money: Money, id: string) => Promise<void>
  /** Lists due returns of a connector, the longest wait first. */
  readonly due: (connector: string, returnsMax: number) => Promise<readonly ReturnKey[]>
  /**
   * Claims a return under a lease for one attempt, which is counted before the bank is called. Undefined: it is no longer
   * due.
   */
  readonly claim: (key: ReturnKey) => Promise<ReturnClaim | undefined>
  /** Records that the bank has accepted the instruction. */
  readonly accepted: (claim: ReturnClaim) => Promise<void>
  /** Records that the bank has refused the instruction, and reopens the case. */
  readonly refused: (claim: ReturnClaim, details: string) => Promise<void>
  /**
   * Retries later, because the outcome is unknown or because the connector holds the instruction back until a given
   * time.
   */
  readonly postponed: (claim: ReturnClaim, until?: Date) => Promise<void>
  /**
   * Applies a report about a return. A settled return moves the money out of suspense; a rejected or returned one
   * reopens the case. `unknown`: the report is not about a return. `contradiction`: the report does not fit, and its
   * money gets its own case.
   */
  readonly reported: (report: ReturnReport) => Promise<boolean | 'unknown' | 'contradiction'>
  readonly byId: typeof store.returnById
}

export type ReturnsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'enter'>
  readonly record: (tx: Tx, opened: readonly NewCase[]) => Promise<readonly Entry[]>
  /** Called in the transaction in which a return is booked or fails. */
  readonly ended: (tx: Tx, key: RowKey, status: 'Returned' | 'WithOperator') => Promise<void>
}

/** Lease of a return. It is longer than a call to a bank takes. */
const leaseMs = 15 * secondMs
const retryMs = [1, 2, 5, 15, 60, 300].map((seconds) => seconds * secondMs)

export function createReturns(deps: ReturnsDeps): Returns {
  const { db, clock } = deps
  const underLease = (claim: ReturnClaim, work: (tx: Tx, row: store.CaseRow) => Promise<void>) =>
    db.transaction(async (tx) => {
      const row = present(
        await store.lockCase(tx, claim.partnerId, claim.caseId),
        `no case ${claim.caseId} of return ${claim.id}`,
      )
      const held = await store.lockReturn(tx, claim.partnerId, claim.id)
      // Another worker has claimed it, or the bank's report arrived first.
      if (held?.leaseId === claim.leaseId && held.status === 'Due') await work(tx, row)
    })
  return {
    start: (tx, row, money, id) => store.insertReturn(tx, toReturn(row, money, id, clock.now())),
    due: (connector, returnsMax) => store.dueReturns(db, connector, clock.now(), returnsMax),
    claim: async ({ partnerId, id }) => {
      const leaseId = newId()
      const row = await db.transaction((tx) => {
        const now = clock.now()
        return store.claimReturn(tx, partnerId, id, { now, leaseId, until: after(now, leaseMs) })
      })
      return row && { ...row, leaseId }
    },
    accepted: (claim) =>
      underLease(claim, (tx) => store.updateReturn(tx, claim, { status: 'Sent', dueAt: null }, clock.now())),
    refused: (claim, details) =>
      underLease(claim, async (tx, row) => {
        await store.updateReturn(tx, claim, { status: 'Refused', dueAt: null }, clock.now())
        await reopen(deps, tx, row, 'return_refused', details)
      }),
    postponed: (claim, until) =>
      underLease(claim, (tx) => {
        const pauseMs = retryMs[claim.attempts - 1] ?? retryMs.at(-1) ?? leaseMs
        return store.updateReturn(
          tx,
          claim,
          { status: 'Due', dueAt: until ?? after(clock.now(), pauseMs) },
          clock.now(),
        )
      }),
    reported: async (report) => {
      const found = await store.returnById(db, report.partnerId, report.subjectId)
      if (found === undefined || found.connector !== report.connector) return 'unknown'
      return db.transaction((tx) => apply(deps, tx, found, report))
    },
    byId: store.returnById,
  }
}

const bankActor = (connector: string) => `bank ${connector}`

async function reopen(
  deps: ReturnsDeps,
  tx: Tx,
  row: store.CaseRow,
  kind: 'return_refused' | 'return_rejected',
  note: string,
): Promise<void> {
  const open = {
    proposalId: null,
    proposal: null,
    proposedBy: null,
    proposedAt: null,
    approvedBy: null,
    returningSince: null,
  }
  await recordDecision(deps, tx, row, { ...row, ...open }, { kind, actor: bankActor(row.connector), note })
  await deps.ended(tx, row, 'WithOperator')
}

/**
 * Checks whether a report repeats a recorded outcome. Money that comes back after the booking is new, because the first
 * case was resolved.
 */
const isRepeated = (status: store.ReturnStatus, kind: ReturnReport['kind']): boolean =>
  status === 'Returned' || (status === 'Rejected' && kind === 'payout.rejected')

/**
 * Applies a report about a return according to the status of the return, as for a payout. A repeated report changes
 * nothing; the same report in another notification is about other money.
 */
async function apply(
  deps: ReturnsDeps,
  tx: Tx,
  { partnerId, id, caseId }: store.ReturnRow,
  report: ReturnReport,
): Promise<boolean | 'contradiction'> {
  const row = present(await store.lockCase(tx, partnerId, caseId), `no case ${caseId} of return ${id}`)
  const locked = present(await store.lockReturn(tx, partnerId, id), `no return ${id}`)
  const { status, amount, currency } = locked
  const { kind, money = { currency, amount } } = report
  const reportedBy = kind === 'payout.settled' ? locked.settledBy : locked.endedBy
  if (reportedBy === report.id) return false
  if (money.currency !== currency || money.amount <= 0n) return 'contradiction'
  if (reportedBy !== null && report.money !== undefined) return 'contradiction'
  const isUnderWay = status === 'Due' || status === 'Sent'
  const now = deps.clock.now()
  if (kind === 'payout.settled') {
    if (status === 'Booked') return false
    // The money has already come back, so that the booking cancels out except for the difference.
    const isLate = status === 'Returned'
    if (!isUnderWay && !isLate) return 'contradiction'
    const changed = { status: isLate ? status : 'Booked', dueAt: null, settledBy: report.id } as const
    await store.updateReturn(tx, locked, changed, now)
    if (!isLate) await settle(deps, tx, row, locked)
    await recordDifference(deps, tx, locked, report, amount - money.amount)
    return true
  }
  if (!isUnderWay) return isRepeated(status, kind) ? false : 'contradiction'
  const ended = kind === 'payout.rejected' ? 'Rejected' : 'Returned'
  await store.updateReturn(tx, locked, { status: ended, dueAt: null, endedBy: report.id }, now)
  await reopen(deps, tx, row, 'return_rejected', report.details ?? 'The bank did not carry out the return.')
  await recordDifference(deps, tx, locked, report, money.amount - amount)
  return true
}

/** Books the whole amount out of suspense. */
async function settle(
  deps: ReturnsDeps,
  tx: Tx,
  row: store.CaseRow,
  { connector, amount, currency }: store.ReturnRow,
): Promise<void> {
  await deps.ledger.enter(tx, caseEntry(row, currency, reversingTransfer(connector, amount)))
  const note = 'The bank has booked the return.'
  const end = {
    resolution: resolutions.return,
    resolvedBy: row.proposedBy,
    note,
    resolvedAt: deps.clock.now(),
    returningSince: null,
  }
  const decided = { kind: 'return_booked', actor: bankActor(connector), note } as const
  const ended = { ...row, ...end, proposalId: null, proposal: null, proposedBy: null, proposedAt: null }
  await recordDecision(deps, tx, row, ended, decided)
  await deps.ended(tx, row, 'Returned')
}

/** Books the difference between the bank's amount and that of the return to suspense, with its own case. */
async function recordDifference(
  deps: ReturnsDeps,
  tx: Tx,
  { partnerId, id, caseId, connector, amount, currency }: store.ReturnRow,
  { id: notificationId, kind, money }: ReturnReport,
  more: bigint,
): Promise<void> {
  if (more === 0n) return
  const difference: NewCase = {
    partnerId,
    kind: 'amount_differs',
    connector,
    notificationId,
    subject: id,
    report: { kind, money, instructed: { currency, amount }, caseId },
    booked: { currency, amount: more },
  }
  for (const entry of await deps.record(tx, [difference])) await deps.ledger.enter(tx, entry)
}
