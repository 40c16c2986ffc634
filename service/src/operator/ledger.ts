/** Commands that read the ledger: balances at a time, the statement of an account, and whether all rows agree. */
import { ConfigError } from '../app/config.ts'
import { amountText, assert, createLog, csvCellOrAmount, type Currency, dayMs, type Minor } from '../kernel/index.ts'
import {
  isAccountName,
  kindOf,
  type StatementLine,
  type StatementPage,
  type StatementRequest,
} from '../ledger/index.ts'
import { verifyLog } from '../audit/index.ts'
import { comparisons, type Finding, findingsMax } from '../ledger/integrity/index.ts'
import { createDatabase, type Database, readAtOneMoment } from '../postgres/index.ts'
import type { CommandsOf, Context, Write } from './context.ts'
import type { OptionsOf } from './declarations.ts'

const linesPerPage = 500
type Format = OptionsOf<'ledger statement'>['format']

export const ledgerCommands: CommandsOf<`ledger ${string}`> = {
  'ledger balances': async ({ service: { ledger }, db }, { partner, at }) => {
    const balances = await ledger.balancesAt(db, partner, at)
    return balances.map(({ name, currency, posted, reserved }) => ({
      account: name,
      currency,
      holds: kindOf(name).holds,
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
      check(context, partner, from, write),
}

/**
 * Prints a line for each finding. A position says where an interrupted command continues: at a comparison of a partner.
 * A finding is an error at the end.
 */
async function check(context: Context, only: string | undefined, from: string, write: Write): Promise<void> {
  const first = readPosition(from)
  let findings = 0
  const work = async (db: Database) => {
    const partnerIds = only === undefined ? (await context.service.access.partnerIds(db)).toSorted() : [only]
    for (const partnerId of partnerIds.filter((id) => id >= first.partnerId))
      for (const step of partnerId === first.partnerId ? steps.slice(first.step) : steps) {
        await write(`position ${partnerId}/${step}\n`)
        const found = await findingsOf(db, partnerId, step)
        findings += found.length
        await write(found.map((finding) => `${lineOfFinding(finding)}\n`).join(''))
        if (found.length >= findingsMax) await write(`the first ${findingsMax} of these\n`)
      }
  }
  await onConnection(context, work, { readsWholeTables: true })
  await write(`${findings} findings\n`)
  if (findings > 0) throw new ConfigError(`operator: ${findings} rows do not agree: docs/operations.md says what to do`)
}

const auditLog = 'auditLog'
/** The steps of a check of one partner. */
const steps: readonly string[] = [...Object.keys(comparisons), auditLog]

/** A position that the command has printed, or the id of a partner. */
function readPosition(text: string): { readonly partnerId: string; readonly step: number } {
  const [partnerId = '', step, ...rest] = text.split('/')
  const at = step === undefined ? 0 : steps.indexOf(step)
  if (at === -1 || rest.length > 0)
    throw new ConfigError('operator: --from is a position that `ledger check` has printed, or the id of a partner')
  return { partnerId, step: at }
}

async function findingsOf(db: Database, partnerId: string, step: string): Promise<readonly Finding[]> {
  const compare = comparisons[step]
  if (compare !== undefined) return compare(db, partnerId, findingsMax)
  const { faults } = await verifyLog(db, partnerId)
  return faults.map((found) => ({ table: 'audit', key: partnerId, column: 'chain', expected: 'unchanged', found }))
}

const lineOfFinding = ({ table, key, column, expected, found }: Finding): string =>
  `${table} ${key} (${column}): expected ${expected}, found ${found}`

/** A connection of its own, whose statements may take as long as they need. */
export async function onConnection<T>(
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
 * All pages are read in one snapshot, on a connection of its own: opening, lines and closing add up while the service books
 * further transfers, and the reader of the output may pause for longer than a transaction of the service may.
 */
async function writeStatement(
  context: Context,
  request: StatementRequest,
  format: Format,
  write: Write,
): Promise<void> {
  const { ledger } = context.service
  await onConnection(context, (db) =>
    db.transaction(async (tx) => {
      await readAtOneMoment(tx)
      const { partnerId, name, currency, from, until } = request
      const row = rowOf(format, request.currency)
      let page: StatementPage | undefined
      do {
        const first = page === undefined
        page = await ledger.statement(tx, { ...request, cursor: page?.next })
        if (page === undefined) throw new ConfigError(`operator: the partner has no account ${name} in ${currency}`)
        const opening = first ? [row(titles), row(edge('opening', from, page.opening))] : []
        await write([...opening, ...page.lines.map((line) => row(lineOf(line)))].map((text) => `${text}\n`).join(''))
      } while (page.next !== undefined)
      const accounts = await ledger.balancesAt(tx, partnerId, until)
      const account = accounts.find((each) => each.name === name && each.currency === currency)
      assert(account?.posted === page.closing, 'a statement ends with the balance of its account')
      await write(`${row(edge('closing', until, page.closing))}\n`)
    }),
  )
}

type Row = readonly [
  time: string,
  kind: string,
  amount: Minor | string,
  posted: Minor | string,
  counterAccount: string,
  reference: string,
  transferId: string,
  entryId: string,
]

const titles: Row = ['time', 'kind', 'amount', 'posted', 'counter_account', 'reference', 'transfer_id', 'entry_id']
const edge = (kind: string, moment: Date | undefined, posted: Minor): Row => [
  moment?.toISOString() ?? '',
  kind,
  '',
  posted,
  '',
  '',
  '',
  '',
]
const lineOf = ({ at, kind, amount, posted, counterAccount, reference, id, entryId }: StatementLine): Row => [
  at.toISOString(),
  kind,
  amount,
  posted,
  counterAccount,
  reference,
  id,
  entryId ?? '',
]

/** Fixed widths, because the following rows are not known yet. Amounts are right-aligned. */
const widths = [24, -7, 20, 20, -24, -36, -36, -36]

function rowOf(format: Format, currency: Currency): (row: Row) => string {
  return (row) => {
    const texts = row.map((cell) => (typeof cell === 'bigint' ? amountText(cell, currency) : cell))
    if (format === 'csv') return texts.map(csvCellOrAmount).join(',')
    const padded = texts.map((text, at) => {
      const width = widths[at] ?? 0
      return width < 0 ? text.padEnd(-width) : text.padStart(width)
    })
    return padded.join('  ').trimEnd()
  }
}
