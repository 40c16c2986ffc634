/** Commands for the ledger: balances, statements, checks, reconciliation, safeguarding, exchange positions, and states of accounts. */
import { readFile, writeFile } from 'node:fs/promises'
import { isHeadSigned, ownJson, parseUntrustedJson, Type } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { type VerifyDeps, verifyLog } from '../audit/index.ts'
import { comparisons, type Finding, findingsMax } from '../ledger/integrity/index.ts'
import {
  after,
  amountText,
  assert,
  createLog,
  csvAmountCell,
  currencies,
  type Currency,
  dayMs,
  type Minor,
  systemClock,
} from '../kernel/index.ts'
import {
  type AccountState,
  blocksOutbound,
  isAccountName,
  accountKind,
  type StatementLine,
  type StatementPage,
  type StatementRequest,
} from '../ledger/index.ts'
import { reportHead, reportLine } from '../cases/reconciliation/index.ts'
import type { AccountRef, StateChange } from '../accounts/index.ts'
import {
  type SafeguardingContent,
  contentDigest,
  findContradictions,
  safeguardingCsv,
  safeguardingPdf,
  type SafeguardingRecord,
  type SignedContent,
  toSigned,
  readSignedCsv,
} from '../reports/safeguarding/index.ts'
import { createDatabase, type Database, useSnapshot, type Tx } from '../postgres/index.ts'
import { findMidRate, formatRate, type StoredSheet } from '../rates/index.ts'
import {
  runChange,
  type CommandCall,
  runAndRecord,
  type CommandFunctions,
  type Context,
  rethrowFileError,
  recordCommand,
  refusalAsConfigError,
  type OutputWriter,
} from './context.ts'
import type { CommandName, ParsedOptions } from './declarations.ts'

type Name = CommandName & (`${'ledger' | 'safeguarding' | 'fx' | 'account'} ${string}` | 'reconcile')

export const ledgerCommands: CommandFunctions<Exclude<Name, 'safeguarding verify'>> = {
  'ledger balances': async ({ service: { ledger }, db }, { partner, at }) => {
    const balances = await ledger.balancesAt(db, partner, at)
    return balances.map(({ name, currency, posted, reserved }) => ({
      account: name,
      currency,
      holds: accountKind(name).holds,
      posted: amountText(posted, currency),
      reserved: amountText(reserved, currency),
      available: amountText(posted - reserved, currency),
    }))
  },

  'ledger statement': (context, { partner: partnerId, account, currency, from, to: until, format }) => {
    const name = accountName(account)
    const page = { direction: 'ascending', linesMax: linesPerPage } as const
    const request = { partnerId, name, currency, from, until, ...page }
    return (write) => writeStatement(context, request, format, write)
  },

  'ledger check':
    (context, { partner, from = '' }) =>
    (write) =>
      checkLedger(context, partner, from, write),

  reconcile:
    (context, { connector, account, at, format }) =>
    (write) =>
      printReport(context, { connector, account, at }, format, write),

  'safeguarding accounts set': async (context, { account, currency, staff, ...period }, call) => {
    const { from = systemClock.now().toISOString().slice(0, 10), until = null } = period
    const designation = { account: account.replaceAll(' ', ''), currency, from, until, staff }
    return refusalAsConfigError(() =>
      runAndRecord(context, call, (tx) => context.service.safeguarding.designate(tx, designation)),
    )
  },

  'safeguarding accounts list': ({ service: { safeguarding }, db }) => safeguarding.accounts(db),

  /** Computes a day, and prints the record of each currency. `isNew`: whether it is a new version. */
  'safeguarding run': async ({ service, db }, { day, at }, call) => {
    const computed = await refusalAsConfigError(() => service.safeguarding.compute(day, at))
    await db.transaction((tx) => recordCommand(service, tx, call))
    return computed.map(({ record: found, isNew }) => ({ isNew, ...recordView(found) }))
  },

  /** Lists the versions of a day, the latest of each currency first. */
  'safeguarding show': async (context, options) => (await readRecords(context, options, 'all')).map(recordView),

  /** Writes the latest version of a day in each currency to a file. */
  'safeguarding export': async (context, options) => {
    const { format, to: file } = options
    const records = await readRecords(context, options, 'last')
    const signed = records.map(toSigned)
    const text = () => (format === 'csv' ? safeguardingCsv(signed) : `${JSON.stringify(signed, undefined, 2)}\n`)
    await writeFile(file, format === 'pdf' ? safeguardingPdf(signed) : text()).catch(rethrowFileError(file))
    return {
      file,
      format,
      records: records.map(({ day, currency, version, digest }) => ({ day, currency, version, digest })),
    }
  },

  /** Shows the open position in each currency across all partners, valued in euros at the newest mid rates. */
  'fx position': async ({ service: { ledger, rates }, db }) => {
    const [rows, sheet] = await Promise.all([ledger.positions(db), rates.newest(db)])
    const positions = rows.map(({ currency, posted, reserved }) => {
      const valued = sheet && valueInEuros(sheet, currency, posted)
      return {
        currency,
        position: amountText(posted, currency),
        reserved: amountText(reserved, currency),
        midRate: valued?.midRate ?? null,
        valueEur: valued ? amountText(valued.minor, 'EUR') : null,
        minor: valued?.minor,
      }
    })
    const isComplete = positions.every(({ minor }) => minor !== undefined)
    const total = positions.reduce((sum, { minor = 0n }) => sum + minor, 0n)
    return {
      source: sheet?.source ?? null,
      asOf: sheet?.asOf.toISOString() ?? null,
      positions: positions.map(({ minor: _minor, ...shown }) => shown),
      totalEur: isComplete ? amountText(total, 'EUR') : null,
    }
  },

  /** Blocks an account, and replaces an earlier block. If the command is interrupted, a worker cancels the remaining payouts. */
  'account block': (context, options, call) => changeState(context, options, call, blockStates[options.direction]),

  'account unblock': (context, options, call) => changeState(context, options, call, 'Active'),

  'account close': (context, options, call) => changeState(context, options, call, 'Closed'),

  'account list': async ({ service: { accounts }, db }, { partner }) =>
    (await accounts.notActive(db, partner)).map(stateView),
}

