/** Restores a base backup into an empty data folder and replays the archived log, to its end or up to a time. */
import { existsSync } from 'node:fs'
import { chmod, copyFile, cp, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownJson } from '@partner-payments/wire'
import pg from 'pg'
import { baseFolder, walFolder } from './archive.ts'
import { errorCode, EmbeddedPostgresError, errorReason, until } from './process.ts'
import { startEmbeddedPostgres } from './start.ts'

type RestoreResult = {
  readonly backup: string
  readonly until: string | null
  /** The commit time of the last transaction that was replayed; null if the log has none. */
  readonly lastTransactionAt: string | null
}

/**
 * Folder of the WAL copy, relative to the cluster. It is in the data folder because the server may not be permitted
 * to read the backup folder.
 */
const walCopy = 'restored-wal'
const targetNotReached = /recovery ended before configured recovery target was reached/

async function readBackups(backupDir: string): Promise<readonly Backup[]> {
  const names = await readdir(baseFolder(backupDir)).catch((error: Error) => {
    throw new EmbeddedPostgresError(`${backupDir} is not a backup folder: ${errorReason(error)}`)
  })
  const complete = names.filter((name) => existsSync(join(baseFolder(backupDir), name, manifestName))).toSorted()
  return Promise.all(
    complete.map(async (name) => {
      return ownJson<Backup>(await readFile(join(baseFolder(backupDir), name, manifestName), 'utf8'))
    }),
  )
}

async function chooseBackup(backupDir: string, until: Date | undefined): Promise<Backup> {
  const backups = await readBackups(backupDir)
  const chosen = backups.findLast(({ endedAt }) => until === undefined || new Date(endedAt) <= until)
  if (chosen !== undefined) return chosen
  const first = backups[0]
  throw new EmbeddedPostgresError(
    first === undefined
      ? `${backupDir} has no backup`
      : `${backupDir} has no backup from before ${until?.toISOString()}: the first backup ended at ${first.endedAt}`,
  )
}

/** Copies the cluster, its password and the log since the start of the backup. */
async function copyBackup(backupDir: string, backup: Backup, dataDir: string): Promise<void> {
  const base = join(baseFolder(backupDir), backup.name)
  const draft = join(dataDir, 'postgres.new-restored')
  await rm(draft, { recursive: true, force: true })
  await cp(join(base, 'cluster'), draft, { recursive: true })
  await writeFile(join(draft, 'recovery.signal'), '', { mode: 0o600 })
  const wal = join(draft, walCopy)
  await mkdir(wal)
  for (const name of await readdir(walFolder(backupDir)))
    if (!name.endsWith('.part') && (name >= backup.startWal || name.endsWith('.history')))
      await copyFile(join(walFolder(backupDir), name), join(wal, name))
  await copyFile(join(base, 'postgres-password'), join(dataDir, 'postgres-password'))
  await rename(draft, join(dataDir, 'postgres'))
}

const recoveryParameters = (until: Date | undefined): readonly string[] => [
  `restore_command=cp "${walCopy}/%f" "%p"`,
  // The server is ready only when the recovery has ended.
  'hot_standby=off',
  'recovery_target_action=promote',
  // PostgreSQL reads the value before it has loaded the names of time zones, so that it refuses `Z`.
  ...(until === undefined ? [] : [`recovery_target_time=${until.toISOString().replace('Z', '+00')}`]),
]

async function readLastTransaction(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ at: Date | null }>('select pg_last_xact_replay_timestamp() as at')
    return rows[0]?.at?.toISOString() ?? null
  } finally {
    await client.end()
  }
}

