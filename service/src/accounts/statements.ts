/** Past balances and statements of a partner and of one customer. The ledger reads them by checkpoints. */
import type { QueryOf } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, parseTime } from '../kernel/api/index.ts'
import {
  assert,
  type Clock,
  type Currency,
  dayMs,
  firstIdOf,
  isCurrency,
  type Minor,
  idTime,
  newId,
  present,
} from '../kernel/index.ts'
import type {
  Balance,
  BalanceMode,
  Ledger,
  PartySum,
  StatementCursor,
  StatementLine,
  StatementRequest,
} from '../ledger/index.ts'
import { type Database, useSnapshot } from '../postgres/index.ts'
import type { Customers } from '../parties/customers/index.ts'

/** `partyId`: the party whose money moved, as a customer's guid or the partner's id. */
export type StatementEntry = StatementLine & { readonly currency: Currency }
/** `own`: the partner's share of a segregated balance. Undefined for a past time. */
export type BalanceWithMode = Balance & Pick<BalanceMode, 'segregated' | 'own'>
export type DatedBalances<T> = { readonly asOf: Date; readonly balances: readonly T[] }

export type DailyBalances = {
  readonly currency: Currency
  /** Oldest first. Zero on days before the balance existed. */
  readonly days: readonly { readonly day: string; readonly available: Minor }[]
}

export type Statements = {
  /** Reads the partner's balances just before a time, one per currency that existed then. Default: now. */
  readonly balances: (partnerId: string, query: QueryOf<'listAccounts'>) => Promise<DatedBalances<BalanceWithMode>>
  /**
   * Reads the available amounts at the end of each of the last days (UTC), and the current ones for today. One item per
   * currency.
   */
  readonly dailyBalances: (partnerId: string, days: number) => Promise<readonly DailyBalances[]>
  /** Lists the entries of a balance, newest first. Refuses: not_found (no such balance), validation_failed (cursor). */
  readonly entries: (
    partnerId: string,
    accountId: string,
    query: QueryOf<'listAccountEntries'>,
  ) => Promise<Page<StatementEntry>>
  /** Reads the balances of a customer, one item per currency in which money moved. Refuses: not_found. */
  readonly customerBalances: (
    partnerId: string,
    customerRef: string,
    query: QueryOf<'listCustomerBalances'>,
  ) => Promise<DatedBalances<PartySum>>
  /**
   * Lists the entries of a customer, newest first. Refuses: not_found (the customer, the currency), validation_failed
   * (cursor).
   */
  readonly customerEntries: (
    partnerId: string,
    customerRef: string,
    currency: string,
    query: QueryOf<'listCustomerAccountEntries'>,
  ) => Promise<Page<StatementEntry>>
}

export type StatementsDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly customers: Pick<Customers, 'resolveId'>
  readonly ledger: Pick<Ledger, 'balances' | 'balancesAt' | 'closingBalances' | 'modes' | 'statement' | 'partySumsAt'>
}

type PeriodQuery = QueryOf<'listAccountEntries'>

/**
 * Parses `at`. Returns undefined, which means now, if it is absent or in the future. Compares it with the system clock,
 * which the ids of transfers follow.
 */
function readMoment({ at }: QueryOf<'listAccounts'>): Date | undefined {
  const moment = at === undefined ? undefined : parseTime(at)
  return moment !== undefined && moment > idTime(newId()) ? undefined : moment
}

