/** All SQL of safeguarding. Its tables belong to no partner. */
import type { Currency } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import type { SafeguardingStatus } from './rules.ts'

export type DesignatedAccount = {
  readonly account: string
  readonly currency: Currency
  readonly connector: string
  /** The first day, and the day after the last one. Null if the designation continues. */
  readonly fromDay: string
  readonly untilDay: string | null
  readonly setBy: string
  readonly setAt: Date
}

const accountColumns = sql`account, currency, connector, from_day, until_day, set_by, set_at`

export function listDesignatedAccounts(tx: Tx): Promise<readonly DesignatedAccount[]> {
  return tx.rows<DesignatedAccount>(sql`/* safeguarding.listDesignatedAccounts */
    select ${accountColumns} from safeguarding.accounts order by currency, account`)
}

/** Locks the designated accounts, so that one process at a time writes records. */
export async function lockAccounts(tx: Tx): Promise<void> {
  await tx.run(sql`/* safeguarding.lockAccounts */
    select from safeguarding.accounts order by account, currency for update`)
}

export async function saveAccount(tx: Tx, row: DesignatedAccount): Promise<void> {
  await tx.run(sql`/* safeguarding.saveAccount */
    insert into safeguarding.accounts (account, currency, connector, from_day, until_day, set_by, set_at)
    values (${row.account}, ${row.currency}, ${row.connector}, ${row.fromDay}::date, ${row.untilDay}::date, ${row.setBy},
      ${row.setAt})
    on conflict (account, currency) do update set connector = excluded.connector, from_day = excluded.from_day,
      until_day = excluded.until_day, set_by = excluded.set_by, set_at = excluded.set_at`)
}

export type RecordRow = {
  readonly day: string
  readonly currency: Currency
  readonly version: number
  readonly status: SafeguardingStatus
  readonly content: string
  readonly digest: string
  readonly signature: Buffer
  readonly publicKey: string
  readonly computedAt: Date
}

const recordColumns = sql`day, currency, version, status, content, digest, signature, public_key, computed_at`

export async function insertRecord(tx: Tx, row: RecordRow): Promise<void> {
  await tx.run(sql`/* safeguarding.insertRecord */
    insert into safeguarding.records (day, currency, version, status, content, digest, signature, public_key, computed_at)
    values (${row.day}::date, ${row.currency}, ${row.version}, ${row.status}, ${row.content}, ${row.digest},
      ${row.signature}, ${row.publicKey}, ${row.computedAt})`)
}

export function recordVersions(tx: Tx, day: string, currency: Currency): Promise<readonly RecordRow[]> {
  return tx.rows<RecordRow>(sql`/* safeguarding.recordVersions */
    select ${recordColumns} from safeguarding.records where day = ${day}::date and currency = ${currency}
    order by version desc`)
}

/** Lists the latest version of each day and currency in a range, newest day first. */
export function lastVersions(
  tx: Tx,
  { from, before, rowsMax }: { readonly from: string; readonly before: string; readonly rowsMax: number },
): Promise<readonly RecordRow[]> {
  return tx.rows<RecordRow>(sql`/* safeguarding.lastVersions */
    select distinct on (day, currency) ${recordColumns} from safeguarding.records
    where day >= ${from}::date and day < ${before}::date
    order by day desc, currency, version desc limit ${rowsMax}`)
}
