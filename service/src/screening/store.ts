/** All SQL of screening, except lists and figures: subjects, sweeps, holds, hits, decisions and exclusions. */
import {
  acrossPartners,
  dueWork,
  insertBy,
  noSql,
  ofPartners,
  type RowOf,
  sql,
  type Sql,
  type Tx,
} from '../postgres/index.ts'
import type {
  EndReason,
  HitDisposition,
  HitStatus,
  HoldKey,
  HitOutcome,
  SubjectKey,
  SubjectKind,
  RescreenedKind,
} from './rules.ts'
import { nilId, type RowKey } from '../kernel/index.ts'
import type { ListSource } from './lists/entry.ts'

/** Adds a subject or makes it due again. A worker that is screening it loses its lease and drops its findings. */
export async function requestScreening(tx: Tx, { partnerId, kind, id }: SubjectKey, now: Date): Promise<void> {
  await tx.run(sql`/* screening.requestScreening */
    insert into screening.subjects (partner_id, kind, id, generation, changed_at)
    values (${partnerId}, ${kind}, ${id}, 0, ${now})
    on conflict (partner_id, kind, id) do update set generation = 0, lease_id = null, leased_until = null,
      changed_at = excluded.changed_at`)
}

type NewSubject = SubjectKey & { readonly generation: number; readonly changedAt: Date }

const newSubjects = insertBy<NewSubject>(
  { partnerId: 'uuid', kind: 'text', id: 'uuid', generation: 'integer', changedAt: 'timestamptz' },
  [['partnerId', 'kind', 'generation', 'changedAt']],
)

/** Adds subjects. Existing ones stay unchanged. */
export async function addSubjects(tx: Tx, keys: readonly SubjectKey[], now: Date): Promise<void> {
  const rows = keys.map((key) => ({ ...key, generation: 0, changedAt: now }))
  await tx.run(sql`/* screening.addSubjects */
    insert into screening.subjects (partner_id, kind, id, generation, changed_at) ${newSubjects(tx, rows)}
    on conflict (partner_id, kind, id) do nothing`)
}

/** Adds subjects, and makes outdated ones due before others. Leases on due subjects stay. */
export async function requestOutdated(
  tx: Tx,
  { partnerId, kind, ids }: Pick<SubjectKey, 'partnerId' | 'kind'> & { readonly ids: readonly string[] },
  generation: number,
  now: Date,
): Promise<void> {
  const rows = ids.toSorted().map((id) => ({ partnerId, kind, id, generation: 0, changedAt: now }))
  await tx.run(sql`/* screening.requestOutdated */
    insert into screening.subjects as known (partner_id, kind, id, generation, changed_at) ${newSubjects(tx, rows)}
    on conflict (partner_id, kind, id) do update set generation = 0, lease_id = null, leased_until = null,
      changed_at = excluded.changed_at where known.generation between 1 and ${generation} - 1`)
}

export function partnersWithDueSubjects(
  tx: Tx,
  generation: number,
  now: Date,
  partnersMax: number,
): Promise<readonly { readonly partnerId: string }[]> {
  return tx.rows(
    dueWork(
      'finds partners with names to screen, without a lock',
      (whose) => sql`/* screening.partnersWithDueSubjects */
      select partner_id from screening.subjects
      where generation < ${generation} and (leased_until is null or leased_until <= ${now}) and ${whose()}
      group by partner_id order by min(generation), partner_id limit ${partnersMax}`,
    ),
  )
}

export type ClaimedSubject = SubjectKey & {
  /** The generation of lists with which it was last compared. 0: its names are new. */
  readonly generation: number
  readonly leaseId: string
}

