/**
 * The columns with personal data, and the records that are erased by their own age. They are declared beside the code
 * that writes them; the statements that erase them are here, for all tables.
 */
import { listed, named } from './names.ts'
import { type Sql, sql } from './sql.ts'
import type { Tx } from './tx.ts'

export type PersonalColumns = {
  /** `schema.table`. */
  readonly table: string
  /** The column that finds the rows: their id, or that of the record that they belong to. */
  readonly by: string
  /** The value of each column after its erasure. It is compared, so that an erased row is not written again. */
  readonly erased: Readonly<Record<string, string | null>>
}

/** Erases the columns of the rows of a partner that `ids` find. Returns how many rows it has changed. */
export async function erasePersonal(
  tx: Tx,
  { table, by, erased }: PersonalColumns,
  partnerId: string,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0
  const columns = Object.entries(erased).map(([name, value]) => ({ name: named(name), value }))
  const set = columns.map(({ name, value }) => sql`${name} = ${value}`)
  const holds = columns.map(({ name, value }) =>
    value === null ? sql`target.${name} is not null` : sql`target.${name}::text is distinct from ${value}`,
  )
  return tx.run(sql`/* postgres.erasePersonal */
    update ${named(table)} as target set ${listed(set)}
    where target.partner_id = ${partnerId} and target.${named(by)} = any(${ids}::uuid[]) and (${listed(holds, sql` or `)})`)
}

/** Records that name persons and know no customer. Each is erased by its own age (docs/decisions/0055-erasure.md). */
export type KeptTable = {
  /** `schema.table`. Its rows have an `id` that begins with their time. */
  readonly table: string
  /** Reports whether the retention of a row has ended. */
  readonly isOver: (page: Pick<KeptPage, 'partnerId' | 'endedBefore'>) => Sql
  /** Absent: the whole row is deleted. */
  readonly personal?: readonly PersonalColumns[]
}

export type KeptPage = {
  readonly partnerId: string
  /** Records after this id and before `beforeId`. */
  readonly afterId: string
  readonly beforeId: string
  /** A record that ended before this time is erased. */
  readonly endedBefore: Date
  readonly rowsMax: number
}
/** `isOver`: it is erased. Otherwise it is in use, and a later pass looks at it again. */
export type KeptRecord = { readonly id: string; readonly isOver: boolean }

/** Erases what is over in a page, and returns the whole page in the order of the ids. */
export async function eraseKept(
  tx: Tx,
  { table, isOver, personal }: KeptTable,
  page: KeptPage,
): Promise<readonly KeptRecord[]> {
  const { partnerId, afterId, beforeId, rowsMax } = page
  const rows = await tx.rows<KeptRecord>(sql`/* postgres.eraseKept */
    select id, coalesce(${isOver(page)}, false) as is_over from ${named(table)} as kept
    where kept.partner_id = ${partnerId} and id > ${afterId} and id < ${beforeId} order by id limit ${rowsMax} for update`)
  const ids = rows.flatMap((row) => (row.isOver ? [row.id] : []))
  if (personal === undefined)
    await tx.run(sql`/* postgres.eraseKept */
      delete from ${named(table)} where partner_id = ${partnerId} and id = any(${ids}::uuid[])`)
  else for (const columns of personal) await erasePersonal(tx, columns, partnerId, ids)
  return rows
}
