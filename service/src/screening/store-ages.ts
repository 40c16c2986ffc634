/** The times since which hits and names wait, of all partners, for metrics. */
import { acrossPartners, sql, type Tx } from '../postgres/index.ts'

/** When the oldest open hit was opened; null: none is open. */
export async function oldestOpenHit(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ openedAt: Date }>(
    acrossPartners(
      'reads the age of the oldest open hit, for a metric',
      sql`/* screening.oldestOpenHit */
        select opened_at from screening.hits where status = 'open' order by opened_at, id limit 1`,
    ),
  )
  return row?.openedAt ?? null
}

/** The name that was written first among those not yet compared with a list; null: there is none. */
async function oldestWritten(tx: Tx): Promise<Date | null> {
  const row = await tx.row<{ changedAt: Date }>(
    acrossPartners(
      'reads since when a new name waits to be screened, for a metric',
      sql`/* screening.oldestWritten */
        select changed_at from screening.subjects where generation = 0 order by changed_at limit 1`,
    ),
  )
  return row?.changedAt ?? null
}

/** The oldest list generation of any screened subject; null: none was screened before. */
async function oldestGeneration(tx: Tx): Promise<number | null> {
  const row = await tx.row<{ generation: number }>(
    acrossPartners(
      'reads how far the names are behind the newest list, for a metric',
      sql`/* screening.oldestGeneration */
        select generation from screening.subjects where generation > 0 order by generation limit 1`,
    ),
  )
  return row?.generation ?? null
}

/** When the first list after a generation was loaded; null: none was. */
async function loadedBehind(tx: Tx, generation: number): Promise<Date | null> {
  const row = await tx.row<{ loadedAt: Date }>(sql`/* screening.loadedBehind */
    select loaded_at from screening.lists where generation > ${generation} order by generation limit 1`)
  return row?.loadedAt ?? null
}

/**
 * The time since which the oldest name waits to be screened: since it was written, but not before the first list; or
 * since a list was loaded that it was not compared with. Null: none waits.
 */
export async function oldestDueSubject(tx: Tx): Promise<Date | null> {
  const first = await loadedBehind(tx, 0)
  if (first === null) return null
  const written = await oldestWritten(tx)
  const generation = await oldestGeneration(tx)
  const behind = generation === null ? null : await loadedBehind(tx, generation)
  const since = [written === null || written > first ? written : first, behind].filter((time) => time !== null)
  return since.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null
}