/** Claims subjects. Subjects with new names come first. */
export function claimSubjects(
  tx: Tx,
  partnerId: string,
  lease: { readonly id: string; readonly until: Date },
  { generation, now, subjectsMax }: { readonly generation: number; readonly now: Date; readonly subjectsMax: number },
): Promise<readonly ClaimedSubject[]> {
  return tx.rows<ClaimedSubject>(sql`/* screening.claimSubjects */
    update screening.subjects set lease_id = ${lease.id}, leased_until = ${lease.until}
    where partner_id = ${partnerId} and id = any(array(
      select id from screening.subjects
      where partner_id = ${partnerId} and generation < ${generation} and (leased_until is null or leased_until <= ${now})
      order by generation, changed_at for update skip locked limit ${subjectsMax}))
    returning partner_id, kind, id, generation, lease_id`)
}

/** Locks the subject of a hit, if it still exists. */
export async function lockHitSubject(tx: Tx, partnerId: string, hitId: string): Promise<void> {
  await tx.rows(sql`/* screening.lockHitSubject */
    select subject.id from screening.subjects subject join screening.hits hit
      on hit.partner_id = subject.partner_id and hit.subject_kind = subject.kind and hit.subject_id = subject.id
    where subject.partner_id = ${partnerId} and hit.id = ${hitId} for update of subject`)
}

/** Records that a subject was screened, and locks it. Returns 0 if the lease was lost or names were written meanwhile; the caller then drops its findings. */
export function recordScreened(tx: Tx, claim: ClaimedSubject, generation: number, now: Date): Promise<number> {
  return tx.run(sql`/* screening.recordScreened */
    update screening.subjects set generation = ${generation}, screened_at = ${now}, lease_id = null, leased_until = null
    where partner_id = ${claim.partnerId} and kind = ${claim.kind} and id = ${claim.id} and lease_id = ${claim.leaseId}`)
}

/**
 * Erases the subjects of an erased customer, its beneficiaries or payers, with names, hits and decisions. A subject with an open or
 * confirmed hit stays, because a decision is pending or its money is frozen. Hits on lists of politically exposed persons do not
 * keep a subject.
 */
export async function eraseSubjects(tx: Tx, partnerId: string, given: readonly string[]): Promise<void> {
  if (given.length === 0) return
  // Lock order: the subjects, then their hits, like the worker. Afterwards the worker adds no hit to the subjects that are deleted.
  await tx.rows(sql`/* screening.eraseSubjects */
    select id from screening.subjects where partner_id = ${partnerId} and id = any(${given}::uuid[])
    order by kind, id for update`)
  const held = await tx.rows<{ subjectId: string }>(sql`/* screening.eraseSubjects */
    select subject_id from screening.hits
    where partner_id = ${partnerId} and subject_id = any(${given}::uuid[]) and ended_at is null
      and status in ('open', 'confirmed') and source not like 'pep:%' for update`)
  const ids = given.filter((id) => !held.some(({ subjectId }) => subjectId === id))
  await tx.run(sql`/* screening.eraseSubjects */
    delete from screening.subjects where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.eraseSubjects */
    delete from screening.earlier_names where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.eraseSubjects */
    delete from screening.exclusions where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.eraseSubjects */
    delete from screening.decisions where partner_id = ${partnerId} and hit_id = any(array(
      select id from screening.hits where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])))`)
  await tx.run(sql`/* screening.eraseSubjects */
    delete from screening.hits where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
}

/** Reads the generation of lists with which a subject was compared. 0: it has a new name and is due. */
export async function findComparedGeneration(
  tx: Tx,
  { partnerId, subjectKind, subjectId }: Readonly<Record<'partnerId' | 'subjectKind' | 'subjectId', string>>,
): Promise<number | undefined> {
  const row = await tx.row<{ generation: number }>(sql`/* screening.findComparedGeneration */
    select generation from screening.subjects
    where partner_id = ${partnerId} and kind = ${subjectKind} and id = ${subjectId}`)
  return row?.generation
}

/** Reads when a subject was screened. Undefined: its names were never queued. */
export function findScreeningTime(
  tx: Tx,
  { partnerId, kind, id }: SubjectKey,
): Promise<{ readonly screenedAt: Date | null } | undefined> {
  return tx.row(sql`/* screening.findScreeningTime */
    select screened_at from screening.subjects where partner_id = ${partnerId} and kind = ${kind} and id = ${id}`)
}

export async function releaseLeases(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.releaseLeases */
    update screening.subjects set lease_id = null, leased_until = null
    where partner_id = ${partnerId} and lease_id is not null`)
}

