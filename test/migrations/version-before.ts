/** Databases of the last version before the baseline. */
import { readFileSync } from 'node:fs'
import { lastBaselineNumber } from '../../service/src/postgres/migrate.ts'
import { migrate } from '../../service/src/postgres/index.ts'
import type { Pool } from './catalog.ts'

const folder = new URL('fixtures/', import.meta.url)
/** Data that this version wrote. The header states when, and for which partner. */
export const recorded = readFileSync(new URL('0300.sql', folder), 'utf8')

type Texts = { readonly citus?: boolean; readonly earlier?: boolean }
type Row = readonly [number: number, name: string, checksum: string]

/** The migrations of that version. `citus`: with the Citus texts. `earlier`: with the first text of 0046. */
export function appliedBefore({ citus = false, earlier = false }: Texts = {}): readonly Row[] {
  const lines = readFileSync(new URL('0300.applied', folder), 'utf8').trim().split('\n')
  return lines.map((line) => {
    const [number = '', name = '', checksum = '', kind, other = ''] = line.split(' ')
    const isOther = (kind === 'citus' && citus) || (kind === 'earlier' && earlier)
    return [Number(number), name, isOther ? other : checksum]
  })
}

/** Creates the schema of that version, which equals the schema of the baseline, and its list of applied migrations. */
export async function createVersionBefore(pool: Pool, rows: readonly Row[] = appliedBefore()): Promise<void> {
  await migrate(pool, { upTo: lastBaselineNumber })
  await pool.query('delete from public.schema_migrations')
  for (const row of rows)
    await pool.query(`insert into public.schema_migrations values ($1, $2, $3, '2026-01-01Z')`, [...row])
}
