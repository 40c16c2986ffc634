/**
 * Decisions about cases. One person proposes and another one approves, and then the money moves. Every step locks the
 * case, so that one of two concurrent steps is refused, and adds a row to `cases.decisions`.
 */
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../kernel/api/index.ts'
import {
  after,
  type Clock,
  type Decider,
  decidersText,
  isEmptyName,
  isSamePerson,
  newId,
  type DecidersProblem,
  present,
  type RowKey,
  type Money,
} from '../kernel/index.ts'
import type { FactQueue } from '../inbox/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import {
  type CaseAction,
  type CaseKind,
  caseEntry,
  feesTransfer,
  hasExpired,
  explainMisfit,
  type ActionArguments,
  twoPersonNoteKinds,
  proposalMsMax,
  resolutions,
  reversingTransfer,
} from './rules.ts'
import * as store from './store.ts'
import { type CaseReport, readCaseReport } from './report.ts'

/** The person who decides. `staffId`: the signed-in account; absent if a command was called with only a name. */
type CaseDecider = { readonly staff: string; readonly staffId?: string }
export type ProposalRequest = RowKey &
  ActionArguments &
  CaseDecider & { readonly action: CaseAction; readonly note: string }
export type Proposal = ActionArguments & {
  readonly action: CaseAction
  readonly note: string
  readonly staffId?: string
}

/**
 * The money of a case that the decision moves. It was booked to the partner's settlement account of `connector` first.
 */
type CaseMoney = {
  readonly case: RowKey & Pick<store.CaseRow, 'connector' | 'notificationId' | 'subject'>
  readonly partnerId: string
  /** Below zero if the money has left. */
  readonly money: Money
  readonly report: CaseReport
}

/** Payouts that a refusal has stopped, and payouts that were already sent. */
type RefusalCounts = Readonly<Record<'stopped' | 'alreadySent', number>>

/** `listed`: a name, account or country of the sender is on a list, or may be. */
export type SenderHold = 'unscreened' | 'listed'

export type CaseEffects = {
  /** Applies the money to the payout that it paid or returned. Refuses: not_found, validation_failed. */
  readonly payout: (tx: Tx, moving: CaseMoney, payoutId: string) => Promise<void>
  /** Books the money as a deposit of a customer or of the partner. Refuses: not_found (customerId). */
  readonly deposit: (tx: Tx, moving: CaseMoney, customerId: string | undefined) => Promise<void>
  /** Credits the money to a partner without a payment. Refuses: not_found. */
  readonly credit: (tx: Tx, moving: CaseMoney) => Promise<void>
  /** Charges a partner for money that left. Refuses: not_found, account_blocked, validation_failed. */
  readonly charge: (tx: Tx, moving: CaseMoney) => Promise<void>
  /** Marks the entry of the case as already counted. Refuses: validation_failed. */
  readonly announced: (tx: Tx, row: store.CaseRow) => Promise<void>
  /** Screens the sender of the case's money. Undefined: no list has it, or the money left. */
  readonly screenSender: (tx: Tx, row: store.CaseRow) => Promise<SenderHold | undefined>
  /** Explains why the case cannot be decided now. Undefined if it can. */
  readonly notNow: (tx: Tx, row: store.CaseRow) => Promise<string | undefined>
  /**
   * Counts the held payouts that a refusal stops, and payouts that were already sent. Refuses: validation_failed (no
   * payout is held).
   */
  readonly refusal: (tx: Tx, row: store.CaseRow) => Promise<RefusalCounts>
  readonly sendBack: (tx: Tx, row: store.CaseRow, money: Money, id: string) => Promise<void>
}

