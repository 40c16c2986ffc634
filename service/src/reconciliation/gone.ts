/**
 * Cases about missing reports, which resolve themselves when the report arrives: a statement between two others, a
 * report about a payment.
 */
import type { Cases, Decisions } from '../cases/index.ts'
import type { Database } from '../postgres/index.ts'
import { type BankBooks, isRepetition } from '../rails/index.ts'
import { isUuid } from '../kernel/index.ts'
import type { Look } from './look.ts'

type GoneDeps = {
  readonly db: Database
  readonly books: Pick<BankBooks, 'instructions' | 'listed'>
  readonly cases: Pick<Cases, 'openOfKind'>
  readonly decisions: Pick<Decisions, 'resolveGone'>
}

const casesPerLookMax = 1000

export const createGone =
  ({ db, books, cases, decisions }: GoneDeps) =>
  async ({ looked: { connector, account }, chain, incomplete }: Look): Promise<void> => {
    const { statements, versions, gaps } = chain
    const resolve = async (found: readonly { readonly partnerId: string; readonly id: string }[], note: string) => {
      for (const key of found) await db.transaction((tx) => decisions.resolveGone(tx, key, 'reconciliation', note))
    }
    const missing = await cases.openOfKind(db, connector, 'statement_gap', casesPerLookMax)
    const known = new Set(statements.map(({ id }) => id))
    const behindGap = new Set(gaps.map(({ after }) => after.id))
    // A case names the statement after the gap; or the account, in its text.
    const filled = missing.filter(({ subject, report }) =>
      known.has(subject) ? !behindGap.has(subject) : gaps.length === 0 && report.includes(account),
    )
    await resolve(filled, 'The statements of the account join.')
    const corrected = new Set(
      [...versions].flatMap(([statement, all]) =>
        incomplete.has(statement.id) || all.every((one) => isRepetition(one, statement)) ? [] : [statement.id],
      ),
    )
    const overlapping = await cases.openOfKind(db, connector, 'statement_overlap', casesPerLookMax)
    await resolve(
      overlapping.filter(({ subject }) => corrected.has(subject)),
      'The bank has corrected the statement, and each of its entries is stored once.',
    )
    const silent = await cases.openOfKind(db, connector, 'payment_missing', casesPerLookMax)
    const ids = silent.map(({ subject }) => subject).filter(isUuid)
    const told = new Set(
      (await books.instructions(db, ids)).filter(({ missingSince }) => missingSince === null).map(({ id }) => id),
    )
    await resolve(
      silent.filter(({ subject }) => told.has(subject)),
      'The bank has reported the outcome of the payment.',
    )
    const absent = await cases.openOfKind(db, connector, 'announced_missing', casesPerLookMax)
    const listed = await books.listed(
      db,
      absent.map(({ subject }) => subject),
    )
    await resolve(
      absent.filter(({ subject }) => listed.has(subject)),
      'A later statement has the entry.',
    )
  }
