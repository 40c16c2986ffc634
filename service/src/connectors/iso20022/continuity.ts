/** Checks that the statements of an account join: each begins with the closing balance of the previous one. */
import { amountText, type Currency } from '../../kernel/index.ts'
import type { BankDeps } from './deps.ts'
import type { Lease } from './lease.ts'
import { oddity, type Report, writeReports } from './reports.ts'
import {
  balancesAlong,
  inOrder,
  isJoined,
  missingByNumber,
  type Numbering,
  numberStep,
  pageNumberOf,
} from '../../rails/index.ts'
import { latestStatements, type Statement } from './store-statements.ts'

/** Statements read per account: older ones were checked when they were new. */
export const statementsReadMax = 100

export function createContinuity(deps: BankDeps) {
  const { db, rules, operatorId, clock } = deps
  const of = { operatorId, connector: rules.id }
  const told = new Set<string>()
  /** Reports each finding once in the life of a process: repeated reports share one case. */
  return async (lease: Lease): Promise<void> => {
    const found: Report[] = []
    for (const { iban, currency } of rules.accounts) {
      const newestFirst = await latestStatements(db, rules.id, iban, currency, statementsReadMax)
      const findings = findingsOf(newestFirst.toReversed(), currency, rules.statementNumbers)
      for (const { what, text, statement } of findings)
        found.push(oddity(of, what, `Account ${iban}: ${text}`, [iban, currency, statement.id], statement.id))
    }
    const fresh = found.filter(({ id }) => !told.has(id))
    if (fresh.length === 0) return
    await lease.transaction((tx) => {
      writeReports(tx, rules.id, fresh, clock.now())
      return Promise.resolve()
    })
    for (const { id } of fresh) told.add(id)
  }
}

type Finding = {
  readonly what: 'statement_gap' | 'statement_overlap'
  readonly text: string
  /** The statement after the gap, or the one that came second. */
  readonly statement: Statement
  /** The statement before the gap. */
  readonly before?: Statement
}

export type Days = { readonly first: string; readonly last: string }

/** The days that a missing statement may cover. `statements`: oldest first. */
export const gapDaysOf = (
  statements: readonly Statement[],
  currency: Currency,
  numbering: Numbering | undefined,
): readonly Days[] =>
  findingsOf(statements, currency, numbering).flatMap(({ statement: { closingOn: last }, before }) => {
    const first = before?.closingOn
    return typeof first === 'string' && last !== null ? [{ first, last }] : []
  })

/** `statements`: oldest first. */
function findingsOf(
  statements: readonly Statement[],
  currency: Currency,
  numbering: Numbering = 'evidence',
): readonly Finding[] {
  const versions = inOrder(statements)
  const again = [...versions].flatMap(([statement, { length }]): readonly Finding[] =>
    length === 1 ? [] : [cameAgain(statement)],
  )
  let before: Statement | undefined
  const joints: Finding[] = []
  for (const { statement, before: balance } of balancesAlong(versions.keys())) {
    if (before !== undefined) joints.push(...between({ ...before, closing: balance }, statement, currency, numbering))
    before = statement
  }
  return [...again, ...joints]
}

const cameAgain = (statement: Statement): Finding => ({
  what: 'statement_overlap',
  text: `the statement ${nameOf(statement)} came again with another message.`,
  statement,
})

function between(
  before: Statement,
  statement: Statement,
  currency: Currency,
  numbering: Numbering,
): readonly Finding[] {
  const isWhole = isJoined(before, statement)
  const isAgain = before.closingOn === statement.closingOn && numberStep(before, statement) === 0n
  if (isAgain && !isWhole && pageNumberOf(before) === 0)
    return [cameAgain(before.createdAt > statement.createdAt ? before : statement)]
  const missing = missingByNumber(before, statement, numbering)
  if (missing > 0n) {
    const are = missing === 1n ? '1 statement is' : `${missing} statements are`
    const text = `${are} missing between ${nameOf(before)} and ${nameOf(statement)}.`
    return [{ what: 'statement_gap', text, statement, before }]
  }
  if (isWhole || before.closing === null || statement.opening === null) return []
  const [closing, opening] = [before.closing, statement.opening].map((minor) => amountText(minor, currency))
  const text = `the statement ${nameOf(before)} ends with ${closing}, and ${nameOf(statement)} begins with ${opening}.`
  return [{ what: 'statement_gap', text, statement, before }]
}

const nameOf = ({ sequence, statementId }: Statement) =>
  sequence === null ? statementId : `${sequence} (${statementId})`
