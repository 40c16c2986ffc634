/** All SQL of staff: accounts, invitations, command tokens, proposed changes, assignments of queue items, deciders and notes. */
import { acrossPartners, type RetainedTable, noSql, ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { DecidedKind, StaffRole } from './rules.ts'
import type { Money } from '../../kernel/index.ts'

export type AccountRow = {
  readonly id: string
  readonly email: string
  readonly fullName: string
  readonly role: StaffRole
  readonly createdAt: Date
}

export type InvitationRow = AccountRow & { readonly tokenHash: Buffer; readonly expiresAt: Date }

const columns = sql`id, email, full_name, role, created_at`

export async function insertInvitation(tx: Tx, row: InvitationRow): Promise<void> {
  await tx.run(sql`/* staff.insertInvitation */
    insert into staff.invitations (${columns}, token_hash, expires_at)
    values (${row.id}, ${row.email}, ${row.fullName}, ${row.role}, ${row.createdAt}, ${row.tokenHash}, ${row.expiresAt})`)
}

export function pendingByToken(tx: Tx, tokenHash: Buffer, now: Date): Promise<InvitationRow | undefined> {
  return tx.row<InvitationRow>(sql`/* staff.pendingByToken */
    select ${columns}, token_hash, expires_at from staff.invitations
    where token_hash = ${tokenHash} and accepted_at is null and expires_at > ${now}`)
}

/** Accepts an invitation. False: it was accepted before, or has expired. Waits for a concurrent acceptance. */
export async function acceptInvitation(tx: Tx, id: string, now: Date): Promise<boolean> {
  const accepted = await tx.run(sql`/* staff.acceptInvitation */
    update staff.invitations set accepted_at = ${now}
    where id = ${id} and accepted_at is null and expires_at > ${now}`)
  return accepted === 1
}

/** Inserts an account. False: the address or the name is taken. */
export async function insertAccount(
  tx: Tx,
  row: AccountRow & { readonly emailKey: string; readonly nameKey: string },
): Promise<boolean> {
  const inserted = await tx.run(sql`/* staff.insertAccount */
    insert into staff.accounts (${columns}, email_key, name_key)
    values (${row.id}, ${row.email}, ${row.fullName}, ${row.role}, ${row.createdAt}, ${row.emailKey}, ${row.nameKey})
    on conflict do nothing`)
  return inserted === 1
}

/** Lists all accounts, oldest first. */
export function listAccounts(tx: Tx): Promise<readonly AccountRow[]> {
  return tx.rows<AccountRow>(sql`/* staff.listAccounts */
    select ${columns} from staff.accounts where removed_at is null order by id`)
}

export function accountById(tx: Tx, id: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.accountById */
    select ${columns} from staff.accounts where id = ${id} and removed_at is null`)
}

/** Locks an account, so that its role and its removal wait for the end of the transaction. */
export function lockAccount(tx: Tx, id: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.lockAccount */
    select ${columns} from staff.accounts where id = ${id} and removed_at is null for share`)
}

/** Locks accounts by their ids or names, in the order of their ids. */
export function lockAccounts(
  tx: Tx,
  ids: readonly string[],
  nameKeys: readonly string[],
): Promise<readonly (Pick<AccountRow, 'id' | 'role'> & { readonly nameKey: string })[]> {
  return tx.rows(sql`/* staff.lockAccounts */
    select id, role, name_key from staff.accounts
    where removed_at is null and (id = any(${[...ids]}::uuid[]) or name_key = any(${[...nameKeys]}::text[]))
    order by id for share`)
}

export async function hasAccounts(tx: Tx): Promise<boolean> {
  const row = await tx.row(sql`/* staff.hasAccounts */ select id from staff.accounts where removed_at is null limit 1`)
  return row !== undefined
}

export function accountByAddress(tx: Tx, emailKey: string): Promise<AccountRow | undefined> {
  return tx.row<AccountRow>(sql`/* staff.accountByAddress */
    select ${columns} from staff.accounts where email_key = ${emailKey} and removed_at is null`)
}

