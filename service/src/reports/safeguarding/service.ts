/** The verbs of safeguarding: designated accounts, the computation of a day, its records, and the job that makes them. */
import { ownJson } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import type { Audit } from '../../audit/index.ts'
import { type Cases, operatorPartnerId } from '../../cases/index.ts'
import { after, type Clock, type Currency, dayMs } from '../../kernel/index.ts'
import { oldestTransactionStart, type Tx } from '../../postgres/index.ts'
import type { BooksAccount } from '../../rails/index.ts'
import { type ComputeDeps, type Facts, factsOf } from './compute.ts'
import { type Content, digestOf, findingOf } from './content.ts'
import { dayOfMoment, isDay, opensCase } from './rules.ts'
import * as store from './store.ts'

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
  readonly content: Content
  /** The signed text. */
  readonly text: string
}
export type Computed = { readonly record: SafeguardingRecord; readonly isNew: boolean }

type Designation = {
  readonly account: string
  readonly currency: Currency
  readonly from: string
  readonly until: string | null
  readonly staff: string
}

export type Safeguarding = {
  /**
   * Designates a configured bank account from a day on, or ends its designation before a day. Refuses: validation_failed (account, from,
   * until).
   */
  readonly designate: (tx: Tx, designation: Designation) => Promise<store.DesignatedAccount>
  readonly accounts: typeof store.accounts
  /**
   * Computes a day, in all currencies, and keeps what differs from the last version. `at`: the end of the day, by default
   * midnight UTC; of a day that is not over, now. Refuses: validation_failed (day, at, no account, an open transaction).
   */
  readonly compute: (day: string, at?: Date) => Promise<readonly Computed[]>
  /** The last version of each day in a range, newest day first. */
  readonly list: (
    tx: Tx,
    range: { readonly from: string; readonly before: string; readonly rowsMax: number },
  ) => Promise<readonly SafeguardingRecord[]>
  /** All versions of a day in one currency, the last first. */
  readonly versions: (tx: Tx, day: string, currency: Currency) => Promise<readonly SafeguardingRecord[]>
  /** Computes the days whose statements are in, or that have waited long enough. Returns 0, so that its job rests. */
  readonly step: () => Promise<number>
}

/** Days that the job makes up for, for example after a stop. */
const daysBackMax = 31

