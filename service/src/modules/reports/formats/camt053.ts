/** A statement as camt.053 in one of its versions: maps its lines to entries. */
import { createHash } from 'node:crypto'
import {
  type BankStatement,
  type Camt053Version,
  camt053MinorMax,
  camt053Xml,
  type StatementEntry,
  type TransactionCode,
} from '../../../iso20022/index.ts'
import { present } from '../../../kernel/index.ts'
import type { Content, Line } from '../contents/content.ts'
import { ReportImpossible } from '../rules.ts'

/**
 * Transaction codes by the text of the line. The ledger does not know the rail of a payment, so that its sub-family
 * is `OTHR`.
 */
const codes: Readonly<Record<string, TransactionCode>> = {
  'Payment received': ['PMNT', 'RCDT', 'OTHR'],
  'Payment sent': ['PMNT', 'ICDT', 'OTHR'],
  Fee: ['PMNT', 'MDOP', 'CHRG'],
  'Fee refunded': ['PMNT', 'MCOP', 'CHRG'],
  'Currency bought': ['FORX', 'SPOT', 'OTHR'],
  'Currency sold': ['FORX', 'SPOT', 'OTHR'],
}
const correction: Readonly<Record<'credit' | 'debit', TransactionCode>> = {
  credit: ['PMNT', 'MCOP', 'ADJT'],
  debit: ['PMNT', 'MDOP', 'ADJT'],
}

const withoutDashes = (id: string) => id.replaceAll('-', '')

const entryOf = ({ id, time, text, reference, amount, payment }: Line): StatementEntry => ({
  id: withoutDashes(id),
  amount,
  bookedAt: time,
  code: codes[text] ?? correction[amount < 0n ? 'debit' : 'credit'],
  reference,
  payment,
  text,
})

async function* written(
  version: Camt053Version,
  { head, sections }: Content,
  count: (lines: number) => void,
): AsyncGenerator<string> {
  const { period, partnerName, customer } = head
  const section = present(sections[0], 'a statement in one currency has one section')
  const { currency, accountId = '', opening, lines } = section
  const summary = await section.summary()
  count(summary.lines)
  for (const balance of [opening, summary.closing])
    if (balance > camt053MinorMax || -balance > camt053MinorMax)
      throw new ReportImpossible('camt.053 has 18 digits for a balance, and this one has more. Use csv or pdf.')
  const names = [accountId, currency, customer?.id ?? '', period.from.toISOString(), period.to.toISOString()]
  const statement: BankStatement = {
    version,
    // The same statement has the same id.
    id: createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 32),
    createdAt: period.to,
    period,
    account: {
      id: withoutDashes(customer?.id ?? accountId) || 'NOTOPENED',
      currency,
      ownerName: customer?.name ?? partnerName,
    },
    opening,
    ...summary,
    entries: async function* entries() {
      for await (const part of lines()) yield part.map(entryOf)
    },
  }
  yield* camt053Xml(statement)
}

export const camt053 =
  (version: Camt053Version) =>
  (content: Content, count: (lines: number) => void): AsyncGenerator<string> =>
    written(version, content, count)
