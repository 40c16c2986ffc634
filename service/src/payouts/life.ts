/**
 * The life of a payout from its acceptance (accept.ts) to its end, in the order in which it happens:
 *
 *     accept | hold                          a request; it may wait for a second person
 *     approve | decline | lapse | cancel     a second person, time, the partner or the operator
 *     claim, screen: stop                    a worker takes it under a lease; a listed name stops it
 *     begin                                  recorded before the bank has the instruction
 *     send | retry | refuse                  the answer of the bank
 *     settle | reject | return | refund      the reports of the bank
 *
 * Each step is a trigger. The table of transitions (lifecycle.ts) says in which statuses it applies, and advance.ts writes it together
 * with the steps of other payouts that come at the same time. A step that does not apply changes nothing.
 */
import type { TimelineStep } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import { after, assert, newId, nilId, partnerKey, present, type RowKey } from '../kernel/index.ts'
import { getBalanceState } from '../ledger/index.ts'
import { type AppliedOutcome, applyInBatches } from '../lifecycle/index.ts'
import { groupByShard, type Tx } from '../postgres/index.ts'
import { type Acknowledgement, internalConnectorId, type PayeeResult } from '../rails/index.ts'
import { createPayoutEngine, type PayoutLifeDeps } from './advance.ts'
import {
  type BankReport,
  type PayoutFailure,
  leaseMs,
  type PayoutTrigger,
  type Person,
  readInstructions,
} from './lifecycle.ts'
import {
  createScreen,
  selectUnheldPayouts,
  postponeHeldPayout,
  type ScreenedClaims,
  type AdvancePayout,
} from './screen.ts'
import * as store from './store.ts'
import { expiredApprovals } from './store-approvals.ts'
import { partnersWithHeld } from './store-held.ts'
import { defineJob, type Job } from '../postgres/jobs/index.ts'