/** Reports whether an account has the address or the name. */
export async function isAddressOrNameTaken(tx: Tx, emailKey: string, nameKey: string): Promise<boolean> {
  const row = await tx.row(sql`/* staff.isAddressOrNameTaken */
    select id from staff.accounts where removed_at is null and (email_key = ${emailKey} or name_key = ${nameKey}) limit 1`)
  return row !== undefined
}

/** Locks an account and all admins, in the order of their ids, so that two removals cannot remove the last two admins. */
export async function lockWithAdmins(
  tx: Tx,
  id: string,
): Promise<{ readonly account: AccountRow | undefined; readonly admins: number }> {
  const rows = await tx.rows<AccountRow>(sql`/* staff.lockWithAdmins */
    select ${columns} from staff.accounts where removed_at is null and (id = ${id} or role = 'admin')
    order by id for update`)
  return { account: rows.find((row) => row.id === id), admins: rows.filter(({ role }) => role === 'admin').length }
}

export async function updateRole(tx: Tx, id: string, role: StaffRole): Promise<void> {
  await tx.run(sql`/* staff.updateRole */ update staff.accounts set role = ${role} where id = ${id}`)
}

export async function removeAccount(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.removeAccount */ update staff.accounts set removed_at = ${now} where id = ${id}`)
}

export type RequestRow = {
  readonly id: string
  readonly origin: string
  readonly requestedAt: Date
}

type TokenRow = RequestRow & {
  /** Null: not confirmed yet. */
  readonly staffId: string | null
  /** Null: every command of the person's role. */
  readonly commands: readonly string[] | null
  readonly expiresAt: Date | null
}

const tokenColumns = sql`id, origin, requested_at, staff_id, commands, expires_at`

type NewRequest = RequestRow & {
  readonly tokenHash: Buffer
  readonly userCodeHash: Buffer
  readonly confirmBefore: Date
}

/** Inserts a request, and deletes requests that were not confirmed in time. */
export async function insertRequest(tx: Tx, row: NewRequest): Promise<void> {
  await tx.run(sql`/* staff.insertRequest */
    delete from staff.command_tokens where staff_id is null and confirm_before < ${row.requestedAt}`)
  await tx.run(sql`/* staff.insertRequest */
    insert into staff.command_tokens (id, token_hash, user_code_hash, origin, requested_at, confirm_before)
    values (${row.id}, ${row.tokenHash}, ${row.userCodeHash}, ${row.origin}, ${row.requestedAt}, ${row.confirmBefore})`)
}

type NewToken = RequestRow & {
  readonly tokenHash: Buffer
  readonly staffId: string
  readonly commands: readonly string[]
  readonly expiresAt: Date
}

export async function insertToken(tx: Tx, row: NewToken): Promise<void> {
  await tx.run(sql`/* staff.insertToken */
    insert into staff.command_tokens (id, token_hash, origin, staff_id, commands, requested_at, confirm_before,
      confirmed_at, expires_at)
    values (${row.id}, ${row.tokenHash}, ${row.origin}, ${row.staffId}, ${row.commands}::text[], ${row.requestedAt},
      ${row.requestedAt}, ${row.requestedAt}, ${row.expiresAt})`)
}

export function requestByCode(tx: Tx, userCodeHash: Buffer, now: Date): Promise<RequestRow | undefined> {
  return tx.row<RequestRow>(sql`/* staff.requestByCode */
    select id, origin, requested_at from staff.command_tokens
    where user_code_hash = ${userCodeHash} and staff_id is null and ended_at is null and confirm_before > ${now}`)
}

/** Confirms a request. Undefined: the code was used, or has expired. Waits for a concurrent confirmation. */
export function confirmRequest(
  tx: Tx,
  userCodeHash: Buffer,
  given: { readonly staffId: string; readonly now: Date; readonly expiresAt: Date },
): Promise<RequestRow | undefined> {
  return tx.row<RequestRow>(sql`/* staff.confirmRequest */
    update staff.command_tokens
    set staff_id = ${given.staffId}, confirmed_at = ${given.now}, expires_at = ${given.expiresAt}, user_code_hash = null
    where user_code_hash = ${userCodeHash} and staff_id is null and ended_at is null and confirm_before > ${given.now}
    returning id, origin, requested_at`)
}

/** Finds a token that has not ended. */
export function tokenByHash(
  tx: Tx,
  tokenHash: Buffer,
): Promise<(TokenRow & { readonly confirmBefore: Date }) | undefined> {
  return tx.row(sql`/* staff.tokenByHash */
    select ${tokenColumns}, confirm_before from staff.command_tokens where token_hash = ${tokenHash} and ended_at is null`)
}

export type ListedToken = TokenRow & Pick<AccountRow, 'fullName' | 'email'>

/** Lists the valid tokens of everyone or of one person, newest first. */
export function listTokens(tx: Tx, staffId: string | null, now: Date): Promise<readonly ListedToken[]> {
  return tx.rows<ListedToken>(sql`/* staff.listTokens */
    select t.id, t.origin, t.requested_at, t.staff_id, t.commands, t.expires_at, a.full_name, a.email
    from staff.command_tokens t join staff.accounts a on a.id = t.staff_id and a.removed_at is null
    where t.ended_at is null and t.expires_at > ${now} and (${staffId}::uuid is null or t.staff_id = ${staffId}::uuid)
    order by t.id desc`)
}

/** Ends a token. False: no such token, or it has ended. */
export async function endToken(tx: Tx, id: string, now: Date): Promise<boolean> {
  const ended = await tx.run(sql`/* staff.endToken */
    update staff.command_tokens set ended_at = ${now} where id = ${id} and ended_at is null`)
  return ended === 1
}

export async function endTokensOf(tx: Tx, staffId: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.endTokensOf */
    update staff.command_tokens set ended_at = ${now} where staff_id = ${staffId} and ended_at is null`)
}

