/** Personal columns of monitoring. What a rule has found links payments of a person; the alert and the ids stay. */
import { erasePersonal, type KeptTable, type PersonalColumns, sql, type Tx } from '../../postgres/index.ts'

const foundBy = (by: 'alert_id' | 'transaction_id'): PersonalColumns => ({
  table: 'monitoring.hits',
  by,
  erased: { reference: '', evidence: '{}' },
})

/** The retention of an alert is counted from the last transaction that has joined it. */
export const keptAlerts: KeptTable = {
  table: 'monitoring.alerts',
  isOver: ({ partnerId, endedBefore }) => sql`opened_at < ${endedBefore} and not exists (
    select from monitoring.hits hit where hit.partner_id = ${partnerId} and hit.alert_id = kept.id and hit.found_at >= ${endedBefore})`,
  personal: [foundBy('alert_id')],
}

/** Erases what rules have found of the payments of an erased customer. */
export async function eraseHits(tx: Tx, partnerId: string, transactionIds: readonly string[]): Promise<void> {
  await erasePersonal(tx, foundBy('transaction_id'), partnerId, transactionIds)
}
