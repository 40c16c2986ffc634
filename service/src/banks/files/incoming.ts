/**
 * Receives files of a file-based bank: stores messages, matches their entries, and reports the results to settlement
 * (docs/decisions/0044-a-bank-by-files.md).
 */
import { Refusal, Unreachable } from '../../kernel/api/index.ts'
import type { BankDeps, RemoteFile } from './deps.ts'
import { createLeases, type Lease, LeaseLost } from './lease.ts'
import { createSpool, type Spool } from './spool.ts'
import { type ProcessMessage, createProcessMessage, createTake, createUnfinishedFiles, type RunLater } from './take.ts'
import { amountText, type Clock, type Currency, deriveTimeId, minuteMs, secondMs } from '../../kernel/index.ts'
import {
  runningBalances,
  orderStatements,
  areConsecutive,
  lastDayOnStatement,
  countMissing,
  type StatementNumbering,
  numberStep,
  readPageNumber,
} from '../../rails/index.ts'
import { oddityReport, type Report, writeReports } from './reports.ts'
import {
  type AbsentEntry,
  absentEntries,
  markWaitingUnknown,
  markAbsent,
  overdueWaiting,
  type WaitingEntry,
} from './store-entries.ts'
import { latestStatements, type Statement } from './store-books.ts'
import { formatPaymentLabel } from './ids.ts'
import { matchWaitingReversals } from './reversals.ts'
import { absolute } from './accounts.ts'
import { formatMatch } from './scores.ts'
import * as store from './store-incoming.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import { inspectFile } from './inspect.ts'

export type FileReceiver = {
  /** Does one round of work with the files of the bank and returns its amount; 0 means idle. */
  readonly step: () => Promise<number>
}

const listMsMax = 60_000
/** The number of consecutive failures after which the bank is skipped until the next round. */
const unreachableMax = 3
/** The maximum number of concurrent last steps, which mostly wait for the disks of the bank and of this process. */
const finishingMax = 8

/** Records whether the bank answers. */
type BankWatch = { readonly answered: () => void; readonly failed: (error: unknown) => void }

