/** All SQL of verifications. A row never changes: it is evidence, until its time is over (store-personal.ts). */
import type { NotPossibleReason } from '@partner-payments/wire'
import type { PageRequest } from '../../api/index.ts'
import { noSql, sql, type Tx } from '../../postgres/index.ts'

export type VerificationRow = {
  readonly id: string
  readonly name: string
  readonly iban: string
  readonly result: 'Match' | 'CloseMatch' | 'NoMatch' | 'NotPossible'
  readonly matchedName: string | null
  readonly reason: NotPossibleReason | null
  readonly source: string
  readonly schemeReference: string | null
  readonly requestedBy: string
  readonly requestedByName: string
  readonly requestedAt: Date
  readonly answeredAt: Date
}

const columns = sql`id, name, iban, result, matched_name, reason, source, scheme_reference, requested_by,
  requested_by_name, requested_at, answered_at`

export async function insertVerification(tx: Tx, partnerId: string, row: VerificationRow): Promise<void> {
  await tx.run(sql`/* beneficiaries.insertVerification */
    insert into beneficiaries.verifications (partner_id, ${columns})
    values (${partnerId}, ${row.id}, ${row.name}, ${row.iban}, ${row.result}, ${row.matchedName}, ${row.reason},
      ${row.source}, ${row.schemeReference}, ${row.requestedBy}, ${row.requestedByName}, ${row.requestedAt},
      ${row.answeredAt})`)
}

export function verificationById(tx: Tx, partnerId: string, id: string): Promise<VerificationRow | undefined> {
  return tx.row<VerificationRow>(sql`/* beneficiaries.verificationById */
    select ${columns} from beneficiaries.verifications where partner_id = ${partnerId} and id = ${id}`)
}

/** The newest answer about a name and an IBAN, at a given time or overall. */
export function verificationOfPayee(
  tx: Tx,
  partnerId: string,
  { name, iban }: Pick<VerificationRow, 'name' | 'iban'>,
  moment: Date | undefined,
): Promise<VerificationRow | undefined> {
  return tx.row<VerificationRow>(sql`/* beneficiaries.verificationOfPayee */
    select ${columns} from beneficiaries.verifications
    where partner_id = ${partnerId} and iban = ${iban} and name = ${name}
      ${moment === undefined ? noSql : sql`and answered_at <= ${moment}`}
    order by id desc limit 1`)
}

export function listVerifications(
  tx: Tx,
  partnerId: string,
  iban: string | undefined,
  { limit, afterId }: PageRequest,
): Promise<readonly VerificationRow[]> {
  return tx.rows<VerificationRow>(sql`/* beneficiaries.listVerifications */
    select ${columns} from beneficiaries.verifications where partner_id = ${partnerId}
      ${iban === undefined ? noSql : sql`and iban = ${iban}`} ${afterId === null ? noSql : sql`and id < ${afterId}`}
    order by id desc limit ${limit + 1}`)
}
