/** Restores a base backup into an empty data folder and replays the archived log, to its end or up to a time. */
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownJson } from '@partner-payments/wire'
import pg from 'pg'
import { baseFolder, walFolder } from './archive.ts'
import { type Backup, manifestName } from './backup.ts'
import { EmbeddedPostgresError, reasonOf } from './error.ts'
import { startEmbeddedPostgres } from './start.ts'

export type Restored = {
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
    throw new EmbeddedPostgresError(`${backupDir} is not a backup folder: ${reasonOf(error)}`)
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
      : `${backupDir} has no backup from before ${until?.toISOString()}: the first one ended at ${first.endedAt}`,
  )
}

/** Copies the cluster, its password and the log from the start of the backup on. */
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

async function lastTransactionOf(url: string): Promise<string | null> {
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
  /** Undefined: to the end of the archived log. */
  readonly until: Date | undefined
}): Promise<Restored> {
  const { dataDir, backupDir, until } = options
  const cluster = join(dataDir, 'postgres')
  if (existsSync(cluster))
    throw new EmbeddedPostgresError(`DATA_DIR ${dataDir} has a database: restore into an empty folder`)
  const backup = await chooseBackup(backupDir, until)
  try {
    await copyBackup(backupDir, backup, dataDir)
    const server = await startEmbeddedPostgres({ dataDir, durable: true, parameters: recoveryParameters(until) })
    try {
      const lastTransactionAt = await lastTransactionOf(server.url)
      return { backup: backup.name, until: until?.toISOString() ?? null, lastTransactionAt }
    } finally {
      await server.stop()
      await rm(join(cluster, walCopy), { recursive: true, force: true })
    }
  } catch (error) {
    await rm(cluster, { recursive: true, force: true })
    await rm(join(dataDir, 'postgres-password'), { force: true })
    if (!targetNotReached.test(reasonOf(error))) throw error
    const advice = 'choose an earlier time, or restore without --until to the end of the log'
    throw new EmbeddedPostgresError(`the archived log ends before ${until?.toISOString()}: ${advice}`, { cause: error })
  }
}
