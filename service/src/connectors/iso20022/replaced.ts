/**
 * Corrections of statements. A bank that sends a statement again replaces it: the entries of the earlier version count as announced
 * until the correction lists them. An entry that it omits is on no statement then, and gets a case as every such one.
 */
import { isSameStatement } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import type { Lease } from './lease.ts'
import { takeOffStatements } from './store-announced.ts'
import { insertStatements, type StatementRow, statementsOfDay } from './store-statements.ts'

/** Entries whose locks one transaction holds. */
const rowsPerStep = 5000

/**
 * Takes the entries of earlier versions off them. `rows`: the statements of a message that is about to be read. A repetition after a restart
 * changes nothing: what the message has read by then is its own.
 */
export async function replaceEarlier(
  { db, operatorId }: BankDeps,
  lease: Lease,
  rows: readonly StatementRow[],
): Promise<void> {
  for (const row of rows) {
    if (row.kind !== 'camt.053' || row.closingOn === null || row.opening === null) continue
    const earlier = (await statementsOfDay(db, row))
      .filter((other) => other.id !== row.id && isSameStatement(other, row))
      .map(({ id }) => id)
    if (earlier.length === 0) continue
    // Reconciliation knows by the row that the entries of the earlier version are on their way to this one.
    await lease.transaction(async (tx) => insertStatements(tx, [row]))
    for (let taken = rowsPerStep; taken === rowsPerStep;)
      taken = await lease.transaction((tx) => takeOffStatements(tx, operatorId, earlier, rowsPerStep))
  }
}
