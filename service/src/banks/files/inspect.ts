/** Parses and checks a whole file before any of its entries is booked. */
import {
  type BankEntry,
  type MessageKind,
  MessageProblem,
  readAccountReport,
  readRecallAnswer,
  readStatusReport,
  type RecallAnswer,
  recogniseMessage,
  type ReportPart,
  type StatementHead,
  type StatusReport,
} from '../../iso20022/index.ts'
import { type BankAnomaly, formatPageId } from '../../rails/index.ts'
import type { BankAccount, BankRules } from './deps.ts'
import { storeParsedParts, readFileStream, type SpooledFile } from './spool.ts'
import { type Currency, type Minor, present } from '../../kernel/index.ts'
import {
  findStatementAccount,
  statementAccountId,
  findBalances,
  type EntryCounts,
  type DatedBalance,
  amountIn,
  roundedBothWays,
  noEntryCounts,
  totalsProblem,
} from './accounts.ts'
import { isInForeignCurrency } from './units.ts'

export type InspectedMessage = { readonly messageId: string } & (
  | { readonly kind: 'camt.052' | 'camt.053' | 'camt.054'; readonly report: InspectedReport }
  | { readonly kind: 'pain.002'; readonly status: StatusReport }
  | { readonly kind: 'camt.029'; readonly answer: RecallAnswer }
)
/** A file that cannot be processed. `what` is the kind of its case. */
export type FileRefusal = {
  readonly what: BankAnomaly
  readonly problem: string
  readonly kind: string | null
  readonly messageId: string | null
}
/** `unfinished`: the file ends before the message does. */
export type InspectionResult =
  | { readonly message: InspectedMessage }
  | { readonly refused: FileRefusal }
  | { readonly unfinished: true; readonly refused: FileRefusal }

/**
 * Inspects a file. Calls `keep` repeatedly while it reads. `isReleased`: people have accepted the file despite wrong sums
 * or unreadable entries.
 */
export async function inspectFile(
  spooled: SpooledFile,
  rules: BankRules,
  keep: () => Promise<void>,
  isReleased = false,
): Promise<InspectionResult> {
  let kind: MessageKind | null = null
  const refuse = (problem: string, what: BankAnomaly = 'file_unreadable', messageId: string | null = null) => ({
    refused: { what, problem, kind, messageId },
  })
  const limits = { bytesMax: rules.messageBytesMax }
  const source = () => readFileStream(spooled.path)
  try {
    kind = (await recogniseMessage(source(), limits))?.kind ?? null
    switch (kind) {
      case null:
        return refuse(`${unknownMessage}.`)
      case 'camt.052':
      case 'camt.053':
      case 'camt.054': {
        const parts = inDays(readAccountReport(source(), limits), rules.timeZone)
        const report = await inspectReport(storeParsedParts(spooled.path, parts), rules, keep)
        const { messageId, problem } = report
        if (problem !== undefined && !(isReleased && problem.mayBeTaken))
          return refuse(problem.text, problem.what, messageId)
        return { message: { kind, messageId, report } }
      }
      case 'pain.002': {
        const status = await readStatusReport(source(), limits)
        return { message: { kind, messageId: status.messageId, status } }
      }
      case 'camt.029': {
        const answer = await readRecallAnswer(source(), limits)
        return { message: { kind, messageId: answer.messageId, answer } }
      }
      default:
        return refuse(`The file is a ${kind}, which banks receive and do not send.`)
    }
  } catch (error) {
    if (!(error instanceof MessageProblem)) throw error
    const refused = refuse(kind === null ? `${unknownMessage}: ${problemText(error)}` : problemText(error))
    return error.code === 'not_whole' ? { unfinished: true, ...refused } : refused
  }
}

const unknownMessage = 'The file is not a known ISO 20022 message'

const problemText = ({ code, message, path, line }: MessageProblem): string =>
  `${message} (${code}, line ${line}${path === '' ? '' : `, ${path}`})`

