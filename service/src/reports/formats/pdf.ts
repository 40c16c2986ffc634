/** Renders a statement or the fees as PDF. */
import { amountText, type Currency, type Minor } from '../../kernel/index.ts'
import { type AccountDocument, accountPdf, type DocumentRow, type DocumentSection } from '../../typesetting/index.ts'
import type {
  ReportContent,
  ReportHead,
  AccountLine,
  LinePayment,
  AccountSection,
  SectionSummary,
} from '../contents/content.ts'
import { pdfLinesMax, ReportImpossible } from '../rules.ts'

const titles = { statement: 'Account statement', fees: 'Statement of fees' } as const

/** Formats an amount in groups of three digits, with a minus sign as wide as a digit. */
function money(minor: Minor, currency: Currency): string {
  const [whole = '', fraction = ''] = amountText(minor < 0n ? -minor : minor, currency).split('.')
  return `${minor < 0n ? '−' : ''}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction}`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** Formats a day such as `3 Feb 2026`, from the text of a time in UTC. */
const day = (time: string): string =>
  `${Number(time.slice(8, 10))} ${months[Number(time.slice(5, 7)) - 1] ?? ''} ${time.slice(0, 4)}`
const moment = (time: Date): string => `${day(time.toISOString())} ${time.toISOString().slice(11, 16)} UTC`

export async function* pdf(content: ReportContent, count: (lines: number) => void): AsyncGenerator<Uint8Array> {
  const { head, sections } = content
  const summaries = await Promise.all(sections.map(({ summary }) => summary()))
  const lines = summaries.reduce((total, each) => total + each.lines, 0)
  if (lines > pdfLinesMax)
    throw new ReportImpossible(
      `A PDF has at most ${pdfLinesMax.toLocaleString('en')} lines, and the period has ${lines.toLocaleString('en')}. Use csv, or a shorter period.`,
    )
  count(lines)
  yield* accountPdf(toDocument(head, sections, summaries))
}

/** Lines of a tagged PDF, about 80 pages. For longer ones people with a screen reader use the CSV. */
const taggedLinesMax = 2_000

function toDocument(
  head: ReportHead,
  sections: readonly AccountSection[],
  summaries: readonly SectionSummary[],
): AccountDocument {
  const { kind, partnerName, brand, customer, period, currency } = head
  const lines = summaries.reduce((total, each) => total + each.lines, 0)
  const account = sections.length === 1 ? sections[0]?.accountId : undefined
  const isStatement = kind === 'statement'
  return {
    title: titles[isStatement ? 'statement' : 'fees'],
    issuer: partnerName,
    facts: [
      ['Account holder', customer?.name ?? partnerName],
      ...(customer ? ([['Customer', customer.id]] as const) : []),
      ...(account === undefined ? [] : ([['Account', account]] as const)),
      ...(currency === null ? [] : ([['Currency', currency]] as const)),
      ['Period', `${moment(period.from)} to ${moment(period.to)}`],
    ],
    sections: sections.map((section, index) => {
      const summary = summaries[index]
      return isStatement ? statementSection(section, summary) : feeSection(section, summary)
    }),
    note:
      'All times are in UTC. The period contains its start and not its end. Every amount is as booked in the ledger; ' +
      'a movement after the end of the period is in the next statement.',
    createdAt: period.to,
    tagged: lines <= taggedLinesMax,
    brand,
  }
}

const noSums: SectionSummary = { lines: 0, creditLines: 0, credits: 0n, debits: 0n, closing: 0n }

function statementSection(section: AccountSection, summary = noSums): DocumentSection {
  const { currency, opening } = section
  const { lines, creditLines, credits, debits, closing } = summary
  const amount = (minor: Minor) => money(minor, currency)
  return {
    heading: `Balance in ${currency}`,
    box: [
      ['Opening balance', amount(opening)],
      [`Money in (${creditLines})`, amount(credits)],
      [`Money out (${lines - creditLines})`, amount(-debits)],
      ['Closing balance', amount(closing)],
    ],
    columns: { amount: `Amount ${currency}`, balance: `Balance ${currency}` },
    opening: ['Opening balance', amount(opening)],
    closing: ['Closing balance', amount(closing)],
    empty: 'No movement in this period.',
    rows: readRows(section, (line) => ({ ...toRow(line, amount), balance: amount(line.balance) })),
  }
}

function feeSection(section: AccountSection, summary = noSums): DocumentSection {
  const { lines, credits, debits } = summary
  const amount = (minor: Minor) => money(minor, section.currency)
  return {
    heading: `Fees in ${section.currency}`,
    box: [
      [`Entries`, String(lines)],
      ['Refunded', amount(debits)],
      ['Fees', amount(credits - debits)],
    ],
    columns: { amount: `Fee ${section.currency}` },
    closing: ['Total', amount(credits - debits)],
    empty: 'No fee in this period.',
    rows: readRows(section, (line) => toRow(line, amount)),
  }
}

const toRow = (
  { time, text, reference, amount, payment }: AccountLine,
  write: (minor: Minor) => string,
): DocumentRow => ({
  date: day(time),
  text,
  detail: rowDetail(reference, payment),
  amount: write(amount),
})

/** Joins the counterparty, our reference and the ids, without duplicates. */
function rowDetail(reference: string, payment: LinePayment | undefined): string {
  const { name, account, endToEndId, userReference } = payment ?? {}
  return [...new Set([name, account, userReference, reference, endToEndId])].filter((part) => part).join(' · ')
}

const readRows = ({ lines }: AccountSection, toRow: (line: AccountLine) => DocumentRow) =>
  async function* rows(): AsyncGenerator<readonly DocumentRow[]> {
    // A page has about 25 rows, so that the process yields between its parts.
    for await (const part of lines())
      for (let at = 0; at < part.length; at += 25) yield part.slice(at, at + 25).map(toRow)
  }
