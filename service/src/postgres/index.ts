/** PostgreSQL: the pool, the `sql` tag, the transaction, migrations and the embedded server. Nobody else imports `pg`. */
export * from './database.ts'
export * from './errors.ts'
export * from './migrate.ts'
export * from './sql.ts'
export type { Row, Tx } from './tx.ts'
export * from './once.ts'
export { EmbeddedPostgresError, findRunningPostgres, startEmbeddedPostgres } from './embedded.ts'
export * from './batch.ts'
