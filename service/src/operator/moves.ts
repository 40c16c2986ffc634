/** Commands that move a partner out of one cell and into another. */
import { readFile, rm, stat } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { credentialTtlMs } from '../access/index.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { ConfigError } from '../app/config.ts'
import {
  assert,
  createLog,
  createSealer,
  dayMs,
  masterKeyBytes,
  masterKeyId,
  present,
  type Sealer,
  secondMs,
  systemClock,
} from '../kernel/index.ts'
import {
  createDatabase,
  type Database,
  deletePartnerRows,
  insertPartnerRows,
  lockPartnerRows,
  type PartnerTable,
  partnerTables,
  readAtOneMoment,
  readPartnerRows,
  schemaNumber,
  sqlState,
  stateOf,
  type SealedColumn,
  type TextRow,
  type Tx,
} from '../postgres/index.ts'
import { record } from './changes.ts'
import type { CommandsOf, Context } from './context.ts'
import { format, type Header, readPartnerFile, writePartnerFile } from './partner-file.ts'

/** Longer than the transactions of the service, which a move waits for. */
const lockTimeoutMs = 30 * secondMs
/** A process reads a credential again after `credentialTtlMs`, and then answers the requests that it has accepted. */
const closeMs = credentialTtlMs + secondMs
const rowsPerInsertMax = 200

export const moveCommands: CommandsOf<'partner export' | 'partner import'> = {
  /**
   * The order matters: the file is complete on the disk before the removal is committed. At any crash the partner is in
   * its cell, or in the file, or in both; in both, its credentials stay closed until the export is repeated.
   */
  'partner export': async (context, options, call) => {
    const { service } = context
    const { partner: partnerId, to: path, remove: removes } = options
    const key = await readKey(options['key-file'])
    if (await stat(path).catch(() => undefined)) throw new ConfigError(`operator: --to ${path} exists`)
    return withLongStatements(context, async (db) => {
      const name = await service.access.partnerName(db, partnerId)
      if (name === '') throw new Refusal('not_found', 'No such partner.')
      const move = { partnerId, name, path, key, removes }
      if (!removes) await db.transaction((tx) => record(service, tx, call))
      if (!removes) return { ...summary(move), rows: await db.transaction((tx) => writeFile(context, tx, move)) }
      await db.transaction(async (tx) => {
        await service.closePartner(tx, partnerId)
        // This record leaves with the partner. The log of the operator keeps the removal.
        await record(service, tx, call)
        await record(service, tx, { ...call, partnerId: operatorPartnerId, made: { partnerId } })
      })
      await pause(closeMs)
      try {
        return { ...summary(move), rows: await db.transaction((tx) => writeFile(context, tx, move)) }
      } catch (error) {
        throw await undo(context, db, move, error)
      }
    })
  },

  'partner import': async (context, { from: path, 'key-file': keyFile, copy }, call) => {
    const key = await readKey(keyFile)
    // The whole file is checked before the first row is written, and again with the rows that are written.
    const { header } = await readPartnerFile(path, key)
    if (!header.removed && !copy)
      throw new ConfigError(
        `operator: --from ${path} is a copy: the partner is still in its cell. Export it with --remove, or import a copy for tests with --copy`,
      )
    return withLongStatements(context, async (db) => {
      await requireRoom(context, db, header, path)
      const { partnerId, name, cell: from } = header
      const rows = await db
        .transaction(async (tx) => {
          const inserted = await readFileInto(context, tx, path, key)
          await record(context.service, tx, { ...call, partnerId })
          return inserted
        })
        .catch((error: unknown) => {
          throw stateOf(error) === sqlState.uniqueViolation ? isHere(partnerId) : error
        })
      return { partnerId, name, from, cell: context.config.CELL ?? null, rows }
    })
  },
}

type Move = {
  readonly partnerId: string
  readonly name: string
  readonly path: string
  readonly key: Buffer
  readonly removes: boolean
}

const summary = ({ partnerId, name, path, removes }: Move) => ({ partnerId, name, file: path, removed: removes })

async function readKey(file: string): Promise<Buffer> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`operator: --key-file ${file}: ${error.message}`)
  })
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length === masterKeyBytes) return key
  throw new ConfigError(
    `operator: --key-file ${file} must hold ${masterKeyBytes} bytes in Base64 (openssl rand -base64 32)`,
  )
}