export type Decisions = {
  /**
   * Proposes the resolution of a case, and replaces an existing proposal. Resolves a case without money at once
   * (`note`), except the kinds that need a second person even for a note. Refuses: not_found, validation_failed,
   * permission_denied (a role that does not decide the kind).
   */
  readonly propose: (tx: Tx, proposing: ProposalRequest) => Promise<store.CaseRow>
  /**
   * Carries out the proposal of another person. `proposalId`: the proposal that the person has read; another one is
   * refused. Refuses: not_found, validation_failed, permission_denied, and what the action refuses.
   */
  readonly approve: (
    tx: Tx,
    approving: RowKey & CaseDecider & { readonly proposalId?: string },
  ) => Promise<store.CaseRow>
  /**
   * Rejects a proposal, or withdraws it if the person is its author. Refuses: not_found, validation_failed,
   * permission_denied.
   */
  readonly reject: (tx: Tx, rejecting: RowKey & CaseDecider & { readonly note: string }) => Promise<store.CaseRow>
  /**
   * Resolves a case without money because its cause is gone. Returns false if it was already resolved, or has money.
   */
  readonly resolveGone: (tx: Tx, key: RowKey, actor: string, note: string) => Promise<boolean>
  /** Expires proposals that no second person decided in time. Returns their number. */
  readonly expire: (transaction: Transaction, proposalsMax: number) => Promise<number>
  /**
   * Returns the kind by whose roles the case is decided: `sanctions_hold` if a name, account or country of the sender may
   * be on a list, because such money is neither made available nor sent back.
   */
  readonly decidedKind: (tx: Tx, row: store.CaseRow) => Promise<CaseKind>
  /** Lists the decisions about a case in order. */
  readonly history: (tx: Tx, partnerId: string, id: string) => Promise<readonly store.DecisionRow[]>
}
type Transaction = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>

export type DecisionsDeps = {
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'enter'>
  readonly facts: FactQueue
  readonly effects: CaseEffects
  /** Refuses (permission_denied) a person whose role does not decide the kind. */
  readonly requireDecider: (tx: Tx, kind: CaseKind, by: Decider) => Promise<void>
  /** Checks by their current roles whether the author and the approver may decide together. */
  readonly judgeTwo: (
    tx: Tx,
    kind: CaseKind,
    author: Decider,
    approver: Decider,
  ) => Promise<DecidersProblem | undefined>
}