export function createStatements(deps: StatementsDeps): Statements {
  const { db, clock, customers, ledger } = deps
  const readPage = createPages(deps)
  const customerIdOf = async (partnerId: string, ref: string) => {
    const id = await customers.resolveId(db, partnerId, ref)
    if (id === undefined) throw notFound('customer')
    return id
  }
  return {
    balances: async (partnerId, query) => {
      const moment = readMoment(query)
      const modes = new Map((await ledger.modes(db, partnerId)).map((mode) => [mode.currency, mode]))
      const modeOf = (currency: Currency) => modes.get(currency)?.segregated ?? false
      if (moment === undefined) {
        const balances = await ledger.balances(db, partnerId)
        return {
          asOf: clock.now(),
          balances: balances.map((row) => {
            return { ...row, segregated: modeOf(row.currency), own: modes.get(row.currency)?.own }
          }),
        }
      }
      const rows = await ledger.balancesAt(db, partnerId, moment)
      // An account that was created later had no balance at that time.
      const existing = rows.filter(({ id, name }) => name === 'balance' && id < firstIdOf(moment))
      return {
        asOf: moment,
        balances: existing.map(({ id, currency, posted, reserved }) => {
          const sums = { id, currency, posted, reserved, available: posted - reserved }
          return { ...sums, segregated: modeOf(currency), own: undefined }
        }),
      }
    },
    dailyBalances: async (partnerId, days) => {
      const starts = lastDays(days)
      // The end of a day is the start of the next one. Today has not ended: its sums are those of the account row.
      const closings = await db.transaction(async (tx) => {
        await useSnapshot(tx)
        return ledger.closingBalances(tx, partnerId, starts.slice(1))
      })
      return closings.map(({ currency, sums, now }) => ({
        currency,
        days: [...sums, now].map(({ posted, reserved }, index) => ({
          day: present(starts[index], `no day for closing ${index} in ${currency}`).toISOString().slice(0, 10),
          available: posted - reserved,
        })),
      }))
    },
    entries: async (partnerId, accountId, query) => {
      const account = (await ledger.balances(db, partnerId)).find(({ id }) => id === accountId)
      if (account === undefined) throw notFound('balance')
      return readPage({ partnerId, name: 'balance', currency: account.currency }, query)
    },
    customerBalances: async (partnerId, customerRef, query) => {
      const moment = readMoment(query)
      const partyId = await customerIdOf(partnerId, customerRef)
      const asOf = moment ?? clock.now()
      return { asOf, balances: await ledger.partySumsAt(db, partnerId, partyId, moment) }
    },
    customerEntries: async (partnerId, customerRef, currency, query) => {
      if (!isCurrency(currency)) throw notFound('currency')
      const partyId = await customerIdOf(partnerId, customerRef)
      return readPage({ partnerId, name: 'balance', currency, partyId }, query)
    },
  }
}

/** Lists the starts of the last days in UTC, with today last. */
function lastDays(days: number): readonly Date[] {
  const today = Math.floor(idTime(newId()).getTime() / dayMs) * dayMs
  return Array.from({ length: days }, (_day, index) => new Date(today - (days - 1 - index) * dayMs))
}

type StatementSubject = Pick<StatementRequest, 'partnerId' | 'name' | 'currency' | 'partyId'>

/**
 * Creates the reader of statement pages, newest first. A cursor is valid for one subject and one period, because its
 * sums are.
 */
function createPages({ db, cursors, ledger }: StatementsDeps) {
  return async (subject: StatementSubject, query: PeriodQuery): Promise<Page<StatementEntry>> => {
    const { partnerId, currency, partyId = '' } = subject
    const [from, until] = [query.from, query.to].map((time) => (time === undefined ? undefined : parseTime(time)))
    const bounds = [from, until].map((time) => time?.toISOString() ?? '').join(' ')
    const list = `entries:${partnerId}:${currency}:${partyId}:${bounds}`
    const { limit, afterId } = cursors.read(list, query)
    const cursor = afterId === null ? undefined : readCursor(afterId)
    const page = await db.transaction(async (tx) => {
      await useSnapshot(tx)
      return ledger.statement(tx, { ...subject, from, until, direction: 'descending', linesMax: limit, cursor })
    })
    if (page === undefined) return { data: [], nextCursor: null, hasMore: false }
    return {
      data: page.lines.map((line) => ({ ...line, currency })),
      nextCursor: page.next ? cursors.write(list, writeCursor(page.next)) : null,
      hasMore: page.next !== undefined,
    }
  }
}

const writeCursor = ({ id, amount, posted }: StatementCursor) => `${id} ${amount} ${posted}`

function readCursor(text: string): StatementCursor {
  const [id, amount, posted] = text.split(' ')
  assert(id !== undefined && amount !== undefined && posted !== undefined, 'a signed cursor does not have three parts')
  return { id, amount: BigInt(amount), posted: BigInt(posted) }
}