/** A partner may have so many rows that a statement takes longer than a request may. */
async function withLongStatements<T>({ config, databaseUrl }: Context, work: (db: Database) => Promise<T>): Promise<T> {
  if (config.DATABASE_SHARDED) throw new ConfigError('operator: a sharded database exports and imports no partners')
  const limits = { queryTimeoutMs: dayMs, idleInTransactionMsMax: dayMs, lockTimeoutMs }
  const db = createDatabase({ url: databaseUrl, connectionsMax: 2, log: createLog('silent'), ...limits })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Returns how many rows of each table it wrote. */
async function writeFile({ service, config }: Context, tx: Tx, move: Move): Promise<Readonly<Record<string, number>>> {
  const { partnerId, name, path, key, removes } = move
  if (!removes) await readAtOneMoment(tx)
  const tables = await partnerTables(tx)
  if (removes) await lockPartnerRows(tx, tables, partnerId)
  const rows: Record<string, number> = {}
  await writePartnerFile(path, key, async (file) => {
    const header = { format, schema: await schemaNumber(tx), partnerId, name, cell: config.CELL ?? null } as const
    const exportedAt = systemClock.now().toISOString()
    await file.add({ ...header, exportedAt, removed: removes, keyId: masterKeyId(key) })
    for (const table of tables) {
      const reseal = createReseal(service.sealedColumns, table, partnerId, service.sealer, createSealer([key]))
      await file.add({ table: table.name, columns: table.columns.map((column) => column.name) })
      rows[table.name] = 0
      for await (const row of readPartnerRows(tx, table, partnerId)) {
        await file.add(reseal(row))
        rows[table.name] = (rows[table.name] ?? 0) + 1
      }
    }
    if (removes) requireEqual(await deletePartnerRows(tx, tables, partnerId), rows)
    await file.complete(rows)
  })
  return rows
}

function requireEqual(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): void {
  const table = Object.keys({ ...one, ...other }).find((name) => one[name] !== other[name])
  if (table !== undefined)
    throw new ConfigError(`operator: the rows of ${table} changed during the command, which had no effect: repeat it`)
}

/** The removal failed. If its outcome is unknown, the file must stay: it may hold the only rows of the partner. */
async function undo({ service }: Context, db: Database, { partnerId, path }: Move, error: unknown): Promise<unknown> {
  if (error instanceof Unreachable)
    return new ConfigError(
      `operator: the database did not answer. Run partner list: if the partner is gone, ${path} holds its rows; otherwise remove the file and repeat the export`,
    )
  await rm(path, { force: true })
  await db.transaction((tx) => service.openPartner(tx, partnerId))
  return error
}

/** Throws a ConfigError if the partner is there, or if the tables may differ from those of the file. */
async function requireRoom({ service }: Context, db: Database, { partnerId, schema }: Header, path: string) {
  const own = await schemaNumber(db)
  if (schema !== own)
    throw new ConfigError(
      `operator: --from ${path} is of migration ${schema}, this database of ${own}: both cells need the same version`,
    )
  if ((await service.access.partnerName(db, partnerId)) !== '') throw isHere(partnerId)
}

const isHere = (partnerId: string) => new ConfigError(`operator: the partner ${partnerId} is in this cell already`)

async function readFileInto({ service }: Context, tx: Tx, path: string, key: Buffer) {
  const tables = await partnerTables(tx)
  const inserted = Object.fromEntries(tables.map(({ name }) => [name, 0]))
  const { header, rows } = await readPartnerFile(path, key, ({ partnerId }) => {
    let table: PartnerTable | undefined
    let reseal: Reseal = (row) => row
    let waiting: TextRow[] = []
    const flush = async () => {
      if (table !== undefined && waiting.length > 0)
        inserted[table.name] = (inserted[table.name] ?? 0) + (await insertPartnerRows(tx, table, waiting))
      waiting = []
    }
    return {
      table: async ({ table: name, columns }) => {
        await flush()
        table = present(
          tables.find((each) => each.name === name),
          'both cells have the same tables',
        )
        assert(String(columns) === String(columnsOf(table)), 'both cells have the same columns')
        reseal = createReseal(service.sealedColumns, table, partnerId, createSealer([key]), service.sealer)
      },
      row: async (row) => {
        waiting.push(reseal(row))
        if (waiting.length >= rowsPerInsertMax) await flush()
      },
      end: flush,
    }
  })
  requireEqual(inserted, rows)
  await service.openPartner(tx, header.partnerId)
  return inserted
}

const columnsOf = ({ columns }: PartnerTable): readonly string[] => columns.map(({ name }) => name)

type Reseal = (row: TextRow) => TextRow

/** Opens the sealed values of a row and seals them again, for the same row. */
function createReseal(
  sealedColumns: readonly SealedColumn[],
  table: PartnerTable,
  partnerId: string,
  from: Sealer,
  to: Sealer,
): Reseal {
  const names = columnsOf(table)
  const sealed = new Map(
    sealedColumns.flatMap((declared) =>
      declared.table === table.name ? [[names.indexOf(declared.column), declared.contextOf] as const] : [],
    ),
  )
  const missing = names.find((name, at) => name.endsWith('_sealed') && !sealed.has(at))
  assert(missing === undefined, 'every sealed column is in the list of the composition root')
  if (sealed.size === 0) return (row) => row
  return (row) => {
    const cell = (column: string) => present(row[names.indexOf(column)], 'a value that names the row')
    return row.map((value, at) => {
      const contextOf = sealed.get(at)
      if (contextOf === undefined || value === null) return value
      const context = contextOf(partnerId, cell)
      // The text form of bytes is `\\x` and hexadecimal digits.
      return `\\x${to.seal(from.open(Buffer.from(value.slice(2), 'hex'), context), context).toString('hex')}`
    })
  }
}
