import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
} from 'node:fs'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { type Ids, launch, type Way } from './launch.ts'
import type { ServerLog } from './log.ts'
import { signal, startOf, until, wasStartedWith } from './process.ts'

const SHUTDOWN_MS_MAX = 30_000
const QUIT_MS_MAX = 10_000

/** An argument that PostgreSQL ignores, and by which a process is known as the server of this folder. */
export const markOf = (cluster: string): string => `partner_payments.cluster=${cluster}`

export type PidFile = { readonly pid: number; readonly port: number; readonly ready: boolean }

/** PostgreSQL's `postmaster.pid`: line 1 the pid, line 4 the port, line 8 the status. */
export const readPidFile = (cluster: string): PidFile | undefined => {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
  } catch {
    return undefined
  }
}

const persist = (path: string): void => {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The superuser's password: made once, before the cluster, so that no cluster is ever without it. */
export const keepPassword = (dataDir: string, cluster: string): string => {
  const path = join(dataDir, 'postgres-password')
  if (existsSync(path)) {
    const kept = readFileSync(path, 'utf8').trim()
    if (kept !== '') return kept
  }
  if (existsSync(cluster)) {
    const advice = `the data in ${cluster} cannot be opened without it: restore that file`
    throw new EmbeddedPostgresError(`${path} is missing or empty, and ${advice}`)
  }
  const password = randomBytes(24).toString('base64url')
  rmSync(path, { force: true })
  writeFileSync(path, `${password}\n`, { mode: 0o600, flag: 'wx' })
  if (process.platform !== 'win32') persist(path)
  return password
}

const own = (path: string, ids: Ids | undefined): void => {
  if (ids) lchownSync(path, ids.uid, ids.gid)
}

/** A copied or restored data folder may belong to root as a whole. */
export const giveCluster = (cluster: string, ids: Ids | undefined): void => {
  if (!ids || lstatSync(cluster).uid === ids.uid) return
  for (const entry of readdirSync(cluster, { recursive: true, withFileTypes: true })) {
    own(join(entry.parentPath, entry.name), ids)
  }
  // Last, since its owner tells the next start whether all below it has been given.
  own(cluster, ids)
  chmodSync(cluster, 0o700)
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', reject)
  })

type NewCluster = {
  readonly dataDir: string
  readonly cluster: string
  readonly password: string
  readonly durable: boolean
  readonly way: Way
  readonly ids: Ids | undefined
  readonly log: ServerLog
}

const DRAFT = 'postgres.new'

const clearDrafts = (dataDir: string): void => {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(DRAFT)) continue
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true })
    } catch (thrown) {
      // The initdb of a killed service may still write there for a moment: left for the next start.
      if (codeOf(thrown) !== 'ENOTEMPTY') throw thrown
    }
  }
}

const initdbArguments = (draft: string, durable: boolean): readonly string[] => [
  `--pgdata=${draft}/cluster`,
  `--pwfile=${draft}/password`,
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // The builtin provider sorts by code point on every platform and in every version of the C library.
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  '--no-instructions',
  ...(durable ? [] : ['--no-sync']),
]

/**
 * Made beside its place and renamed into it when whole: a cluster that was interrupted is never taken for one. Each
 * attempt has a folder of its own, because the initdb of a killed service removes its folder as the last thing it does.
 */
export const createCluster = async (wanted: NewCluster): Promise<void> => {
  const { dataDir, cluster, durable, way, ids, log } = wanted
  clearDrafts(dataDir)
  const draft = mkdtempSync(join(dataDir, `${DRAFT}-`))
  mkdirSync(join(draft, 'cluster'), { mode: 0o700 })
  writeFileSync(join(draft, 'password'), wanted.password, { mode: 0o600 })
  for (const path of [draft, join(draft, 'cluster'), join(draft, 'password')]) own(path, ids)
  log.mark()
  const args = initdbArguments(`${way.data}/${basename(draft)}`, durable)
  const code = await ended(launch(way, 'initdb', args, log.file))
  if (code !== 0) {
    const line = log.failure()
    clearDrafts(dataDir)
    throw new EmbeddedPostgresError(`PostgreSQL could not make its cluster in ${dataDir}: ${line}`)
  }
  renameSync(join(draft, 'cluster'), cluster)
  if (durable && process.platform !== 'win32') persist(dataDir)
  clearDrafts(dataDir)
}

/**
 * The server of a service that was killed is shutting down, or has been orphaned: told to (again, which does no harm)
 * and waited for. A pid that is another process by now would make PostgreSQL refuse to start, so that file is removed;
 * PostgreSQL's own guard against a second server, the shared memory it finds by the folder's inode, stays.
 */
export const outlastPredecessor = async (cluster: string): Promise<void> => {
  const found = readPidFile(cluster)
  if (!found || process.platform === 'win32' || startOf(found.pid) === undefined) return
  const isAlive = (): boolean => wasStartedWith(found.pid, markOf(cluster))
  if (!isAlive()) {
    rmSync(join(cluster, 'postmaster.pid'), { force: true })
    return
  }
  signal(found.pid, 'SIGINT')
  if (await until(() => !isAlive(), SHUTDOWN_MS_MAX)) return
  signal(found.pid, 'SIGQUIT')
  if (await until(() => !isAlive(), QUIT_MS_MAX)) return
  const which = `the previous PostgreSQL (pid ${found.pid}) of ${cluster}`
  throw new EmbeddedPostgresError(`${which} does not stop: end that process`)
}
