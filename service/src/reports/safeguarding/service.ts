/** The operations of safeguarding: designated accounts, the computation and the records of days, and their job. */
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import type { Audit } from '../../audit/index.ts'
import { type Cases, operatorPartnerId } from '../../cases/index.ts'
import {
  after,
  amountText,
  type Clock,
  type Currency,
  dayMs,
  isFiat,
  type Minor,
  minuteMs,
} from '../../kernel/index.ts'
import { type Database, oldestTransactionStart, useSnapshot, type Tx } from '../../postgres/index.ts'
import type { BankEntry, BooksAccount } from '../../rails/index.ts'
import {
  findingAmounts,
  type SafeguardingContent,
  contentDigest,
  comparableText,
  partsText,
  type SignedContent,
} from './content.ts'
import { type AccountInput, utcDay, isCalendarDay, computeDayFinding, type LedgerSums, opensCase } from './rules.ts'
import * as store from './store.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { DayLook, DayReader } from '../../cases/reconciliation/index.ts'
import { defineJob, type Job } from '../../postgres/jobs/index.ts'

export type SafeguardingDeps = ComputeDeps & {
  readonly clock: Clock
  readonly audit: Pick<Audit, 'append' | 'sign'>
  readonly cases: Pick<Cases, 'debitsOpenAt' | 'record'>
  /** Creates the operator partner, whose key signs the records, if it does not exist. */
  readonly addOperator: (tx: Tx, id: string) => Promise<void>
  /** The configured accounts at file-based banks: only their statements are read. */
  readonly bankAccounts: readonly BooksAccount[]
  /** How long after the end of a day its computation waits for statements. */
  readonly waitMs: number
  /** How far the clocks of the processes and of the database may differ. */
  readonly clockDifferenceMsMax: number
}

export type SafeguardingRecord = Omit<store.RecordRow, 'content'> & {
  readonly content: SafeguardingContent
  readonly text: string
}
/** Returns a record with its signature, for an auditor. */
export const toSigned = ({
  text: content,
  signature,
  publicKey,
}: Pick<SafeguardingRecord, 'text' | 'signature' | 'publicKey'>): SignedContent => ({
  content,
  signature: signature.toString('base64'),
  publicKey,
})
export type ComputedRecord = { readonly record: SafeguardingRecord; readonly isNew: boolean }

type Designation = {
  readonly account: string
  readonly currency: Currency
  readonly from: string
  readonly until: string | null
  readonly staff: string
}

export type Safeguarding = {
  /**
   * Designates a configured bank account from a day on, or ends its designation. Refuses: validation_failed (account, from,
   * until).
   */
  readonly designate: (tx: Tx, designation: Designation) => Promise<store.DesignatedAccount>
  readonly accounts: typeof store.listDesignatedAccounts
  /**
   * Computes a day in all currencies, and stores records that differ from the latest version. `at`: the end of the day, by
   * default midnight UTC, or now for today. Refuses: validation_failed (day, at, no account, an open transaction).
   */
  readonly compute: (day: string, at?: Date) => Promise<readonly ComputedRecord[]>
  /** Lists the latest version of each day in a range, newest day first. */
  readonly list: (
    tx: Tx,
    range: { readonly from: string; readonly before: string; readonly rowsMax: number },
  ) => Promise<readonly SafeguardingRecord[]>
  /** Lists the versions of a day in a currency, latest first. */
  readonly versions: (tx: Tx, day: string, currency: Currency) => Promise<readonly SafeguardingRecord[]>
  /** Computes the days with all statements, and days that have waited long enough. Returns 0, so that its job pauses. */
  readonly step: () => Promise<number>
}

/** Number of past days that the job still computes, for example after the service was stopped. */
const daysBackMax = 31

