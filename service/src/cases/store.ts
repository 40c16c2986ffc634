/** All SQL of cases themselves. */
import { type Currency, type Minor, nilId, type RowKey } from '../kernel/index.ts'
import { acrossPartners, dueWork, type RetainedTable, sql, type Sql, type Tx } from '../postgres/index.ts'
import type { CaseKind, Disposition, Resolution } from './rules.ts'

export type CaseRow = {
  readonly partnerId: string
  readonly id: string
  readonly kind: CaseKind
  readonly connector: string
  readonly notificationId: string
  readonly subject: string
  readonly report: string
  readonly currency: Currency | null
  readonly booked: Minor | null
  readonly openedAt: Date
  readonly resolvedAt: Date | null
  readonly resolution: Resolution | null
  readonly resolvedBy: string | null
  /** The second person of the decision. Null if one person decided. */
  readonly approvedBy: string | null
  readonly note: string | null
  /** The finding about an alert. Null for open alerts and other kinds. */
  readonly disposition: Disposition | null
  /** The proposal that awaits approval by a second person. */
  readonly proposalId: string | null
  readonly proposal: string | null
  readonly proposedBy: string | null
  readonly proposedAt: Date | null
  /** When the return of the money began. */
  readonly returningSince: Date | null
  /** The account of staff who owns the case, or null. */
  readonly ownerId: string | null
  readonly ownerName: string | null
  readonly ownedSince: Date | null
}

const columns = sql`partner_id, id, kind, connector, notification_id, subject, report, currency, booked, opened_at,
  resolved_at, resolution, resolved_by, approved_by, note, disposition, proposal_id, proposal, proposed_by, proposed_at,
  returning_since, owner_id, owner_name, owned_since`

/** Adds a case. Returns 0 if the notification already has one. Waits for a concurrent transaction that opens it. */
export function insertCase(tx: Tx, row: CaseRow): Promise<number> {
  return tx.run(sql`/* cases.insertCase */
    insert into cases.cases (partner_id, id, kind, connector, notification_id, subject, report, currency, booked, opened_at)
    values (${row.partnerId}, ${row.id}, ${row.kind}, ${row.connector}, ${row.notificationId}, ${row.subject},
      ${row.report}, ${row.currency}, ${row.booked}, ${row.openedAt})
    on conflict (partner_id, connector, notification_id) do nothing`)
}

export function lockCase(tx: Tx, partnerId: string, id: string): Promise<CaseRow | undefined> {
  return tx.row<CaseRow>(sql`/* cases.lockCase */
    select ${columns} from cases.cases where partner_id = ${partnerId} and id = ${id} for update`)
}

export function caseById(tx: Tx, partnerId: string, id: string): Promise<CaseRow | undefined> {
  return tx.row<CaseRow>(sql`/* cases.caseById */
    select ${columns} from cases.cases where partner_id = ${partnerId} and id = ${id}`)
}

/** Lists the open cases of a partner about any of the subjects, oldest first. */
export function openCasesAbout(tx: Tx, partnerId: string, subjects: readonly string[]): Promise<readonly CaseRow[]> {
  return tx.rows<CaseRow>(sql`/* cases.openCasesAbout */
    select ${columns} from cases.cases
    where partner_id = ${partnerId} and resolved_at is null and subject = any(${subjects}::text[])
    order by opened_at, id`)
}

const aboutMax = 20

/** Lists the cases of a partner about any of the subjects, open or decided, newest first. */
export function casesAbout(tx: Tx, partnerId: string, subjects: readonly string[]): Promise<readonly CaseRow[]> {
  return tx.rows<CaseRow>(sql`/* cases.casesAbout */
    select ${columns} from cases.cases where partner_id = ${partnerId} and subject = any(${subjects}::text[])
    order by opened_at desc, id desc limit ${aboutMax}`)
}

export function casesByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly CaseRow[]> {
  return tx.rows<CaseRow>(sql`/* cases.casesByIds */
    select ${columns} from cases.cases where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])
    order by opened_at desc, id desc`)
}

