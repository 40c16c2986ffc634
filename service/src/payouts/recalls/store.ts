/** SQL of recalls. */
import type { recalls } from '@partner-payments/wire'
import type { Currency, RowKey } from '../../kernel/index.ts'
import {
  acrossPartners,
  dueWork,
  insertBy,
  columnList,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'

export type RecallReason = recalls.RecallReason
export type RecallStatus = (typeof recalls.recallStatuses)[number]

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  payoutId: 'uuid',
  transactionId: 'uuid',
  payoutReference: 'text',
  connector: 'text',
  instructionId: 'uuid',
  /** Amount of the payout. */
  amount: 'bigint',
  currency: 'text',
  reason: 'text',
  details: 'text?',
  status: 'text',
  requestedBy: 'uuid',
  requestedName: 'text',
  requestedAt: 'timestamptz',
  /** `YYYY-MM-DD`. */
  requestDueOn: 'date',
  sentAt: 'timestamptz?',
  answerDueOn: 'date?',
  /** End of the last day for the answer. */
  answerDueAt: 'timestamptz?',
  answeredAt: 'timestamptz?',
  answerCode: 'text?',
  answerText: 'text?',
  expiredAt: 'timestamptz?',
  /** Amount that was credited to the balance. */
  settledAmount: 'bigint?',
  returnReference: 'text?',
  returnedAt: 'timestamptz?',
  /** When a worker sends it to the bank. */
  dueAt: 'timestamptz?',
  leaseId: 'uuid?',
  attempts: 'integer',
  updatedAt: 'timestamptz',
} as const
export type RecallRow = RowOf<typeof types, { currency: Currency; reason: RecallReason; status: RecallStatus }>
const columns = columnList(types)
const newRecalls = insertBy<RecallRow>(types, [])

export type RecallKey = Pick<RecallRow, 'partnerId' | 'id'>

export function insertRecall(tx: Tx, row: RecallRow): Promise<number> {
  return tx.run(sql`/* recalls.insertRecall */ insert into payouts.recalls (${columns}) ${newRecalls(tx, [row])}`)
}

/** Lists recalls, newest first: at most one for each reason. */
export function recallsOfPayout(tx: Tx, partnerId: string, payoutId: string): Promise<readonly RecallRow[]> {
  return tx.rows<RecallRow>(sql`/* recalls.recallsOfPayout */
    select ${columns} from payouts.recalls where partner_id = ${partnerId} and payout_id = ${payoutId} order by id desc`)
}

