/**
 * Reads what a day consists of. The ledger at the end of the day is read first, in short statements: sums before a moment that
 * has passed no longer change. Banks and cases are read in one snapshot.
 */
import type { Cases } from '../../cases/index.ts'
import { amountText, type Currency, isFiat, type Minor } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { type Database, readAtOneMoment, type Tx } from '../../postgres/index.ts'
import type { BankEntry, BooksAccount } from '../../rails/index.ts'
import type { DayLook, DayReader } from '../../cases/reconciliation/index.ts'
import { amountsOf, type Content, partsText } from './content.ts'
import { type AccountFacts, judge, type LedgerSums } from './rules.ts'
import type { DesignatedAccount } from './store.ts'

export type ComputeDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'positionsAt'>
  readonly cases: Pick<Cases, 'debitsOpenAt'>
  readonly reconciliation: { readonly day: DayReader }
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** The last day whose statement covers a day, by the calendar of a connector's bank. */
  readonly dueOn: (account: Pick<BooksAccount, 'connector' | 'currency'>, day: string) => string
  readonly internalConnector: string
}

export type Asked = {
  readonly day: string
  readonly cutAt: Date
  /** The cut has passed, and no transaction from before it is open. False: the cut is now. */
  readonly isPast: boolean
  /** The cut is the end of the day. */
  readonly isOver: boolean
  readonly accounts: readonly DesignatedAccount[]
}

/** The content of a record, without what its version adds. */
export type Facts = Omit<Content, 'version' | 'previous' | 'computedAt'>

/** Partners whose positions are read at a time. */
const partnersAtOnce = 8
const entriesPerKindMax = 1_000
/** A report between two transactions of a connector is on both sides at the next look. */
const looksMax = 3
/** A statement may have begun to be read before the end of the day. */
const readingMsMax = 3_600_000

type Changed = Content['changedRows'][number] & { readonly currency: Currency }
type Positions = { readonly sums: ReadonlyMap<Currency, LedgerSums>; readonly changed: readonly Changed[] }

export async function factsOf(deps: ComputeDeps, asked: Asked): Promise<readonly Facts[]> {
  const past = asked.isPast ? await positionsOf(deps, deps.db, asked.cutAt, partnersAtOnce) : undefined
  for (let look = 1; ; look += 1) {
    const found = await lookOnce(deps, asked, past)
    if (look === looksMax || found.every(({ isCalm }) => isCalm)) return found.map(({ facts }) => facts)
  }
}

async function positionsOf(
  { ledger, partnerIds }: ComputeDeps,
  tx: Tx,
  moment: Date | undefined,
  atOnce: number,
): Promise<Positions> {
  const sums = new Map<Currency, Map<string, { posted: Minor; reserved: Minor }>>()
  const changed: Changed[] = []
  const ids = await partnerIds(tx)
  for (let from = 0; from < ids.length; from += atOnce) {
    const some = ids.slice(from, from + atOnce)
    const read = await Promise.all(some.map((partnerId) => ledger.positionsAt(tx, partnerId, moment)))
    for (const [index, positions] of read.entries())
      for (const { name, currency, posted, reserved, rowDiffers } of positions) {
        const ofCurrency = sums.get(currency) ?? new Map<string, { posted: Minor; reserved: Minor }>()
        const before = ofCurrency.get(name) ?? { posted: 0n, reserved: 0n }
        ofCurrency.set(name, { posted: before.posted + posted, reserved: before.reserved + reserved })
        sums.set(currency, ofCurrency)
        const difference = amountText(rowDiffers, currency)
        if (rowDiffers !== 0n) changed.push({ partnerId: some[index] ?? '', account: name, difference, currency })
      }
  }
  return { sums, changed }
}

type Found = { readonly facts: Facts; readonly isCalm: boolean }