/** Throws an EmbeddedPostgresError and leaves the data folder without a cluster if the backup cannot be restored. */
export async function restoreBackup(options: {
  readonly dataDir: string
  readonly backupDir: string
  /** Time up to which the log is replayed. Undefined: the end of the archived log. */
  readonly until: Date | undefined
}): Promise<RestoreResult> {
  const { dataDir, backupDir, until } = options
  const cluster = join(dataDir, 'postgres')
  if (existsSync(cluster))
    throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} has a database: restore into an empty folder`)
  const backup = await chooseBackup(backupDir, until)
  try {
    await copyBackup(backupDir, backup, dataDir)
    const server = await startEmbeddedPostgres({ dataDir, durable: true, parameters: recoveryParameters(until) })
    try {
      const lastTransactionAt = await readLastTransaction(server.url)
      return { backup: backup.name, until: until?.toISOString() ?? null, lastTransactionAt }
    } finally {
      await server.stop()
      await rm(join(cluster, walCopy), { recursive: true, force: true })
    }
  } catch (error) {
    await rm(cluster, { recursive: true, force: true })
    await rm(join(dataDir, 'postgres-password'), { force: true })
    if (!targetNotReached.test(errorReason(error))) throw error
    const advice = 'choose an earlier time, or restore without --until to the end of the log'
    throw new EmbeddedPostgresError(`the archived log ends before ${until?.toISOString()}: ${advice}`, { cause: error })
  }
}

// Copies the running cluster between `pg_backup_start` and `pg_backup_stop`. With the archived log since its start, the
// copy can be restored to any later time. The npm package of PostgreSQL has no `pg_basebackup`.

type Backup = {
  /** Name of the backup's folder in `base`. */
  readonly name: string
  /** The earliest time to which the backup can be restored. */
  readonly endedAt: string
  readonly startWal: string
  readonly stopWal: string
  readonly postgres: string
  readonly files: number
  readonly bytes: number
}

const manifestName = 'manifest.json'
const archivedMsMax = 120_000
/** Folders whose contents are not copied (PostgreSQL's documentation, "Making a Base Backup"). */
const emptyFolders = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const skipped =
  /^(?:postmaster\.(?:pid|opts)|backup_label(?:\.old)?|tablespace_map|(?:recovery|standby)\.signal|pg_internal\.init.*|pgsql_tmp.*)$/

type CopySize = { readonly files: number; readonly bytes: number }

/** Copies a folder and flushes each file. Skips files that the server deletes meanwhile: the log has their changes. */
async function copyFolder(from: string, to: string, isTop: boolean): Promise<CopySize> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  let [files, bytes] = [0, 0]
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (skipped.test(entry.name)) continue
    if (entry.isDirectory()) {
      if (isTop && emptyFolders.has(entry.name)) {
        await mkdir(target, { mode: 0o700 })
        continue
      }
      const copied = await copyFolder(source, target, false)
      files += copied.files
      bytes += copied.bytes
    } else if (entry.isFile() && (await copyFlushed(source, target))) {
      files += 1
      bytes += (await lstat(target)).size
    }
  }
  return { files, bytes }
}

/** Copies and flushes a file. Returns false if the server has deleted it. */
async function copyFlushed(source: string, target: string): Promise<boolean> {
  try {
    await copyFile(source, target)
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false
    throw thrown
  }
  await chmod(target, 0o600)
  const file = await open(target, 'r')
  await file.sync()
  await file.close()
  return true
}

async function requireArchiving(client: pg.Client): Promise<void> {
  const mode = await client.query<{ mode: string }>("select current_setting('archive_mode') as mode")
  if (mode.rows[0]?.mode !== 'on')
    throw new EmbeddedPostgresError('the service runs without BACKUP_DIR: set it and restart the service')
}

type BackupEnd = { readonly label: string; readonly endedAt: Date; readonly stopWal: string; readonly postgres: string }

async function stopBackup(client: pg.Client): Promise<BackupEnd> {
  const { rows } = await client.query<BackupEnd>(`
    select labelfile as label, pg_walfile_name(lsn) as "stopWal", clock_timestamp() as "endedAt",
      current_setting('server_version') as postgres
    from pg_backup_stop(false)`)
  const [stopped] = rows
  if (stopped === undefined) throw new EmbeddedPostgresError('PostgreSQL did not end the backup')
  return stopped
}

/** Waits until the log up to the end of the backup is archived. The copy cannot be restored without it. */
async function waitUntilArchived(client: pg.Client, backupDir: string, stopWal: string): Promise<void> {
  if (await until(() => existsSync(join(walFolder(backupDir), stopWal)), archivedMsMax, 50)) return
  const { rows } = await client.query<{ failed: string }>(
    'select coalesce(last_failed_wal, $1) as failed from pg_stat_archiver',
    [stopWal],
  )
  const reason = `PostgreSQL does not archive ${rows[0]?.failed ?? stopWal} into ${walFolder(backupDir)}`
  throw new EmbeddedPostgresError(`${reason}: make the folder writable; see postgres.log`)
}

const compact = (time: string): string => time.replaceAll(/[-:]|\.\d+/g, '')

/** Creates a base backup of the server at `url`, whose cluster is in `dataDir`. */
export async function createBackup(options: {
  readonly url: string
  readonly dataDir: string
  readonly backupDir: string
}): Promise<Backup> {
  const { url, dataDir, backupDir } = options
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const draft = join(baseFolder(backupDir), 'new.part')
  try {
    await requireArchiving(client)
    await rm(draft, { recursive: true, force: true })
    const started = await client.query<{ wal: string }>('select pg_walfile_name(pg_backup_start($1, true)) as wal', [
      'partner-payments',
    ])
    const copied = await copyFolder(join(dataDir, 'postgres'), join(draft, 'cluster'), true)
    const { label, endedAt, stopWal, postgres } = await stopBackup(client)
    await writeFile(join(draft, 'cluster', 'backup_label'), label, { mode: 0o600, flush: true })
    await copyFlushed(join(dataDir, 'postgres-password'), join(draft, 'postgres-password'))
    await waitUntilArchived(client, backupDir, stopWal)
    const time = endedAt.toISOString()
    const name = compact(time)
    const backup = { name, endedAt: time, startWal: started.rows[0]?.wal ?? '', stopWal, postgres, ...copied }
    await writeFile(join(draft, manifestName), `${JSON.stringify(backup, undefined, 2)}\n`, {
      mode: 0o600,
      flush: true,
    })
    await rename(draft, join(baseFolder(backupDir), name))
    return backup
  } finally {
    // Ends an unfinished backup at the server.
    await client.end()
    await rm(draft, { recursive: true, force: true })
  }
}
