/** All SQL of subjects and sweeps: the screening queue. */
import { dueWork, insertBy, sql, type Tx } from '../postgres/index.ts'
import type { SubjectKey, SweptKind } from './rules.ts'

/** Adds a subject or makes it due again. A worker that is screening it loses its lease and records nothing. */
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

/** Adds subjects, and makes those due first that were compared with an earlier generation. A lease on a due one stays. */
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
  /** The generation of lists that it was last screened against; 0: its names are new. */
  readonly generation: number
  readonly leaseId: string
}

/** Claims subjects. Those written since they were screened come first. */
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

/** 0: the lease was lost, or the names were written meanwhile. The caller then records nothing. Locks the subject otherwise. */
export function recordScreened(tx: Tx, claim: ClaimedSubject, generation: number, now: Date): Promise<number> {
  return tx.run(sql`/* screening.recordScreened */
    update screening.subjects set generation = ${generation}, screened_at = ${now}, lease_id = null, leased_until = null
    where partner_id = ${claim.partnerId} and kind = ${claim.kind} and id = ${claim.id} and lease_id = ${claim.leaseId}`)
}

/**
 * Erases the data of an erased customer, its beneficiaries or payers: names, hits, their decisions, and that they were
 * screened. A subject with an open or a confirmed hit stays: a decision is pending, or its money is frozen. A hit on a
 * list of politically exposed persons keeps nothing.
 */
export async function forgetSubjects(tx: Tx, partnerId: string, given: readonly string[]): Promise<void> {
  if (given.length === 0) return
  const held = await tx.rows<{ subjectId: string }>(sql`/* screening.forgetSubjects */
    select subject_id from screening.hits
    where partner_id = ${partnerId} and subject_id = any(${given}::uuid[]) and ended_at is null
      and status in ('open', 'confirmed') and source not like 'pep:%' for update`)
  const ids = given.filter((id) => !held.some(({ subjectId }) => subjectId === id))
  await tx.run(sql`/* screening.forgetSubjects */
    delete from screening.subjects where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.forgetSubjects */
    delete from screening.earlier_names where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.forgetSubjects */
    delete from screening.exclusions where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
  await tx.run(sql`/* screening.forgetSubjects */
    delete from screening.decisions where partner_id = ${partnerId} and hit_id = any(array(
      select id from screening.hits where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])))`)
  await tx.run(sql`/* screening.forgetSubjects */
    delete from screening.hits where partner_id = ${partnerId} and subject_id = any(${ids}::uuid[])`)
}

/** The generation of lists that a subject was compared with; 0: it is due, because its name was written. */
export async function comparedWith(
  tx: Tx,
  { partnerId, subjectKind, subjectId }: Readonly<Record<'partnerId' | 'subjectKind' | 'subjectId', string>>,
): Promise<number | undefined> {
  const row = await tx.row<{ generation: number }>(sql`/* screening.comparedWith */
    select generation from screening.subjects
    where partner_id = ${partnerId} and kind = ${subjectKind} and id = ${subjectId}`)
  return row?.generation
}

/** Undefined: the names were never queued for screening. */
export function screenedAt(
  tx: Tx,
  { partnerId, kind, id }: SubjectKey,
): Promise<{ readonly screenedAt: Date | null } | undefined> {
  return tx.row(sql`/* screening.screenedAt */
    select screened_at from screening.subjects where partner_id = ${partnerId} and kind = ${kind} and id = ${id}`)
}

export async function releaseLeases(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.releaseLeases */
    update screening.subjects set lease_id = null, leased_until = null
    where partner_id = ${partnerId} and lease_id is not null`)
}

/** Makes everything due again: generations count the lists of one database. */
export async function forgetGenerations(tx: Tx, partnerId: string): Promise<void> {
  await tx.run(sql`/* screening.forgetGenerations */
    update screening.subjects set generation = 0, lease_id = null, leased_until = null where partner_id = ${partnerId}`)
  await tx.run(sql`/* screening.forgetGenerations */
    delete from screening.sweeps where partner_id = ${partnerId}`)
}

export type Progress = { readonly subjects: bigint; readonly due: bigint }

/** How many subjects a partner has, and how many were not screened against a generation. */
export async function progressOf(tx: Tx, partnerId: string, generation: number): Promise<Progress> {
  const row = await tx.row<Progress>(sql`/* screening.progressOf */
    select count(*) as subjects, count(*) filter (where generation < ${generation}) as due from screening.subjects
    where partner_id = ${partnerId}`)
  return row ?? { subjects: 0n, due: 0n }
}

export type Sweep = { readonly kind: SweptKind; readonly afterId: string; readonly endedAt: Date | null }

/** Begins the sweep of a generation, if no process has begun it. */
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

export function sweepOf(tx: Tx, partnerId: string, generation: number): Promise<Sweep | undefined> {
  return tx.row<Sweep>(sql`/* screening.sweepOf */
    select kind, after_id, ended_at from screening.sweeps where partner_id = ${partnerId} and generation = ${generation}`)
}

/** Undefined: it has ended, or another process has it. */
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
