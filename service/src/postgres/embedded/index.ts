/**
 * The PostgreSQL server that ships with the service. The service starts it and stops it; if the service is killed, the server
 * shuts down.
 *
 *   <dataDir>/postgres            the cluster
 *   <dataDir>/postgres-password   the password of the superuser `postgres`
 *   <dataDir>/postgres.log        the server's log
 *   <dataDir>/service.pid         the process that holds the folder
 *   <dataDir>/backup-id           the id of the folder, also in its backup folder
 */
export { createBackup, restoreBackup } from './restore.ts'
export { EmbeddedPostgresError } from './process.ts'

export { type EmbeddedPostgres, findRunningPostgres, hasCluster, startEmbeddedPostgres } from './start.ts'
