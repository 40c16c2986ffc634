/** The lines of the ledger accounts that a report shows, and their sums. */
import type { AccountName, Ledger, LineFilter, Period, PeriodLine } from '../../ledger/index.ts'
import { assert, type Currency, dayMs, type Minor, minuteMs, momentOfId } from '../../kernel/index.ts'
import type { Database } from '../../postgres/index.ts'
import type { Line, Section } from './content.ts'

export type SectionDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'balancesAt' | 'linesOfPeriod' | 'sumOfPeriod'>
  /** Called with the moment up to which the lines of a section are read. */
  readonly reached: (moment: Date) => void
}
export type SectionRequest = {
  readonly partnerId: string
  readonly customerId: string | null
  readonly account: AccountName
  /** Only movements between the two accounts. */
  readonly counterAccount?: AccountName
  /** Null: every currency that had a balance or a line. */
  readonly currency: Currency | null
  readonly period: Period
  readonly textOf: (counterAccount: AccountName, amount: Minor) => string
}

/** The earliest moment of an id: a sum from here on is a balance. */
const beginning = new Date(0)

export async function sectionsOf(deps: SectionDeps, request: SectionRequest): Promise<readonly Section[]> {
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
    const section = await sectionOf(deps, { ...request, counterAccountId: counter?.id }, row, names)
    // An account that was opened later gives the same report as none.
    if (currency !== null || section.opening !== 0n || (await hasLines(section))) sections.push(section)
  }
  return currency !== null && sections.length === 0 ? [emptySection(currency)] : sections
}

async function hasLines({ lines }: Section): Promise<boolean> {
  for await (const part of lines()) if (part.length > 0) return true
  return false
}

const emptySection = (currency: Currency): Section => ({
  currency,
  accountId: undefined,
  opening: 0n,
  lines: async function* lines() {},
  summary: async () => ({ lines: 0, creditLines: 0, credits: 0n, debits: 0n, closing: 0n }),
})

async function sectionOf(
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
): Promise<Section> {
  const filter: LineFilter = { partnerId, accountId: account.id, counterAccountId, partyId: customerId ?? undefined }
  // A customer has no account of its own: its opening balance is the sum of its earlier lines.
  const before = customerId === null ? undefined : { from: beginning, to: period.from }
  const past = before && (await ledger.sumOfPeriod(db, filter, before))
  const posted = counterAccountId === undefined ? account.posted : 0n
  const opening = past ? past.credits - past.debits : posted
  const closing = async () => {
    if (customerId !== null || counterAccountId !== undefined) return undefined
    const accounts = await ledger.balancesAt(db, partnerId, period.to)
    return accounts.find(({ id }) => id === account.id)?.posted
  }
  const lines = async function* lines(): AsyncGenerator<readonly Line[]> {
    let balance = opening
    const toLine = lineReader(partnerId, names, textOf)
    for await (const { content, end } of ledger.linesOfPeriod(db, filter, period)) {
      reached(momentOfId(end))
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
): (line: PeriodLine, balance: Minor) => Line {
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
 * The time of an id as text. Lines of one day share its date, because `toISOString` takes longer than the rest of a
 * line.
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