export type PayoutLife = {
  // 1. A payout that waits for a second person. Each function returns whether it has changed the payout.

  /** Approves a payout before its deadline: PendingApproval -> Pending. Refuses: approver_limit_exceeded, permission_denied. */
  readonly approve: (partnerId: string, payoutId: string, by: Person) => Promise<boolean>
  /** Rejects a payout before its deadline: PendingApproval -> Cancelled. */
  readonly decline: (
    partnerId: string,
    payoutId: string,
    by: Person,
    reason: string,
    bulkId?: string,
  ) => Promise<boolean>
  /** Cancels like `cancel`, in the caller's transaction: the bank has taken back the payment that the payouts refund. */
  readonly stopRefunds: (tx: Tx, partnerId: string, payoutIds: readonly string[]) => Promise<void>
  /** Cancels payouts after their deadline: PendingApproval -> Cancelled. Returns their number. */
  readonly expireApprovalsStep: () => Promise<number>
  /** Cancels a payout before a worker records its first attempt: Pending or PendingApproval -> Cancelled. */
  readonly cancel: (partnerId: string, payoutId: string, canceller?: 'operator' | Person) => Promise<boolean>

  // 2. A worker claims it under a lease, whose id fences every change: a worker that was frozen past its lease changes
  // nothing.

  /** Ends the leases of dead workers. Only for the embedded database, which serves one process. */
  readonly releaseLeases: (partnerId: string) => Promise<void>
  /** Lists the partners with due payouts of the connector: the due-work scan. */
  readonly partnersWithDue: (connector: string, partnersMax: number) => Promise<readonly string[]>
  /** Claims at most `payoutsMax` due payouts of the connector for each partner, oldest first. */
  readonly claim: (
    connector: string,
    partnerIds: readonly string[],
    payoutsMax: number,
    /** Claims only payouts that wait for a decision. */
    isHeld?: boolean,
  ) => Promise<readonly store.PayoutClaim[]>
  /** Reads at most `payoutsMax` due payouts of the connector for each partner, oldest first. Takes no lease. */
  readonly due: (
    connector: string,
    partnerIds: readonly string[],
    payoutsMax: number,
  ) => Promise<readonly store.DuePayout[]>
  /** Claims those of these payouts that are still due. */
  readonly claimAgain: (connector: string, payouts: readonly store.DuePayout[]) => Promise<readonly store.PayoutClaim[]>
  /** Selects those of these payouts that no worker has begun and that are not held. */
  readonly free: (due: readonly store.DuePayout[]) => Promise<readonly store.DuePayout[]>
  /**
   * Claims and begins a payout with one write. Undefined: another worker has it, or its due time has changed since it
   * was read.
   */
  readonly beginDue: (payout: store.DuePayout, leaseId: string) => Promise<store.PayoutClaim | undefined>
  /**
   * Screens claims. Returns those that may be sent, and those about which the bank is only asked. The others wait for a
   * decision about a name, or are stopped: Pending -> Failed.
   */
  readonly screen: (claims: readonly store.PayoutClaim[]) => Promise<ScreenedClaims>
  /**
   * Applies decisions to waiting payouts without a bank: stopped payouts end, the others wait for the bank. Returns the
   * number of claimed payouts.
   */
  readonly screenHeld: (connector: string, payoutsMax: number) => Promise<number>
  /**
   * Begins an attempt after the checks have passed: Pending -> Processing. Counts the attempt before the bank receives
   * the instruction. Undefined: the lease is lost.
   */
  readonly begin: (claim: store.PayoutClaim) => Promise<store.PayoutClaim | undefined>
  /**
   * Adds the beneficiary's present address to SWIFT payouts without one: a payout that was accepted before an address
   * was required leaves once the partner has added it.
   */
  readonly withAddresses: (attempts: readonly store.PayoutClaim[]) => Promise<readonly store.PayoutClaim[]>
  /** Records the bank's answer: Processing -> Sent or Failed. If the connector keeps the instruction, the payout is due again later. */
  readonly answered: (claim: store.PayoutClaim, acknowledgement: Acknowledgement) => Promise<void>
  /** Schedules an enquiry, because the bank was unreachable and the outcome of the attempt is unknown. */
  readonly unreachable: (claim: store.PayoutClaim) => Promise<void>
  /**
   * Fails a Processing payout after too many attempts. Returns false if it may be attempted again. Call it only if the
   * bank has confirmed since the last attempt that it does not have the instruction: otherwise the outcome is unknown.
   */
  readonly giveUp: (claim: store.PayoutClaim) => Promise<boolean>

  // 3. The bank reports, without a lease: only a report that fits the recorded status changes anything
  // (`AppliedOutcome`).

  /** Records a settlement: Sent -> Completed. Posts the reserved money. */
  readonly settled: (
    reporting: ReportedPayout & { readonly transactionHash?: string | undefined },
  ) => Promise<AppliedOutcome>
  /** Records a rejection: Sent -> Failed. Releases the reserved money. */
  readonly rejected: (reporting: ReportedPayout, failure: PayoutFailure) => Promise<AppliedOutcome>
  /** Works like `rejected` before settlement. After settlement, a new, linked transaction returns the money. */
  readonly returned: (reporting: ReportedPayout, failure: PayoutFailure) => Promise<AppliedOutcome>
  /**
   * Adds the bank's verification of the payee to the timeline. Returns false if it is already there, or the payout has
   * ended or is unknown.
   */
  readonly payeeChecked: (
    key: Omit<ReportedPayout, 'report'>,
    payee: PayeeResult,
    bankText?: string | null,
  ) => Promise<boolean>
  /**
   * Ends a payout by a written statement of the bank to two operators: Sent -> Completed or Failed. A later contrary
   * report is a contradiction. Refuses: validation_failed (another status; a payout that no bank carries).
   */
  readonly endByStatement: (tx: Tx, payment: RowKey & { readonly end: 'paid' | 'not-paid' }) => Promise<void>
  /**
   * Applies an operator's finding that money paid this payout, or came back from it, like a report of the bank, in the
   * caller's transaction. `payoutId`: of the payout, or of its instruction.
   */
  readonly matched: (
    tx: Tx,
    matching: {
      readonly partnerId: string
      readonly payoutId: string
      readonly report: BankReport
      readonly returned?: PayoutFailure | undefined
    },
  ) => Promise<AppliedOutcome>
}

type ReportedPayout = { readonly partnerId: string; readonly instructionId: string; readonly report: BankReport }

