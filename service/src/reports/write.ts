/** Writes the file of a claimed report, and renews the lease meanwhile. */
import { after, amountText, type Clock, csvCell, present, secondMs } from '../kernel/index.ts'
import type { Cases } from '../cases/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { type Customers, customerName } from '../parties/customers/index.ts'
import type { DocumentBrand } from '../typesetting/index.ts'
import { toTransaction, type Transactions } from '../transactions/index.ts'
import type {
  ContentColumns,
  ReportContent,
  ReportHead,
  AccountLine,
  ContentRow,
  AccountSection,
} from './contents/content.ts'
import { reconciliation } from './contents/reconciliation.ts'
import { type SectionDeps, readSections, statement } from './contents/statement.ts'
import { createFileWriter, LeaseLost } from './file.ts'
import { pdf } from './formats/pdf.ts'
import * as store from './store.ts'
import { createHash } from 'node:crypto'
import {
  type BankStatement,
  camt053MinorMax,
  type Camt053Version,
  camt053Xml,
  type StatementEntry,
  type TransactionCode,
} from '../iso20022/index.ts'
import { ReportImpossible } from './rules.ts'

// A statement as camt.053 in one of its versions: maps its lines to entries.

/**
 * Transaction codes by the text of the line. The ledger does not know the rail of a payment, so the sub-family
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

const toEntry = ({ id, time, text, reference, amount, payment }: AccountLine): StatementEntry => ({
  id: withoutDashes(id),
  amount,
  bookedAt: time,
  code: codes[text] ?? correction[amount < 0n ? 'debit' : 'credit'],
  reference,
  payment,
  text,
})

async function* statementEntries(
  version: Camt053Version,
  { head, sections }: ReportContent,
  count: (lines: number) => void,
): AsyncGenerator<string> {
  const { period, partnerName, customer } = head
  const section = present(sections[0], `no section in the statement of ${head.currency ?? 'no currency'}`)
  const { currency, accountId = '', opening, lines } = section
  const summary = await section.summary()
  count(summary.lines)
  for (const balance of [opening, summary.closing])
    if (balance > camt053MinorMax || -balance > camt053MinorMax)
      throw new ReportImpossible('camt.053 has 18 digits for a balance, and this one has more. Use csv or pdf.')
  const names = [accountId, currency, customer?.id ?? '', period.from.toISOString(), period.to.toISOString()]
  const statement: BankStatement = {
    version,
    // Derived from the content, so that each attempt gives the same id.
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
      for await (const part of lines()) yield part.map(toEntry)
    },
  }
  yield* camt053Xml(statement)
}

const camt053 =
  (version: Camt053Version) =>
  (content: ReportContent, count: (lines: number) => void): AsyncGenerator<string> =>
    statementEntries(version, content, count)

// CSV by RFC 4180: UTF-8 without a byte order mark, CRLF, a header line. Numbers are never changed, so that a negative one stays.

const csvColumns = (columns: ContentColumns) => Object.entries(columns).filter(([, type]) => type !== 'json')

/** Formats rows as lines. It joins cells one by one, because a list of cells for each line takes twice the time. */
function csvLines(columns: ContentColumns): (rows: readonly ContentRow[]) => string {
  const cells = csvColumns(columns).map(([name, type]) => ({ name, isText: type === 'text' }))
  return (rows) => {
    let text = ''
    for (const row of rows) {
      let separator = ''
      for (const { name, isText } of cells) {
        const value = row[name]
        text += separator
        separator = ','
        if (value !== undefined) text += isText ? csvCell(value) : value
      }
      text += '\r\n'
    }
    return text
  }
}

async function* csv(content: ReportContent, count: (rows: number) => void): AsyncGenerator<string> {
  const { columns } = content
  yield `${csvColumns(columns)
    .map(([name]) => name)
    .join(',')}\r\n`
  if (content.csvLines === undefined) {
    const lines = csvLines(columns)
    for await (const part of content.rows()) yield lines(part)
    return
  }
  let rows = 0
  for await (const part of content.csvLines()) {
    count((rows += part.rows))
    yield part.text
  }
}

export type WriteDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly ledger: Ledger
  readonly cases: Pick<Cases, 'openAt'>
  readonly customers: Pick<Customers, 'find'>
  readonly transactions: Pick<Transactions, 'asOf' | 'namesOf' | 'withUsers'>
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  readonly brandOf: (partnerId: string) => Promise<DocumentBrand | undefined>
}

/** Far above the longest statement (16 s), so that only a worker that has ended or hangs loses its lease. */
export const leaseMs = 60 * secondMs
/** Interval of lease renewals, and of recording `progress`. */
const renewalMs = 2 * secondMs

const formats = { csv, jsonl, pdf, 'camt.053': camt053('08'), 'camt.053.001.02': camt053('02') } as const