/** Replaces times of bookings and balances by days in the bank's time zone: midnight in Berlin is 23:00 UTC of the day before. */
async function* inDays(
  groups: AsyncIterable<readonly ReportPart[]>,
  timeZone: string,
): AsyncGenerator<readonly ReportPart[]> {
  const dayOf = createDayReader(timeZone)
  const day = <Name extends string>(name: Name, written: string | undefined): { readonly [key in Name]?: string } =>
    written === undefined ? {} : ({ [name]: dayOf(written) } as { readonly [key in Name]: string })
  for await (const parts of groups)
    yield parts.map((part): ReportPart => {
      if (part.kind === 'entry') {
        const { entry } = part
        const days = { ...day('bookingDate', entry.bookingDate), ...day('valueDate', entry.valueDate) }
        return { ...part, entry: { ...entry, ...days } }
      }
      if (part.kind !== 'statement') return part
      const { statement } = part
      const balances = statement.balances.map((balance) => ({ ...balance, ...day('date', balance.date) }))
      return {
        ...part,
        statement: { ...statement, ...day('from', statement.from), ...day('to', statement.to), balances },
      }
    })
}

/** Caches the last time, because neighbouring entries often have the same. */
function createDayReader(timeZone: string): (written: string) => string {
  let last = { written: '', day: '' }
  return (written) => {
    if (!/T.*(?:Z|[+-]\d\d:\d\d)$/.test(written)) return written.slice(0, 10)
    if (written === last.written) return last.day
    // 24:00 belongs to the day that ends.
    const at = Temporal.Instant.from(written.replace('T24:00:00', 'T23:59:59').replace(/(\.\d{9})\d+/, '$1'))
    last = { written, day: at.toZonedDateTimeISO(timeZone).toPlainDate().toString() }
    return last.day
  }
}

// Checks counts, sums and balances of each statement in a camt.052, camt.053 or camt.054.

/** `minor` is null if the page repeats the balance of another page. */
type StatedBalance = { readonly minor: Minor | null; readonly on: string }

export type InspectedStatement = {
  /** Undefined: the statement is not about our account, and its entries are ignored. */
  readonly account: BankAccount | undefined
  readonly skipped?: { readonly what: BankAnomaly; readonly text: string }
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: StatedBalance | null
  readonly closing: StatedBalance | null
  /** The number of booked entries. */
  readonly entries: number
  readonly credits: Minor
  readonly debits: Minor
  /**
   * The sum of the booked entries with unreadable amounts, computed from the balances; included in credits and debits.
   * Undefined: there are none, or their sum does not follow from the balances.
   */
  readonly unread?: { readonly count: number; readonly sum: Minor }
  /** The difference between the movement of the balances and the entries; zero if they cannot be compared. */
  readonly difference: Minor
  /** Sums of booked entries by value date, for value dates after the closing balance. */
  readonly valuedLater: ReadonlyMap<string, Minor>
}

export type InspectedReport = {
  readonly messageId: string
  readonly statements: readonly InspectedStatement[]
  /** `mayBeTaken`: people may accept the file despite the problem. */
  readonly problem?: { readonly what: BankAnomaly; readonly text: string; readonly mayBeTaken?: true }
}

type OpenStatement = {
  readonly head: StatementHead
  readonly account: BankAccount | 'account' | 'currency'
  readonly all: EntryCounts
  readonly booked: EntryCounts
  /** Sums of booked entries by value date. */
  readonly valued: Map<string, Minor>
  /** True if an entry in another currency is missing from the sums, so that they cannot be checked. */
  foreign: boolean
  /** The number of booked entries with unreadable amounts, and the range of their sum; null if unbounded. */
  readonly unread: { count: number; least: Minor | null; most: Minor | null }
}

export const isBooked = ({ status }: BankEntry): boolean => status === 'BOOK'