export function createDecisions(deps: DecisionsDeps): Decisions {
  const { clock } = deps
  return {
    propose: (tx, proposing) => propose(deps, tx, proposing),
    approve: (tx, approving) => approve(deps, tx, approving),
    reject: (tx, rejecting) => reject(deps, tx, rejecting),
    resolveGone: async (tx, { partnerId, id }, actor, note) => {
      const row = await store.lockCase(tx, partnerId, id)
      if (row === undefined || row.resolution !== null || row.booked !== null) return false
      const end = { resolution: 'gone', resolvedBy: actor, note, resolvedAt: clock.now() } as const
      await recordDecision(deps, tx, row, { ...row, ...withoutProposal, ...end }, { kind: 'gone', actor, note })
      return true
    },
    expire: async (transaction, proposalsMax) => {
      const due = await transaction((tx) => store.proposalsBefore(tx, after(clock.now(), -proposalMsMax), proposalsMax))
      for (const key of due) await transaction((tx) => expireProposal(deps, tx, key))
      return due.length
    },
    decidedKind: async (tx, row) => (await judgedKind(deps, tx, row)).kind,
    history: store.decisionsOf,
  }
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

export const withoutProposal = { proposalId: null, proposal: null, proposedBy: null, proposedAt: null } as const

/** Locks a case that is not decided. Refuses: not_found, validation_failed. */
async function lockUndecided(tx: Tx, partnerId: string, id: string): Promise<store.CaseRow> {
  const found = await store.lockCase(tx, partnerId, id)
  if (found === undefined) throw new Refusal('not_found', 'No such case.')
  if (found.resolution !== null)
    throw new StepConflict(
      'resolved',
      `The case was ${found.resolution} by ${decidersText(found.resolvedBy, found.approvedBy)} at ${found.resolvedAt?.toISOString() ?? ''}.`,
      { who: found.approvedBy ?? found.resolvedBy, at: found.resolvedAt },
    )
  return found
}

async function judgedKind(
  { effects }: Pick<DecisionsDeps, 'effects'>,
  tx: Tx,
  row: store.CaseRow,
): Promise<{ readonly kind: CaseKind; readonly hold: SenderHold | undefined }> {
  const hold = await effects.screenSender(tx, row)
  return { kind: hold === 'listed' ? 'sanctions_hold' : row.kind, hold }
}

/** Locks the case, if the person may decide it and it can still be decided. Returns it with the kind of `decidedKind`. */
async function lockOpen(
  deps: DecisionsDeps,
  tx: Tx,
  partnerId: string,
  id: string,
  by: Decider,
): Promise<{ readonly row: store.CaseRow; readonly kind: CaseKind }> {
  const { effects, requireDecider } = deps
  const found = await lockUndecided(tx, partnerId, id)
  const { kind, hold } = await judgedKind(deps, tx, found)
  if (hold === 'unscreened') throw refuse('The sender of the money is not screened yet. Repeat it in a minute.')
  await requireDecider(tx, kind, by).catch((error: unknown) => {
    if (kind === found.kind || !(error instanceof Refusal)) throw error
    throw new Refusal(error.code, `The sender of the money may be on a list. ${error.detail}`)
  })
  if (found.returningSince !== null)
    throw new StepConflict(
      'returning',
      `The money of the case has been on its way back since ${found.returningSince.toISOString()}.`,
      { at: found.returningSince },
    )
  const why = await effects.notNow(tx, found)
  if (why !== undefined) throw refuse(why)
  return { row: found, kind }
}

type NewDecision = Pick<store.DecisionRow, 'kind' | 'actor' | 'note'> & Partial<RefusalCounts>

/** Writes the case and the decision. `named`: the author of the proposal, if there is one. */
export async function recordDecision(
  { clock }: Pick<DecisionsDeps, 'clock'>,
  tx: Tx,
  row: store.CaseRow,
  changed: store.CaseRow,
  decided: NewDecision,
): Promise<store.CaseRow> {
  await store.updateCase(tx, changed)
  const about = changed.proposalId === null ? row : changed
  await store.appendDecision(tx, {
    partnerId: row.partnerId,
    caseId: row.id,
    ...{ stopped: null, alreadySent: null, ...decided },
    proposalId: about.proposalId,
    action: readProposal(about)?.action ?? null,
    before: caseFingerprint(row),
    after: caseFingerprint(changed),
    decidedAt: clock.now(),
  })
  return changed
}

/** Serializes the fields of a case that a decision may change, for its history. */
const caseFingerprint = (row: store.CaseRow): string =>
  JSON.stringify({
    proposalId: row.proposalId,
    proposal: readProposal(row) ?? null,
    proposedBy: row.proposedBy,
    proposedAt: row.proposedAt,
    returningSince: row.returningSince,
    resolution: row.resolution,
    resolvedBy: row.resolvedBy,
    resolvedAt: row.resolvedAt,
    note: row.note,
    ...(row.approvedBy === null ? {} : { approvedBy: row.approvedBy }),
    ...(row.disposition === null ? {} : { disposition: row.disposition }),
    owner: row.ownerName,
    suspense: row.booked === null || row.resolution !== null ? null : `${row.booked} ${row.currency}`,
  })

/** Reports whether the author of the proposal is the person who decides, by id or name. Accounts of staff have different names. */
const isProposer = (
  proposedBy: string,
  proposal: Proposal | undefined,
  { staff, staffId }: { readonly staff: string; readonly staffId: string | undefined },
): boolean => (staffId !== undefined && proposal?.staffId === staffId) || isSamePerson(proposedBy, staff)

const readProposal = ({ proposal }: Pick<store.CaseRow, 'proposal'>): Proposal | undefined =>
  proposal === null ? undefined : ownJson<Proposal>(proposal)

async function propose(deps: DecisionsDeps, tx: Tx, proposing: ProposalRequest): Promise<store.CaseRow> {
  const { partnerId, id, staff, staffId, note, action, toPartnerId, customerId, payoutId, disposition } = proposing
  if (isEmptyName(staff)) throw refuse('State who proposes it.')
  const { row, kind: decidedBy } = await lockOpen(deps, tx, partnerId, id, { id: staffId, name: staff })
  const misfit = explainMisfit(action, row, readCaseReport(row).debtor?.account, proposing)
  if (misfit !== undefined) throw refuse(misfit)
  if (action === 'refuse') await deps.effects.refusal(tx, row)
  const now = deps.clock.now()
  if (action === 'note' && !twoPersonNoteKinds.has(row.kind)) {
    const end = { resolution: resolutions.note, resolvedBy: staff, note, resolvedAt: now }
    return recordDecision(deps, tx, row, { ...row, ...end }, { kind: 'noted', actor: staff, note })
  }
  const told = { kind: decidedBy, by: staff }
  deps.facts.append(tx, [{ partnerId, type: 'case.proposed', subject: id, occasion: newId(), facts: told }])
  const proposal: Proposal = {
    action,
    note,
    ...(staffId === undefined ? {} : { staffId }),
    ...(toPartnerId === undefined ? {} : { toPartnerId }),
    ...(customerId === undefined ? {} : { customerId }),
    ...(payoutId === undefined ? {} : { payoutId }),
    ...(disposition === undefined ? {} : { disposition }),
  }
  const proposed = {
    ...row,
    proposalId: newId(),
    proposal: JSON.stringify(proposal),
    proposedBy: staff,
    proposedAt: now,
  }
  const kind = row.proposalId === null ? 'proposed' : 'replaced'
  return recordDecision(deps, tx, row, proposed, { kind, actor: staff, note })
}

async function approve(
  deps: DecisionsDeps,
  tx: Tx,
  { partnerId, id, staff, staffId, proposalId }: Parameters<Decisions['approve']>[1],
): Promise<store.CaseRow> {
  if (isEmptyName(staff)) throw refuse('State who approves it.')
  const { row, kind } = await lockOpen(deps, tx, partnerId, id, { id: staffId, name: staff })
  const { proposedBy, proposedAt } = row
  const proposal = readProposal(row)
  if (proposal === undefined || proposedBy === null || proposedAt === null)
    throw refuse('The case has no proposal: make one first.')
  if (proposalId !== undefined && proposalId !== row.proposalId)
    throw new StepConflict(
      'replaced',
      `The proposal was replaced by ${proposedBy} at ${proposedAt.toISOString()}: read the new one.`,
      { who: proposedBy, at: proposedAt },
    )
  const author = { id: proposal.staffId, name: proposedBy }
  const not = await deps.judgeTwo(tx, kind, author, { id: staffId, name: staff })
  if (not !== undefined) throw refuse(not.why)
  const now = deps.clock.now()
  if (hasExpired(proposedAt, now)) throw refuse('The proposal has expired: propose it again.')
  const { action, note } = proposal
  const reached = action === 'refuse' ? await deps.effects.refusal(tx, row) : undefined
  const decided = { kind: 'approved', actor: staff, note, ...reached } as const
  if (row.booked !== null) await carryOut(deps, tx, row, proposal)
  const by = { resolvedBy: proposedBy, approvedBy: staff }
  const ended = { ...withoutProposal, ...by, disposition: proposal.disposition ?? null }
  // The proposal stays while the return is in progress, because the bank's reports refer to it.
  const changed =
    action === 'return'
      ? { ...row, approvedBy: staff, returningSince: now }
      : { ...row, ...ended, resolution: resolutions[action], note, resolvedAt: now }
  return recordDecision(deps, tx, row, changed, decided)
}

/**
 * Moves the money as the action requires. Fees and write-offs are booked from suspense, and a return stays there until
 * the bank books it. Other money first moves back to the settlement account, and from there into the ledger of the
 * partner.
 */
async function carryOut(
  { ledger, effects }: DecisionsDeps,
  tx: Tx,
  row: store.CaseRow,
  { action, toPartnerId = row.partnerId, customerId, payoutId }: Proposal,
): Promise<void> {
  const currency = present(row.currency, `case ${row.id} has no currency`)
  const amount = present(row.booked, `case ${row.id} has no money`)
  const money: Money = { currency, amount }
  if (action === 'return')
    return effects.sendBack(tx, row, money, present(row.proposalId, `case ${row.id} has no proposal`))
  if (action === 'fees' || action === 'write-off')
    return ledger.enter(tx, caseEntry(row, currency, feesTransfer(amount)))
  await ledger.enter(tx, caseEntry(row, currency, reversingTransfer(row.connector, amount)))
  if (action === 'announced') return effects.announced(tx, row)
  const moving = { case: row, partnerId: toPartnerId, money, report: readCaseReport(row) }
  if (action === 'credit') await effects.credit(tx, moving)
  else if (action === 'charge') await effects.charge(tx, moving)
  else if (action === 'match' && payoutId !== undefined) await effects.payout(tx, moving, payoutId)
  else if (action === 'match') await effects.deposit(tx, moving, customerId)
}

async function reject(
  deps: DecisionsDeps,
  tx: Tx,
  { partnerId, id, staff, staffId, note }: Parameters<Decisions['reject']>[1],
): Promise<store.CaseRow> {
  if (isEmptyName(staff)) throw refuse('State who rejects it.')
  const { row } = await lockOpen(deps, tx, partnerId, id, { id: staffId, name: staff })
  if (row.proposedBy === null) throw refuse('The case has no proposal.')
  const kind: store.DecisionKind = isProposer(row.proposedBy, readProposal(row), { staff, staffId })
    ? 'withdrawn'
    : 'rejected'
  return recordDecision(deps, tx, row, { ...row, ...withoutProposal }, { kind, actor: staff, note })
}

/** Expires a proposal, unless it was decided or replaced meanwhile. */
async function expireProposal(deps: DecisionsDeps, tx: Tx, { partnerId, id }: RowKey): Promise<void> {
  const row = await store.lockCase(tx, partnerId, id)
  if (row === undefined || row.proposedAt === null || row.resolution !== null || row.returningSince !== null) return
  if (!hasExpired(row.proposedAt, deps.clock.now())) return
  const note = 'No second person decided on the proposal in time.'
  await recordDecision(deps, tx, row, { ...row, ...withoutProposal }, { kind: 'expired', actor: 'service', note })
}

// The refusal of a step that conflicts with an earlier step of another person.

/** Reasons why an earlier step of another person makes this one impossible. */
type ConflictReason = 'owned' | 'handedBack' | 'resolved' | 'returning' | 'replaced'

/**
 * Refusal of a step that conflicts with an earlier step of another person. `who` and `at` are separate values, so that
 * a page can format them in the reader's language and time zone.
 */
export class StepConflict extends Refusal {
  readonly by: ConflictReason
  readonly who: string
  readonly at: Date | null

  constructor(
    by: ConflictReason,
    detail: string,
    { who = null, at = null }: { who?: string | null; at?: Date | null },
  ) {
    super('validation_failed', detail)
    this.by = by
    this.who = who ?? ''
    this.at = at
  }
}

// The owner of a case, who looks into it, and notes. An owner has no part in the decision, which two people make. Each step locks the
// case and is in its history.

type Person = { readonly id: string; readonly fullName: string }

type OwnerChange = RowKey & {
  readonly by: Person
  /** The new owner. Null removes the owner. */
  readonly owner: Person | null
  /** The owner that the page showed, or null. The change is refused if the owner has changed since. */
  readonly seen: string | null
}

export type CaseOwners = {
  /** Sets or removes the owner of a case. Refuses: not_found, validation_failed (decided, or the owner has changed). */
  readonly assign: (tx: Tx, assigning: OwnerChange) => Promise<store.CaseRow>
  /** Adds a note to the history of an open case. Refuses: not_found, validation_failed (decided). */
  readonly remark: (tx: Tx, remark: RowKey & { readonly by: Person; readonly note: string }) => Promise<store.CaseRow>
}

export const createCaseAssignment = (deps: { readonly clock: Clock }): CaseOwners => ({
  assign: async (tx, { partnerId, id, by, owner, seen }) => {
    const row = await lockUndecided(tx, partnerId, id)
    if (row.ownerId !== seen) throw ownerConflict('the case', row)
    if (row.ownerId === (owner?.id ?? null)) return row
    const ownedSince = owner && deps.clock.now()
    const changed = { ...row, ownerId: owner?.id ?? null, ownerName: owner?.fullName ?? null, ownedSince }
    const kind = owner === null ? 'handed_back' : owner.id === by.id ? 'taken' : 'given'
    const note = kind === 'given' ? `to ${owner?.fullName}` : ''
    return recordDecision(deps, tx, row, changed, { kind, actor: by.fullName, note })
  },
  remark: async (tx, { partnerId, id, by, note }) => {
    const row = await lockUndecided(tx, partnerId, id)
    return recordDecision(deps, tx, row, row, { kind: 'remarked', actor: by.fullName, note })
  },
})

/** Returns the refusal of an owner change that came after a concurrent one. `what`: `the case` or `it`. */
export const ownerConflict = (
  what: string,
  { ownerName: who, ownedSince: at }: Pick<store.CaseRow, 'ownerName' | 'ownedSince'>,
): StepConflict =>
  who === null
    ? new StepConflict(
        'handedBack',
        `${what.replace(/^./, (first) => first.toUpperCase())} was handed back meanwhile, and has no owner.`,
        {},
      )
    : new StepConflict('owned', `${who} has ${what} since ${at?.toISOString() ?? ''}.`, { who, at })