/** Lists the open cases of a partner, oldest first, newer than the cursor. */
export function openCasesOf(
  tx: Tx,
  partnerId: string,
  after: Pick<CaseRow, 'openedAt' | 'id'> | undefined,
  rowsMax: number,
): Promise<readonly CaseRow[]> {
  const { openedAt, id } = after ?? { openedAt: new Date(0), id: nilId }
  return tx.rows<CaseRow>(sql`/* cases.openCasesOf */
    select ${columns} from cases.cases
    where partner_id = ${partnerId} and resolved_at is null and (opened_at, id) > (${openedAt}, ${id}::uuid)
    order by opened_at, id limit ${rowsMax}`)
}

/** Updates the columns that a decision changes. The caller holds the lock. */
export async function updateCase(tx: Tx, row: CaseRow): Promise<void> {
  await tx.run(sql`/* cases.updateCase */
    update cases.cases set resolution = ${row.resolution}, resolved_by = ${row.resolvedBy},
      approved_by = ${row.approvedBy}, note = ${row.note}, disposition = ${row.disposition}, resolved_at = ${row.resolvedAt}, proposal_id = ${row.proposalId}, proposal = ${row.proposal},
      proposed_by = ${row.proposedBy}, proposed_at = ${row.proposedAt}, returning_since = ${row.returningSince},
      owner_id = ${row.ownerId}, owner_name = ${row.ownerName}, owned_since = ${row.ownedSince}
    where partner_id = ${row.partnerId} and id = ${row.id}`)
}

export type CaseSums = {
  readonly currency: Currency | null
  readonly kind: CaseKind
  readonly count: bigint
  readonly booked: Minor
}

/** Sums the cases that were open at a moment, by currency and kind. */
export function sumCasesOpenAt(tx: Tx, partnerId: string, moment: Date): Promise<readonly CaseSums[]> {
  return tx.rows<CaseSums>(sql`/* cases.sumCasesOpenAt */
    select currency, kind, count(*) as count, coalesce(sum(booked), 0)::bigint as booked from cases.cases
    where partner_id = ${partnerId} and opened_at < ${moment} and (resolved_at is null or resolved_at >= ${moment})
    group by currency, kind order by currency nulls last, kind`)
}

/** `any`: with or without an owner. `unowned`: without an owner. Otherwise the owner's id. */
type OwnerFilter = 'any' | 'unowned' | { readonly ownerId: string }

/** Filters of open cases. Absent filters match all cases. */
export type CaseFilter = { readonly owned?: OwnerFilter; readonly kinds?: readonly CaseKind[] | undefined }

