/** The SQL that reads the transfers of a period in parts. A part is a range of ids: `after` and `end` are not in it. */
import type { Minor } from '../kernel/index.ts'
import { noSql, sql, type Tx, unprepared } from '../postgres/index.ts'
import type { IdRange } from './store-history.ts'

/** The transfers at which the next parts of `transfersPerPart` transfers end, themselves included; only whole parts. */
export async function partEnds(
  tx: Tx,
  partnerId: string,
  { after, end }: IdRange,
  transfersPerPart: number,
  partsMax: number,
): Promise<readonly string[]> {
  const rows = await tx.rows<{ readonly id: string }>(
    unprepared(sql`/* ledger.partEnds */
      select id from (select id, row_number() over (order by id) as position from (
          select id from ledger.transfers where partner_id = ${partnerId} and id > ${after} and id < ${end}
          order by id limit ${transfersPerPart * partsMax}) as next) as numbered
      where position % ${transfersPerPart} = 0 order by id`),
  )
  return rows.map(({ id }) => id)
}

/** `partyId` undefined: of all parties. `counterAccountId` undefined: against all accounts. */
export type LineFilter = {
  readonly partnerId: string
  readonly accountId: string
  readonly counterAccountId?: string | undefined
  readonly partyId?: string | undefined
}

const among = ({ accountId, counterAccountId, partyId }: LineFilter) => sql`
          and ${accountId} in (debit_account_id, credit_account_id)
          ${counterAccountId === undefined ? noSql : sql`and ${counterAccountId} in (debit_account_id, credit_account_id)`}
          ${partyId === undefined ? noSql : sql`and party_id = ${partyId}`}`

/**
 * The transfers of a part that move posted money of an account, as one text: the driver needs longer for a row of columns
 * than PostgreSQL needs to read it. Neither separator occurs in a reference, which is one line without control characters.
 */
export async function packedLines(tx: Tx, filter: LineFilter, { after, end }: IdRange): Promise<string> {
  const { partnerId, accountId } = filter
  const row = await tx.row<{ readonly lines: string | null }>(
    unprepared(sql`/* ledger.packedLines */
      select string_agg(line, chr(30)) as lines from (
        select id::text || case when debit_account_id = ${accountId} then '-' || credit_account_id::text
            else '+' || debit_account_id::text end || kind || chr(31) || amount || chr(31) || party_id || chr(31)
            || translate(reference, chr(30) || chr(31), '  ') as line
        from ledger.transfers
        where partner_id = ${partnerId} and id > ${after} and id < ${end} and kind in ('direct', 'post') ${among(filter)}
        order by id) as ordered`),
  )
  return row?.lines ?? ''
}

export type Sums = {
  readonly lines: bigint
  readonly creditLines: bigint
  readonly credits: Minor
  readonly debits: Minor
}

/** Sums the lines of a part. */
export async function sumOfLines(tx: Tx, filter: LineFilter, { after, end }: IdRange): Promise<Sums> {
  const { partnerId, accountId } = filter
  const row = await tx.row<Sums>(
    unprepared(sql`/* ledger.sumOfLines */
      select count(*) as lines, count(*) filter (where credit_account_id = ${accountId}) as credit_lines,
        coalesce(sum(amount) filter (where credit_account_id = ${accountId}), 0)::bigint as credits,
        coalesce(sum(amount) filter (where debit_account_id = ${accountId}), 0)::bigint as debits
      from ledger.transfers
      where partner_id = ${partnerId} and id > ${after} and id < ${end} and kind in ('direct', 'post') ${among(filter)}`),
  )
  return row ?? { lines: 0n, creditLines: 0n, credits: 0n, debits: 0n }
}

export type AccountSums = Sums & { readonly accountId: string }

/** Sums what the transfers of a part add to and take from the posted sum of each account. */
export function sumsByAccount(tx: Tx, partnerId: string, { after, end }: IdRange): Promise<readonly AccountSums[]> {
  return tx.rows<AccountSums>(
    unprepared(sql`/* ledger.sumsByAccount */
      select side.account_id, count(*) as lines, count(*) filter (where side.credit > 0) as credit_lines,
        sum(side.credit)::bigint as credits, sum(side.debit)::bigint as debits
      from ledger.transfers as transfer cross join lateral (values (debit_account_id, 0::bigint, amount),
        (credit_account_id, amount, 0::bigint)) as side (account_id, credit, debit)
      where transfer.partner_id = ${partnerId} and transfer.id > ${after} and transfer.id < ${end}
        and kind in ('direct', 'post')
      group by side.account_id`),
  )
}
