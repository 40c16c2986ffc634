/** What this machine and its user give the bench: read here once, handed on as plain values. */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const { env } = process

export const databaseUrl: string | undefined = env['DATABASE_URL'] || undefined
export const cores = availableParallelism()
/** Nothing else of the user's environment reaches a measured process. */
export const baseEnv: Readonly<Record<string, string>> = {
  PATH: env['PATH'] ?? '',
  ...(env['SYSTEMROOT'] === undefined ? {} : { SYSTEMROOT: env['SYSTEMROOT'] }),
}

/** Undefined where there is no `pgbench` on the PATH: the rows that need it say so. */
export function findPgbench(): string | undefined {
  const { status, stdout } = spawnSync('pgbench', ['--version'], { env: baseEnv, encoding: 'utf8' })
  return status === 0 ? stdout.trim().replace(/ \(.*/, '') : undefined
}