export type ChangeRow = {
  readonly id: string
  readonly command: string
  /** The typed options, as a JSON object. */
  readonly options: string
  readonly proposedBy: string
  readonly proposedByName: string
  readonly proposedAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | null
  readonly decidedByName: string | null
  readonly decidedAt: Date | null
  readonly approved: boolean | null
  readonly reason: string | null
  readonly doneAt: Date | null
}

/** Erases the options that the audit log omits. No option of a command has this name. */
const withoutUnrecorded = sql`options - '_unrecorded'`

const changeColumns = sql`id, command,
  (${withoutUnrecorded} || coalesce(options -> '_unrecorded', '{}'))::text as options, proposed_by, proposed_by_name, proposed_at, expires_at,
  decided_by, decided_by_name, decided_at, approved, reason, done_at`

type NewChange = Pick<ChangeRow, 'id' | 'command' | 'proposedBy' | 'proposedByName' | 'proposedAt' | 'expiresAt'> & {
  readonly options: Readonly<Record<string, unknown>>
  readonly unrecorded: Readonly<Record<string, unknown>>
}

export async function insertChange(tx: Tx, { options, unrecorded, ...row }: NewChange): Promise<void> {
  const all = Object.keys(unrecorded).length === 0 ? options : { ...options, _unrecorded: unrecorded }
  await tx.run(sql`/* staff.insertChange */
    insert into staff.changes (id, command, options, proposed_by, proposed_by_name, proposed_at, expires_at)
    values (${row.id}, ${row.command}, ${JSON.stringify(all)}::jsonb, ${row.proposedBy}, ${row.proposedByName},
      ${row.proposedAt}, ${row.expiresAt})`)
}

export function changeById(tx: Tx, id: string): Promise<ChangeRow | undefined> {
  return tx.row<ChangeRow>(sql`/* staff.changeById */ select ${changeColumns} from staff.changes where id = ${id}`)
}

/** Locks a change until the end of the transaction. */
export function lockChange(tx: Tx, id: string): Promise<ChangeRow | undefined> {
  return tx.row<ChangeRow>(
    sql`/* staff.lockChange */ select ${changeColumns} from staff.changes where id = ${id} for update`,
  )
}

