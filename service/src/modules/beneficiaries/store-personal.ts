/** Verifications of payees, which name persons and are kept for a time. */
import { type KeptTable, sql } from '../../postgres/index.ts'

/** Deleted, unless a payee has the name and IBAN: the next payout shows the verification. */
export const keptVerifications: KeptTable = {
  table: 'beneficiaries.verifications',
  isOver: ({ partnerId, endedBefore }) => sql`answered_at < ${endedBefore} and not exists (
    select from beneficiaries.beneficiaries as payee
    where payee.partner_id = ${partnerId} and payee.iban = kept.iban and payee.name = kept.name
      and payee.removed_at is null)`,
}