export function createSafeguarding(deps: SafeguardingDeps): Safeguarding {
  const { db } = deps
  const list: Safeguarding['list'] = async (tx, range) => (await store.lastVersions(tx, range)).map(toRecord)
  return {
    designate: (tx, designation) => designate(deps, tx, designation),
    accounts: store.listDesignatedAccounts,
    compute: async (day, at) => {
      const asked = await readDayRequest(deps, day, at)
      const computed: ComputedRecord[] = []
      for (const facts of await readDay(deps, asked)) computed.push(await keepRecord(deps, facts))
      return computed
    },
    list,
    versions: async (tx, day, currency) => (await store.recordVersions(tx, day, currency)).map(toRecord),
    step: async () => {
      for (const { day, cutAt, accounts } of await openDays(deps, list))
        if (await isReady(deps, cutAt))
          for (const facts of await readDay(deps, { day, cutAt, isPast: true, isOver: true, accounts }))
            await keepRecord(deps, facts)
      return 0
    },
  }

  /** Lists the days to compute, oldest first: days without a record, and days whose missing statement has arrived. */
  async function openDays({ clock, waitMs, dueOn, reconciliation }: SafeguardingDeps, read: Safeguarding['list']) {
    const designated = await store.listDesignatedAccounts(db)
    const now = clock.now()
    const today = utcDay(now)
    const first = utcDay(after(now, -daysBackMax * dayMs))
    const rowsMax = daysBackMax * designated.length
    const records = rowsMax === 0 ? [] : await read(db, { from: first, before: today, rowsMax: rowsMax * 2 })
    const open: { readonly day: string; readonly cutAt: Date; readonly accounts: typeof designated }[] = []
    for (let day = first; rowsMax > 0 && day < today; day = dayAfter(day)) {
      const accounts = designatedOn(designated, day)
      const final = (currency: Currency) =>
        records.some(
          (each) =>
            each.day === day && each.currency === currency && each.content.isOver && each.status !== 'incomplete',
        )
      const waiting = accounts.filter(({ currency }) => !final(currency))
      if (waiting.length === 0) continue
      const cutAt = endOfDay(day)
      const isIn = async ({ connector, account, currency }: BooksAccount) => {
        const last = await reconciliation.day.lastStatement(db, { connector, account, currency }, day)
        return (last?.closingOn ?? '') >= dueOn({ connector, currency }, day)
      }
      const areIn = (await Promise.all(accounts.map(isIn))).every((each) => each)
      const isLate = now.getTime() >= cutAt.getTime() + waitMs
      const hasRecord = (currency: Currency) =>
        records.some((each) => each.day === day && each.currency === currency && each.content.isOver)
      if (areIn || (isLate && waiting.some(({ currency }) => !hasRecord(currency)))) open.push({ day, cutAt, accounts })
    }
    return open
  }
}

const refuse = (detail: string) => new Refusal('validation_failed', detail)

async function designate(
  { bankAccounts, clock }: SafeguardingDeps,
  tx: Tx,
  { account, currency, from, until, staff }: Designation,
): Promise<store.DesignatedAccount> {
  const known = bankAccounts.find((each) => each.account === account && each.currency === currency)
  if (known === undefined) {
    const list = bankAccounts.map((each) => `${each.account} ${each.currency}`).join(', ')
    throw refuse(`${account} ${currency} is not an account of a configured bank. These are: ${list || 'none'}.`)
  }
  if (!isCalendarDay(from)) throw refuse('from must be a day such as 2026-03-01.')
  if (until !== null && (!isCalendarDay(until) || until <= from)) throw refuse('until must be a day after from.')
  const row = { ...known, fromDay: from, untilDay: until, setBy: staff, setAt: clock.now() }
  await store.saveAccount(tx, row)
  return row
}

const endOfDay = (day: string): Date => after(new Date(`${day}T00:00:00Z`), dayMs)
const dayAfter = (day: string): string => utcDay(endOfDay(day))

const designatedOn = (accounts: readonly store.DesignatedAccount[], day: string): readonly store.DesignatedAccount[] =>
  accounts.filter(({ fromDay, untilDay }) => fromDay <= day && (untilDay === null || day < untilDay))

/** Reports whether all transactions that may add a transfer before a moment have ended (the rule of checkpoints). */
async function isReady({ db, clockDifferenceMsMax }: SafeguardingDeps, cutAt: Date): Promise<boolean> {
  return after(await oldestTransactionStart(db), -clockDifferenceMsMax) >= cutAt
}

