/** Commands that move a partner out of one cell and into another. */
import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ownJson } from '@partner-payments/wire'
import { credentialTtlMs } from '../access/index.ts'
import { Refusal, Unreachable } from '../kernel/api/index.ts'
import { ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import {
  assert,
  createLog,
  createSealer,
  dayMs,
  deriveKey,
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
  useSnapshot,
  readPartnerRows,
  schemaNumber,
  type SealedColumn,
  sqlState,
  sqlStateOf,
  type TextRow,
  type Tx,
} from '../postgres/index.ts'
import { type Context, type CommandFunctions, rethrowFileError, recordCommand } from './context.ts'

/** Lock timeout of a move: longer than the transactions of the service, which it waits for. */
const lockTimeoutMs = 30 * secondMs
/** Time in which every process reloads the closed credentials and completes the requests that it has accepted. */
const closeMs = credentialTtlMs + secondMs
const rowsPerInsertMax = 200

export const moveCommands: CommandFunctions<'partner export' | 'partner import'> = {
  /**
   * The order matters: the file is complete on the disk before the removal is committed. After any crash the partner is
   * in its cell, in the file, or in both. If in both, its credentials stay closed until the export is repeated.
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
      if (!removes) await db.transaction((tx) => recordCommand(service, tx, call))
      if (!removes) return { ...summary(move), rows: await db.transaction((tx) => writeFile(context, tx, move)) }
      await db.transaction(async (tx) => {
        await service.closePartner(tx, partnerId)
        // This record is exported with the partner. The operator's log retains the removal.
        await recordCommand(service, tx, call)
        await recordCommand(service, tx, { ...call, partnerId: operatorPartnerId, made: { partnerId } })
      })
      await pause(closeMs)
      try {
        return { ...summary(move), rows: await db.transaction((tx) => writeFile(context, tx, move)) }
      } catch (error) {
        throw await undoRemoval(context, db, move, error)
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
      await requireNoPartner(context, db, header, path)
      const { partnerId, name, cell: from } = header
      const rows = await db
        .transaction(async (tx) => {
          const inserted = await readFileInto(context, tx, path, key)
          await recordCommand(context.service, tx, { ...call, partnerId })
          return inserted
        })
        .catch((error: unknown) => {
          throw sqlStateOf(error) === sqlState.uniqueViolation ? partnerExists(partnerId) : error
        })
      return { partnerId, name, from, cell: context.config.CELL ?? null, rows }
    })
  },
}

type PartnerMove = {
  readonly partnerId: string
  readonly name: string
  readonly path: string
  readonly key: Buffer
  readonly removes: boolean
}

const summary = ({ partnerId, name, path, removes }: PartnerMove) => ({ partnerId, name, file: path, removed: removes })

async function readKey(file: string): Promise<Buffer> {
  const text = await readFile(file, 'utf8').catch(rethrowFileError(`--key-file ${file}`))
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length === masterKeyBytes) return key
  throw new ConfigError(
    `operator: --key-file ${file} must hold ${masterKeyBytes} bytes in Base64 (openssl rand -base64 32)`,
  )
}

/** Runs work on a connection with long limits, because a statement over all rows of a partner takes longer than a request may. */
async function withLongStatements<T>({ config, databaseUrl }: Context, work: (db: Database) => Promise<T>): Promise<T> {
  if (config.DATABASE_SHARDED)
    throw new ConfigError('operator: partners of a sharded database cannot be exported or imported')
  const limits = { queryTimeoutMs: dayMs, idleInTransactionMsMax: dayMs, lockTimeoutMs }
  const db = createDatabase({ url: databaseUrl, connectionsMax: 2, log: createLog('silent'), ...limits })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Writes the file of a partner. Returns the number of rows by table. */
async function writeFile(
  { service, config }: Context,
  tx: Tx,
  move: PartnerMove,
): Promise<Readonly<Record<string, number>>> {
  const { partnerId, name, path, key, removes } = move
  if (!removes) await useSnapshot(tx)
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
    if (removes) requireEqualCounts(await deletePartnerRows(tx, tables, partnerId), rows)
    await file.complete(rows)
  })
  return rows
}

function requireEqualCounts(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): void {
  const table = Object.keys({ ...one, ...other }).find((name) => one[name] !== other[name])
  if (table !== undefined)
    throw new ConfigError(`operator: the rows of ${table} changed during the command, which had no effect: repeat it`)
}

/**
 * Undoes a failed removal. If the outcome of the removal is unknown, the file stays, because it may hold the only copy
 * of the partner.
 */
async function undoRemoval(
  { service }: Context,
  db: Database,
  { partnerId, path }: PartnerMove,
  error: unknown,
): Promise<unknown> {
  if (error instanceof Unreachable)
    return new ConfigError(
      `operator: the database did not answer. Run partner list: if the partner is gone, ${path} holds its rows; otherwise remove the file and repeat the export`,
    )
  await rm(path, { force: true })
  await db.transaction((tx) => service.openPartner(tx, partnerId))
  return error
}

/** Throws a ConfigError if the partner exists in this cell, or if the file has another schema. */
async function requireNoPartner({ service }: Context, db: Database, { partnerId, schema }: FileHeader, path: string) {
  const own = await schemaNumber(db)
  if (schema !== own)
    throw new ConfigError(
      `operator: --from ${path} is of migration ${schema}, this database of ${own}: both cells need the same version`,
    )
  if ((await service.access.partnerName(db, partnerId)) !== '') throw partnerExists(partnerId)
}

const partnerExists = (partnerId: string) =>
  new ConfigError(`operator: the partner ${partnerId} is in this cell already`)

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
          `no table ${name} in this cell`,
        )
        assert(String(columns) === String(columnNames(table)), 'both cells have the same columns')
        reseal = createReseal(service.sealedColumns, table, partnerId, createSealer([key]), service.sealer)
      },
      row: async (row) => {
        waiting.push(reseal(row))
        if (waiting.length >= rowsPerInsertMax) await flush()
      },
      end: flush,
    }
  })
  requireEqualCounts(inserted, rows)
  await service.openPartner(tx, header.partnerId)
  return inserted
}