/** Makes all subjects of a partner due again, because generations count the lists of one database. */
export async function resetGenerations(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.resetGenerations */
    update screening.subjects set generation = 0, lease_id = null, leased_until = null where partner_id = ${partnerId}`)
  await tx.run(sql`/* screening.resetGenerations */
    delete from screening.sweeps where partner_id = ${partnerId}`)
}

export type Progress = { readonly subjects: bigint; readonly due: bigint }

/** Counts a partner's subjects, and those that were not compared with a generation. */
export async function sweepProgress(tx: Tx, partnerId: string, generation: number): Promise<Progress> {
  const row = await tx.row<Progress>(sql`/* screening.sweepProgress */
    select count(*) as subjects, count(*) filter (where generation < ${generation}) as due from screening.subjects
    where partner_id = ${partnerId}`)
  return row ?? { subjects: 0n, due: 0n }
}

export type Sweep = { readonly kind: RescreenedKind; readonly afterId: string; readonly endedAt: Date | null }

/** Begins the sweep of a generation, unless a process has begun it. */
export async function beginSweep(
  tx: Tx,
  partnerId: string,
  generation: number,
  { kind, afterId }: Pick<Sweep, 'kind' | 'afterId'>,
): Promise<void> {
  await tx.run(sql`/* screening.beginSweep */
    insert into screening.sweeps (partner_id, generation, kind, after_id)
    values (${partnerId}, ${generation}, ${kind}, ${afterId}) on conflict (partner_id, generation) do nothing`)
}

export function findSweep(tx: Tx, partnerId: string, generation: number): Promise<Sweep | undefined> {
  return tx.row<Sweep>(sql`/* screening.findSweep */
    select kind, after_id, ended_at from screening.sweeps where partner_id = ${partnerId} and generation = ${generation}`)
}

/** Locks a sweep. Undefined: it has ended, or another process holds the lock. */
export function lockSweep(tx: Tx, partnerId: string, generation: number): Promise<Sweep | undefined> {
  return tx.row<Sweep>(sql`/* screening.lockSweep */
    select kind, after_id, ended_at from screening.sweeps
    where partner_id = ${partnerId} and generation = ${generation} and ended_at is null for update skip locked`)
}

export async function moveSweep(tx: Tx, partnerId: string, generation: number, to: Sweep): Promise<void> {
  await tx.run(sql`/* screening.moveSweep */
    update screening.sweeps set kind = ${to.kind}, after_id = ${to.afterId}, ended_at = ${to.endedAt}
    where partner_id = ${partnerId} and generation = ${generation}`)
}

// The SQL of holds.

export type SubjectState = HoldKey & {
  /** The generation of lists with which the current names were compared. 0: none. */
  readonly generation: number
  readonly isOpen: boolean
  readonly isConfirmed: boolean
  /** The generation of the newest list. Null: none was loaded. */
  readonly newest: number | null
}

/** The partner id in the state of an account that is frozen for every partner. */
export const anyPartnerId = nilId

/** A condition that leaves only hits that hold payments. */
const thatHold = (pepsHold: boolean): Sql => (pepsHold ? noSql : sql`and hit.source not like 'pep:%'`)

/**
 * Reads the states of existing subjects, and of accounts with a hit. An open hit of a payer does not hold the account, because payment
 * institutions pay for many people from one account.
 */
export function subjectStates(tx: Tx, keys: readonly HoldKey[], pepsHold: boolean): Promise<readonly SubjectState[]> {
  const partnerIds = keys.map(({ partnerId }) => partnerId)
  const accounts = keys.filter(({ kind }) => kind === 'account').map(({ id }) => id)
  const subjects = keys.filter(({ kind }) => kind !== 'account')
  const newest = sql`left join (select generation from screening.lists order by generation desc limit 1) as newest on true`
  return tx.rows<SubjectState>(sql`/* screening.subjectStates */
    select subject.partner_id, subject.kind, subject.id::text, subject.generation,
      max(newest.generation) as newest,
      coalesce(bool_or(hit.status = 'open'), false) as is_open,
      coalesce(bool_or(hit.status = 'confirmed'), false) as is_confirmed
    from screening.subjects subject left join screening.hits hit
      on hit.partner_id = subject.partner_id and hit.subject_kind = subject.kind and hit.subject_id = subject.id
      and hit.ended_at is null ${thatHold(pepsHold)}
      ${newest}
    where ${ofPartners(partnerIds, sql`subject.partner_id`)}
      and subject.kind = any(${[...new Set(subjects.map(({ kind }) => kind))]}::text[])
      and subject.id = any(${subjects.map(({ id }) => id)}::uuid[])
    group by subject.partner_id, subject.kind, subject.id
    union all
    select hit.partner_id, 'account', hit.account, max(hit.generation), max(newest.generation),
      bool_or(hit.status = 'open' and hit.subject_kind = 'beneficiary'), bool_or(hit.status = 'confirmed')
    from screening.hits hit ${newest}
    where ${ofPartners(partnerIds, sql`hit.partner_id`)} and hit.account = any(${accounts}::text[]) and hit.ended_at is null
    group by hit.partner_id, hit.account
    union all
    select ${anyPartnerId}::uuid, 'account', frozen.account, 1, max(newest.generation), false, true
    from screening.frozen_accounts frozen ${newest} where frozen.account = any(${accounts}::text[])
    group by frozen.account`)
}

/** The hit that freezes an account. */
/** Freezes the account of a hit for every partner, or ends the freeze. */
export async function setFrozen(tx: Tx, account: string, { partnerId, id }: RowKey, isFrozen: boolean): Promise<void> {
  await tx.run(
    isFrozen
      ? sql`/* screening.setFrozen */ insert into screening.frozen_accounts (account, by_partner_id, by_hit_id)
          values (${account}, ${partnerId}, ${id}) on conflict do nothing`
      : sql`/* screening.setFrozen */ delete from screening.frozen_accounts
          where account = ${account} and by_partner_id = ${partnerId} and by_hit_id = ${id}`,
  )
}

/** Freezes the accounts of a partner's confirmed hits after a move from another database. */
export async function freezePartnerAccounts(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.freezePartnerAccounts */
    insert into screening.frozen_accounts (account, by_partner_id, by_hit_id)
    select account, partner_id, id from screening.hits
    where partner_id = ${partnerId} and status = 'confirmed' and account is not null and source <> 'countries'
      and (subject_kind = 'beneficiary' or role = 'account') on conflict do nothing`)
}