async function readDayRequest(deps: SafeguardingDeps, day: string, at: Date | undefined) {
  if (!isCalendarDay(day)) throw refuse('The day must be a day in UTC such as 2026-03-01.')
  const now = deps.clock.now()
  const cutAt = at ?? (endOfDay(day) <= now ? endOfDay(day) : now)
  if (day > utcDay(now)) throw refuse(`The day ${day} has not begun.`)
  if (cutAt > now || cutAt < new Date(`${day}T00:00:00Z`))
    throw refuse(`The end of the day must be between its start and now, ${now.toISOString()}.`)
  const accounts = designatedOn(await store.listDesignatedAccounts(deps.db), day)
  if (accounts.length === 0)
    throw refuse(`No account is designated on ${day}: use "safeguarding accounts set" with --from ${day}.`)
  const isPast = cutAt < now
  if (isPast && !(await isReady(deps, cutAt)))
    throw refuse(`A transaction from before ${cutAt.toISOString()} may still be open. Try again in a minute.`)
  return { day, cutAt, isPast, isOver: cutAt >= endOfDay(day), accounts }
}

const toRecord = ({ content: text, ...row }: store.RecordRow): SafeguardingRecord => ({
  ...row,
  text,
  content: ownJson<SafeguardingContent>(text),
})

/** Signs and stores a record that differs from the latest version. The lock prevents two workers from storing it twice. */
function keepRecord(deps: SafeguardingDeps, facts: DayContent): Promise<ComputedRecord> {
  const { db, clock, audit, cases, addOperator } = deps
  const { day, currency, status } = facts
  return db.transaction(async (tx) => {
    await addOperator(tx, operatorPartnerId)
    await store.lockAccounts(tx)
    const [last] = await store.recordVersions(tx, day, currency)
    const now = clock.now()
    const version = (last?.version ?? 0) + 1
    const content: SafeguardingContent = {
      ...facts,
      version,
      previous: last?.digest ?? null,
      computedAt: now.toISOString(),
    }
    if (last !== undefined && comparableText(ownJson<SafeguardingContent>(last.content)) === comparableText(content))
      return { record: toRecord(last), isNew: false }
    const text = JSON.stringify(content)
    const digest = contentDigest(text)
    if (opensCase(status)) await cases.record(tx, [newCase(content, digest)])
    const signed = await audit.sign(tx, operatorPartnerId, text)
    const row = { day, currency, version, status, content: text, digest, ...signed, computedAt: now }
    await store.insertRecord(tx, row)
    audit.append(tx, [
      {
        partnerId: operatorPartnerId,
        actor: { kind: 'worker' },
        action: 'safeguarding.computed',
        subject: { day, currency },
        details: { version, status, digest },
      },
    ])
    return { record: toRecord(row), isNew: true }
  })
}

/** Builds the case of a version that does not balance. Two people close it. */
function newCase(content: SafeguardingContent, digest: string) {
  const { day, currency, version, status, requirement, resource, difference, own, timing, discrepancy, parts } = content
  const missing = content.accounts.filter(({ statement }) => statement === null).map(({ account }) => account)
  const totals = { requirement: requirement.total, resource, difference, own, timing, discrepancy }
  return {
    partnerId: operatorPartnerId,
    kind: 'safeguarding',
    connector: 'ledger',
    notificationId: `safeguarding ${day} ${currency} ${version}`,
    subject: `${day} ${currency}`,
    report: {
      kind: 'safeguarding',
      ...{ day, currency, version, status, digest, ...totals },
      missingStatements: missing,
      changedRows: content.changedRows,
      parts: parts.map(({ kind, account, amount, why }) => ({ kind, account, amount, why })),
    },
    booked: null,
  } as const
}

// Reads the data of a day. The ledger at the end of the day is read first, in short statements: sums before a moment that
// has passed no longer change. Banks and cases are read in one snapshot.

type ComputeDeps = {
  readonly db: Database
  readonly ledger: Pick<Ledger, 'positionsAt'>
  readonly cases: Pick<Cases, 'debitsOpenAt'>
  readonly reconciliation: { readonly day: DayReader }
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** Finds the last day whose statement covers a day, by the bank's calendar. */
  readonly dueOn: (account: Pick<BooksAccount, 'connector' | 'currency'>, day: string) => string
  readonly internalConnector: string
}

type DayRequest = {
  readonly day: string
  readonly cutAt: Date
  /** True if the cut has passed and earlier transactions have ended. False if the cut is now. */
  readonly isPast: boolean
  /** True if the cut is the end of the day. */
  readonly isOver: boolean
  readonly accounts: readonly store.DesignatedAccount[]
}

/** The content of a record without the fields of its version. */
type DayContent = Omit<SafeguardingContent, 'version' | 'previous' | 'computedAt'>

