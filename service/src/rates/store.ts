/** All SQL of rates. The table belongs to no partner: a sheet applies to all. */
import { sql, type Tx } from '../postgres/index.ts'

export type SheetRow = {
  readonly id: string
  readonly source: string
  readonly asOf: Date
  readonly readAt: Date
  /** JSON: the decimal text of each currency's rate for one euro. */
  readonly quotes: string
  /** JSON: the rates that a simulation has set. */
  readonly byHand: string
  /** A simulation has stopped the source. */
  readonly stopped: boolean
}

const columns = sql`id, source, as_of, read_at, quotes, by_hand, stopped`

export function newestSheet(tx: Tx, source: string): Promise<SheetRow | undefined> {
  return tx.row<SheetRow>(sql`/* rates.newestSheet */
    select ${columns} from rates.sheets where source = ${source} order by as_of desc, id desc limit 1`)
}

/** Locks the sheets until the transaction ends, so that each new sheet follows the newest one. */
export async function lockSheets(tx: Tx): Promise<void> {
  await tx.run(sql`/* rates.lockSheets */ lock table rates.sheets in share row exclusive mode`)
}

export async function insertSheet(tx: Tx, row: SheetRow): Promise<void> {
  await tx.run(sql`/* rates.insertSheet */
    insert into rates.sheets (${columns})
    values (${row.id}, ${row.source}, ${row.asOf}, ${row.readAt}, ${row.quotes}, ${row.byHand}, ${row.stopped})`)
}

export async function deleteSheets(tx: Tx, source: string, before: Date): Promise<void> {
  await tx.run(sql`/* rates.deleteSheets */
    delete from rates.sheets where source = ${source} and as_of < ${before}`)
}
