/**
 * Checks balances that count by value date: an entry of today that is valued tomorrow is not in the closing balance of
 * today, and is in that of tomorrow. The value dates of all entries must explain the difference to the cent; otherwise
 * the statement is quarantined.
 */
import { amountText, type Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankDeps } from './deps.ts'
import type { InspectedReport, StatementFacts } from './inspect-report.ts'
import { closingBefore, valuedBetween } from './store-statements.ts'

/** The problem with the balances of a report; undefined: they fit, or value dates explain them. */
export async function balanceProblem(
  tx: Tx,
  { rules, operatorId }: Pick<BankDeps, 'rules' | 'operatorId'>,
  { statements }: InspectedReport,
): Promise<string | undefined> {
  for (const [index, facts] of statements.entries()) {
    const { account, difference, closing, opening } = facts
    if (account === undefined || difference === 0n || closing === null || opening === null) continue
    const of = { operatorId, connector: rules.id, account: account.iban, currency: account.currency }
    const inFile = statements.slice(0, index).filter((one) => one.account === account)
    const stored = await closingBefore(tx, of, closing.on)
    const after = [stored ?? '', ...inFile.map((one) => one.closing?.on ?? '')].toSorted().at(-1) ?? ''
    const carried =
      (after === '' ? 0n : await valuedBetween(tx, of, after, closing.on)) + valuedWithin(inFile, after, closing.on)
    if (difference !== carried - sumOf([...facts.valuedLater.values()])) return text(facts, difference)
  }
  return undefined
}

const sumOf = (amounts: readonly Minor[]): Minor => amounts.reduce((total, amount) => total + amount, 0n)

const valuedWithin = (statements: readonly StatementFacts[], after: string, to: string): Minor =>
  sumOf(
    statements.flatMap(({ valuedLater }) =>
      [...valuedLater].flatMap(([on, amount]) => (on > after && on <= to ? [amount] : [])),
    ),
  )

function text({ statementId, account, opening, closing, credits, debits }: StatementFacts, difference: Minor): string {
  const currency = account?.currency ?? 'EUR'
  const [first, moved, sum, last, more] = [
    opening?.minor ?? 0n,
    credits - debits,
    (opening?.minor ?? 0n) + credits - debits,
    closing?.minor ?? 0n,
    difference,
  ].map((minor) => amountText(minor, currency))
  return `Statement ${statementId} of ${account?.iban ?? ''}: the opening balance ${first} and the entries ${moved} are ${sum}, and the closing balance is ${last}. The value dates of entries do not explain the difference of ${more}.`
}