/** Partners whose positions are read at the same time. */
const partnersAtOnce = 8
const entriesPerKindMax = 1_000
/**
 * Attempts to compare the accounts with the ledger. A bank report may commit between two transactions of a connector,
 * so that only one side has it.
 */
const looksMax = 3
/**
 * Maximum time that reading a statement takes. A statement that was created more than this before the cut was read
 * before the cut.
 */
const readingMsMax = 3_600_000

type ChangedRow = SafeguardingContent['changedRows'][number] & { readonly currency: Currency }
type Positions = { readonly sums: ReadonlyMap<Currency, LedgerSums>; readonly changed: readonly ChangedRow[] }

async function readDay(deps: ComputeDeps, asked: DayRequest): Promise<readonly DayContent[]> {
  const past = asked.isPast ? await readPositions(deps, deps.db, asked.cutAt, partnersAtOnce) : undefined
  for (let look = 1; ; look += 1) {
    const found = await lookOnce(deps, asked, past)
    if (look === looksMax || found.every(({ isConsistent }) => isConsistent)) return found.map(({ facts }) => facts)
  }
}

async function readPositions(
  { ledger, partnerIds }: ComputeDeps,
  tx: Tx,
  moment: Date | undefined,
  atOnce: number,
): Promise<Positions> {
  const sums = new Map<Currency, Map<string, { posted: Minor; reserved: Minor }>>()
  const changed: ChangedRow[] = []
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

type CurrencyFinding = { readonly facts: DayContent; readonly isConsistent: boolean }

const lookOnce = (
  deps: ComputeDeps,
  asked: DayRequest,
  past: Positions | undefined,
): Promise<readonly CurrencyFinding[]> =>
  deps.db.transaction(async (tx) => {
    await useSnapshot(tx)
    const { cutAt, accounts, day } = asked
    const { sums, changed } = past ?? (await readPositions(deps, tx, undefined, 1))
    const debits = await deps.cases.debitsOpenAt(tx, cutAt)
    const looks = await deps.reconciliation.day.lookUpTo(tx, accounts, day)
    const currencies = new Set([...accounts.map(({ currency }) => currency), ...[...sums.keys()].filter(isFiat)])
    const found: CurrencyFinding[] = []
    for (const currency of [...currencies].toSorted()) {
      const own = looks.filter((look) => look.currency === currency)
      const ofCurrency = sums.get(currency) ?? new Map<string, never>()
      // A currency without movements needs no record.
      if (own.length === 0 && [...ofCurrency.values()].every(({ posted }) => posted === 0n)) continue
      const debit = debits.find((each) => each.currency === currency)
      found.push(
        await findCurrency(deps, tx, asked, {
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

type DaySnapshot = {
  readonly currency: Currency
  readonly sums: LedgerSums
  readonly looks: readonly DayLook[]
  readonly debits: { readonly amount: Minor; readonly count: bigint }
  readonly changed: readonly ChangedRow[]
}

async function findCurrency(
  deps: ComputeDeps,
  tx: Tx,
  { day, cutAt, isOver }: DayRequest,
  { currency, sums, looks, debits, changed }: DaySnapshot,
): Promise<CurrencyFinding> {
  const { day: reader } = deps.reconciliation
  const accounts: AccountInput[] = []
  const entries: SafeguardingContent['entries'][number][] = []
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
  const finding = computeDayFinding({ sums, debits, accounts, changedRows: changed.length, internalConnector })
  const { requirement, resource, parts, status } = finding
  const text = (amount: Minor) => amountText(amount, currency)
  return {
    isConsistent: looks.every(({ unexplained }) => unexplained === 0n),
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
      ...findingAmounts(requirement.total, resource, parts, currency),
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

function accountText({ look, hasStatement }: AccountInput, dueOn: string): SafeguardingContent['accounts'][number] {
  const { connector, account, currency, statement } = look
  if (!hasStatement || statement === undefined) return { connector, account, dueOn, statement: null }
  const { id, statementId: name, closingOn, closing } = statement
  const on = closingOn ?? ''
  return { connector, account, dueOn, statement: { id, name, on, closing: amountText(closing ?? 0n, currency) } }
}

/** Creates the job that computes each day once its statements are in. */
export const safeguardingJob = (safeguarding: Pick<Safeguarding, 'step'>): Job =>
  defineJob({ name: 'safeguarding.days', everyMs: minuteMs, run: safeguarding.step })