const lookOnce = (deps: ComputeDeps, asked: Asked, past: Positions | undefined): Promise<readonly Found[]> =>
  deps.db.transaction(async (tx) => {
    await readAtOneMoment(tx)
    const { cutAt, accounts, day } = asked
    const { sums, changed } = past ?? (await positionsOf(deps, tx, undefined, 1))
    const debits = await deps.cases.debitsOpenAt(tx, cutAt)
    const looks = await deps.reconciliation.day.lookUpTo(tx, accounts, day)
    const currencies = new Set([...accounts.map(({ currency }) => currency), ...[...sums.keys()].filter(isFiat)])
    const found: Found[] = []
    for (const currency of [...currencies].toSorted()) {
      const own = looks.filter((look) => look.currency === currency)
      const ofCurrency = sums.get(currency) ?? new Map<string, never>()
      // A currency in which nothing ever moved needs no record.
      if (own.length === 0 && [...ofCurrency.values()].every(({ posted }) => posted === 0n)) continue
      const debit = debits.find((each) => each.currency === currency)
      found.push(
        await foundOf(deps, tx, asked, {
          currency,
          sums: ofCurrency,
          looks: own,
          debits: { amount: debit?.booked ?? 0n, count: debit?.count ?? 0n },
          changed: changed.filter((each) => each.currency === currency),
        }),
      )
    }
    return found
  })

type Read = {
  readonly currency: Currency
  readonly sums: LedgerSums
  readonly looks: readonly DayLook[]
  readonly debits: { readonly amount: Minor; readonly count: bigint }
  readonly changed: readonly Changed[]
}

async function foundOf(
  deps: ComputeDeps,
  tx: Tx,
  { day, cutAt, isOver }: Asked,
  { currency, sums, looks, debits, changed }: Read,
): Promise<Found> {
  const { day: reader } = deps.reconciliation
  const accounts: AccountFacts[] = []
  const entries: Content['entries'][number][] = []
  for (const look of looks) {
    const off = { statementIds: look.laterIds, orNone: true }
    const on = { statementIds: recentIds(look, cutAt), orNone: false, from: cutAt }
    const around = {
      offAfter: await reader.sumInScope(tx, look, { ...off, from: cutAt }),
      onAfter: await reader.sumInScope(tx, look, on),
    }
    const { closingOn = null, closing = null } = look.statement ?? {}
    const hasStatement = closing !== null && closingOn !== null && closingOn >= deps.dueOn({ ...look, currency }, day)
    accounts.push({ look, around, hasStatement })
    const listed = {
      in_transit: await reader.entriesInScope(tx, look, { ...off, before: cutAt }, entriesPerKindMax),
      booked_late: await reader.entriesInScope(tx, look, on, entriesPerKindMax),
      not_applied: await reader.entriesNew(tx, look, entriesPerKindMax),
    }
    for (const [kind, rows] of Object.entries(listed)) entries.push(...rows.map((row) => entryText(kind, row)))
  }
  const { internalConnector } = deps
  const finding = judge({ sums, debits, accounts, changedRows: changed.length, internalConnector })
  const { requirement, resource, parts, status } = finding
  const text = (amount: Minor) => amountText(amount, currency)
  return {
    isCalm: looks.every(({ unexplained }) => unexplained === 0n),
    facts: {
      form: 1,
      day,
      currency,
      status,
      isOver,
      cutAt: cutAt.toISOString(),
      requirement: {
        total: text(requirement.total),
        balances: text(requirement.balances),
        reserved: text(requirement.reserved),
        suspense: text(requirement.suspense),
      },
      ...amountsOf(requirement.total, resource, parts, currency),
      accounts: accounts.map((facts) => accountText(facts, deps.dueOn({ ...facts.look, currency }, day))),
      parts: partsText(parts, currency),
      entries,
      changedRows: changed.map(({ currency: _currency, ...row }) => row),
    },
  }
}

const recentIds = ({ statements }: DayLook, cutAt: Date): readonly string[] =>
  statements.filter(({ createdAt }) => createdAt.getTime() > cutAt.getTime() - readingMsMax).map(({ id }) => id)

const entryText = (kind: string, { id, account, amount, currency, bookedOn }: BankEntry) => ({
  kind,
  account,
  id,
  bookedOn,
  amount: amountText(amount, currency),
})

function accountText({ look, hasStatement }: AccountFacts, dueOn: string): Content['accounts'][number] {
  const { connector, account, currency, statement } = look
  if (!hasStatement || statement === undefined) return { connector, account, dueOn, statement: null }
  const { id, statementId: name, closingOn, closing } = statement
  const on = closingOn ?? ''
  return { connector, account, dueOn, statement: { id, name, on, closing: amountText(closing ?? 0n, currency) } }
}
