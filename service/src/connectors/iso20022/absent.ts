/** Announced entries that are not on the statement of their day: the money counts, and the bank does not have it. */
import { amountText, type Currency } from '../../kernel/index.ts'
import { lastListedOn } from '../../rails/index.ts'
import { gapDaysOf, statementsReadMax } from './continuity.ts'
import type { BankDeps } from './deps.ts'
import type { Lease } from './lease.ts'
import { oddity, type Report, writeReports } from './reports.ts'
import { type Absent, absentOf, markAbsent } from './store-announced.ts'
import { latestStatements } from './store-statements.ts'

const rowsPerPage = 1000

/**
 * Looks once after new statements. Each entry has one case, which ends when a later statement has it. An entry that was
 * announced after the statement came may be on the next one of the day, and one of a gap on the missing statement.
 */
export async function tellAbsent(deps: BankDeps, lease: Lease): Promise<void> {
  const { db, rules, operatorId, clock } = deps
  const of = { operatorId, connector: rules.id }
  for (const { iban: account, currency } of rules.accounts) {
    const newestFirst = await latestStatements(db, rules.id, account, currency, statementsReadMax)
    const [last] = newestFirst
    if (last === undefined || last.closingOn === null) continue
    const listed = {
      until: lastListedOn(last.closingOn, rules, currency),
      takenAt: last.createdAt,
      missing: gapDaysOf(newestFirst.toReversed(), currency, rules.statementNumbers),
    }
    for (let rows = rowsPerPage; rows === rowsPerPage;)
      rows = await lease.transaction(async (tx) => {
        const absent = await absentOf(tx, { ...of, account, currency }, listed, rowsPerPage)
        if (absent.length === 0) return 0
        const now = clock.now()
        const ids = absent.map(({ id }) => id)
        markAbsent(tx, operatorId, ids, now)
        writeReports(
          tx,
          rules.id,
          absent.map((entry): Report => oddity(of, 'announced_missing', textOf(entry), [entry.id], entry.id)),
          now,
        )
        return absent.length
      })
  }
}

const textOf = ({ id, account, currency, amount, bookedOn, announced }: Absent): string => {
  const told =
    announced === 0
      ? `is of an earlier message about ${bookedOn}, and the last statement of that day omits it.`
      : `was announced for ${bookedOn}, and the statement of that day does not have it.`
  return `The entry ${id} of ${amountText(amount, currency as Currency)} ${currency} on ${account} ${told}`
}
