/** All SQL of hits and of the decisions about them. */
import { acrossPartners, noSql, sql, type Tx } from '../postgres/index.ts'
import type { ListSource } from './lists/entry.ts'
import { thatHold } from './store-holds.ts'
import type { EndReason, HitStatus, Outcome, SubjectKey, SubjectKind } from './rules.ts'

export type HitRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectKind: SubjectKind
  readonly subjectId: string
  readonly role: string
  /** Number of the matched name among the matching names of its role. */
  readonly nameNumber: number
  /** Account in the form of `accountKey`. Null: a customer, or the bank does not give it. */
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
  readonly endedGeneration: number | null
  readonly endedAt: Date | null
  readonly endReason: EndReason | null
  readonly proposal: Outcome | null
  readonly proposedBy: string | null
  readonly proposedAt: Date | null
}

const columns = sql`partner_id, id, subject_kind, subject_id, role, name_number, account, source, entry_id, entry_digest, score, detail_sealed,
  status, cause, generation, replaces, opened_at, decided_at, decided_by, ended_generation, ended_at, end_reason,
  proposal, proposed_by, proposed_at`

export async function insertHit(tx: Tx, row: HitRow): Promise<void> {
  await tx.run(sql`/* screening.insertHit */
    insert into screening.hits (partner_id, id, subject_kind, subject_id, role, name_number, account, source, entry_id,
      entry_digest, score, detail_sealed, status, cause, generation, replaces, opened_at)
    values (${row.partnerId}, ${row.id}, ${row.subjectKind}, ${row.subjectId}, ${row.role}, ${row.nameNumber},
      ${row.account}, ${row.source}, ${row.entryId}, ${row.entryDigest}, ${row.score}, ${row.detailSealed}, ${row.status}, ${row.cause}, ${row.generation},
      ${row.replaces}, ${row.openedAt})`)
}

/** Locks the current hits about a subject: waits for a decision, and sees its outcome. */
export function lockStandingHits(tx: Tx, { partnerId, kind, id }: SubjectKey): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.lockStandingHits */
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
 * The hits that hold a payment of these subjects and accounts: open or confirmed, oldest first. Agrees with `statesOf`.
 */
export function hitsThatHold(
  tx: Tx,
  partnerId: string,
  { subjectIds, accounts }: { readonly subjectIds: readonly string[]; readonly accounts: readonly string[] },
  pepsHold: boolean,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.hitsThatHold */
    select ${columns} from screening.hits hit
    where partner_id = ${partnerId} and ended_at is null and status in ('open', 'confirmed') ${thatHold(pepsHold)}
      and (subject_id = any(${subjectIds}::uuid[])
        or account = any(${accounts}::text[]) and (status = 'confirmed' or subject_kind = 'beneficiary'))
    order by opened_at, id`)
}

/** The hits about an entry that persons have decided about, the newest first. */
export function decidedAbout(
  tx: Tx,
  partnerId: string,
  { source, entryId }: Pick<HitRow, 'source' | 'entryId'>,
  rowsMax: number,
): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(sql`/* screening.decidedAbout */
    select ${columns} from screening.hits
    where partner_id = ${partnerId} and source = ${source} and entry_id = ${entryId} and decided_at is not null
    order by id desc limit ${rowsMax}`)
}

/** Writes what a decision or a screening changes. The caller holds the lock. */
export async function updateHit(tx: Tx, row: HitRow): Promise<void> {
  await tx.run(sql`/* screening.updateHit */
    update screening.hits set status = ${row.status}, decided_at = ${row.decidedAt}, decided_by = ${row.decidedBy},
      ended_generation = ${row.endedGeneration}, ended_at = ${row.endedAt}, end_reason = ${row.endReason},
      proposal = ${row.proposal}, proposed_by = ${row.proposedBy}, proposed_at = ${row.proposedAt}
    where partner_id = ${row.partnerId} and id = ${row.id}`)
}

export type HitPage = Pick<HitRow, 'openedAt' | 'id'>

/** Open hits of all partners, oldest first, after one of them. */
export function openHits(tx: Tx, after: HitPage | undefined, rowsMax: number): Promise<readonly HitRow[]> {
  return tx.rows<HitRow>(
    acrossPartners(
      'lists open hits for the operator, oldest first, by an index',
      sql`/* screening.openHits */ select ${columns} from screening.hits
        where status = 'open' ${after === undefined ? noSql : sql`and (opened_at, id) > (${after.openedAt}, ${after.id}::uuid)`}
        order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

export type OpenHit = Pick<HitRow, 'partnerId' | 'id' | 'source' | 'score' | 'openedAt'>

/** Reads those of these hits of a partner that are open. */
export function openOf(tx: Tx, partnerId: string, ids: readonly string[]): Promise<readonly OpenHit[]> {
  return tx.rows<OpenHit>(sql`/* screening.openOf */
    select partner_id, id, source, score, opened_at from screening.hits
    where partner_id = ${partnerId} and id = any(${[...ids]}::uuid[]) and status = 'open'`)
}

/** The oldest open hits of all partners, without what was compared. */
export function oldestOpenHits(tx: Tx, rowsMax: number): Promise<readonly OpenHit[]> {
  return tx.rows<OpenHit>(
    acrossPartners(
      'lists the oldest open hits for the operator, by an index',
      sql`/* screening.oldestOpenHits */ select partner_id, id, source, score, opened_at from screening.hits
        where status = 'open' order by opened_at, id limit ${rowsMax}`,
    ),
  )
}

/** Pages through the hits of all partners that a list has opened or ended, in the order of ids. */
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
  readonly outcome: Outcome
  readonly actor: string
  readonly note: string
  readonly generation: number
  readonly decidedAt: Date
}

const decisionColumns = sql`partner_id, hit_id, sequence, kind, outcome, actor, note, generation, decided_at`

/** Reads the decisions of a hit in their order. */
export function decisionsOf(tx: Tx, partnerId: string, hitId: string): Promise<readonly DecisionRow[]> {
  return tx.rows<DecisionRow>(sql`/* screening.decisionsOf */
    select ${decisionColumns} from screening.decisions where partner_id = ${partnerId} and hit_id = ${hitId}
    order by sequence`)
}

/** The caller holds the lock of the hit, so that no other decision takes the same number. */
export async function appendDecision(tx: Tx, row: Omit<DecisionRow, 'sequence'>): Promise<void> {
  const before = await decisionsOf(tx, row.partnerId, row.hitId)
  await insertDecision(tx, { ...row, sequence: before.length + 1 })
}

async function insertDecision(tx: Tx, row: DecisionRow): Promise<void> {
  await tx.run(sql`/* screening.insertDecision */
    insert into screening.decisions (${decisionColumns})
    values (${row.partnerId}, ${row.hitId}, ${row.sequence}, ${row.kind}, ${row.outcome}, ${row.actor}, ${row.note},
      ${row.generation}, ${row.decidedAt})`)
}
