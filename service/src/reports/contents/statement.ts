/** A statement: opening balance, each movement, closing balance, by currency. */
import { amountText, csvCell } from '../../kernel/index.ts'
import type { AccountName } from '../../ledger/index.ts'
import type { Transactions } from '../../transactions/index.ts'
import type { Columns, Content, CsvPart, Head, LinePayment, Row, Section } from './content.ts'
import { sectionsOf, type SectionDeps } from './sections.ts'

const columns: Columns = {
  record: 'plain',
  currency: 'plain',
  time: 'plain',
  id: 'plain',
  text: 'plain',
  reference: 'text',
  customerId: 'plain',
  amount: 'number',
  balance: 'number',
  endToEndId: 'text',
  userReference: 'text',
  counterpartyName: 'text',
  counterpartyAccount: 'text',
}

/** Text of a movement by its other account. A new kind of account is a correction until it has a text. */
const texts: Readonly<Record<string, readonly [credit: string, debit: string]>> = {
  settlement: ['Payment received', 'Payment sent'],
  parts: ['Payments received', 'Correction'],
  fees: ['Fee refunded', 'Fee'],
  fx: ['Currency bought', 'Currency sold'],
  transfers: ['Moved from another part of the balance', 'Moved to another part of the balance'],
  suspense: ['Assigned from suspense', 'Moved to suspense'],
}
function bookingText(counterAccount: AccountName, amount: bigint): string {
  const [credit, debit] = texts[counterAccount.split('.', 1)[0] ?? ''] ?? ['Correction', 'Correction']
  return amount < 0n ? debit : credit
}

type StatementDeps = SectionDeps & { readonly transactions: Pick<Transactions, 'namesOf'> }

export async function statement(deps: StatementDeps, partnerId: string, head: Head): Promise<Content> {
  const accounts = await sectionsOf(deps, {
    partnerId,
    customerId: head.customer?.id ?? null,
    account: 'balance',
    currency: head.currency,
    period: head.period,
    textOf: bookingText,
  })
  const sections = accounts.map((section) => withPayments(deps, partnerId, section))
  const rows = () => statementRows(head, sections)
  return { head, columns, sections, rows, csvLines: () => statementCsv(head, sections) }
}

const noSide = { name: null, account: null }

/** The section with the payments of its lines, which are read for a part of the lines at once. */
const withPayments = ({ transactions }: StatementDeps, partnerId: string, section: Section): Section => ({
  ...section,
  lines: async function* lines() {
    for await (const part of section.lines()) {
      const references = new Set(part.map(({ reference }) => reference))
      const payments = await transactions.namesOf(partnerId, [...references])
      yield part.map((line) => {
        const payment = payments.get(line.reference)
        const isFee = texts['fees']?.includes(line.text) === true
        return { ...line, payment: isFee && payment ? { ...payment, ...noSide } : payment }
      })
    }
  },
})

const valuesOf = (payment: LinePayment | undefined) => [
  payment?.endToEndId ?? '',
  payment?.userReference ?? '',
  payment?.name ?? '',
  payment?.account ?? '',
]
const paymentRow = (payment: LinePayment | undefined): Row => {
  const [endToEndId = '', userReference = '', counterpartyName = '', counterpartyAccount = ''] = valuesOf(payment)
  return { endToEndId, userReference, counterpartyName, counterpartyAccount }
}

async function* statementRows({ period }: Head, sections: readonly Section[]): AsyncGenerator<readonly Row[]> {
  for (const { currency, opening, lines } of sections) {
    const text = (minor: bigint) => amountText(minor, currency)
    let balance = opening
    let last = ''
    yield [{ record: 'opening', currency, time: period.from.toISOString(), balance: text(opening) }]
    for await (const part of lines()) {
      const end = part.at(-1)
      if (end === undefined) continue
      balance = end.balance
      last = end.id
      yield part.map((line) => ({
        record: 'line',
        currency,
        time: line.time,
        id: line.id,
        text: line.text,
        reference: line.reference,
        customerId: line.customerId,
        amount: text(line.amount),
        balance: text(line.balance),
        ...paymentRow(line.payment),
      }))
    }
    // The last movement shows how far the ledger was read, instead of the time of the run.
    yield [{ record: 'closing', currency, time: period.to.toISOString(), id: last, balance: text(balance) }]
  }
}

/** The same rows as CSV. A statement may have ten million lines, and an object for each costs as much as its text. */
async function* statementCsv({ period }: Head, sections: readonly Section[]): AsyncGenerator<CsvPart> {
  for (const { currency, opening, lines } of sections) {
    const text = (minor: bigint) => amountText(minor, currency)
    let balance = opening
    let last = ''
    yield { rows: 1, text: `opening,${currency},${period.from.toISOString()},,,,,,${text(opening)},,,,\r\n` }
    for await (const part of lines()) {
      let all = ''
      for (const line of part)
        all += `line,${currency},${line.time},${line.id},${line.text},${csvCell(line.reference)},${line.customerId},${text(line.amount)},${text(line.balance)},${valuesOf(line.payment).map(csvCell).join(',')}\r\n`
      balance = part.at(-1)?.balance ?? balance
      last = part.at(-1)?.id ?? last
      yield { rows: part.length, text: all }
    }
    yield { rows: 1, text: `closing,${currency},${period.to.toISOString()},${last},,,,,${text(balance)},,,,\r\n` }
  }
}
