/** Commands for the installation: master keys, backups of the embedded database, verification of audit logs. */
import { resolve } from 'node:path'
import { deleteOtherKeys, masterKeys } from '../access/index.ts'
import { type Config, ConfigError, makeDataDir } from '../app/config.ts'
import { verifyLog } from '../audit/index.ts'
import { masterKeyId } from '../kernel/index.ts'
import { staffRealmId } from '../people/staff/index.ts'
import {
  countByKey,
  createBackup,
  replaceValues,
  restoreBackup,
  type SealedColumn,
  sealedColumnName,
  listValuesUnderOtherKeys,
} from '../postgres/index.ts'
import { type CommandFunctions, type Context, recordCommand } from './context.ts'
import type { ParsedOptions } from './declarations.ts'

export const keyCommands: CommandFunctions<`${'key' | 'audit'} ${string}` | 'backup create'> = {
  'key list': async ({ service, db, config }) => {
    const configured = config.MASTER_KEY.map(masterKeyId)
    const counts = await countsByKey(service.sealedColumns, db)
    const recorded = await masterKeys(db)
    return recorded.map(({ keyId, createdAt }) => ({
      keyId,
      use: configured[0] === keyId ? 'seals' : configured.includes(keyId) ? 'opens' : 'not configured',
      createdAt,
      values: counts.get(keyId) ?? {},
    }))
  },

  /** Reseals all values under the first key. The command may be interrupted and repeated. */
  'key reseal': async ({ service, db, config }, _options, call) => {
    // The command runs many transactions, so its record states that it started.
    await db.transaction((tx) => recordCommand(service, tx, call))
    const keyId = masterKeyId(config.MASTER_KEY[0])
    const { sealedColumns } = service
    const resealed: Record<string, number> = Object.fromEntries(
      sealedColumns.map((column) => [sealedColumnName(column), 0]),
    )
    for (let walk = 0; walk < walksMax; walk += 1) {
      for (const column of sealedColumns) {
        const name = sealedColumnName(column)
        for (const partnerId of [...(await service.access.partnerIds(db)), staffRealmId])
          resealed[name] = (resealed[name] ?? 0) + (await resealPartner(service, db, column, partnerId, keyId))
      }
      const others = [...(await countsByKey(sealedColumns, db)).keys()].filter((other) => other !== keyId)
      if (others.length === 0) return { keyId, resealed, forgottenKeys: await deleteOtherKeys(db, keyId) }
    }
    throw new ConfigError('operator: a process still seals under an earlier key: restart all processes and repeat')
  },

  'backup create': async ({ config, databaseUrl }) => {
    refuseExternal(config)
    if (config.BACKUP_DIR === undefined)
      throw new ConfigError(
        'operator: set BACKUP_DIR to a folder outside DATA_DIR, such as BACKUP_DIR=/var/backups/payments',
      )
    return createBackup({ url: databaseUrl, dataDir: config.DATA_DIR, backupDir: config.BACKUP_DIR })
  },

  /** Verifies audit logs. Fails if it finds a fault, so that the exit status shows it. */
  'audit verify': async ({ service, db }, { partner }) => {
    const partnerIds = partner === undefined ? await service.access.partnerIds(db) : [partner]
    const verified = []
    for (const partnerId of partnerIds) verified.push(await verifyLog({ db, sealer: service.sealer }, partnerId))
    const wrong = verified.filter(({ faults }) => faults.length > 0)
    if (wrong.length > 0) throw new ConfigError(`operator: the audit log was changed: ${JSON.stringify(wrong)}`)
    return verified
  },
}

const rowsPerStep = 500
/** Maximum passes over all values. More than one is needed if a running service seals values after the pass. */
const walksMax = 3

/** Reseals the values of one partner, in batches of one statement each. Returns their number. */
async function resealPartner(
  { sealer }: Context['service'],
  db: Context['db'],
  column: SealedColumn,
  partnerId: string,
  keyId: string,
): Promise<number> {
  let count = 0
  for (let after = {}; ;) {
    const rows = await listValuesUnderOtherKeys(db, column, partnerId, { keyId, ...after, rowsMax: rowsPerStep })
    const last = rows.at(-1)
    if (last === undefined) return count
    const values = rows.map(({ id, sealed, context }) => {
      return { id, sealed, resealed: sealer.seal(sealer.open(sealed, context), context) }
    })
    count += await replaceValues(db, column, partnerId, values)
    after = { afterId: last.id }
  }
}

async function countsByKey(
  columns: readonly SealedColumn[],
  db: Context['db'],
): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
  const counts = new Map<string, Record<string, number>>()
  for (const column of columns)
    for (const { keyId, count } of await countByKey(db, column)) {
      const ofKey = counts.get(keyId) ?? {}
      ofKey[sealedColumnName(column)] = Number(count)
      counts.set(keyId, ofKey)
    }
  return counts
}

const refuseExternal = ({ DATABASE_URL }: Config) => {
  if (DATABASE_URL !== undefined)
    throw new ConfigError(
      'operator: backup commands are for the embedded database; for DATABASE_URL use the tools of PostgreSQL (docs/runbooks/backup-restore.md)',
    )
}

/** Restores the embedded database. Runs before a database is opened. */
export async function restoreDatabase(
  config: Config,
  { from, until }: ParsedOptions<'backup restore'>,
): Promise<object> {
  refuseExternal(config)
  makeDataDir(config.DATA_DIR)
  return restoreBackup({ dataDir: config.DATA_DIR, backupDir: resolve(from), until })
}