/** Lists the confirmed hits of other partners that freeze these accounts. */
export function frozenByOthers(tx: Tx, partnerId: string, accounts: readonly string[]): Promise<readonly RowKey[]> {
  return tx.rows<RowKey>(sql`/* screening.frozenByOthers */
    select by_partner_id as partner_id, by_hit_id as id from screening.frozen_accounts
    where account = any(${[...accounts]}::text[]) and by_partner_id <> ${partnerId} order by by_hit_id`)
}

/** Reports whether staff have confirmed a hit of a subject on a list that holds payments. */
export async function isConfirmed(tx: Tx, { partnerId, kind, id }: SubjectKey, pepsHold: boolean): Promise<boolean> {
  const row = await tx.row(sql`/* screening.isConfirmed */
    select id from screening.hits hit
    where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id} and ended_at is null
      and status = 'confirmed' ${thatHold(pepsHold)} limit 1`)
  return row !== undefined
}

// The SQL of hits and their decisions.

export type HitRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectKind: SubjectKind
  readonly subjectId: string
  readonly role: string
  /** The number of the matched name among the matching names of its role. */
  readonly nameNumber: number
  /** The account, in the form of `accountKey`. Null: the subject is a customer, or the bank does not give the account. */
  readonly account: string | null
  readonly source: ListSource
  readonly entryId: string
  readonly entryDigest: string
  readonly score: number
  readonly detailSealed: Uint8Array
  readonly status: HitStatus
  readonly cause: 'name' | 'list'
  readonly generation: number
  readonly replaces: string | null
  readonly openedAt: Date
  readonly decidedAt: Date | null
  readonly decidedBy: string | null
  /** The second person of the decision. Null: one person decided. */
  readonly approvedBy: string | null
  /** The finding. Null: the hit is open, or an earlier version stored the decision. */
  readonly disposition: HitDisposition | null
  readonly endedGeneration: number | null
  readonly endedAt: Date | null
  readonly endReason: EndReason | null
  readonly proposal: HitOutcome | null
  readonly proposedBy: string | null
  readonly proposedAt: Date | null
}