const columnNames = ({ columns }: PartnerTable): readonly string[] => columns.map(({ name }) => name)

type Reseal = (row: TextRow) => TextRow

/** Opens the sealed values of a row and seals them again, for the same row. */
function createReseal(
  sealedColumns: readonly SealedColumn[],
  table: PartnerTable,
  partnerId: string,
  from: Sealer,
  to: Sealer,
): Reseal {
  const names = columnNames(table)
  const sealed = new Map(
    sealedColumns.flatMap((declared) =>
      declared.table === table.name ? [[names.indexOf(declared.column), declared.contextOf] as const] : [],
    ),
  )
  const missing = names.find((name, at) => name.endsWith('_sealed') && !sealed.has(at))
  assert(missing === undefined, 'every sealed column is in the list of the composition root')
  if (sealed.size === 0) return (row) => row
  return (row) => {
    const cell = (column: string) => present(row[names.indexOf(column)], `no value of ${table.name}.${column}`)
    return row.map((value, at) => {
      const contextOf = sealed.get(at)
      if (contextOf === undefined || value === null) return value
      const context = contextOf(partnerId, cell)
      // The text form of bytes is `\\x` and hexadecimal digits.
      return `\\x${to.seal(from.open(Buffer.from(value.slice(2), 'hex'), context), context).toString('hex')}`
    })
  }
}

type FileHeader = {
  readonly format: typeof format
  /** The number of the latest migration. */
  readonly schema: number
  readonly partnerId: string
  readonly name: string
  readonly cell: string | null
  readonly exportedAt: string
  /** True if the export removed the partner from its cell. */
  readonly removed: boolean
  /** Id of the key that seals the values in the file. */
  readonly keyId: string
}
type TableLine = { readonly table: string; readonly columns: readonly string[] }
type FileTrailer = { readonly rows: Readonly<Record<string, number>>; readonly code: string }
type FileLine = FileHeader | TableLine | TextRow | FileTrailer

const format = 1
const bytesPerWrite = 65_536
const lineFeed = 0x0a

const createFileCode = (key: Buffer): Hmac => createHmac('sha256', deriveKey(key, 'partner-file'))

type PartnerFileWriter = {
  readonly add: (line: FileHeader | TableLine | TextRow) => Promise<void>
  /** Flushes the file to the disk and gives it its final name. */
  readonly complete: (rows: FileTrailer['rows']) => Promise<void>
}

