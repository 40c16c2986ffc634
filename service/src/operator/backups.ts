/** Commands that back up the embedded database and restore it to a time. */
import { resolve } from 'node:path'
import { type Config, ConfigError, makeDataDir } from '../app/config.ts'
import { createBackup, restoreBackup } from '../postgres/index.ts'
import type { CommandsOf } from './context.ts'
import type { OptionsOf } from './declarations.ts'

const refuseExternal = ({ DATABASE_URL }: Config) => {
  if (DATABASE_URL !== undefined)
    throw new ConfigError(
      'operator: backup commands are for the embedded database; for DATABASE_URL use the tools of PostgreSQL (docs/runbooks/backup-restore.md)',
    )
}

export const backupCommands: CommandsOf<'backup create'> = {
  'backup create': async ({ config, databaseUrl }) => {
    refuseExternal(config)
    if (config.BACKUP_DIR === undefined)
      throw new ConfigError(
        'operator: set BACKUP_DIR to a folder outside DATA_DIR, such as BACKUP_DIR=/var/backups/payments',
      )
    return createBackup({ url: databaseUrl, dataDir: config.DATA_DIR, backupDir: config.BACKUP_DIR })
  },
}

/** Runs before a database is opened. */
export async function restore(config: Config, { from, until }: OptionsOf<'backup restore'>): Promise<object> {
  refuseExternal(config)
  makeDataDir(config.DATA_DIR)
  return restoreBackup({ dataDir: config.DATA_DIR, backupDir: resolve(from), until })
}