const columns = sql`partner_id, id, subject_kind, subject_id, role, name_number, account, source, entry_id, entry_digest, score, detail_sealed,
  status, cause, generation, replaces, opened_at, decided_at, decided_by, approved_by, disposition, ended_generation, ended_at,
  end_reason, proposal, proposed_by, proposed_at`

export async function insertHit(tx: Tx, row: HitRow): Promise<void> {
  await tx.run(sql`/* screening.insertHit */
    insert into screening.hits (partner_id, id, subject_kind, subject_id, role, name_number, account, source, entry_id,
      entry_digest, score, detail_sealed, status, cause, generation, replaces, opened_at)
    values (${row.partnerId}, ${row.id}, ${row.subjectKind}, ${row.subjectId}, ${row.role}, ${row.nameNumber},
      ${row.account}, ${row.source}, ${row.entryId}, ${row.entryDigest}, ${row.score}, ${row.detailSealed}, ${row.status}, ${row.cause}, ${row.generation},
      ${row.replaces}, ${row.openedAt})`)
}

/** Locks the current hits of a subject. Waits for a concurrent decision and sees its outcome. */
export function lockCurrentHits(tx: Tx, { partnerId, kind, id }: SubjectKey): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.lockCurrentHits */
    select ${columns} from screening.hits
    where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id} and ended_at is null
    order by id for update`)
}

export function lockHit(tx: Tx, partnerId: string, id: string): Promise<HitRow | undefined> {
  return tx.row<HitRow>(sql`/* screening.lockHit */
    select ${columns} from screening.hits where partner_id = ${partnerId} and id = ${id} for update`)
}

export function hitById(tx: Tx, partnerId: string, id: string): Promise<HitRow | undefined> {
  return tx.row<HitRow>(sql`/* screening.hitById */
    select ${columns} from screening.hits where partner_id = ${partnerId} and id = ${id}`)
}

/**
 * Lists the open and confirmed hits that hold payments of these subjects and accounts, oldest first. Must agree with `statesOf`.
 */
export function listHoldingHits(
  tx: Tx,
  partnerId: string,
  { subjectIds, accounts }: { readonly subjectIds: readonly string[]; readonly accounts: readonly string[] },
  pepsHold: boolean,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.listHoldingHits */
    select ${columns} from screening.hits hit
    where partner_id = ${partnerId} and ended_at is null and status in ('open', 'confirmed') ${thatHold(pepsHold)}
      and (subject_id = any(${subjectIds}::uuid[])
        or account = any(${accounts}::text[]) and (status = 'confirmed' or subject_kind = 'beneficiary'))
    order by opened_at, id`)
}