const linesPerPage = 500
type StatementFormat = ParsedOptions<'ledger statement'>['format']

/**
 * Prints a line for each finding, and positions from which an interrupted check can continue. The command fails if
 * there are findings.
 */
async function checkLedger(
  context: Context,
  only: string | undefined,
  from: string,
  write: OutputWriter,
): Promise<void> {
  const first = readPosition(from)
  let findings = 0
  const work = async (db: Database) => {
    const partnerIds = only === undefined ? (await context.service.access.partnerIds(db)).toSorted() : [only]
    for (const partnerId of partnerIds.filter((id) => id >= first.partnerId))
      for (const step of partnerId === first.partnerId ? steps.slice(first.step) : steps) {
        await write(`position ${partnerId}/${step}\n`)
        const found = await findDifferences({ db, sealer: context.service.sealer }, partnerId, step)
        findings += found.length
        await write(found.map((finding) => `${findingLine(finding)}\n`).join(''))
        if (found.length >= findingsMax) await write(`the first ${findingsMax} of these\n`)
      }
  }
  await withOwnConnection(context, work, { readsWholeTables: true })
  await write(`${findings} findings\n`)
  if (findings > 0) throw new ConfigError(`operator: ${findings} rows do not agree: docs/operations.md says what to do`)
}

const auditLog = 'auditLog'
const steps: readonly string[] = [...Object.keys(comparisons), auditLog]

/** Reads a position that the command has printed, or the id of a partner. */
function readPosition(text: string): { readonly partnerId: string; readonly step: number } {
  const [partnerId = '', step, ...rest] = text.split('/')
  const at = step === undefined ? 0 : steps.indexOf(step)
  if (at === -1 || rest.length > 0)
    throw new ConfigError('operator: --from is a position that `ledger check` has printed, or the id of a partner')
  return { partnerId, step: at }
}

async function findDifferences(deps: VerifyDeps, partnerId: string, step: string): Promise<readonly Finding[]> {
  const compare = comparisons[step]
  if (compare !== undefined) return compare(deps.db, partnerId, findingsMax)
  const { faults } = await verifyLog(deps, partnerId)
  return faults.map((found) => ({ table: 'audit', key: partnerId, column: 'chain', expected: 'unchanged', found }))
}

const findingLine = ({ table, key, column, expected, found }: Finding): string =>
  `${table} ${key} (${column}): expected ${expected}, found ${found}`

/**
 * Runs work in one snapshot on its own connection, so that its amounts agree although the service books further
 * transfers.
 */
const inSnapshot = (context: Context, work: (tx: Tx) => Promise<void>): Promise<void> =>
  withOwnConnection(context, (db) =>
    db.transaction(async (tx) => {
      await useSnapshot(tx)
      await work(tx)
    }),
  )