export function createPayoutLife(deps: PayoutLifeDeps): PayoutLife {
  const apply = createPayoutEngine(deps)
  const advance = applyInBatches({ db: deps.db, read: readInstructions, work: apply })
  const claiming = createClaiming(deps)
  const screen = createScreen(deps, advance)
  return {
    ...createWaiting(deps, advance),
    ...claiming,
    screen,
    withAddresses: (attempts) => withAddresses(deps, attempts),
    free: (due) => selectUnheldPayouts(deps, due),
    screenHeld: async (connector, payoutsMax) => {
      const partners = await partnersWithHeld(deps.db, connector, deps.clock.now(), payoutsMax)
      const partnerIds = partners.map(({ partnerId }) => partnerId)
      const claims = await claiming.claim(connector, partnerIds, payoutsMax, true)
      const { cleared } = await screen(claims)
      if (cleared.length > 0)
        await postponeHeldPayout(
          deps,
          cleared.map((claim) => ({ claim, hold: undefined })),
        )
      return claims.length
    },
    ...createSending(deps, advance),
    ...createReporting(deps, advance),
    matched: createMatched(deps, apply),
    endByStatement: createEndByStatement(apply),
    stopRefunds: async (tx, partnerId, payoutIds) => {
      const triggers = payoutIds.map((payoutId): PayoutTrigger => {
        return { partnerId, payoutId, kind: 'cancelled', canceller: 'bank' }
      })
      await apply(tx, triggers, new Map())
    },
  }
}

/** Adds to claimed SWIFT payouts the address that their payee got after acceptance. */
async function withAddresses(
  { db, beneficiaries }: PayoutLifeDeps,
  attempts: readonly store.PayoutClaim[],
): Promise<readonly store.PayoutClaim[]> {
  const keys = attempts.flatMap(({ partnerId, beneficiaryId, creditorAddressJson, rail }) =>
    rail === 'Swift' && creditorAddressJson === null && beneficiaryId !== null
      ? [{ partnerId, id: beneficiaryId }]
      : [],
  )
  const found = await Promise.all(groupByShard(db, keys).map((group) => beneficiaries.payeesByIds(db, group)))
  const payees = new Map(found.flatMap((group) => [...group]))
  const completed = attempts.map((attempt) => {
    const { partnerId, beneficiaryId, creditorAddressJson, rail } = attempt
    const address = payees.get(partnerKey(partnerId, beneficiaryId ?? ''))?.address ?? null
    if (rail !== 'Swift' || creditorAddressJson !== null || address === null) return attempt
    return { ...attempt, creditorAddressJson: JSON.stringify(address) }
  })
  const given = completed.filter((attempt, index) => attempt !== attempts[index])
  for (const [partnerId, rows] of Map.groupBy(given, (attempt) => attempt.partnerId))
    await store.storeAddresses(db, partnerId, rows)
  return completed
}

/** Limits a step, so that a stop does not wait long for it. */
const lapsedPerStepMax = 100

function createWaiting(
  { db, clock }: PayoutLifeDeps,
  advance: AdvancePayout,
): Pick<PayoutLife, 'approve' | 'decline' | 'expireApprovalsStep' | 'cancel'> {
  const isMoved = async (trigger: PayoutTrigger) => (await advance(trigger)) === true
  return {
    approve: (partnerId, payoutId, by) => isMoved({ partnerId, payoutId, kind: 'approved', by, reason: null }),
    decline: (partnerId, payoutId, by, reason, bulkId) =>
      isMoved({ partnerId, payoutId, kind: 'declined', by, reason, bulkId }),
    expireApprovalsStep: async () => {
      const lapsed = await expiredApprovals(db, clock.now(), lapsedPerStepMax)
      const moved = await Promise.all(
        lapsed.map(({ partnerId, id: payoutId }) => isMoved({ partnerId, payoutId, kind: 'lapsed' })),
      )
      return moved.filter(Boolean).length
    },
    cancel: (partnerId, payoutId, canceller) => isMoved({ partnerId, payoutId, kind: 'cancelled', canceller }),
  }
}