/** Lists decided hits about an entry, newest first. */
export function listDecidedHits(
  tx: Tx,
  partnerId: string,
  { source, entryId }: Pick<HitRow, 'source' | 'entryId'>,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.listDecidedHits */
    select ${columns} from screening.hits
    where partner_id = ${partnerId} and source = ${source} and entry_id = ${entryId} and decided_at is not null
    order by id desc limit ${rowsMax}`)
}

/** Writes the changes of a decision or a screening. The caller has locked the hit. */
export async function updateHit(tx: Tx, row: HitRow): Promise<void> {
  await tx.run(sql`/* screening.updateHit */
    update screening.hits set status = ${row.status}, decided_at = ${row.decidedAt}, decided_by = ${row.decidedBy},
      approved_by = ${row.approvedBy}, disposition = ${row.disposition}, ended_generation = ${row.endedGeneration}, ended_at = ${row.endedAt}, end_reason = ${row.endReason},
      proposal = ${row.proposal}, proposed_by = ${row.proposedBy}, proposed_at = ${row.proposedAt}
    where partner_id = ${row.partnerId} and id = ${row.id}`)
}

export type HitCursor = Pick<HitRow, 'openedAt' | 'id'>

/** Lists open hits of all partners after the cursor, oldest first. */
export function listOpenHits(tx: Tx, after: HitCursor | undefined, rowsMax: number): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(
    acrossPartners(
      'lists open hits for the operator, oldest first, by an index',
      sql`/* screening.listOpenHits */ select ${columns} from screening.hits
        where status = 'open' ${after === undefined ? noSql : sql`and (opened_at, id) > (${after.openedAt}, ${after.id}::uuid)`}
        order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Lists the partner's open hits about an entry, oldest first, using the index of open hits by entry. */
export function listOpenHitsOfEntry(
  tx: Tx,
  partnerId: string,
  { source, entryId }: Pick<HitRow, 'source' | 'entryId'>,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.listOpenHitsOfEntry */
    select ${columns} from screening.hits
    where partner_id = ${partnerId} and source = ${source} and entry_id = ${entryId} and status = 'open'
    order by id limit ${rowsMax}`)
}

export type OpenHit = Pick<HitRow, 'partnerId' | 'id' | 'source' | 'score' | 'openedAt' | 'proposal' | 'proposedBy'>

/** Reads which of these hits of a partner are open. */
export function openHitsById(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly OpenHit[]> {
  return tx.rows<OpenHit>(sql`/* screening.openHitsById */
    select partner_id, id, source, score, opened_at, proposal, proposed_by from screening.hits
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and status = 'open'`)
}

/** Lists the oldest open hits of all partners, without their details. */
export function oldestOpenHits(tx: Tx, rowsMax: number): Promise<readonly OpenHit[]> {
  return tx.rows<OpenHit>(
    acrossPartners(
      'lists the oldest open hits for the operator, by an index',
      sql`/* screening.oldestOpenHits */ select partner_id, id, source, score, opened_at, proposal, proposed_by from screening.hits
        where status = 'open' order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Pages through the hits of all partners that a list opened or ended, in the order of ids. */
export function hitsOfList(
  tx: Tx,
  generation: number,
  afterId: string | null,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(
    acrossPartners(
      'lists what a list has changed of the hits of all partners, by indexes',
      sql`/* screening.hitsOfList */ select ${columns} from screening.hits
        where ((generation = ${generation} and cause = 'list')
            or (ended_generation = ${generation} and end_reason in ('entry_removed', 'entry_changed')))
          ${afterId === null ? noSql : sql`and id > ${afterId}`}
        order by id limit ${rowsMax}`,
    ),
  )
}

export type DecisionRow = {
  readonly partnerId: string
  readonly hitId: string
  /** Position in the hit, from 1. */
  readonly sequence: number
  readonly kind: 'proposed' | 'decided'
  readonly outcome: HitOutcome
  /** Null: an earlier version wrote the decision. */
  readonly disposition: HitDisposition | null
  readonly actor: string
  readonly note: string
  readonly generation: number
  readonly decidedAt: Date
}

const decisionColumns = sql`partner_id, hit_id, sequence, kind, outcome, disposition, actor, note, generation, decided_at`

/** Lists the decisions of a hit in order. */
export function listDecisions(tx: Tx, partnerId: string, hitId: string): Promise<readonly DecisionRow[]> {
  return tx.rows<DecisionRow>(sql`/* screening.listDecisions */
    select ${decisionColumns} from screening.decisions where partner_id = ${partnerId} and hit_id = ${hitId}
    order by sequence`)
}

/** Appends a decision. The caller has locked the hit, so that the number is unique. */
export async function appendDecision(tx: Tx, row: Omit<DecisionRow, 'sequence'>): Promise<void> {
  const before = await listDecisions(tx, row.partnerId, row.hitId)
  await insertDecision(tx, { ...row, sequence: before.length + 1 })
}

async function insertDecision(tx: Tx, row: DecisionRow): Promise<void> {
  await tx.run(sql`/* screening.insertDecision */
    insert into screening.decisions (${decisionColumns})
    values (${row.partnerId}, ${row.hitId}, ${row.sequence}, ${row.kind}, ${row.outcome}, ${row.disposition}, ${row.actor},
      ${row.note}, ${row.generation}, ${row.decidedAt})`)
}

// The SQL of exclusions: matches of common names that a second datum excluded.

const types = {
  partnerId: 'uuid',
  subjectKind: 'text',
  subjectId: 'uuid',
  role: 'text',
  source: 'text',
  entryId: 'text',
  score: 'integer',
  reason: 'text',
  generation: 'integer',
  excludedAt: 'timestamptz',
} as const
export type ExclusionRow = RowOf<typeof types>

const newExclusions = insertBy<ExclusionRow>(types, [])
const exclusionColumns = sql`partner_id, subject_kind, subject_id, role, source, entry_id, score, reason, generation, excluded_at`

/** Replaces the exclusions of a subject, one row for each role and entry. The caller has locked the subject. */
export async function replaceExclusions(
  tx: Tx,
  { partnerId, kind, id }: SubjectKey,
  rows: readonly ExclusionRow[],
): Promise<void> {
  await tx.run(sql`/* screening.replaceExclusions */
    delete from screening.exclusions where partner_id = ${partnerId} and subject_kind = ${kind} and subject_id = ${id}`)
  if (rows.length > 0)
    await tx.run(sql`/* screening.replaceExclusions */
      insert into screening.exclusions (${exclusionColumns}) ${newExclusions(tx, rows)}`)
}

/** Lists a page of a partner's exclusions after the cursor, by subject. */
export function listExclusions(
  tx: Tx,
  partnerId: string,
  after: Pick<ExclusionRow, 'subjectKind' | 'subjectId' | 'role' | 'source' | 'entryId'> | undefined,
  rowsMax: number,
): Promise<readonly ExclusionRow[]> {
  const { subjectKind = '', subjectId = nilId, role = '', source = '', entryId = '' } = after ?? {}
  return tx.rows<ExclusionRow>(sql`/* screening.listExclusions */
    select ${exclusionColumns} from screening.exclusions
    where partner_id = ${partnerId}
      and (subject_kind, subject_id, role, source, entry_id) > (${subjectKind}, ${subjectId}::uuid, ${role}, ${source}, ${entryId})
    order by subject_kind, subject_id, role, source, entry_id limit ${rowsMax}`)
}

export type ExclusionCount = { readonly source: string; readonly reason: string; readonly count: number }

/** Counts the exclusions of all partners. There are few, because only customers with common names have them. */
export function countExclusions(tx: Tx): Promise<readonly ExclusionCount[]> {
  return tx.rows<ExclusionCount>(
    acrossPartners(
      'counts exclusions for the report of screening',
      sql`/* screening.countExclusions */
        select source, reason, count(*)::integer as count from screening.exclusions group by source, reason order by source, reason`,
    ),
  )
}