async function inspectReport(
  parts: AsyncIterable<readonly ReportPart[]>,
  { accounts }: BankRules,
  keep: () => Promise<void>,
): Promise<InspectedReport> {
  const statements: InspectedStatement[] = []
  let messageId = ''
  let isStatement = false
  let messagePage: Page | undefined
  let open: OpenStatement | undefined
  let problem: InspectedReport['problem']
  const unread = { booked: 0, entries: 0, first: '' }
  for await (const chunk of parts) {
    await keep()
    for (const part of chunk) {
      if (part.kind === 'head') {
        messageId = pagedId(part.head.messageId, part.head.page)
        messagePage = part.head.page
        isStatement = part.head.kind === 'camt.053'
      } else if (part.kind === 'statement') {
        open = openStatement(part.statement, accounts)
        // Each page of a statement may be a separate message with the same id.
        if (statements.length === 0 && isPage(part.statement.page))
          messageId = `${messageId} ${pagedId(part.statement.id, part.statement.page)}`
      } else if (part.kind === 'entry') {
        const { entry } = part
        count(present(open, `message ${messageId} has an entry outside of a statement`), entry)
        if (typeof open?.account === 'string' || !isBooked(entry)) continue
        unread.booked += 1
        if (entry.problem === undefined) continue
        unread.entries += 1
        unread.first ||= entry.problem
      } else {
        const ended = present(open, `message ${messageId} ends a statement that did not begin`)
        const { facts, wrong } = closeStatement(ended, isStatement, messagePage)
        statements.push(facts)
        if (wrong !== undefined) problem ??= { what: 'sum_differs', text: wrong, mayBeTaken: true }
      }
    }
  }
  const ours = statements.filter(({ account }) => account !== undefined)
  if (problem === undefined && ours.length === 0) problem = statements[0]?.skipped
  if (isUnreadable(unread))
    problem ??= {
      what: 'file_unreadable',
      text: `${unread.entries} of its ${unread.booked} entries cannot be read; the first one: ${unread.first}.`,
      mayBeTaken: true,
    }
  return { messageId, statements, ...(problem === undefined ? {} : { problem }) }
}

/** A file with more is refused as a whole: one case for each entry would be too many for people. */
const unreadEntriesMax = 100

/**
 * Reports whether the whole message waits: all entries are unreadable, as after a change of the bank's format, or too
 * many are. Otherwise only the unreadable entries wait.
 */
const isUnreadable = ({ booked, entries }: { readonly booked: number; readonly entries: number }): boolean =>
  entries > unreadEntriesMax || (entries > 1 && entries === booked)

const openStatement = (head: StatementHead, accounts: readonly BankAccount[]): OpenStatement => ({
  head,
  account: findStatementAccount(accounts, head),
  all: noEntryCounts(),
  booked: noEntryCounts(),
  valued: new Map(),
  foreign: false,
  unread: { count: 0, least: 0n, most: 0n },
})

function count(open: OpenStatement, entry: BankEntry): void {
  if (typeof open.account === 'string') return
  const minor = amountIn(entry.amount, open.account.currency)
  if (isInForeignCurrency(entry, open.account)) open.foreign = true
  addEntry(open.all, entry.isCredit, minor ?? 0n)
  if (!isBooked(entry)) return
  addEntry(open.booked, entry.isCredit, minor ?? 0n)
  if (minor === undefined && !isInForeignCurrency(entry, open.account)) countUnread(open, entry, open.account.currency)
  const on = entry.valueDate
  if (on !== undefined)
    open.valued.set(on, (open.valued.get(on) ?? 0n) + (entry.isCredit ? (minor ?? 0n) : -(minor ?? 0n)))
}

/** Counts an unreadable amount. One with too many decimals is rounded down or up; any other is unbounded. */
function countUnread({ unread }: OpenStatement, { amount, isCredit }: BankEntry, currency: Currency): void {
  unread.count += 1
  const between = roundedBothWays(amount.minor === null ? amount.text : '', currency)
  if (between === undefined || unread.least === null || unread.most === null) {
    unread.least = null
    unread.most = null
    return
  }
  const [less, more] = isCredit ? between : [-between[1], -between[0]]
  unread.least += less
  unread.most += more
}