/** Lists changes that were not carried out or rejected and have not expired, oldest first. */
export function waitingChanges(tx: Tx, now: Date, rowsMax: number): Promise<readonly ChangeRow[]> {
  return tx.rows<ChangeRow>(sql`/* staff.waitingChanges */
    select ${changeColumns} from staff.changes
    where done_at is null and approved is not false and expires_at > ${now}
    order by proposed_at, id limit ${rowsMax}`)
}

type Decision = {
  readonly by: string
  readonly byName: string
  readonly approved: boolean
  readonly reason: string | null
  readonly now: Date
}

export async function decideChange(tx: Tx, id: string, { by, byName, approved, reason, now }: Decision): Promise<void> {
  await tx.run(sql`/* staff.decideChange */
    update staff.changes
    set decided_by = ${by}, decided_by_name = ${byName}, decided_at = ${now}, approved = ${approved}, reason = ${reason},
      options = ${approved ? sql`options` : withoutUnrecorded}
    where id = ${id}`)
}

export async function markChangeDone(tx: Tx, id: string, now: Date): Promise<void> {
  await tx.run(sql`/* staff.markChangeDone */
    update staff.changes set done_at = ${now}, options = ${withoutUnrecorded} where id = ${id}`)
}

export async function forgetExpired(tx: Tx, now: Date): Promise<void> {
  await tx.run(sql`/* staff.forgetExpired */
    update staff.changes set options = ${withoutUnrecorded}
    where done_at is null and approved is not false and expires_at <= ${now} and options ? '_unrecorded'`)
}

export const queueItemKinds = ['hit', 'payout', 'deposit', 'pool', 'connector', 'change', 'review'] as const
export type QueueItemKind = (typeof queueItemKinds)[number]

/** Identifies an item of the queue. `partnerId`: the operator's, if the item does not belong to a partner. */
export type QueueItemKey = {
  readonly partnerId: string
  readonly kind: QueueItemKind
  /** The id or the name of the item. For a review, the id of the customer. */
  readonly subject: string
}