/** Writes a report. Throws LeaseLost, and ReportImpossible if no attempt can succeed. */
export async function writeReport(deps: WriteDeps, claimed: store.ReportRow): Promise<store.WrittenFile> {
  const { db, clock } = deps
  const { periodFrom, periodTo } = claimed
  const lengthMs = periodTo.getTime() - periodFrom.getTime()
  let percent = 0
  const reached = (moment: Date) => {
    const done = ((moment.getTime() - periodFrom.getTime()) / lengthMs) * 100
    percent = Math.max(percent, Math.min(99, Math.floor(done)))
  }
  const content = await readContent(deps, claimed, reached)
  let rows = 0n
  const counted: ReportContent = {
    ...content,
    rows: async function* countedRows() {
      for await (const part of content.rows()) {
        rows += BigInt(part.length)
        yield part
      }
    },
  }
  const file = createFileWriter(db, claimed)
  let renewed = performance.now()
  for await (const text of formats[claimed.format](counted, (lines) => (rows = BigInt(lines)))) {
    await file.write(text)
    if (performance.now() - renewed < renewalMs) continue
    if ((await store.renewLease(db, claimed, after(clock.now(), leaseMs), percent)) === 0) throw new LeaseLost()
    renewed = performance.now()
  }
  return { rows, ...(await file.end()) }
}

async function readContent(
  deps: WriteDeps,
  { partnerId, kind, format, currency, customerId, periodFrom, periodTo }: store.ReportRow,
  reached: (moment: Date) => void,
): Promise<ReportContent> {
  const { db, customers, partnerName, brandOf } = deps
  const customer = customerId === null ? undefined : await customers.find(db, partnerId, customerId)
  const head: ReportHead = {
    kind,
    currency,
    period: { from: periodFrom, to: periodTo },
    partnerName: await partnerName(db, partnerId),
    brand: format === 'pdf' ? await brandOf(partnerId) : undefined,
    customer: customer && { id: customer.id, name: customerName(customer) },
  }
  switch (kind) {
    case 'statement':
      return statement({ ...deps, reached }, partnerId, head)
    case 'fees':
      return fees({ ...deps, reached }, partnerId, head)
    case 'transactions':
      return transactions(deps.transactions, partnerId, head, reached)
    case 'reconciliation':
      return reconciliation({ ...deps, reached }, partnerId, head)
  }
}

// JSON lines: one object for each record, UTF-8, line feed. Numbers are exact decimals; a column without a value is absent.

function jsonLines(columns: ContentColumns): (rows: readonly ContentRow[]) => string {
  const whole = Object.entries(columns).find(([, type]) => type === 'json')?.[0]
  const fields = Object.entries(columns).map(([name, type]) => ({ name, key: `"${name}":`, type }))
  return (rows) => {
    let text = ''
    for (const row of rows) {
      const json = whole === undefined ? undefined : row[whole]
      if (json !== undefined) {
        text += `${json}\n`
        continue
      }
      let separator = '{'
      for (const { name, key, type } of fields) {
        const value = row[name]
        if (value === undefined || value === '') continue
        text += separator + key + (type === 'number' ? value : JSON.stringify(value))
        separator = ','
      }
      text += '}\n'
    }
    return text
  }
}

async function* jsonl({ columns, rows }: ReportContent): AsyncGenerator<string> {
  const lines = jsonLines(columns)
  for await (const part of rows()) yield lines(part)
}

// Fees: movements between the balance and `fees`, which also has written-off cases, with a total for each day (UTC) and
// currency.

const columns: ContentColumns = {
  record: 'plain',
  currency: 'plain',
  time: 'plain',
  id: 'plain',
  text: 'plain',
  reference: 'text',
  customerId: 'plain',
  count: 'number',
  amount: 'number',
}

async function fees(deps: SectionDeps, partnerId: string, head: ReportHead): Promise<ReportContent> {
  const sections = await readSections(deps, {
    partnerId,
    customerId: head.customer?.id ?? null,
    account: 'fees',
    counterAccount: 'balance',
    currency: head.currency,
    period: head.period,
    textOf: (_counter, amount) => (amount < 0n ? 'Fee refunded' : 'Fee'),
  })
  return { head, columns, sections, rows: () => feeRows(sections) }
}

type DayTotal = { day: string; count: number; amount: bigint }