function addEntry(counted: EntryCounts, isCredit: boolean, minor: Minor): void {
  counted.entries += 1
  counted[isCredit ? 'creditEntries' : 'debitEntries'] += 1
  counted[isCredit ? 'credits' : 'debits'] += minor
}

type ClosedStatement = { readonly facts: InspectedStatement; readonly wrong?: string }

function closeStatement(open: OpenStatement, isStatement: boolean, messagePage: Page | undefined): ClosedStatement {
  const { head, account, booked, valued, unread } = open
  const { entries, credits, debits } = booked
  const named = { statementId: pagedId(head.id, head.page), sequence: readSequence(head), entries, credits, debits }
  const counted = { ...named, difference: 0n, valuedLater: new Map<string, Minor>() }
  if (typeof account === 'string') {
    const skipped = skipReason(account, head)
    return { facts: { ...counted, account: undefined, skipped, opening: null, closing: null } }
  }
  const { currency } = account
  const explains = (moved: Minor) => open.foreign || isWithin(unread, moved - credits + debits)
  const isPart = isPage(head.page ?? messagePage)
  const { opening, closing } = isStatement
    ? findBalances(head, currency, { explains, isPage: isPart })
    : { opening: null, closing: null }
  const hasBoth = opening !== null && closing !== null && !open.foreign
  const difference = hasBoth ? closing.minor - opening.minor - credits + debits : 0n
  const facts = { ...counted, account, opening, closing }
  if (hasBoth && !isPart && unread.count > 0 && isWithin(unread, difference)) {
    const sums = difference > 0n ? { credits: credits + difference } : { debits: debits - difference }
    return { facts: { ...facts, ...sums, unread: { count: unread.count, sum: difference } } }
  }
  const page = head.page ?? (difference === 0n ? undefined : messagePage)
  if (isPage(page)) {
    // Totals and repeated balances belong to the whole statement.
    const [first, last] = difference === 0n ? [true, true] : [/^0*1$/.test(page.number), page.isLast]
    const own = { opening: ownBalance(opening, first), closing: ownBalance(closing, last) }
    return { facts: { ...facts, ...own, statementId: pagedId(head.id, page) } }
  }
  const wrong =
    open.foreign || unread.count > 0
      ? undefined
      : head.totals && totalsProblem(head.totals, [open.all, booked], currency)
  const valuedLater = new Map([...valued].filter(([on]) => closing !== null && on > closing.on))
  const problem = wrong === undefined ? {} : { wrong: `Statement ${head.id} of ${account.iban}: ${wrong}.` }
  return { facts: { ...facts, difference, valuedLater }, ...problem }
}

const isWithin = ({ least, most }: OpenStatement['unread'], sum: Minor): boolean =>
  least === null || most === null || (least <= sum && sum <= most)

/** Drops the amount of a balance that belongs to another page. */
const ownBalance = (balance: DatedBalance | null, isOwn: boolean): InspectedStatement['closing'] =>
  balance === null || isOwn ? balance : { minor: null, on: balance.on }

type Page = NonNullable<StatementHead['page']>
const isPage = (page: Page | undefined): page is Page =>
  page !== undefined && !(page.isLast && /^0*1$/.test(page.number))
const pagedId = (id: string, page: Page | undefined): string => (isPage(page) ? formatPageId(id, page.number) : id)

/** Reads the electronic sequence number, or else the legal one. */
function readSequence({ electronicSequence, legalSequence }: StatementHead): bigint | null {
  const text = electronicSequence ?? legalSequence
  return text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : null
}

function skipReason(why: 'account' | 'currency', head: StatementHead) {
  const account = statementAccountId(head)
  return why === 'account'
    ? {
        what: 'file_unreadable' as const,
        text: `Statement ${head.id} is about the account ${account}, which is not configured.`,
      }
    : {
        what: 'foreign_currency' as const,
        text: `Statement ${head.id} of ${account} is in ${head.account.currency ?? 'a currency'} that is not configured.`,
      }
}