/** Reads recalls by id, in no particular order. */
export async function recallsByIds(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly RecallRow[]> {
  if (ids.length === 0) return []
  return tx.rows<RecallRow>(sql`/* recalls.recallsByIds */
    select ${columns} from payouts.recalls where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[])`)
}

/** Locks the recalls of payouts, in the order of their ids, like all writers. The caller has locked the payouts. */
export function lockRecallsOf(tx: Tx, payouts: readonly RowKey[]): Promise<readonly RecallRow[]> {
  return tx.rows<RecallRow>(
    unprepared(sql`/* recalls.lockRecallsOf */
    select ${columns} from payouts.recalls
    where ${ofPartners(payouts.map(({ partnerId }) => partnerId))} and payout_id = any(${payouts.map(({ id }) => id)}::uuid[])
    order by id for update`),
  )
}

export function lockRecalls(tx: Tx, keys: readonly RecallKey[]): Promise<readonly RecallRow[]> {
  return tx.rows<RecallRow>(
    unprepared(sql`/* recalls.lockRecalls */
    select ${columns} from payouts.recalls
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and id = any(${keys.map(({ id }) => id)}::uuid[])
    order by id for update`),
  )
}

/** Finds a recall by its id, otherwise the unanswered recall of a payout. `payoutId`: null for none. */
export function findRecallForAnswer(
  tx: Tx,
  { partnerId, id, payoutId }: RecallKey & { readonly payoutId: string | null },
): Promise<RecallKey | undefined> {
  return tx.row<RecallKey>(sql`/* recalls.findRecallForAnswer */
    select partner_id, id from payouts.recalls where partner_id = ${partnerId} and id = ${id}
    union all
    select partner_id, id from payouts.recalls where partner_id = ${partnerId} and status in ('Requested', 'Sent')
      and payout_id = ${payoutId}
    limit 1`)
}

/** Updates one row, under its lock. A wrong number of rows fails the transaction. */
export function updateRecall(tx: Tx, row: RecallRow, fromStatus: RecallStatus): void {
  tx.later(
    sql`/* recalls.updateRecall */
    update payouts.recalls set status = ${row.status}, sent_at = ${row.sentAt}, answer_due_on = ${row.answerDueOn}::date,
      answer_due_at = ${row.answerDueAt}, answered_at = ${row.answeredAt}, answer_code = ${row.answerCode},
      answer_text = ${row.answerText},
      expired_at = ${row.expiredAt}, settled_amount = ${row.settledAmount}, return_reference = ${row.returnReference},
      returned_at = ${row.returnedAt}, due_at = ${row.dueAt}, lease_id = ${row.leaseId}, updated_at = ${row.updatedAt}
    where partner_id = ${row.partnerId} and id = ${row.id} and status = ${fromStatus}`,
    1,
  )
}

/** Lists recalls of all partners that a connector's bank has not received yet, oldest first. Takes no lock. */
export function dueRecalls(tx: Tx, connector: string, now: Date, rowsMax: number): Promise<readonly RecallKey[]> {
  return tx.rows<RecallKey>(
    dueWork('finds recalls that wait for their bank, without a lock', (whose) =>
      unprepared(sql`/* recalls.dueRecalls */
        select partner_id, id from payouts.recalls
        where connector = ${connector} and due_at <= ${now} and ${whose()} order by due_at limit ${rowsMax}`),
    ),
  )
}

/** Claims a due recall for an attempt. Undefined: another worker has it, or it is no longer due. */
export function claimRecall(
  tx: Tx,
  { partnerId, id }: RecallKey,
  lease: { readonly now: Date; readonly leaseId: string; readonly until: Date },
): Promise<RecallRow | undefined> {
  return tx.row<RecallRow>(sql`/* recalls.claimRecall */
    update payouts.recalls set attempts = attempts + 1, lease_id = ${lease.leaseId}, due_at = ${lease.until},
      updated_at = ${lease.now}
    where partner_id = ${partnerId} and id = ${id} and due_at <= ${lease.now} returning ${columns}`)
}

/** Ends a lease, unless it is lost. */
export function postponeRecall(
  tx: Tx,
  { partnerId, id, leaseId }: RecallKey & { readonly leaseId: string },
  dueAt: Date,
): Promise<number> {
  return tx.run(sql`/* recalls.postponeRecall */
    update payouts.recalls set due_at = ${dueAt}, lease_id = null
    where partner_id = ${partnerId} and id = ${id} and lease_id = ${leaseId} and status = 'Requested'`)
}

export type OverdueRecall = RecallKey & { readonly answerDueAt: Date }

/** Lists overdue recalls of all partners, oldest first. `after` is the cursor. Takes no lock. */
export function overdueRecalls(
  tx: Tx,
  now: Date,
  behind: OverdueRecall,
  rowsMax: number,
): Promise<readonly OverdueRecall[]> {
  return tx.rows<OverdueRecall>(
    dueWork('finds recalls whose answer is overdue, without a lock', (whose) =>
      unprepared(sql`/* recalls.overdueRecalls */
        select partner_id, id, answer_due_at from payouts.recalls
        where status = 'Sent' and answer_due_at <= ${now}
          and (answer_due_at, partner_id, id) > (${behind.answerDueAt}, ${behind.partnerId}::uuid, ${behind.id}::uuid)
          and ${whose()}
        order by answer_due_at, partner_id, id limit ${rowsMax}`),
    ),
  )
}

/** Returns when the oldest recall that its bank has not received was requested, also if it was attempted since. */
export async function oldestUnsentRecall(tx: Tx, connector: string): Promise<Date | null> {
  const row = await tx.row<{ readonly since: Date | null }>(
    acrossPartners(
      'reads the age of the oldest recall that waits for its bank, for a metric',
      unprepared(sql`/* recalls.oldestUnsentRecall */
        select min(requested_at) as since from payouts.recalls where connector = ${connector} and due_at is not null`),
    ),
  )
  return row?.since ?? null
}

export type WaitingRecall = {
  readonly partnerId: string
  readonly payoutId: string
  /**
   * `unsent`: it must be sent by letter, or its connector has not sent it. `overdue`: the bank has not answered within
   * the time of the scheme.
   */
  readonly why: 'unsent' | 'overdue'
  readonly connector: string
  readonly since: Date
}

type RecallWaitTimes = {
  /** A recall that was requested later may still be sent by the worker. */
  readonly askedBefore: Date
  readonly now: Date
  /** Older recalls without an answer are no longer shown. */
  readonly expiredAfter: Date
}

/** Lists recalls of all partners that their banks have not received, the longest wait first. */
export function unsentRecalls(
  tx: Tx,
  { askedBefore }: RecallWaitTimes,
  rowsMax: number,
): Promise<readonly WaitingRecall[]> {
  return tx.rows<WaitingRecall>(
    acrossPartners(
      'lists recalls that a bank does not have, by an index of the few that are due',
      sql`/* recalls.unsentRecalls */
        select partner_id, payout_id, 'unsent' as why, connector, requested_at as since from payouts.recalls
        where due_at is not null and requested_at < ${askedBefore} order by requested_at limit ${rowsMax}`,
    ),
  )
}

/** Lists recalls of all partners whose answer is overdue and that no worker has expired yet. */
export function unansweredRecalls(
  tx: Tx,
  { now }: RecallWaitTimes,
  rowsMax: number,
): Promise<readonly WaitingRecall[]> {
  return tx.rows<WaitingRecall>(
    acrossPartners(
      'lists recalls that a bank has not answered in time, by an index',
      sql`/* recalls.unansweredRecalls */
        select partner_id, payout_id, 'overdue' as why, connector, answer_due_at as since from payouts.recalls
        where status = 'Sent' and answer_due_at <= ${now} order by answer_due_at limit ${rowsMax}`,
    ),
  )
}

/** Lists recalls of all partners that have expired without an answer, the longest wait first. */
export function expiredRecalls(
  tx: Tx,
  { expiredAfter }: RecallWaitTimes,
  rowsMax: number,
): Promise<readonly WaitingRecall[]> {
  return tx.rows<WaitingRecall>(
    acrossPartners(
      'lists recalls that have expired without an answer, by an index',
      sql`/* recalls.expiredRecalls */
        select partner_id, payout_id, 'overdue' as why, connector, answer_due_at as since from payouts.recalls
        where status = 'Expired' and expired_at > ${expiredAfter} order by expired_at limit ${rowsMax}`,
    ),
  )
}

/** Lists the recalls of some payouts that need attention from staff. */
export function waitingRecallsOf(
  tx: Tx,
  partnerId: string,
  payoutIds: readonly string[],
  { askedBefore, now, expiredAfter }: RecallWaitTimes,
): Promise<readonly WaitingRecall[]> {
  return tx.rows<WaitingRecall>(sql`/* recalls.waitingRecallsOf */
    select partner_id, payout_id, case when due_at is not null then 'unsent' else 'overdue' end as why, connector,
      case when due_at is not null then requested_at else answer_due_at end as since
    from payouts.recalls
    where partner_id = ${partnerId} and payout_id = any(${[...payoutIds]}::uuid[])
      and (due_at is not null and requested_at < ${askedBefore} or status = 'Sent' and answer_due_at <= ${now}
        or status = 'Expired' and expired_at > ${expiredAfter})`)
}

/** Finds the due time of the next recall that a connector's bank has not received yet. */
export const recallsDue = (connector: string, after: Date): Sql =>
  dueWork(
    'reads when the next recall of a connector is due',
    (whose) => sql`/* recalls.recallsDue */
      select due_at from payouts.recalls
      where connector = ${connector} and due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

export const answersDue = (after: Date): Sql =>
  dueWork(
    'reads when the next answer to a recall is overdue',
    (whose) => sql`/* recalls.answersDue */
      select answer_due_at as due_at from payouts.recalls where status = 'Sent' and answer_due_at > ${after} and ${whose()}
      order by answer_due_at limit 1`,
  )

/** Recall whose text was erased. */
type ErasedRecall = { readonly id: string; readonly requestedAt: Date }

/** Erases the texts of the recalls of some payouts. */
export function eraseRecalls(
  tx: Tx,
  partnerId: string,
  payoutIds: readonly string[],
): Promise<readonly ErasedRecall[]> {
  return tx.rows<ErasedRecall>(sql`/* recalls.eraseRecalls */
    update payouts.recalls set details = null, answer_text = null
    where partner_id = ${partnerId} and payout_id = any(${payoutIds}::uuid[]) and (details is not null or answer_text is not null)
    returning id, requested_at`)
}