export function createFileReceiver(deps: BankDeps, told?: BankWatch): FileReceiver {
  const { db, clock, log, rules, transport } = deps
  const connector = rules.id
  const underLease = createLeases({ db, clock, connector })
  const spool = createSpool(rules.archive)
  const watch = createUnfinishedFiles(clock)
  const answers = createProcessMessage(deps)
  const take = createTake(deps, spool, watch, answers)
  const takeReleased = createTakeReleased(deps, spool, answers)
  const overdue = createOverdue(deps)
  const continuity = createContinuity(deps)
  let isFirst = true
  /** True at the start: files received before a kill may be unchecked. */
  let isUnchecked = true

  const takeAll = async (lease: Lease): Promise<number> => {
    const files = await transport.list(AbortSignal.timeout(listMsMax)).catch((error: unknown) => {
      told?.failed(error)
      throw error
    })
    told?.answered()
    const inOrder = files.toSorted(
      (a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime() || (a.name < b.name ? -1 : 1),
    )
    watch.forgetExcept(new Set(files.map(({ name }) => name)))
    let taken = 0
    let unreachable = 0
    // A file that cannot be fetched or written does not delay others.
    const failed = (file: RemoteFile, error: unknown) =>
      log.error({ err: error, connector, file: file.name }, 'bank file not processed')
    const finishing = createFinishing(failed)
    try {
      for (const file of inOrder) {
        try {
          if ((await take(lease, file, finishing.later)) !== 'left') taken += 1
          unreachable = 0
        } catch (error) {
          unreachable += error instanceof Unreachable ? 1 : 0
          if (error instanceof LeaseLost || unreachable >= unreachableMax) throw error
          failed(file, error)
        }
      }
    } finally {
      taken -= await finishing.ended()
    }
    return taken
  }

  const round = async (lease: Lease): Promise<number> => {
    if (isFirst) await spool.clean()
    isFirst = false
    const taken = (await takeReleased(lease)) + (await takeAll(lease))
    isUnchecked ||= taken > 0
    if (isUnchecked) {
      await continuity(lease)
      await reportAbsent(deps, lease)
    }
    isUnchecked = false
    return taken + (await overdue(lease))
  }

  return { step: async () => (await underLease(round)) ?? 0 }
}

/**
 * Runs the last steps of files, which only wait for disks, concurrently while the next file is received. A failed step is
 * repeated when its file is listed again.
 */
function createFinishing(failed: (file: RemoteFile, error: unknown) => void): {
  readonly later: RunLater
  /** Waits for all steps and returns the number of failures. */
  readonly ended: () => Promise<number>
} {
  const open = new Set<Promise<void>>()
  let failures = 0
  return {
    later: async (file, work) => {
      while (open.size >= finishingMax) await Promise.race(open)
      const one: Promise<void> = work()
        .catch((error: unknown) => {
          failures += 1
          failed(file, error)
        })
        .finally(() => open.delete(one))
      open.add(one)
    },
    ended: async () => {
      await Promise.all(open)
      return failures
    },
  }
}

// Reports announced entries that the statement of their day omits: we count money that the bank does not have.

const rowsPerPage = 1000

/**
 * Opens one case for each omitted entry; the case ends when a later statement has the entry. Entries announced after the
 * statement may be on the next one of that day, and entries in a gap on the missing statement.
 */
async function reportAbsent(deps: BankDeps, lease: Lease): Promise<void> {
  const { db, rules, operatorId, clock } = deps
  const of = { operatorId, connector: rules.id }
  for (const { iban: account, currency } of rules.accounts) {
    const newestFirst = await latestStatements(db, rules.id, account, currency, statementsReadMax)
    const [last] = newestFirst
    if (last === undefined || last.closingOn === null) continue
    const listed = {
      until: lastDayOnStatement(last.closingOn, rules, currency),
      takenAt: last.createdAt,
      missing: listGapDays(newestFirst.toReversed(), currency, rules.statementNumbers),
    }
    for (let rows = rowsPerPage; rows === rowsPerPage;)
      rows = await lease.transaction(async (tx) => {
        const absent = await absentEntries(tx, { ...of, account, currency }, listed, rowsPerPage)
        if (absent.length === 0) return 0
        const now = clock.now()
        const ids = absent.map(({ id }) => id)
        markAbsent(tx, operatorId, ids, now)
        writeReports(
          tx,
          rules.id,
          absent.map((entry): Report => oddityReport(of, 'announced_missing', absentText(entry), [entry.id], entry.id)),
          now,
        )
        return absent.length
      })
  }
}

const absentText = ({ id, account, currency, amount, bookedOn, announced }: AbsentEntry): string => {
  const told =
    announced === 0
      ? `is of an earlier message about ${bookedOn}, and the last statement of that day omits it.`
      : `was announced for ${bookedOn}, and the statement of that day does not have it.`
  return `The entry ${id} of ${amountText(amount, currency as Currency)} ${currency} on ${account} ${told}`
}

// Reports missing messages: the payments of a sum, the credit of a reversal, and the bank's report about a payment.

const overdueRowsPerPage = 1000
/** The interval of the scan of unfinished payments, which also reads those that are already marked missing. */
const scansEveryMs = minuteMs

function createOverdue(deps: BankDeps) {
  const { db, clock, rules } = deps
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return async (lease: Lease): Promise<number> => {
    const now = clock.now()
    let done = await matchWaitingReversals(deps, lease)
    done += await reportOverdue(deps, lease, new Date(now.getTime() - rules.detailsWithinMs))
    if (Math.abs(now.getTime() - lookedAtMs) < scansEveryMs) return done
    const before = new Date(now.getTime() - rules.missingAfterMs)
    const silent = await store.paymentsUnreportedSince(db, rules.id, before, overdueRowsPerPage)
    if (silent.length < overdueRowsPerPage) lookedAtMs = now.getTime()
    if (silent.length > 0) done += await reportMissing(deps, lease, silent, before)
    return done
  }
}

function reportOverdue({ rules, operatorId, clock }: BankDeps, lease: Lease, before: Date): Promise<number> {
  return lease.transaction(async (tx) => {
    const rows = await overdueWaiting(tx, operatorId, rules.id, before, overdueRowsPerPage)
    if (rows.length === 0) return 0
    const within = `within ${rules.detailsWithinMs / secondMs} seconds`
    const [reversals, sums] = [rows.filter(isCreditReversal), rows.filter((row) => !isCreditReversal(row))]
    for (const [ended, missed] of [
      [reversals, `no message reported the credit ${within}`],
      [sums, `no message listed the payments ${within}`],
    ] as const)
      if (ended.length > 0)
        markWaitingUnknown(
          tx,
          operatorId,
          ended.map(({ id }) => id),
          formatMatch([], [missed]),
        )
    writeReports(
      tx,
      rules.id,
      rows.map((row) => toReport(row, operatorId)),
      clock.now(),
    )
    return rows.length
  })
}

const isCreditReversal = ({ isReversal, amount }: WaitingEntry): boolean => isReversal && amount < 0n

/** Reports a booking whose owner is unknown: its money goes to suspense with a case. */
function toReport(row: WaitingEntry, operatorId: string): Report {
  const { id, account, currency, amount } = row
  const named = { partnerId: operatorId, id, subjectId: id, entryId: id }
  const money = { currency: currency as Currency, amount: absolute(amount) }
  const details = isCreditReversal(row) ? 'The bank reversed an unknown credit.' : overdueText(row)
  if (amount < 0n) return { ...named, kind: 'debit.booked', facts: { why: 'unknown_debit', account, money, details } }
  const debtor = { account: '', bic: '', name: '', countryCode: '', address: null }
  const facts = { account, money, debtor, remittance: details, endToEndId: null, creditorReferences: [] }
  return { ...named, kind: 'credit.booked', facts }
}

function overdueText({ payments, codes, bookedOn }: WaitingEntry): string {
  const of = payments === 1n ? 'a booking' : `a sum of ${payments} payments`
  return `No message has named what is in ${of} of ${bookedOn}${codes === '' ? '' : ` (${codes})`}.`
}

function reportMissing(
  { rules, operatorId, clock }: BankDeps,
  lease: Lease,
  silent: Awaited<ReturnType<typeof store.paymentsUnreportedSince>>,
  before: Date,
): Promise<number> {
  return lease.transaction(async (tx) => {
    const now = clock.now()
    const of = { operatorId, connector: rules.id }
    const named = new Map(silent.map((sent) => [sent.id, sent]))
    let marked = 0
    for (const group of groupByShard(tx, silent)) {
      const keys = await store.markMissing(tx, rules.id, group, before, now)
      marked += keys.length
      const reports = keys.map(({ partnerId, id }): Report => {
        const sent = named.get(id)
        const text = `The bank has said nothing about the payment ${sent === undefined ? id : formatPaymentLabel(sent)} for ${Math.round(rules.missingAfterMs / minuteMs)} minutes.`
        return { ...oddityReport(of, 'payment_missing', text, [id, String(sent?.attempt ?? 1)], id), partnerId }
      })
      if (reports.length > 0) writeReports(tx, rules.id, reports, now)
    }
    return marked
  })
}

// Checks that each statement of an account begins with the closing balance of the previous one.

/** Statements read for each account. Older ones were checked when they were new. */
const statementsReadMax = 100

function createContinuity(deps: BankDeps) {
  const { db, rules, operatorId, clock } = deps
  const of = { operatorId, connector: rules.id }
  const told = new Set<string>()
  /** Reports each finding once in each process. Repeated reports share one case. */
  return async (lease: Lease): Promise<void> => {
    const found: Report[] = []
    for (const { iban, currency } of rules.accounts) {
      const newestFirst = await latestStatements(db, rules.id, iban, currency, statementsReadMax)
      const findings = findDiscontinuities(newestFirst.toReversed(), currency, rules.statementNumbers)
      for (const { what, text, statement } of findings)
        found.push(oddityReport(of, what, `Account ${iban}: ${text}`, [iban, currency, statement.id], statement.id))
    }
    const fresh = found.filter(({ id }) => !told.has(id))
    if (fresh.length === 0) return
    await lease.transaction((tx) => {
      writeReports(tx, rules.id, fresh, clock.now())
      return Promise.resolve()
    })
    for (const { id } of fresh) told.add(id)
  }
}

type Finding = {
  readonly what: 'statement_gap' | 'statement_overlap'
  readonly text: string
  /** The statement after the gap, or the second of two duplicates. */
  readonly statement: Statement
  /** The statement before the gap. */
  readonly before?: Statement
}

type Days = { readonly first: string; readonly last: string }

/** Lists the days that a missing statement may cover. `statements`: oldest first. */
const listGapDays = (
  statements: readonly Statement[],
  currency: Currency,
  numbering: StatementNumbering | undefined,
): readonly Days[] =>
  findDiscontinuities(statements, currency, numbering).flatMap(({ statement: { closingOn: last }, before }) => {
    const first = before?.closingOn
    return typeof first === 'string' && last !== null ? [{ first, last }] : []
  })

/** Finds gaps between statements, and statements that were received twice. `statements`: oldest first. */
function findDiscontinuities(
  statements: readonly Statement[],
  currency: Currency,
  numbering: StatementNumbering = 'evidence',
): readonly Finding[] {
  const versions = orderStatements(statements)
  const again = [...versions].flatMap(([statement, { length }]): readonly Finding[] =>
    length === 1 ? [] : [duplicateFinding(statement)],
  )
  let before: Statement | undefined
  const joints: Finding[] = []
  for (const { statement, before: balance } of runningBalances(versions.keys())) {
    if (before !== undefined)
      joints.push(...compareNeighbours({ ...before, closing: balance }, statement, currency, numbering))
    before = statement
  }
  return [...again, ...joints]
}

const duplicateFinding = (statement: Statement): Finding => ({
  what: 'statement_overlap',
  text: `the statement ${statementName(statement)} was sent again in another message.`,
  statement,
})

function compareNeighbours(
  before: Statement,
  statement: Statement,
  currency: Currency,
  numbering: StatementNumbering,
): readonly Finding[] {
  const isWhole = areConsecutive(before, statement)
  const isAgain = before.closingOn === statement.closingOn && numberStep(before, statement) === 0n
  if (isAgain && !isWhole && readPageNumber(before) === 0)
    return [duplicateFinding(before.createdAt > statement.createdAt ? before : statement)]
  const missing = countMissing(before, statement, numbering)
  if (missing > 0n) {
    const are = missing === 1n ? '1 statement is' : `${missing} statements are`
    const text = `${are} missing between ${statementName(before)} and ${statementName(statement)}.`
    return [{ what: 'statement_gap', text, statement, before }]
  }
  if (isWhole || before.closing === null || statement.opening === null) return []
  const [closing, opening] = [before.closing, statement.opening].map((minor) => amountText(minor, currency))
  const text = `the statement ${statementName(before)} ends with ${closing}, and ${statementName(statement)} begins with ${opening}.`
  return [{ what: 'statement_gap', text, statement, before }]
}

const statementName = ({ sequence, statementId }: Statement) =>
  sequence === null ? statementId : `${sequence} (${statementId})`

// Processes quarantined files that two people have released, such as files with a reused message id or wrong sums. As in
// every message, entries that are already known do not count twice.

/** Releases a quarantined file. Refuses: not_found, validation_failed (it has already been released). */
export const createReleaseFile =
  ({ clock }: { readonly clock: Clock }) =>
  async (tx: Tx, id: string): Promise<{ readonly connector: string; readonly fileName: string }> => {
    const row = await store.lockQuarantinedFile(tx, id)
    if (row === undefined || row.kind === null || row.messageId === null)
      throw new Refusal('not_found', 'The case is not about a quarantined file that can be read.')
    if (row.releasedAt !== null) throw new Refusal('validation_failed', 'The file has already been released.')
    await store.releaseQuarantinedFile(tx, id, clock.now())
    return { connector: row.connector, fileName: row.fileName }
  }

/** Processes the released files and returns their number. After a kill at any step the next process continues. */
function createTakeReleased(deps: BankDeps, spool: Spool, answers: ProcessMessage) {
  const { db, rules, clock, log } = deps
  return async (lease: Lease): Promise<number> => {
    const rows = await store.releasedFiles(db, rules.id)
    for (const row of rows) {
      await takeOne(lease, row)
      await store.endReleased(db, row.id, clock.now())
      log.info({ connector: rules.id, file: row.fileName }, 'processed a released bank file')
    }
    return rows.length
  }

  async function takeOne(lease: Lease, row: store.QuarantinedFile): Promise<void> {
    const spooled = await spool.again(row)
    if (spooled === undefined) return failed(row, 'the archive does not have it')
    try {
      const verdict = await inspectFile(spooled, rules, lease.keep, true)
      if (!('message' in verdict)) return await failed(row, verdict.refused.problem)
      const { message } = verdict
      const { fileName, sha256, receivedAt } = row
      // The hash distinguishes it from another message with the same id.
      const messageId = `${message.messageId} ${sha256.slice(0, 12)}`
      const named = {
        id: deriveTimeId(row.id, 'released'),
        connector: rules.id,
        kind: message.kind,
        messageId,
        fileName,
        sha256,
      }
      const made = {
        ...named,
        bytes: spooled.bytes,
        state: 'Taking',
        problem: null,
        receivedAt,
        takenAt: null,
      } as const
      await lease.transaction((tx) => store.insertMessage(tx, made))
      await answers({ lease, spooled }, made, message)
      await store.markMessageArchived(db, made.id, clock.now())
    } finally {
      await spool.drop(spooled)
    }
  }

  /** Opens another case: the one about the file is already decided. */
  async function failed({ id, fileName }: store.QuarantinedFile, why: string): Promise<void> {
    const text = `The file ${fileName} was released but cannot be processed: ${why}`
    const report = oddityReport(
      { operatorId: deps.operatorId, connector: rules.id },
      'file_unreadable',
      text,
      [id, 'released'],
      id,
    )
    await db.transaction(async (tx) => writeReports(tx, rules.id, [report], clock.now()))
  }
}
