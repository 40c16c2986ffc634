/**
 * The backup folder: `wal` holds the archived write-ahead log, `base` the copies of the cluster, `owner` the id of the data
 * folder that writes there.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newId } from '../../kernel/index.ts'
import { EmbeddedPostgresError, errorReason } from './process.ts'
import type { UserIds } from './launch.ts'

/** A segment is archived when it is full, or after this time if it has changes. */
const archiveTimeoutSeconds = 60
/** The command of PostgreSQL quotes the path, and `%` begins a placeholder. */
const safePath = /^[^'"`$\\%\n]+$/

export const walFolder = (backupDir: string): string => join(backupDir, 'wal')
export const baseFolder = (backupDir: string): string => join(backupDir, 'base')

const readId = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined)

/**
 * Claims the backup folder for one data folder. Two databases in one backup folder would overwrite each other's log, also a database and its
 * restored copy, because both use the same segment numbers.
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

/** Creates folders that the server's user can write to. Returns the server's parameters. */
export const prepareArchive = (dataDir: string, backupDir: string, ids: UserIds | undefined): readonly string[] => {
  if (!safePath.test(backupDir))
    throw new EmbeddedPostgresError(`BACKUP_DIR ${backupDir} must not contain quotes, backslashes, $ or %`)
  try {
    for (const folder of [walFolder(backupDir), baseFolder(backupDir)]) mkdirSync(folder, { recursive: true })
    chmodSync(baseFolder(backupDir), 0o700)
    if (ids) chownSync(walFolder(backupDir), ids.uid, ids.gid)
    chmodSync(walFolder(backupDir), 0o700)
    claim(dataDir, backupDir)
  } catch (cause) {
    if (cause instanceof EmbeddedPostgresError) throw cause
    throw new EmbeddedPostgresError(`BACKUP_DIR ${backupDir} cannot be used: ${errorReason(cause)}`, { cause })
  }
  const target = `"${walFolder(backupDir)}/%f"`
  const draft = `"${walFolder(backupDir)}/%f.part"`
  // After a crash the server archives the last segment again: equal content succeeds, other content fails.
  const command = `if test -f ${target}; then cmp -s "%p" ${target}; else cp "%p" ${draft} && sync ${draft} && mv ${draft} ${target}; fi`
  return ['archive_mode=on', `archive_command=${command}`, `archive_timeout=${archiveTimeoutSeconds}`]
}
