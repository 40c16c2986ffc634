/** A statement by currency: opening balance, each movement, closing balance; and the sections of ledger lines that reports show. */
import { amountText, assert, csvCell, type Currency, dayMs, type Minor, minuteMs, idTime } from '../../kernel/index.ts'
import type { AccountName, Ledger, LineFilter, Period, PeriodLine } from '../../ledger/index.ts'
import type { Transactions } from '../../transactions/index.ts'
import type {
  ContentColumns,
  ReportContent,
  CsvPart,
  ReportHead,
  AccountLine,
  LinePayment,
  ContentRow,
  AccountSection,
} from './content.ts'
import type { Database } from '../../postgres/index.ts'

const columns: ContentColumns = {
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

/** Texts of movements by counter-account. A movement with any other account is a correction. */
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

export async function statement(deps: StatementDeps, partnerId: string, head: ReportHead): Promise<ReportContent> {
  const accounts = await readSections(deps, {
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

/** Adds the payments of a section's lines, which are read in batches. */
const withPayments = ({ transactions }: StatementDeps, partnerId: string, section: AccountSection): AccountSection => ({
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

const paymentValues = (payment: LinePayment | undefined) => [
  payment?.endToEndId ?? '',
  payment?.userReference ?? '',
  payment?.name ?? '',
  payment?.account ?? '',
]
const paymentRow = (payment: LinePayment | undefined): ContentRow => {
  const [endToEndId = '', userReference = '', counterpartyName = '', counterpartyAccount = ''] = paymentValues(payment)
  return { endToEndId, userReference, counterpartyName, counterpartyAccount }
}

async function* statementRows(
  { period }: ReportHead,
  sections: readonly AccountSection[],
): AsyncGenerator<readonly ContentRow[]> {
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
    // The last movement shows how far the ledger was read. The time of the run would differ between attempts.
    yield [{ record: 'closing', currency, time: period.to.toISOString(), id: last, balance: text(balance) }]
  }
}

/** Writes the rows as CSV. A statement may have ten million lines, and an object for each would cost as much as its text. */
async function* statementCsv({ period }: ReportHead, sections: readonly AccountSection[]): AsyncGenerator<CsvPart> {
  for (const { currency, opening, lines } of sections) {
    const text = (minor: bigint) => amountText(minor, currency)
    let balance = opening
    let last = ''
    yield { rows: 1, text: `opening,${currency},${period.from.toISOString()},,,,,,${text(opening)},,,,\r\n` }
    for await (const part of lines()) {
      let all = ''
      for (const line of part)
        all += `line,${currency},${line.time},${line.id},${line.text},${csvCell(line.reference)},${line.customerId},${text(line.amount)},${text(line.balance)},${paymentValues(line.payment).map(csvCell).join(',')}\r\n`
      balance = part.at(-1)?.balance ?? balance
      last = part.at(-1)?.id ?? last
      yield { rows: part.length, text: all }
    }
    yield { rows: 1, text: `closing,${currency},${period.to.toISOString()},${last},,,,,${text(balance)},,,,\r\n` }
  }
}

export type SectionDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'balancesAt' | 'linesOfPeriod' | 'sumOfPeriod'>
  /** Reports the time up to which the lines of a section are read. */
  readonly reached: (moment: Date) => void
}
type SectionRequest = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly account: AccountName
  /** Limits the section to movements with this account. */
  readonly counterAccount?: AccountName
  /** Null for every currency with a balance or a line. */
  readonly currency: Currency | null
  readonly period: Period
  readonly textOf: (counterAccount: AccountName, amount: Minor) => string
}

/** The earliest time that an id can have. A sum from this time on is a balance. */
const beginning = new Date(0)

export async function readSections(deps: SectionDeps, request: SectionRequest): Promise<readonly AccountSection[]> {
  const { partnerId, account, counterAccount, currency, period } = request
  const accounts = await deps.ledger.balancesAt(deps.db, partnerId, period.from)
  const names = new Map(accounts.map(({ id, name }) => [id, name]))
  const own = accounts
    .filter((row) => row.name === account && (currency === null || row.currency === currency))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1))
  const sections = []
  for (const row of own) {
    const counter = accounts.find((one) => one.name === counterAccount && one.currency === row.currency)
    if (counterAccount !== undefined && counter === undefined) continue
    const section = await readSection(deps, { ...request, counterAccountId: counter?.id }, row, names)
    // Accounts opened later do not change the report.
    if (currency !== null || section.opening !== 0n || (await hasLines(section))) sections.push(section)
  }
  return currency !== null && sections.length === 0 ? [emptySection(currency)] : sections
}

async function hasLines({ lines }: AccountSection): Promise<boolean> {
  for await (const part of lines()) if (part.length > 0) return true
  return false
}

const emptySection = (currency: Currency): AccountSection => ({
  currency,
  accountId: undefined,
  opening: 0n,
  lines: async function* lines() {},
  summary: async () => ({ lines: 0, creditLines: 0, credits: 0n, debits: 0n, closing: 0n }),
})

async function readSection(
  { db, ledger, reached }: SectionDeps,
  {
    partnerId,
    customerId,
    counterAccountId,
    period,
    textOf,
  }: SectionRequest & { readonly counterAccountId?: string | undefined },
  account: { readonly id: string; readonly currency: Currency; readonly posted: Minor },
  names: ReadonlyMap<string, AccountName>,
): Promise<AccountSection> {
  const filter: LineFilter = { partnerId, accountId: account.id, counterAccountId, partyId: customerId ?? undefined }
  // A customer has no ledger account, so its opening balance is the sum of its earlier lines.
  const before = customerId === null ? undefined : { from: beginning, to: period.from }
  const past = before && (await ledger.sumOfPeriod(db, filter, before))
  const posted = counterAccountId === undefined ? account.posted : 0n
  const opening = past ? past.credits - past.debits : posted
  const closing = async () => {
    if (customerId !== null || counterAccountId !== undefined) return undefined
    const accounts = await ledger.balancesAt(db, partnerId, period.to)
    return accounts.find(({ id }) => id === account.id)?.posted
  }
  const lines = async function* lines(): AsyncGenerator<readonly AccountLine[]> {
    let balance = opening
    const toLine = lineReader(partnerId, names, textOf)
    for await (const { content, end } of ledger.linesOfPeriod(db, filter, period)) {
      reached(idTime(end))
      yield content.map((line) => {
        balance += line.amount
        return toLine(line, balance)
      })
    }
    const booked = await closing()
    assert(booked === undefined || booked === balance, 'the lines of a statement add up to the balance of the ledger')
  }
  const summary = async () => {
    const { lines: count, creditLines, credits, debits } = await ledger.sumOfPeriod(db, filter, period)
    return {
      lines: Number(count),
      creditLines: Number(creditLines),
      credits,
      debits,
      closing: opening + credits - debits,
    }
  }
  return { currency: account.currency, accountId: account.id, opening, lines, summary }
}

function lineReader(
  partnerId: string,
  names: ReadonlyMap<string, AccountName>,
  textOf: SectionRequest['textOf'],
): (line: PeriodLine, balance: Minor) => AccountLine {
  const timeOf = createTimes()
  const texts = new Map(
    [...names].map(([id, name]) => [id, { credit: textOf(name, 1n), debit: textOf(name, -1n) }] as const),
  )
  const unknown = { credit: textOf('suspense', 1n), debit: textOf('suspense', -1n) }
  return ({ id, amount, counterAccountId, partyId, reference }, balance) => {
    const { credit, debit } = texts.get(counterAccountId) ?? unknown
    return {
      id,
      time: timeOf(id),
      text: amount < 0n ? debit : credit,
      reference,
      customerId: partyId === partnerId ? '' : partyId,
      amount,
      balance,
    }
  }
}

const digits = (length: number) => Array.from({ length: 10 ** length }, (_, at) => String(at).padStart(length, '0'))
const [twoDigits, threeDigits] = [digits(2), digits(3)]

/**
 * Formats the time of an id. Lines of a day share the text of the date, because `toISOString` takes longer than the
 * rest of a line.
 */
function createTimes(): (id: string) => string {
  let day = Number.NaN
  let date = ''
  return (id) => {
    const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    const ofDay = ms % dayMs
    if (ms - ofDay !== day) {
      day = ms - ofDay
      date = new Date(day).toISOString().slice(0, 'YYYY-MM-DDT'.length)
    }
    const minutes = Math.floor(ofDay / minuteMs)
    const rest = ofDay % minuteMs
    const clock = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[Math.floor(rest / 1000)]}`
    return `${date}${clock}.${threeDigits[rest % 1000]}Z`
  }
}
