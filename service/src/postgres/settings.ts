import { resolve } from 'node:path'
import { integer, onOff, type Settings, url } from '../kernel/index.ts'

export const databaseSettings = {
  DATABASE_URL: {
    default: 'embedded',
    description: 'URL of an external PostgreSQL (15 or newer) instead of the embedded one',
    secret: true,
    read: url(['postgres', 'postgresql']),
  },
  DATABASE_CONNECTIONS_MAX: {
    default: '20',
    description: 'Database connections of each process',
    read: integer(2, 1000, 20),
  },
  DATABASE_SHARDED: {
    default: 'off',
    description: '`on`: the database is sharded by partner (Citus). Required there: docs/scale.md',
    read: onOff('off'),
  },
  MIGRATE_CONTRACT: {
    default: 'off',
    description:
      '`on`: also apply the migrations that drop what only the version before uses. Set it when no process of that version runs; with the embedded database they are always applied',
    read: onOff('off'),
  },
  BACKUP_DIR: {
    default: 'none',
    description:
      'Folder for backups of the embedded database and for its archived log, which restore it to any time. On another disk',
    read: (text: string | undefined) => (text === undefined ? undefined : resolve(text)),
  },
} as const satisfies Settings
