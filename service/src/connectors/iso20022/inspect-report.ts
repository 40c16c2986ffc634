/** Checks a camt.052, camt.053 or camt.054: counts, sums and balances of each statement, before an entry is booked. */
import type { BankEntry, ReportPart, StatementHead } from '../../iso20022/index.ts'
import { type Minor, present } from '../../kernel/index.ts'
import { type Oddity, pageIdOf } from '../../rails/index.ts'
import {
  accountOf,
  accountText,
  balancesOf,
  type Counted,
  type DatedBalance,
  minorOf,
  nothingCounted,
  totalsProblem,
} from './accounts.ts'
import type { BankAccount, BankRules } from './deps.ts'

/** `minor` null: the page repeats a balance that belongs to another one. */
type StatedBalance = { readonly minor: Minor | null; readonly on: string }

export type StatementFacts = {
  /** Undefined: the statement is not about an account of ours, and its entries are ignored. */
  readonly account: BankAccount | undefined
  readonly skipped?: { readonly what: Oddity; readonly text: string }
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: StatedBalance | null
  readonly closing: StatedBalance | null
  /** The number of booked entries. */
  readonly entries: number
  readonly credits: Minor
  readonly debits: Minor
  /** The difference between the movement of the balances and the entries; zero if they cannot be compared. */
  readonly difference: Minor
  /** Booked entries by their value date, if it is after the day of the closing balance. */
  readonly valuedLater: ReadonlyMap<string, Minor>
}

export type InspectedReport = {
  readonly messageId: string
  readonly statements: readonly StatementFacts[]
  readonly problem?: { readonly what: Oddity; readonly text: string }
}

type Open = {
  readonly head: StatementHead
  readonly account: BankAccount | 'account' | 'currency'
  readonly all: Counted
  readonly booked: Counted
  /** Booked entries by their value date. */
  readonly valued: Map<string, Minor>
  /** An entry in another currency is not in the sums: then they cannot be checked. */
  foreign: boolean
}

export const isBooked = ({ status }: BankEntry): boolean => status === 'BOOK'

export async function inspectReport(
  parts: AsyncIterable<readonly ReportPart[]>,
  { accounts }: BankRules,
  keep: () => Promise<void>,
): Promise<InspectedReport> {
  const statements: StatementFacts[] = []
  let messageId = ''
  let isStatement = false
  let messagePage: Page | undefined
  let open: Open | undefined
  let problem: InspectedReport['problem']
  for await (const chunk of parts) {
    await keep()
    for (const part of chunk) {
      if (part.kind === 'head') {
        messageId = pagedId(part.head.messageId, part.head.page)
        messagePage = part.head.page
        isStatement = part.head.kind === 'camt.053'
      } else if (part.kind === 'statement') {
        open = begin(part.statement, accounts)
        // Each page of a statement may be a message of its own under the same id.
        if (statements.length === 0 && isPage(part.statement.page))
          messageId = `${messageId} ${pagedId(part.statement.id, part.statement.page)}`
      } else if (part.kind === 'entry') count(present(open, 'an entry is in a statement'), part.entry)
      else {
        const ended = present(open, 'a statement that ends has begun')
        const { facts, wrong } = end(ended, isStatement, messagePage)
        statements.push(facts)
        if (wrong !== undefined) problem ??= { what: 'sum_differs', text: wrong }
      }
    }
  }
  const ours = statements.filter(({ account }) => account !== undefined)
  if (problem === undefined && ours.length === 0) problem = statements[0]?.skipped
  return { messageId, statements, ...(problem === undefined ? {} : { problem }) }
}

const begin = (head: StatementHead, accounts: readonly BankAccount[]): Open => ({
  head,
  account: accountOf(accounts, head),
  all: nothingCounted(),
  booked: nothingCounted(),
  valued: new Map(),
  foreign: false,
})

function count(open: Open, entry: BankEntry): void {
  if (typeof open.account === 'string') return
  const minor = minorOf(entry.amount, open.account.currency)
  if (minor === undefined) open.foreign = true
  add(open.all, entry.isCredit, minor ?? 0n)
  if (!isBooked(entry)) return
  add(open.booked, entry.isCredit, minor ?? 0n)
  const on = entry.valueDate?.slice(0, 10)
  if (on !== undefined)
    open.valued.set(on, (open.valued.get(on) ?? 0n) + (entry.isCredit ? (minor ?? 0n) : -(minor ?? 0n)))
}

function add(counted: Counted, isCredit: boolean, minor: Minor): void {
  counted.entries += 1
  counted[isCredit ? 'creditEntries' : 'debitEntries'] += 1
  counted[isCredit ? 'credits' : 'debits'] += minor
}

type Ending = { readonly facts: StatementFacts; readonly wrong?: string }

function end(open: Open, isStatement: boolean, messagePage: Page | undefined): Ending {
  const { head, account, booked, valued } = open
  const { entries, credits, debits } = booked
  const named = { statementId: pagedId(head.id, head.page), sequence: sequenceOf(head), entries, credits, debits }
  const counted = { ...named, difference: 0n, valuedLater: new Map<string, Minor>() }
  if (typeof account === 'string') {
    const skipped = skippedBecause(account, head)
    return { facts: { ...counted, account: undefined, skipped, opening: null, closing: null } }
  }
  const { currency } = account
  const { opening, closing } = isStatement ? balancesOf(head, currency) : { opening: null, closing: null }
  const hasBoth = opening !== null && closing !== null && !open.foreign
  const difference = hasBoth ? closing.minor - opening.minor - credits + debits : 0n
  const facts = { ...counted, account, opening, closing }
  const page = head.page ?? (difference === 0n ? undefined : messagePage)
  if (isPage(page)) {
    // Totals, and the balances that each page repeats, belong to the whole statement.
    const [first, last] = difference === 0n ? [true, true] : [/^0*1$/.test(page.number), page.isLast]
    const own = { opening: undated(opening, first), closing: undated(closing, last) }
    return { facts: { ...facts, ...own, statementId: pagedId(head.id, page) } }
  }
  const wrong = open.foreign ? undefined : head.totals && totalsProblem(head.totals, [open.all, booked], currency)
  const valuedLater = new Map([...valued].filter(([on]) => closing !== null && on > closing.on))
  const problem = wrong === undefined ? {} : { wrong: `Statement ${head.id} of ${account.iban}: ${wrong}.` }
  return { facts: { ...facts, difference, valuedLater }, ...problem }
}

/** Drops its amount if that belongs to another page. */
const undated = (balance: DatedBalance | null, isOwn: boolean): StatementFacts['closing'] =>
  balance === null || isOwn ? balance : { minor: null, on: balance.on }

type Page = NonNullable<StatementHead['page']>
const isPage = (page: Page | undefined): page is Page =>
  page !== undefined && !(page.isLast && /^0*1$/.test(page.number))
const pagedId = (id: string, page: Page | undefined): string => (isPage(page) ? pageIdOf(id, page.number) : id)

/** The number within the year, if the bank gives one; otherwise its own count. */
function sequenceOf({ electronicSequence, legalSequence }: StatementHead): bigint | null {
  const text = electronicSequence ?? legalSequence
  return text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : null
}

function skippedBecause(why: 'account' | 'currency', head: StatementHead) {
  const account = accountText(head)
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
