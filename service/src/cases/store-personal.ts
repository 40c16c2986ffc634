/** Personal columns of cases: the bank's report, notes, and the party of a return. Bookings, decisions and their times stay. */
import { type KeptTable, sql } from '../postgres/index.ts'

export const keptCases: KeptTable = {
  table: 'cases.cases',
  isOver: ({ endedBefore }) => sql`resolved_at < ${endedBefore}`,
  personal: [
    { table: 'cases.cases', by: 'id', erased: { report: '{}', note: null } },
    { table: 'cases.decisions', by: 'case_id', erased: { note: '' } },
    {
      table: 'cases.returns',
      by: 'case_id',
      erased: { creditor_name: '', creditor_account: '', creditor_bic: null, remittance: '' },
    },
  ],
}
