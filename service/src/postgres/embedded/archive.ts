/**
 * The backup folder: `wal` holds the archived write-ahead log, `base` the copies of the cluster, `owner` the id of the data
 * folder that writes there.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '../../kernel/index.ts'
import { EmbeddedPostgresError, reasonOf } from './process.ts'
import type { UserIds } from './launch.ts'

/** A segment is archived when it is full, or after this time if it has changes. */
const archiveTimeoutSeconds = 60
/** The command of PostgreSQL quotes the path, and `%` begins a placeholder. */
const safePath = /^[^'"`$\\%\n]+$/

export const walFolder = (backupDir: string): string => join(backupDir, 'wal')
export const baseFolder = (backupDir: string): string => join(backupDir, 'base')

const readId = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined)

/**
 * Two databases in one folder would overwrite each other's log, also a database and its restored copy: both number their
 * segments alike. So a backup folder belongs to one data folder.
 */
const claim = (dataDir: string, backupDir: string): void => {
  const [idPath, ownerPath] = [join(dataDir, 'backup-id'), join(backupDir, 'owner')]
  const owner = readId(ownerPath)
  const id = readId(idPath) ?? newId()
  if (owner !== undefined && owner !== id) {
    const advice = 'set BACKUP_DIR to an empty folder; after a restore this is always necessary'
    throw new EmbeddedPostgresError(`BACKUP_DIR ${backupDir} belongs to another database: ${advice}`)
  }
  writeFileSync(idPath, `${id}\n`)
  if (owner === undefined) writeFileSync(ownerPath, `${id}\n`)
}

/** Creates the folders, so that the user of the server can write the archive. Returns the server's parameters. */
export const prepareArchive = (dataDir: string, backupDir: string, ids: UserIds | undefined): readonly string[] => {
  if (!safePath.test(backupDir))
    throw new EmbeddedPostgresError(`BACKUP_DIR ${backupDir} must have no quotes, backslashes, $ or %`)
  try {
    for (const folder of [walFolder(backupDir), baseFolder(backupDir)]) mkdirSync(folder, { recursive: true })
    chmodSync(baseFolder(backupDir), 0o700)
    if (ids) chownSync(walFolder(backupDir), ids.uid, ids.gid)
    chmodSync(walFolder(backupDir), 0o700)
    claim(dataDir, backupDir)
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(`BACKUP_DIR ${backupDir} cannot be used: ${reasonOf(cause)}`, { cause })
  }
  const target = `"${walFolder(backupDir)}/%f"`
  const draft = `"${walFolder(backupDir)}/%f.part"`
  // After a crash the server repeats the last segment: the same content is a success, another content never is.
  const command = `if test -f ${target}; then cmp -s "%p" ${target}; else cp "%p" ${draft} && sync ${draft} && mv ${draft} ${target}; fi`
  return ['archive_mode=on', `archive_command=${command}`, `archive_timeout=${archiveTimeoutSeconds}`]
}
