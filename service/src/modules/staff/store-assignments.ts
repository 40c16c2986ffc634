/** All SQL of owners and notes of what waits besides cases. */
import { acrossPartners, type KeptTable, noSql, ofPartners, sql, type Tx } from '../../postgres/index.ts'

export const thingKinds = ['hit', 'payout', 'deposit', 'pool', 'connector', 'change', 'review'] as const
export type ThingKind = (typeof thingKinds)[number]

/** A thing that waits for a person. `partnerId`: the operator's own where it belongs to no partner. */
export type ThingKey = {
  readonly partnerId: string
  readonly kind: ThingKind
  /** The id of the thing, or its name. Of a review, that of the customer. */
  readonly subject: string
}

/** Names why a thing waits. One thing may wait for two reasons: a payout that stands still may have a recall. */
export const waitingReasons = [
  'hit',
  'payoutHeld',
  'depositHeld',
  'payoutUnknown',
  'recallOverdue',
  'recallUnsent',
  'payoutStands',
  'depositStands',
  'connectorFails',
  'poolLow',
  'changeWaits',
  'reviewOverdue',
] as const

export type WaitingThing = ThingKey & {
  readonly why: (typeof waitingReasons)[number]
  /** Absent: it has no age. */
  readonly since?: Date
  /** The status of a payment, the list of a hit, a figure. No name of a person. */
  readonly detail?: string
}

export type Assignment = ThingKey & {
  readonly id: string
  readonly ownerId: string | null
  readonly ownerName: string | null
  readonly ownedSince: Date | null
  readonly lastNote: string | null
  readonly openedAt: Date
}

export type Step = {
  readonly sequence: number
  readonly kind: 'taken' | 'given' | 'handed_back' | 'remarked' | 'ended'
  readonly actor: string
  readonly note: string
  readonly at: Date
}

const columns = sql`partner_id, id, kind, subject, owner_id, owner_name, owned_since, last_note, opened_at`

/** Opens the assignment of a thing if none is open, and locks the open one. Undefined: it ended while this call waited for it. */
export async function openAndLock(
  tx: Tx,
  { partnerId, kind, subject }: ThingKey,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<Assignment | undefined> {
  await tx.run(sql`/* staff.openAndLock */
    insert into staff.assignments (partner_id, id, kind, subject, opened_at)
    values (${partnerId}, ${id}, ${kind}, ${subject}, ${now})
    on conflict (partner_id, kind, subject) where ended_at is null do nothing`)
  return tx.row<Assignment>(sql`/* staff.openAndLock */
    select ${columns} from staff.assignments
    where partner_id = ${partnerId} and kind = ${kind} and subject = ${subject} and ended_at is null for update`)
}

/** Writes what a step changes. The caller holds the lock. */
export async function updateAssignment(tx: Tx, row: Assignment): Promise<void> {
  await tx.run(sql`/* staff.updateAssignment */
    update staff.assignments set owner_id = ${row.ownerId}, owner_name = ${row.ownerName}, owned_since = ${row.ownedSince},
      last_note = ${row.lastNote}
    where partner_id = ${row.partnerId} and id = ${row.id}`)
}

/** The caller holds the lock of the assignment, so that no other step takes the same number. */
export async function appendStep(
  tx: Tx,
  { partnerId, id }: Pick<Assignment, 'partnerId' | 'id'>,
  { kind, actor, note, at }: Omit<Step, 'sequence'>,
): Promise<void> {
  await tx.run(sql`/* staff.appendStep */
    insert into staff.assignment_steps (partner_id, assignment_id, sequence, kind, actor, note, at)
    select ${partnerId}::uuid, ${id}::uuid, coalesce(max(sequence), 0) + 1, ${kind}, ${actor}, ${note}, ${at}::timestamptz
    from staff.assignment_steps where partner_id = ${partnerId} and assignment_id = ${id}`)
}

/** The open assignments of some things, in no order. */
export async function assignmentsOf(tx: Tx, keys: readonly ThingKey[]): Promise<readonly Assignment[]> {
  if (keys.length === 0) return []
  return tx.rows<Assignment>(sql`/* staff.assignmentsOf */
    select ${columns} from staff.assignments
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and ended_at is null
      and kind = any(${[...new Set(keys.map(({ kind }) => kind))]}::text[])
      and subject = any(${keys.map(({ subject }) => subject)}::text[])`)
}

/** The open assignments of one person, oldest first. */
export function assignmentsOwnedBy(tx: Tx, ownerId: string, rowsMax: number): Promise<readonly Assignment[]> {
  return tx.rows<Assignment>(
    acrossPartners(
      'lists what a person of staff looks into, by an index',
      sql`/* staff.assignmentsOwnedBy */ select ${columns} from staff.assignments
        where ended_at is null and owner_id = ${ownerId} order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** All open assignments in pages, in the order of ids. */
export function openAssignments(tx: Tx, afterId: string | null, rowsMax: number): Promise<readonly Assignment[]> {
  return tx.rows<Assignment>(
    acrossPartners(
      'reads what people of staff look into, to end what no longer waits, by an index of the open ones',
      sql`/* staff.openAssignments */ select ${columns} from staff.assignments
        where ended_at is null ${afterId === null ? noSql : sql`and id > ${afterId}::uuid`} order by id limit ${rowsMax}`,
    ),
  )
}

/** Returns 0 if it has ended. */
export function endAssignment(
  tx: Tx,
  { partnerId, id }: Pick<Assignment, 'partnerId' | 'id'>,
  now: Date,
): Promise<number> {
  return tx.run(sql`/* staff.endAssignment */
    update staff.assignments set ended_at = ${now} where partner_id = ${partnerId} and id = ${id} and ended_at is null`)
}

/** Reads what was done about a thing, of all times that it waited, oldest first. */
export function stepsOf(tx: Tx, { partnerId, kind, subject }: ThingKey, rowsMax: number): Promise<readonly Step[]> {
  return tx.rows<Step>(sql`/* staff.stepsOf */
    select sequence, kind, actor, note, at from (
      select step.sequence, step.kind, step.actor, step.note, step.at, step.assignment_id
      from staff.assignments assignment join staff.assignment_steps step
        on step.partner_id = assignment.partner_id and step.assignment_id = assignment.id
      where assignment.partner_id = ${partnerId} and assignment.kind = ${kind} and assignment.subject = ${subject}
      order by step.at desc, step.assignment_id desc, step.sequence desc limit ${rowsMax}) as newest
    order by at, assignment_id, sequence`)
}

/** The notes are erased with the time of the records. Owners and times stay. */
export const keptAssignments: KeptTable = {
  table: 'staff.assignments',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [
    { table: 'staff.assignments', by: 'id', erased: { last_note: null } },
    { table: 'staff.assignment_steps', by: 'assignment_id', erased: { note: '' } },
  ],
}