function createClaiming({
  db,
  clock,
}: PayoutLifeDeps): Pick<PayoutLife, 'releaseLeases' | 'partnersWithDue' | 'due' | 'claim' | 'claimAgain'> {
  /** Splits payouts by partner on a sharded database, where a statement names one partner. */
  const inGroups = async <T extends store.DuePayout>(
    partnerIds: readonly string[],
    read: (group: readonly string[]) => Promise<readonly T[]>,
  ): Promise<readonly T[]> => {
    const groups = db.sharded ? partnerIds.map((partnerId) => [partnerId]) : partnerIds.length > 0 ? [partnerIds] : []
    const rows = await Promise.all(groups.map(read))
    return rows.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))
  }
  const claim = async (
    partnerIds: readonly string[],
    which: Pick<Parameters<typeof store.claimDue>[2], 'connector' | 'payoutsMax' | 'isHeld' | 'ids'>,
  ): Promise<readonly store.PayoutClaim[]> => {
    const now = clock.now()
    const leaseId = newId()
    const rows = await inGroups(partnerIds, (group) =>
      store.claimDue(db, group, { ...which, now, leaseId, leaseUntil: after(now, leaseMs) }),
    )
    return rows.map((row) => ({ ...row, leaseId }))
  }
  /** The last partner of each connector's scan. */
  const scannedUpTo = new Map<string, string>()
  return {
    releaseLeases: (partnerId) => store.releaseLeases(db, partnerId, clock.now()),
    partnersWithDue: async (connector, partnersMax) => {
      const now = clock.now()
      const from = scannedUpTo.get(connector) ?? nilId
      const behind = await store.partnersWithDue(db, connector, now, from, partnersMax)
      const missing = partnersMax - behind.partnerIds.length
      const wrapsAround = behind.complete && missing > 0 && from !== nilId
      const before = wrapsAround ? (await store.partnersWithDue(db, connector, now, nilId, missing)).partnerIds : []
      const partnerIds = [...new Set([...behind.partnerIds, ...before])]
      // The next scan continues here: partners with many payouts must not starve the others.
      scannedUpTo.set(connector, partnerIds.at(-1) ?? nilId)
      return partnerIds
    },
    due: (connector, partnerIds, payoutsMax) => {
      const due = { connector, now: clock.now(), payoutsMax }
      return inGroups(partnerIds, (group) => store.duePayouts(db, group, due))
    },
    claim: (connector, partnerIds, payoutsMax, isHeld = false) => claim(partnerIds, { connector, payoutsMax, isHeld }),
    claimAgain: (connector, payouts) => {
      const partnerIds = [...new Set(payouts.map(({ partnerId }) => partnerId))]
      return claim(partnerIds, { connector, payoutsMax: payouts.length, ids: payouts.map(({ id }) => id) })
    },
  }
}

const hashIn = ({ transactionHash }: { readonly transactionHash?: string | undefined }) =>
  transactionHash === undefined ? {} : { transactionHash }

const underLease = ({ partnerId, id: payoutId, leaseId }: store.PayoutClaim) => ({ partnerId, payoutId, leaseId })

const beginClaim = (claim: store.PayoutClaim): store.PayoutClaim => ({
  ...claim,
  status: 'Processing',
  sendAttempts: claim.sendAttempts + 1,
})

const createSending = (
  { attemptsMax }: PayoutLifeDeps,
  advance: AdvancePayout,
): Pick<PayoutLife, 'beginDue' | 'begin' | 'answered' | 'unreachable' | 'giveUp'> => ({
  beginDue: async (payout, leaseId) => {
    const { partnerId, id: payoutId, dueAt } = payout
    const isBegun = await advance({
      partnerId,
      payoutId,
      leaseId,
      kind: 'attempt',
      dueAt: present(dueAt, `payout ${payoutId} has no due time`),
    })
    return isBegun === true ? beginClaim({ ...payout, leaseId }) : undefined
  },
  begin: async (claim) => {
    const isBegun = await advance({ ...underLease(claim), kind: 'attempt' })
    return isBegun === true ? beginClaim(claim) : undefined
  },
  answered: async (claim, acknowledgement) => {
    const held = underLease(claim)
    if (!acknowledgement.accepted) await advance({ ...held, kind: 'refused', failure: acknowledgement })
    else if (acknowledgement.notBefore !== undefined)
      await advance({ ...held, kind: 'kept', until: acknowledgement.notBefore })
    else await advance({ ...held, kind: 'accepted', ...hashIn(acknowledgement) })
  },
  unreachable: async (claim) => void (await advance({ ...underLease(claim), kind: 'unreachable' })),
  giveUp: async (claim) => {
    if (claim.sendAttempts <= attemptsMax) return false
    const failure = { errorKey: 'BankUnreachable', details: 'The bank could not be reached.' } as const
    await advance({ ...underLease(claim), kind: 'refused', failure })
    return true
  },
})

const payeeSteps = {
  match: 'PayeeMatched',
  close_match: 'PayeeMatchedClosely',
  no_match: 'PayeeNotMatched',
  unchecked: 'PayeeNotChecked',
} as const satisfies Record<PayeeResult, TimelineStep>