async function* feeRows(sections: readonly AccountSection[]): AsyncGenerator<readonly ContentRow[]> {
  for (const { currency, lines } of sections) {
    const amount = (minor: bigint) => amountText(minor, currency)
    const row = (line: AccountLine): ContentRow => ({
      record: 'line',
      currency,
      time: line.time,
      id: line.id,
      text: line.text,
      reference: line.reference,
      customerId: line.customerId,
      count: '1',
      amount: amount(line.amount),
    })
    const totalRow = (record: string, { day, count, amount: sum }: DayTotal): ContentRow => ({
      record,
      currency,
      time: day,
      count: String(count),
      amount: amount(sum),
    })
    const total: DayTotal = { day: '', count: 0, amount: 0n }
    let ofDay: DayTotal | undefined
    for await (const part of lines()) {
      const rows: ContentRow[] = []
      for (const line of part) {
        const day = line.time.slice(0, 10)
        if (ofDay && ofDay.day !== day) rows.push(totalRow('day', ofDay))
        if (ofDay?.day !== day) ofDay = { day, count: 0, amount: 0n }
        for (const sum of [ofDay, total]) {
          sum.count += 1
          sum.amount += line.amount
        }
        rows.push(row(line))
      }
      if (rows.length > 0) yield rows
    }
    if (ofDay) yield [totalRow('day', ofDay)]
    yield [totalRow('total', total)]
  }
}

// The transactions created in a period with every field of the interface document, as they stood at its end.

const party = (prefix: string): ContentColumns => ({
  [`${prefix}Name`]: 'text',
  [`${prefix}Iban`]: 'text',
  [`${prefix}Bic`]: 'text',
  [`${prefix}BankName`]: 'text',
  [`${prefix}Address`]: 'text',
  [`${prefix}Country`]: 'text',
  [`${prefix}WalletAddress`]: 'text',
})

const fields = {
  reference: 'text',
  amount: 'number',
  currency: 'plain',
  userAmount: 'number',
  userCurrency: 'plain',
  category: 'plain',
  direction: 'plain',
  method: 'plain',
  partyType: 'plain',
  status: 'plain',
  type: 'plain',
  errorKey: 'plain',
  rail: 'plain',
  hasFx: 'plain',
  fxQuoteExpiryTime: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  endToEndId: 'text',
  sessionId: 'text',
  websiteReference: 'text',
  userReference: 'text',
  idempotencyKey: 'text',
  description: 'text',
  beneficiaryId: 'plain',
  beneficiaryAlias: 'text',
  transactionHash: 'plain',
} as const satisfies ContentColumns

const transactionColumns: ContentColumns = {
  ...fields,
  ...party('creditor'),
  ...party('debtor'),
  partnerUserId: 'text',
  partnerUserName: 'text',
  partnerUserIpAddress: 'text',
  timeline: 'text',
  // Later columns come last, because clients may read by position.
  partnerUserEmail: 'text',
  partnerUserAddress: 'text',
  partnerUserCountryCode: 'plain',
  /** The whole transaction, for structured formats. */
  transaction: 'json',
}

const partyRow = (prefix: string, details: Readonly<Record<string, string>> | undefined): ContentRow =>
  details === undefined
    ? {}
    : Object.fromEntries(
        Object.entries({ ...details, name: details['accountHolderName'] ?? '' })
          .filter(([name]) => name !== 'accountHolderName')
          .map(([name, value]) => [`${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
      )

function transactions(
  { asOf, withUsers }: Pick<Transactions, 'asOf' | 'withUsers'>,
  partnerId: string,
  head: ReportHead,
  reached: (moment: Date) => void,
): ReportContent {
  const { from, to } = head.period
  const filter = { partnerId, from, to, customerId: head.customer?.id ?? null, currency: head.currency }
  const rows = async function* rows(): AsyncGenerator<readonly ContentRow[]> {
    for await (const page of asOf(filter)) {
      const last = page.at(-1)
      if (last) reached(last.row.createdAt)
      yield (await withUsers(page)).map((shown) => transactionRow(toTransaction(shown)))
    }
  }
  return { head, columns: transactionColumns, sections: [], rows }
}

function transactionRow(transaction: ReturnType<typeof toTransaction>): ContentRow {
  const { creditorDetails, debtorDetails, partnerUser, timeline } = transaction
  const row: Record<string, string> = {}
  for (const [name, value] of Object.entries(transaction))
    if (Object.hasOwn(fields, name) && value !== undefined)
      row[name] = typeof value === 'string' ? value : JSON.stringify(value)
  return {
    ...row,
    ...partyRow('creditor', creditorDetails as Readonly<Record<string, string>> | undefined),
    ...partyRow('debtor', debtorDetails as Readonly<Record<string, string>> | undefined),
    ...(partnerUser && {
      partnerUserId: partnerUser.id ?? '',
      partnerUserName: partnerUser.name ?? '',
      partnerUserIpAddress: partnerUser.ipAddress ?? '',
      partnerUserEmail: partnerUser.email ?? '',
      partnerUserAddress: partnerUser.address ?? '',
      partnerUserCountryCode: partnerUser.countryCode ?? '',
    }),
    timeline: timeline.map(({ createdAt, step }) => `${createdAt} ${step}`).join('; '),
    transaction: JSON.stringify(transaction),
  }
}