/** Runs work on its own connection, whose statements may take up to a day. */
export async function withOwnConnection<T>(
  { config, databaseUrl }: Context,
  work: (db: Database) => Promise<T>,
  options: { readonly readsWholeTables?: boolean } = {},
): Promise<T> {
  const limits = { queryTimeoutMs: dayMs, idleInTransactionMsMax: dayMs, sharded: config.DATABASE_SHARDED, ...options }
  const db = createDatabase({ url: databaseUrl, connectionsMax: 1, log: createLog('silent'), ...limits })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

function accountName(name: string) {
  if (!isAccountName(name))
    throw new ConfigError(
      'operator: --account is balance, suspense, transfers, parts, fees, fx or settlement.CONNECTOR',
    )
  return name
}

/**
 * Writes a statement from one snapshot on its own connection, so that opening balance, lines and closing balance agree
 * although the service books further transfers. The reader of the output may pause for longer than a transaction of the
 * service may last.
 */
async function writeStatement(
  context: Context,
  request: StatementRequest,
  format: StatementFormat,
  write: OutputWriter,
): Promise<void> {
  const { ledger } = context.service
  await inSnapshot(context, async (tx) => {
    const { partnerId, name, currency, from, until } = request
    const row = createRowFormat(format, request.currency)
    let page: StatementPage | undefined
    do {
      const first = page === undefined
      page = await ledger.statement(tx, { ...request, cursor: page?.next })
      if (page === undefined) throw new ConfigError(`operator: the partner has no account ${name} in ${currency}`)
      const opening = first ? [row(titles), row(balanceRow('opening', from, page.opening))] : []
      await write([...opening, ...page.lines.map((line) => row(transferRow(line)))].map((text) => `${text}\n`).join(''))
    } while (page.next !== undefined)
    const accounts = await ledger.balancesAt(tx, partnerId, until)
    const account = accounts.find((each) => each.name === name && each.currency === currency)
    assert(account?.posted === page.closing, 'a statement ends with the balance of its account')
    await write(`${row(balanceRow('closing', until, page.closing))}\n`)
  })
}

type StatementRow = readonly [
  time: string,
  kind: string,
  amount: Minor | string,
  posted: Minor | string,
  counterAccount: string,
  reference: string,
  transferId: string,
  entryId: string,
]

const titles: StatementRow = [
  'time',
  'kind',
  'amount',
  'posted',
  'counter_account',
  'reference',
  'transfer_id',
  'entry_id',
]
const balanceRow = (kind: string, moment: Date | undefined, posted: Minor): StatementRow => [
  moment?.toISOString() ?? '',
  kind,
  '',
  posted,
  '',
  '',
  '',
  '',
]
const transferRow = ({
  at,
  kind,
  amount,
  posted,
  counterAccount,
  reference,
  id,
  entryId,
}: StatementLine): StatementRow => [
  at.toISOString(),
  kind,
  amount,
  posted,
  counterAccount,
  reference,
  id,
  entryId ?? '',
]

/** Column widths, fixed because rows are written one by one. Negative widths are left-aligned. */
const widths = [24, -7, 20, 20, -24, -36, -36, -36]

function createRowFormat(format: StatementFormat, currency: Currency): (row: StatementRow) => string {
  return (row) => {
    const texts = row.map((cell) => (typeof cell === 'bigint' ? amountText(cell, currency) : cell))
    if (format === 'csv') return texts.map(csvAmountCell).join(',')
    const padded = texts.map((text, at) => {
      const width = widths[at] ?? 0
      return width < 0 ? text.padEnd(-width) : text.padStart(width)
    })
    return padded.join('  ').trimEnd()
  }
}

type ReportQuery = Parameters<Context['service']['reconciliation']['report']>[1]

/** Prints a reconciliation report from one snapshot on its own connection. */
async function printReport(
  context: Context,
  wanted: ReportQuery,
  format: 'json' | 'csv',
  write: OutputWriter,
): Promise<void> {
  const { reconciliation } = context.service
  await inSnapshot(context, async (tx) => {
    let lines = 0
    await write(format === 'json' ? '[' : `${reportHead}\n`)
    for await (const page of reconciliation.report(tx, wanted)) {
      const texts = page.map((line) => (format === 'json' ? JSON.stringify(line) : reportLine(line)))
      if (texts.length === 0) continue
      await write(
        format === 'json'
          ? `${lines === 0 ? '\n' : ',\n'}${texts.join(',\n')}`
          : texts.map((text) => `${text}\n`).join(''),
      )
      lines += texts.length
    }
    if (format === 'json') await write('\n]\n')
  })
}

/** Verifies an exported file without a database: its signatures, its sums, and its key. */
export async function verifySafeguarding({ from: file, key }: ParsedOptions<'safeguarding verify'>): Promise<object> {
  const text = await readFile(file, 'utf8').catch(rethrowFileError(file))
  const signed = text.startsWith('[') ? readSignedJson(text) : readSignedCsv(text)
  if (signed === undefined)
    throw new ConfigError(`operator: ${file}: is not an unchanged JSON or CSV export of "safeguarding export"`)
  const faults: string[] = []
  const records = signed.map((each) => {
    const { day, currency, version, status, ...content } = ownJson<SafeguardingContent>(each.content)
    const name = `${day} ${currency}`
    if (!isHeadSigned(each)) faults.push(`${name}: the signature is wrong.`)
    if (key !== undefined && each.publicKey !== key) faults.push(`${name}: signed by another key.`)
    for (const fault of findContradictions({ day, currency, version, status, ...content }))
      faults.push(`${name}: ${fault}`)
    return { day, currency, version, status, digest: contentDigest(each.content), publicKey: each.publicKey }
  })
  if (faults.length > 0) throw new ConfigError(`operator: ${file}: ${faults.join(' ')}`)
  return { isKeyCompared: key !== undefined, records }
}

const SignedFile = Type.Array(
  Type.Object({ content: Type.String(), signature: Type.String(), publicKey: Type.String() }),
  { minItems: 1 },
)
/** Maximum size of an exported file: the records of some years, of a few kilobytes each. */
const signedCharsMax = 256 * 2 ** 20

const readSignedJson = (text: string): readonly SignedContent[] | undefined =>
  parseUntrustedJson(text, SignedFile, signedCharsMax)

const recordView = ({ digest, publicKey, content }: SafeguardingRecord) => ({ digest, publicKey, ...content })

async function readRecords(
  { service, db }: Context,
  { day, currency: only }: ParsedOptions<'safeguarding show'>,
  versions: 'all' | 'last',
) {
  const before = after(new Date(day), dayMs).toISOString().slice(0, 10)
  const last = (await service.safeguarding.list(db, { from: day, before, rowsMax: 100 })).filter(
    ({ currency }) => only === undefined || currency === only,
  )
  if (last.length === 0) throw new ConfigError(`operator: No safeguarding record of ${day}.`)
  if (versions === 'last') return last
  return (await Promise.all(last.map(({ currency }) => service.safeguarding.versions(db, day, currency)))).flat()
}

/** Values an amount in cents, rounded towards zero. Undefined if the sheet has no rate for the currency. */
function valueInEuros(
  { quotes }: StoredSheet,
  currency: Currency,
  minor: Minor,
): { readonly midRate: string; readonly minor: Minor } | undefined {
  if (currency === 'EUR') return { midRate: '1', minor }
  const rate = findMidRate(quotes, 'EUR', currency)
  if (rate === undefined) return undefined
  const over = minor * 10n ** BigInt(rate.scale + currencies.EUR.digits)
  return { midRate: formatRate(rate), minor: over / (rate.digits * 10n ** BigInt(currencies[currency].digits)) }
}

const blockStates = { both: 'Blocked', inbound: 'BlockedInbound', outbound: 'BlockedOutbound' } as const

/**
 * Changes the state of an account. After a block it cancels the pending payouts; payouts that a worker has already
 * started continue. Before an unblock it completes these cancellations, because afterwards they would also hit newly
 * accepted payouts.
 */
async function changeState(
  context: Context,
  options: StateOptions,
  call: CommandCall,
  state: AccountState,
): Promise<object> {
  const { accounts, cancellations, customers } = context.service
  const { partner: partnerId, staff, reason } = options
  const account = readAccount(options)
  const note = String(call.typed['note'] ?? '')
  const cancelled = async () => {
    const of =
      'currency' in account
        ? { ...account, customerId: null }
        : { currency: null, customerId: (await customers.find(context.db, partnerId, account.customerRef)).id }
    return cancellations.finish(partnerId, of)
  }
  if (!blocksOutbound(state)) await cancelled()
  const told = await runChange(context, call, async (tx) => {
    const changed = await accounts.changeState(tx, { partnerId, account, state, reason, note, staff })
    return changed === undefined ? { state, unchanged: true } : stateView(changed)
  })
  if (!blocksOutbound(state)) return told
  return { ...told, cancelledPayouts: await cancelled() }
}

type StateOptions = ParsedOptions<'account unblock'>

function readAccount({ currency, customer }: StateOptions): AccountRef {
  if (currency !== undefined && customer === undefined) return { currency }
  if (customer !== undefined && currency === undefined) return { customerRef: customer }
  throw new ConfigError('operator: name --currency for a balance, or --customer for the account of a customer')
}

const stateView = ({ fromState: from, toState: state, ...row }: StateChange): Readonly<Record<string, unknown>> => ({
  ...row,
  from,
  state,
})