/** Lists the open cases of all partners, oldest first, newer than the cursor. */
export function openCases(
  tx: Tx,
  after: Pick<CaseRow, 'openedAt' | 'id'> | undefined,
  rowsMax: number,
  { owned = 'any', kinds }: CaseFilter,
): Promise<readonly CaseRow[]> {
  const { openedAt, id } = after ?? { openedAt: new Date(0), id: null }
  return tx.rows<CaseRow>(
    acrossPartners(
      'lists open cases for the operator, oldest first, by an index',
      sql`/* cases.openCases */ select ${columns} from cases.cases
        where resolved_at is null and ${ownerCondition(owned)} and ${kindCondition(kinds)} and (opened_at, id) > (${openedAt}, coalesce(${id}::uuid, '00000000-0000-0000-0000-000000000000'))
        order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Returns the resolution of each of these cases. Null if the case is open. */
export async function caseResolutions(
  tx: Tx,
  partnerId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CaseRow['resolution']>> {
  const rows = await tx.rows<Pick<CaseRow, 'id' | 'resolution'>>(sql`/* cases.caseResolutions */
    select id, resolution from cases.cases where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
  return new Map(rows.map(({ id, resolution }) => [id, resolution]))
}

export type OpenCounts = readonly { readonly kind: CaseKind; readonly count: number }[]

/** Counts the open cases by kind. Reads only the index of open cases by kind. */
export const countOpenByKind = (tx: Tx): Promise<OpenCounts> =>
  tx.rows<OpenCounts[number]>(
    acrossPartners(
      'counts the open cases of each kind for the queue, by an index',
      sql`/* cases.countOpenByKind */ select kind, count(*)::integer as count
        from cases.cases where resolved_at is null group by kind`,
    ),
  )

const kindCondition = (kinds: readonly CaseKind[] | undefined) =>
  kinds === undefined ? sql`true` : sql`kind = any(${[...kinds]}::text[])`

const ownerCondition = (owned: OwnerFilter) =>
  owned === 'any' ? sql`true` : owned === 'unowned' ? sql`owner_id is null` : sql`owner_id = ${owned.ownerId}`

export type DebitSum = { readonly currency: Currency; readonly count: bigint; readonly booked: Minor }

/** Sums money of all partners that had left by a time and whose case was not decided. The sums are negative. */
export function sumDebitsOpenAt(tx: Tx, moment: Date): Promise<readonly DebitSum[]> {
  return tx.rows<DebitSum>(
    acrossPartners(
      'adds up undecided debits of all partners for safeguarding, by an index',
      sql`/* cases.sumDebitsOpenAt */
        select currency, count(*) as count, sum(booked)::bigint as booked from cases.cases
        where booked < 0 and opened_at < ${moment} and (resolved_at is null or resolved_at >= ${moment})
        group by currency order by currency`,
    ),
  )
}

export type OpenSums = {
  readonly connector: string
  readonly currency: Currency | null
  readonly kind: CaseKind
  readonly count: bigint
  readonly booked: Minor
  readonly oldest: Date
  /** The number of cases with a proposal that awaits approval. */
  readonly proposals: bigint
}

/** Sums the open cases of all partners by connector, currency and kind. */
export function sumOpenCases(tx: Tx): Promise<readonly OpenSums[]> {
  return tx.rows<OpenSums>(
    acrossPartners(
      'adds up the open cases of all partners for reconciliation, by an index',
      sql`/* cases.sumOpenCases */
        select connector, currency, kind, count(*) as count, coalesce(sum(booked), 0)::bigint as booked,
          min(opened_at) as oldest, count(proposal_id) as proposals from cases.cases
        where resolved_at is null group by connector, currency, kind order by connector, currency, kind`,
    ),
  )
}

export type ReversedSum = {
  readonly connector: string
  readonly currency: Currency
  readonly count: bigint
  readonly booked: Minor
  readonly oldest: Date
}

/** Sums the cases that were resolved by `reverse`. No bank entry in the ledger has moved their money. */
export function reversedSums(tx: Tx): Promise<readonly ReversedSum[]> {
  return tx.rows<ReversedSum>(
    acrossPartners(
      'adds up what was moved outside this service for reconciliation, by an index',
      sql`/* cases.reversedSums */
        select connector, currency, count(*) as count, sum(booked)::bigint as booked, min(resolved_at) as oldest
        from cases.cases where resolution = 'reversed' group by connector, currency`,
    ),
  )
}

/** Lists cases that were resolved by `reverse`, latest first. */
export function reversedCases(
  tx: Tx,
  connector: string,
  currency: Currency,
  rowsMax: number,
): Promise<readonly CaseRow[]> {
  return tx.rows<CaseRow>(
    acrossPartners(
      'lists what was moved outside this service for reconciliation, by an index',
      sql`/* cases.reversedCases */ select ${columns} from cases.cases
        where resolution = 'reversed' and connector = ${connector} and currency = ${currency}
        order by resolved_at desc limit ${rowsMax}`,
    ),
  )
}

/** Finds notifications that have or had a case. Their money is or was in the ledger. */
export function notificationsWithCase(
  tx: Tx,
  connector: string,
  notificationIds: readonly string[],
): Promise<readonly { readonly notificationId: string; readonly partnerId: string }[]> {
  return tx.rows(
    acrossPartners(
      'finds the cases of notifications that are being applied, whose partner they may not name',
      sql`/* cases.notificationsWithCase */ select notification_id, partner_id from cases.cases
        where connector = ${connector} and notification_id = any(${notificationIds}::text[])`,
    ),
  )
}

export function listOpenOfKind(
  tx: Tx,
  connector: string,
  kind: CaseKind,
  rowsMax: number,
): Promise<readonly CaseRow[]> {
  return tx.rows<CaseRow>(
    acrossPartners(
      'finds open cases that may have become groundless, by an index of the open ones',
      sql`/* cases.listOpenOfKind */ select ${columns} from cases.cases
        where resolved_at is null and connector = ${connector} and kind = ${kind} order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Lists pending proposals made before a time. */
export function proposalsBefore(tx: Tx, before: Date, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    acrossPartners(
      'finds proposals that have expired, by an index',
      sql`/* cases.proposalsBefore */ select partner_id, id from cases.cases
        where proposal_id is not null and proposed_at < ${before} order by proposed_at, id limit ${rowsMax}`,
    ),
  )
}

export async function oldestOpen(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ openedAt: Date }>(
    acrossPartners(
      'reads the age of the oldest open case, for a metric',
      sql`/* cases.oldestOpen */
        select opened_at from cases.cases where resolved_at is null and kind <> 'sanctions_hold' order by opened_at limit 1`,
    ),
  )
  return row?.openedAt ?? null
}

// All SQL of decisions. Rows are only added and read.

export type DecisionKind =
  | 'proposed'
  | 'replaced'
  | 'withdrawn'
  | 'rejected'
  | 'expired'
  | 'approved'
  | 'noted'
  | 'gone'
  | 'released'
  | 'return_refused'
  | 'return_rejected'
  | 'return_booked'
  | 'taken'
  | 'given'
  | 'handed_back'
  | 'remarked'

export type DecisionRow = {
  readonly partnerId: string
  readonly caseId: string
  /** Position in the case, from 1. */
  readonly sequence: number
  readonly kind: DecisionKind
  readonly actor: string
  readonly proposalId: string | null
  readonly action: string | null
  readonly note: string
  /** Payouts that a refusal stopped, and payouts that were already sent. Null for other steps and earlier versions. */
  readonly stopped: number | null
  readonly alreadySent: number | null
  readonly before: string
  readonly after: string
  readonly decidedAt: Date
}

const decisionColumns = sql`partner_id, case_id, sequence, kind, actor, proposal_id, action, note, stopped, already_sent, before, after,
  decided_at`

/** Adds a decision. The caller holds the lock of the case, so that no other decision takes the same number. */
export async function appendDecision(tx: Tx, row: Omit<DecisionRow, 'sequence'>): Promise<void> {
  const last = await lastSequence(tx, row.partnerId, row.caseId)
  await insertDecision(tx, { ...row, sequence: last + 1 })
}

async function lastSequence(tx: Tx, partnerId: string, caseId: string): Promise<number> {
  const row = await tx.row<{ sequence: number }>(sql`/* cases.lastSequence */
    select sequence from cases.decisions where partner_id = ${partnerId} and case_id = ${caseId}
    order by sequence desc limit 1`)
  return row?.sequence ?? 0
}

async function insertDecision(tx: Tx, row: DecisionRow): Promise<void> {
  await tx.run(sql`/* cases.insertDecision */
    insert into cases.decisions (${decisionColumns})
    values (${row.partnerId}, ${row.caseId}, ${row.sequence}, ${row.kind}, ${row.actor}, ${row.proposalId}, ${row.action},
      ${row.note}, ${row.stopped}, ${row.alreadySent}, ${row.before}, ${row.after}, ${row.decidedAt})`)
}

export function decisionsOf(tx: Tx, partnerId: string, caseId: string): Promise<readonly DecisionRow[]> {
  return tx.rows<DecisionRow>(sql`/* cases.decisionsOf */
    select ${decisionColumns} from cases.decisions where partner_id = ${partnerId} and case_id = ${caseId} order by sequence`)
}

/** Reads the last note of each case. Cases without notes are absent. */
export function lastNotes(
  tx: Tx,
  partnerId: string,
  caseIds: readonly string[],
): Promise<readonly { readonly caseId: string; readonly note: string }[]> {
  return tx.rows(sql`/* cases.lastNotes */
    select distinct on (case_id) case_id, note from cases.decisions
    where partner_id = ${partnerId} and case_id = any(${[...caseIds]}::uuid[]) and kind = 'remarked'
    order by case_id, sequence desc`)
}

// Personal columns of cases: the bank's report, notes, and the party of a return. Bookings, decisions and their times stay.

export const retainedCases: RetainedTable = {
  table: 'cases.cases',
  isOver: ({ endedBefore }) => sql`resolved_at < ${endedBefore}`,
  personal: [
    { table: 'cases.cases', by: 'id', erased: { report: '{}', note: null } },
    { table: 'cases.decisions', by: 'case_id', erased: { note: '' } },
    {
      table: 'cases.returns',
      by: 'case_id',
      erased: { creditor_name: '', creditor_account: '', creditor_bic: null, remittance: '' },
    },
  ],
}

// All SQL of returns of the money of cases.

export type ReturnStatus = 'Due' | 'Sent' | 'Refused' | 'Rejected' | 'Returned' | 'Booked'
export type ReturnRow = {
  readonly partnerId: string
  /** The id of the instruction and of the approved proposal. */
  readonly id: string
  readonly caseId: string
  readonly connector: string
  readonly currency: Currency
  readonly amount: Minor
  readonly creditorName: string
  readonly creditorAccount: string
  readonly creditorBic: string | null
  readonly remittance: string
  readonly status: ReturnStatus
  readonly attempts: number
  readonly dueAt: Date | null
  readonly leaseId: string | null
  /** The notifications that booked the return, and that rejected or returned it. Null if there is none. */
  readonly settledBy: string | null
  readonly endedBy: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const returnColumns = sql`partner_id, id, case_id, connector, currency, amount, creditor_name, creditor_account, creditor_bic,
  remittance, status, attempts, due_at, lease_id, settled_by, ended_by, created_at, updated_at`

export async function insertReturn(tx: Tx, row: ReturnRow): Promise<void> {
  await tx.run(sql`/* cases.insertReturn */
    insert into cases.returns (${returnColumns})
    values (${row.partnerId}, ${row.id}, ${row.caseId}, ${row.connector}, ${row.currency}, ${row.amount}, ${row.creditorName},
      ${row.creditorAccount}, ${row.creditorBic}, ${row.remittance}, ${row.status}, ${row.attempts}, ${row.dueAt},
      ${row.leaseId}, ${row.settledBy}, ${row.endedBy}, ${row.createdAt}, ${row.updatedAt})`)
}

/** Lists due returns without a lock. */
export function dueReturns(tx: Tx, connector: string, now: Date, rowsMax: number): Promise<readonly RowKey[]> {
  return tx.rows(
    dueWork(
      'finds money of cases that is due to be sent back, without a lock',
      (whose) => sql`/* cases.dueReturns */
      select partner_id, id from cases.returns where connector = ${connector} and due_at <= ${now} and ${whose()}
      order by due_at, id limit ${rowsMax}`,
    ),
  )
}

export const nextReturnDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next money of a case is due to be sent back',
    (whose) => sql`/* cases.nextReturnDue */
      select due_at from cases.returns where connector = ${connector} and due_at > ${after} and ${whose()}
      order by due_at limit 1`,
  )

/** Claims a due return for an attempt. Undefined if another worker has it, or it is no longer due. */
export function claimReturn(
  tx: Tx,
  partnerId: string,
  id: string,
  lease: { readonly now: Date; readonly leaseId: string; readonly until: Date },
): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.claimReturn */
    update cases.returns set attempts = attempts + 1, lease_id = ${lease.leaseId}, due_at = ${lease.until},
      updated_at = ${lease.now}
    where partner_id = ${partnerId} and id = ${id} and due_at <= ${lease.now} returning ${returnColumns}`)
}

export function lockReturn(tx: Tx, partnerId: string, id: string): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.lockReturn */
    select ${returnColumns} from cases.returns where partner_id = ${partnerId} and id = ${id} for update`)
}

export function returnById(tx: Tx, partnerId: string, id: string): Promise<ReturnRow | undefined> {
  return tx.row<ReturnRow>(sql`/* cases.returnById */
    select ${returnColumns} from cases.returns where partner_id = ${partnerId} and id = ${id}`)
}

/** Updates a return and ends its lease. The caller holds the lock. */
export async function updateReturn(
  tx: Tx,
  { partnerId, id }: Pick<ReturnRow, 'partnerId' | 'id'>,
  change: Pick<ReturnRow, 'status' | 'dueAt'> & Partial<Pick<ReturnRow, 'settledBy' | 'endedBy'>>,
  now: Date,
): Promise<void> {
  await tx.run(sql`/* cases.updateReturn */
    update cases.returns set status = ${change.status}, due_at = ${change.dueAt}, lease_id = null, updated_at = ${now},
      settled_by = coalesce(${change.settledBy ?? null}, settled_by), ended_by = coalesce(${change.endedBy ?? null}, ended_by)
    where partner_id = ${partnerId} and id = ${id}`)
}
