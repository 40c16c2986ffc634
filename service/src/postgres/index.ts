/** PostgreSQL: pools, transactions, the `sql` tag, migrations and the embedded server (README.md). Only this folder imports `pg`. */
export * from './database.ts'
export * from './errors.ts'
export * from './migrate.ts'
export * from './sql.ts'
export * from './given.ts'
export { oldestTransactionStart, analyseGrownTables } from './statistics.ts'
export type { Tx } from './tx.ts'
export * from './once.ts'
export {
  createBackup,
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  findRunningPostgres,
  hasCluster,
  restoreBackup,
  startEmbeddedPostgres,
} from './embedded/index.ts'
export * from './batch.ts'
export * from './partitions.ts'
export * from './partner-rows.ts'
export * from './personal-columns.ts'