/** The reasons why an item waits. An item can have two: a stuck payout may also have a recall. */
export const waitingReasons = [
  'hit',
  'payoutHeld',
  'payoutByRule',
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

export type WaitingItem = QueueItemKey & {
  readonly why: (typeof waitingReasons)[number]
  /** Absent: the item does not have an age. */
  readonly since?: Date
  /** The status of a payment, the list of a hit, or a figure. Never a person's name. */
  readonly detail?: string
  /** The score of a hit. */
  readonly score?: number
  /** The amount of a payout. */
  readonly money?: Money
  /** The outcome that a person proposed for a hit. */
  readonly proposal?: { readonly outcome: 'clear' | 'confirm'; readonly by: string }
}

export type Assignment = QueueItemKey & {
  readonly id: string
  readonly ownerId: string | null
  readonly ownerName: string | null
  readonly ownedSince: Date | null
  readonly lastNote: string | null
  readonly openedAt: Date
}

export type AssignmentStep = {
  readonly sequence: number
  readonly kind: 'taken' | 'given' | 'handed_back' | 'remarked' | 'ended'
  readonly actor: string
  readonly note: string
  readonly at: Date
}

const assignmentColumns = sql`partner_id, id, kind, subject, owner_id, owner_name, owned_since, last_note, opened_at`

/** Opens the assignment of an item unless one is open, and locks the open one. Undefined: it ended while this call waited. */
export async function openAndLock(
  tx: Tx,
  { partnerId, kind, subject }: QueueItemKey,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<Assignment | undefined> {
  await tx.run(sql`/* staff.openAndLock */
    insert into staff.assignments (partner_id, id, kind, subject, opened_at)
    values (${partnerId}, ${id}, ${kind}, ${subject}, ${now})
    on conflict (partner_id, kind, subject) where ended_at is null do nothing`)
  return tx.row<Assignment>(sql`/* staff.openAndLock */
    select ${assignmentColumns} from staff.assignments
    where partner_id = ${partnerId} and kind = ${kind} and subject = ${subject} and ended_at is null for update`)
}

/** Writes the changes of a step. The caller holds the lock. */
export async function updateAssignment(tx: Tx, row: Assignment): Promise<void> {
  await tx.run(sql`/* staff.updateAssignment */
    update staff.assignments set owner_id = ${row.ownerId}, owner_name = ${row.ownerName}, owned_since = ${row.ownedSince},
      last_note = ${row.lastNote}
    where partner_id = ${row.partnerId} and id = ${row.id}`)
}

/** Appends a step to the history. The caller holds the lock of the assignment, so that the number is unique. */
export async function appendStep(
  tx: Tx,
  { partnerId, id }: Pick<Assignment, 'partnerId' | 'id'>,
  { kind, actor, note, at }: Omit<AssignmentStep, 'sequence'>,
): Promise<void> {
  await tx.run(sql`/* staff.appendStep */
    insert into staff.assignment_steps (partner_id, assignment_id, sequence, kind, actor, note, at)
    select ${partnerId}::uuid, ${id}::uuid, coalesce(max(sequence), 0) + 1, ${kind}, ${actor}, ${note}, ${at}::timestamptz
    from staff.assignment_steps where partner_id = ${partnerId} and assignment_id = ${id}`)
}

/** Reads the open assignments of items, unordered. */
export async function findAssignments(tx: Tx, keys: readonly QueueItemKey[]): Promise<readonly Assignment[]> {
  if (keys.length === 0) return []
  return tx.rows<Assignment>(sql`/* staff.findAssignments */
    select ${assignmentColumns} from staff.assignments
    where ${ofPartners(keys.map(({ partnerId }) => partnerId))} and ended_at is null
      and kind = any(${[...new Set(keys.map(({ kind }) => kind))]}::text[])
      and subject = any(${keys.map(({ subject }) => subject)}::text[])`)
}

/** Lists the open assignments of a person, oldest first. */
export function assignmentsOwnedBy(tx: Tx, ownerId: string, rowsMax: number): Promise<readonly Assignment[]> {
  return tx.rows<Assignment>(
    acrossPartners(
      'lists the queue items that a staff member owns, by an index',
      sql`/* staff.assignmentsOwnedBy */ select ${assignmentColumns} from staff.assignments
        where ended_at is null and owner_id = ${ownerId} order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Lists open assignments in pages, in the order of ids. */
export function openAssignments(tx: Tx, afterId: string | null, rowsMax: number): Promise<readonly Assignment[]> {
  return tx.rows<Assignment>(
    acrossPartners(
      'reads the open assignments, to end those of items that no longer wait, by an index',
      sql`/* staff.openAssignments */ select ${assignmentColumns} from staff.assignments
        where ended_at is null ${afterId === null ? noSql : sql`and id > ${afterId}::uuid`} order by id limit ${rowsMax}`,
    ),
  )
}

/** Ends an assignment. Returns 0 if it has ended already. */
export function endAssignment(
  tx: Tx,
  { partnerId, id }: Pick<Assignment, 'partnerId' | 'id'>,
  now: Date,
): Promise<number> {
  return tx.run(sql`/* staff.endAssignment */
    update staff.assignments set ended_at = ${now} where partner_id = ${partnerId} and id = ${id} and ended_at is null`)
}

/** Lists the steps of an item, from all times that it waited, oldest first. */
export function assignmentSteps(
  tx: Tx,
  { partnerId, kind, subject }: QueueItemKey,
  rowsMax: number,
): Promise<readonly AssignmentStep[]> {
  return tx.rows<AssignmentStep>(sql`/* staff.assignmentSteps */
    select sequence, kind, actor, note, at from (
      select step.sequence, step.kind, step.actor, step.note, step.at, step.assignment_id
      from staff.assignments assignment join staff.assignment_steps step
        on step.partner_id = assignment.partner_id and step.assignment_id = assignment.id
      where assignment.partner_id = ${partnerId} and assignment.kind = ${kind} and assignment.subject = ${subject}
      order by step.at desc, step.assignment_id desc, step.sequence desc limit ${rowsMax}) as newest
    order by at, assignment_id, sequence`)
}

/** The notes of steps are erased when the retention of records ends. Owners and times stay. */
export const keptAssignments: RetainedTable = {
  table: 'staff.assignments',
  isOver: ({ endedBefore }) => sql`ended_at < ${endedBefore}`,
  personal: [
    { table: 'staff.assignments', by: 'id', erased: { last_note: null } },
    { table: 'staff.assignment_steps', by: 'assignment_id', erased: { note: '' } },
  ],
}

// The SQL of deciders. A kind without a row has the default roles.

type DecidersRow = {
  readonly kind: DecidedKind
  readonly roles: readonly StaffRole[]
  readonly setBy: string
  readonly setAt: Date
}

export function readDeciders(tx: Tx): Promise<readonly DecidersRow[]> {
  return tx.rows<DecidersRow>(sql`/* staff.readDeciders */ select kind, roles, set_by, set_at from staff.deciders`)
}

export function readDecidersOfKind(tx: Tx, kind: DecidedKind): Promise<Pick<DecidersRow, 'roles'> | undefined> {
  return tx.row(sql`/* staff.readDecidersOfKind */ select roles from staff.deciders where kind = ${kind}`)
}

export async function setDeciders(tx: Tx, { kind, roles, setBy, setAt }: DecidersRow): Promise<void> {
  await tx.run(sql`/* staff.setDeciders */
    insert into staff.deciders (kind, roles, set_by, set_at) values (${kind}, ${[...roles]}::text[], ${setBy}, ${setAt})
    on conflict (kind) do update set roles = excluded.roles, set_by = excluded.set_by, set_at = excluded.set_at`)
}

// Notes that staff write about a partner, a customer or a payee.

export const noteSubjectKinds = ['partner', 'customer', 'payee'] as const
export type NoteSubject = {
  readonly partnerId: string
  readonly kind: (typeof noteSubjectKinds)[number]
  readonly subjectId: string
}
export type StaffNote = {
  readonly id: string
  readonly authorName: string
  readonly note: string
  readonly madeAt: Date
}

export async function insertNote(
  tx: Tx,
  { partnerId, kind, subjectId }: NoteSubject,
  { id, authorId, authorName, note, madeAt }: StaffNote & { readonly authorId: string },
): Promise<void> {
  await tx.run(sql`/* staff.insertNote */
    insert into staff.notes (partner_id, id, kind, subject_id, author_id, author_name, note, made_at)
    values (${partnerId}, ${id}, ${kind}, ${subjectId}, ${authorId}, ${authorName}, ${note}, ${madeAt})`)
}

/** Lists notes older than the cursor, newest first. */
export function listNotes(
  tx: Tx,
  { partnerId, kind, subjectId }: NoteSubject,
  beforeId: string | undefined,
  rowsMax: number,
): Promise<readonly StaffNote[]> {
  return tx.rows<StaffNote>(sql`/* staff.listNotes */
    select id, author_name, note, made_at from staff.notes
    where partner_id = ${partnerId} and kind = ${kind} and subject_id = ${subjectId}
      ${beforeId === undefined ? noSql : sql`and id < ${beforeId}`}
    order by id desc limit ${rowsMax}`)
}

/** Deletes the notes about an erased customer, or about its payees. */
export async function eraseNotes(
  tx: Tx,
  partnerId: string,
  kind: NoteSubject['kind'],
  subjectIds: readonly string[],
): Promise<void> {
  if (subjectIds.length === 0) return
  await tx.run(sql`/* staff.eraseNotes */
    delete from staff.notes where partner_id = ${partnerId} and kind = ${kind} and subject_id = any(${[...subjectIds]}::uuid[])`)
}

/** Notes may name a person, and are erased when the retention of records ends. */
export const keptNotes: RetainedTable = {
  table: 'staff.notes',
  isOver: ({ endedBefore }) => sql`made_at < ${endedBefore}`,
}
