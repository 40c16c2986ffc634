/** The environment of the bench, read once here and passed on as plain values. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const { env } = process

export const databaseUrl: string | undefined = env['DATABASE_URL'] || undefined
export const cores = availableParallelism()
/** The only variables of the user's environment that measured processes get. */
export const baseEnv: Readonly<Record<string, string>> = {
  PATH: env['PATH'] ?? '',
  ...(env['SYSTEMROOT'] === undefined ? {} : { SYSTEMROOT: env['SYSTEMROOT'] }),
}

/** Undefined if `pgbench` is not on the PATH; the rows that need it are skipped. */
export function findPgbench(): string | undefined {
  const { status, stdout } = spawnSync('pgbench', ['--version'], { env: baseEnv, encoding: 'utf8' })
  return status === 0 ? stdout.trim().replace(/ \(.*/, '') : undefined
}