export function createSafeguarding(deps: SafeguardingDeps): Safeguarding {
  const { db } = deps
  const list: Safeguarding['list'] = async (tx, range) => (await store.lastVersions(tx, range)).map(recordOf)
  return {
    designate: (tx, designation) => designate(deps, tx, designation),
    accounts: store.accounts,
    compute: async (day, at) => {
      const asked = await askedOf(deps, day, at)
      const computed: Computed[] = []
      for (const facts of await factsOf(deps, asked)) computed.push(await keep(deps, facts))
      return computed
    },
    list,
    versions: async (tx, day, currency) => (await store.versionsOf(tx, day, currency)).map(recordOf),
    step: async () => {
      for (const { day, cutAt, accounts } of await openDays(deps, list))
        if (await isReady(deps, cutAt))
          for (const facts of await factsOf(deps, { day, cutAt, isPast: true, isOver: true, accounts }))
            await keep(deps, facts)
      return 0
    },
  }

  /** The days to compute, oldest first: without a record, or with one that lacks a statement which is in now. */
  async function openDays({ clock, waitMs, dueOn, reconciliation }: SafeguardingDeps, read: Safeguarding['list']) {
    const designated = await store.accounts(db)
    const now = clock.now()
    const today = dayOfMoment(now)
    const first = dayOfMoment(after(now, -daysBackMax * dayMs))
    const rowsMax = daysBackMax * designated.length
    const records = rowsMax === 0 ? [] : await read(db, { from: first, before: today, rowsMax: rowsMax * 2 })
    const open: { readonly day: string; readonly cutAt: Date; readonly accounts: typeof designated }[] = []
    for (let day = first; rowsMax > 0 && day < today; day = dayAfter(day)) {
      const accounts = onDay(designated, day)
      const final = (currency: Currency) =>
        records.some(
          (each) =>
            each.day === day && each.currency === currency && each.content.isOver && each.status !== 'incomplete',
        )
      const waiting = accounts.filter(({ currency }) => !final(currency))
      if (waiting.length === 0) continue
      const cutAt = endOf(day)
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
  if (!isDay(from)) throw refuse('from must be a day such as 2026-03-01.')
  if (until !== null && (!isDay(until) || until <= from)) throw refuse('until must be a day after from.')
  const row = { ...known, fromDay: from, untilDay: until, setBy: staff, setAt: clock.now() }
  await store.saveAccount(tx, row)
  return row
}

const endOf = (day: string): Date => after(new Date(`${day}T00:00:00Z`), dayMs)
const dayAfter = (day: string): string => dayOfMoment(endOf(day))

const onDay = (accounts: readonly store.DesignatedAccount[], day: string): readonly store.DesignatedAccount[] =>
  accounts.filter(({ fromDay, untilDay }) => fromDay <= day && (untilDay === null || day < untilDay))

/** Reports whether every transaction that may hold a transfer from before a moment has ended (the rule of checkpoints). */
async function isReady({ db, clockDifferenceMsMax }: SafeguardingDeps, cutAt: Date): Promise<boolean> {
  return after(await oldestTransactionStart(db), -clockDifferenceMsMax) >= cutAt
}

async function askedOf(deps: SafeguardingDeps, day: string, at: Date | undefined) {
  if (!isDay(day)) throw refuse('The day must be a day in UTC such as 2026-03-01.')
  const now = deps.clock.now()
  const cutAt = at ?? (endOf(day) <= now ? endOf(day) : now)
  if (day > dayOfMoment(now)) throw refuse(`The day ${day} has not begun.`)
  if (cutAt > now || cutAt < new Date(`${day}T00:00:00Z`))
    throw refuse(`The end of the day must be between its start and now, ${now.toISOString()}.`)
  const accounts = onDay(await store.accounts(deps.db), day)
  if (accounts.length === 0)
    throw refuse(`No account is designated on ${day}: use "safeguarding accounts set" with --from ${day}.`)
  const isPast = cutAt < now
  if (isPast && !(await isReady(deps, cutAt)))
    throw refuse(`A transaction from before ${cutAt.toISOString()} may still be open. Try again in a minute.`)
  return { day, cutAt, isPast, isOver: cutAt >= endOf(day), accounts }
}

const recordOf = ({ content: text, ...row }: store.RecordRow): SafeguardingRecord => ({
  ...row,
  text,
  content: ownJson<Content>(text),
})

/** Signs and keeps a record, if it finds something else than the last version. The lock makes it once, with two workers as well. */
function keep(deps: SafeguardingDeps, facts: Facts): Promise<Computed> {
  const { db, clock, audit, cases, addOperator } = deps
  const { day, currency, status } = facts
  return db.transaction(async (tx) => {
    await addOperator(tx, operatorPartnerId)
    await store.lockAccounts(tx)
    const [last] = await store.versionsOf(tx, day, currency)
    const now = clock.now()
    const version = (last?.version ?? 0) + 1
    const content: Content = { ...facts, version, previous: last?.digest ?? null, computedAt: now.toISOString() }
    if (last !== undefined && findingOf(ownJson<Content>(last.content)) === findingOf(content))
      return { record: recordOf(last), isNew: false }
    const text = JSON.stringify(content)
    const digest = digestOf(text)
    if (opensCase(status)) await cases.record(tx, [caseOf(content, digest)])
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
    return { record: recordOf(row), isNew: true }
  })
}

/** One case for each version that does not balance. Two persons close it; it never closes itself. */
function caseOf(content: Content, digest: string) {
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
