/** The first pass over a camt.052, camt.053 or camt.054: counts, sums and balances of each statement, before an entry is taken. */
import type { BankEntry, ReportPart, StatementHead } from '../../iso20022/index.ts'
import { amountText, type Currency, type Minor, present } from '../../kernel/index.ts'
import type { Oddity } from '../port.ts'
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

export type StatementFacts = {
  /** Undefined: it is not about an account of ours, and its entries are not taken. */
  readonly account: BankAccount | undefined
  readonly skipped?: { readonly what: Oddity; readonly text: string }
  readonly statementId: string
  readonly sequence: bigint | null
  readonly opening: DatedBalance | null
  readonly closing: DatedBalance | null
  /** Of booked entries. */
  readonly entries: number
  readonly credits: Minor
  readonly debits: Minor
  readonly isCopy: boolean
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
  let open: Open | undefined
  let problem: InspectedReport['problem']
  for await (const chunk of parts) {
    await keep()
    for (const part of chunk) {
      if (part.kind === 'head') {
        messageId = part.head.messageId
        isStatement = part.head.kind === 'camt.053'
      } else if (part.kind === 'statement') open = begin(part.statement, accounts)
      else if (part.kind === 'entry') count(present(open, 'an entry is in a statement'), part.entry)
      else {
        const ended = present(open, 'a statement that ends has begun')
        const { facts, wrong } = end(ended, isStatement)
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
  foreign: false,
})

function count(open: Open, entry: BankEntry): void {
  if (typeof open.account === 'string') return
  const minor = minorOf(entry.amount, open.account.currency)
  if (minor === undefined) open.foreign = true
  add(open.all, entry.isCredit, minor ?? 0n)
  if (isBooked(entry)) add(open.booked, entry.isCredit, minor ?? 0n)
}

function add(counted: Counted, isCredit: boolean, minor: Minor): void {
  counted.entries += 1
  counted[isCredit ? 'creditEntries' : 'debitEntries'] += 1
  counted[isCredit ? 'credits' : 'debits'] += minor
}

function end(open: Open, isStatement: boolean): { readonly facts: StatementFacts; readonly wrong?: string } {
  const { head, account, booked } = open
  const { page, copy } = head
  const named = {
    statementId:
      page === undefined || (page.isLast && /^0*1$/.test(page.number)) ? head.id : `${head.id} page ${page.number}`,
    sequence: sequenceOf(head),
    isCopy: copy !== undefined,
  }
  const { entries, credits, debits } = booked
  if (typeof account === 'string') {
    const skipped = skippedBecause(account, head)
    return { facts: { ...named, account: undefined, skipped, opening: null, closing: null, entries, credits, debits } }
  }
  const { currency } = account
  const balances = isStatement ? balancesOf(head, currency) : { opening: null, closing: null }
  const facts = { ...named, account, ...balances, entries, credits, debits }
  const wrong = open.foreign
    ? undefined
    : ((head.totals && totalsProblem(head.totals, [open.all, booked], currency)) ?? balanceProblem(facts, currency))
  return { facts, ...(wrong === undefined ? {} : { wrong: `Statement ${head.id} of ${account.iban}: ${wrong}.` }) }
}

function balanceProblem(
  { opening, closing, credits, debits }: Pick<StatementFacts, 'opening' | 'closing' | 'credits' | 'debits'>,
  currency: Currency,
): string | undefined {
  if (opening === null || closing === null) return undefined
  const computed = opening.minor + credits - debits
  if (computed === closing.minor) return undefined
  const [first, moved, sum, last] = [opening.minor, credits - debits, computed, closing.minor].map((minor) =>
    amountText(minor, currency),
  )
  return `the opening balance ${first} and the entries ${moved} are ${sum}, and the closing balance is ${last}`
}

/** The number within the year, where the bank gives one; else its own count. */
function sequenceOf({ electronicSequence, legalSequence }: StatementHead): bigint | null {
  const text = electronicSequence ?? legalSequence
  return text !== undefined && /^\d{1,18}$/.test(text) ? BigInt(text) : null
}

function skippedBecause(why: 'account' | 'currency', head: StatementHead) {
  const account = accountText(head)
  return why === 'account'
    ? {
        what: 'file_unreadable' as const,
        text: `Statement ${head.id} is of the account ${account}, which is not configured.`,
      }
    : {
        what: 'foreign_currency' as const,
        text: `Statement ${head.id} of ${account} is in ${head.account.currency ?? 'a currency'} that is not configured.`,
      }
}