/** Writes under a temporary name until `complete`. Removes the remains of an earlier attempt. */
async function writePartnerFile(
  path: string,
  key: Buffer,
  work: (writer: PartnerFileWriter) => Promise<void>,
): Promise<void> {
  const part = `${path}.part`
  await rm(part, { force: true })
  const handle = await open(part, 'wx', 0o600).catch((error: Error) => {
    throw new ConfigError(`operator: --to ${path} cannot be written: ${error.message}`)
  })
  try {
    await work(createWriter(handle, key, path))
  } finally {
    await handle.close()
    await rm(part, { force: true })
  }
}

function createWriter(handle: FileHandle, key: Buffer, path: string): PartnerFileWriter {
  const code = createFileCode(key)
  let waiting: string[] = []
  let chars = 0
  const flush = async () => {
    const bytes = Buffer.from(waiting.join(''))
    ;[waiting, chars] = [[], 0]
    code.update(bytes)
    await handle.writeFile(bytes)
  }
  return {
    add: async (line) => {
      const text = `${JSON.stringify(line)}\n`
      waiting.push(text)
      chars += text.length
      if (chars >= bytesPerWrite) await flush()
    },
    complete: async (rows) => {
      await flush()
      await handle.writeFile(`${JSON.stringify({ rows, code: code.digest('base64') } satisfies FileTrailer)}\n`)
      await handle.sync()
      await rename(`${path}.part`, path)
      const folder = await open(dirname(resolve(path)))
      try {
        await folder.sync()
      } finally {
        await folder.close()
      }
    },
  }
}

type PartnerFileReader = {
  readonly table: (table: TableLine) => Promise<void>
  readonly row: (row: TextRow) => Promise<void>
  readonly end: () => Promise<void>
}

const fileError = (path: string, reason: string) => new ConfigError(`operator: --from ${path} ${reason}`)

/**
 * Reads the whole file. Throws a ConfigError if it is incomplete or changed, or has another key. The caller must then
 * roll back what the reader has written.
 */
async function readPartnerFile(
  path: string,
  key: Buffer,
  readerOf?: (header: FileHeader) => PartnerFileReader,
): Promise<{ readonly header: FileHeader; readonly rows: FileTrailer['rows'] }> {
  const code = createFileCode(key)
  let header: FileHeader | undefined
  let reader: PartnerFileReader | undefined
  let trailer: FileTrailer | undefined
  for await (const bytes of readLines(path)) {
    const line = parse(path, bytes)
    if (header === undefined) {
      header = requireHeader(path, line, key)
      reader = readerOf?.(header)
    } else if (trailer !== undefined) throw fileError(path, 'was changed: it continues after its end')
    else if (isRow(line)) await reader?.row(line)
    else if ('table' in line) await reader?.table(line)
    else if ('code' in line) {
      trailer = line
      await reader?.end()
      continue
    }
    code.update(bytes)
  }
  if (header === undefined || trailer === undefined) throw fileError(path, 'is incomplete: export the partner again')
  const [expected, found] = [code.digest(), Buffer.from(String(trailer.code), 'base64')]
  if (expected.length !== found.length || !timingSafeEqual(expected, found))
    throw fileError(path, 'was changed after the export')
  return { header, rows: trailer.rows }
}

const isRow = (line: FileLine): line is TextRow => Array.isArray(line)

function requireHeader(path: string, line: FileLine, key: Buffer): FileHeader {
  if (!('format' in line) || !('keyId' in line)) throw fileError(path, 'is not the file of a partner')
  if (line.format !== format) throw fileError(path, `has format ${String(line.format)}; this version reads ${format}`)
  if (line.keyId !== masterKeyId(key)) throw fileError(path, 'was written under another key: see --key-file')
  return line
}

/** Reads lines with their line feeds. An incomplete last line is left out. */
async function* readLines(path: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      let from = 0
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, at + 1)])
        parts = []
        from = at + 1
      }
      parts.push(chunk.subarray(from))
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === undefined ? error : fileError(path, `cannot be read: ${message}`)
  }
}

function parse(path: string, bytes: Buffer): FileLine {
  try {
    const line = ownJson<FileLine | null>(bytes.toString('utf8'))
    if (typeof line === 'object' && line !== null) return line
  } catch {
    // Refused below, like every line that does not belong to the file.
  }
  throw fileError(path, 'was changed: it has a line that cannot be read')
}