const createReporting = (
  deps: PayoutLifeDeps,
  advance: AdvancePayout,
): Pick<PayoutLife, 'settled' | 'rejected' | 'returned' | 'payeeChecked'> => ({
  settled: ({ transactionHash, ...reporting }) =>
    advance({ ...reporting, kind: 'settled', ...hashIn({ transactionHash }) }),
  rejected: (reporting, failure) => advance({ ...reporting, kind: 'rejected', failure }),
  payeeChecked: ({ partnerId, instructionId }, payee, bankText = null) =>
    deps.db.transaction(async (tx) => {
      const endToEndId = instructionId.replaceAll('-', '')
      const noted = await store.recordPayeeCheck(tx, { partnerId, endToEndId }, payee)
      if (noted === undefined) return false
      const move = { partnerId, id: noted.transactionId, steps: [payeeSteps[payee]], actor: 'bank' as const, bankText }
      await deps.transactions.moveMany(tx, [move])
      const { beneficiaryId: id, creditorName: name, creditorAccount: account } = noted
      if (id !== null && payee !== 'unchecked')
        await deps.beneficiaries.recordCheck(tx, partnerId, { id, name, account }, payee)
      return true
    }),
  returned: async (reporting, failure) => {
    const { partnerId, report } = reporting
    // A closed balance accepts no money: a return goes to suspense, with a case.
    if (await isForClosedBalance(deps, deps.db, partnerId, report)) return 'contradiction'
    return advance({ ...reporting, kind: 'returned', failure })
  },
})

/** Reports whether the balance that a return credits is closed. */
async function isForClosedBalance(
  { ledger }: PayoutLifeDeps,
  tx: Tx,
  partnerId: string,
  { money }: BankReport,
): Promise<boolean> {
  if (money === undefined) return false
  const { currency } = money
  const accounts = await ledger.accountsOf(tx, [{ partnerId, currency, debit: 'suspense', credit: 'balance' }])
  return getBalanceState(accounts, partnerId, currency) === 'Closed'
}

const createMatched =
  (deps: PayoutLifeDeps, apply: ReturnType<typeof createPayoutEngine>): PayoutLife['matched'] =>
  async (tx, { partnerId, payoutId: instructionId, report, returned }) => {
    if (returned !== undefined && (await isForClosedBalance(deps, tx, partnerId, report))) return 'contradiction'
    const named = { partnerId, instructionId, report }
    const trigger: PayoutTrigger =
      returned === undefined ? { ...named, kind: 'settled' } : { ...named, kind: 'returned', failure: returned }
    // Deferred: the implied transition was applied first, and the report must be applied again.
    for (;;) {
      const [advanced] = await apply(tx, [trigger], await readInstructions(tx, [trigger]))
      assert(!(advanced instanceof Refusal), 'a bank report was answered with a refusal')
      if (advanced !== 'deferred') return present(advanced, `no answer to the report on instruction ${instructionId}`)
    }
  }

const createEndByStatement =
  (apply: ReturnType<typeof createPayoutEngine>): PayoutLife['endByStatement'] =>
  async (tx, { partnerId, id, end }) => {
    const [payout] = await store.lockPayouts(tx, [{ partnerId, id }])
    const { status, rail, connector } = present(payout, `no payout ${id}`)
    // A chain reports its own transfers, and a worker credits internal accounts.
    if (rail === 'Wallet' || connector === internalConnectorId)
      throw new Refusal('validation_failed', 'No bank has the payout. Only a payout at a bank can be ended manually.')
    if (status !== 'Sent')
      throw new Refusal(
        'validation_failed',
        `The payout is ${status}. Only a payout that is Sent can be ended manually.`,
      )
    const named = { partnerId, instructionId: id, report: { connector, notificationId: `word ${newId()}` } }
    const failure = { errorKey: 'BankRejection', details: 'The bank did not execute the payment.' } as const
    const trigger: PayoutTrigger =
      end === 'paid' ? { ...named, kind: 'settled' } : { ...named, kind: 'rejected', failure }
    const [ended] = await apply(tx, [trigger], new Map())
    assert(ended === true, `payout ${id} did not end by the statement of its bank`)
  }

// The job of payouts that needs no bank. Settlement declares those that call one.

export const approvalsJob = ({ expireApprovalsStep }: Pick<PayoutLife, 'expireApprovalsStep'>): Job =>
  defineJob({ name: 'payouts.approvals', due: store.approvalsDue, run: expireApprovalsStep })
