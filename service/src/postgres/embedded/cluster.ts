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
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import {
  errorCode,
  EmbeddedPostgresError,
  hasArgument,
  sendSignal,
  type ServerLog,
  startTimeOf,
  until,
} from './process.ts'
import { launch, type LaunchMethod, type UserIds } from './launch.ts'

const shutdownMsMax = 30_000
const quitMsMax = 10_000

/** Returns a setting that PostgreSQL ignores. It identifies a process as the server of this folder. */
export const clusterArgument = (cluster: string): string => `partner_payments.cluster=${cluster}`

export type PidFile = { readonly pid: number; readonly port: number; readonly ready: boolean }

/** Reads PostgreSQL's `postmaster.pid`: line 1 is the pid, line 4 the port, line 8 the status. */
export const readPidFile = (cluster: string): PidFile | undefined => {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
  } catch {
    return undefined
  }
}

const syncToDisk = (path: string): void => {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Reads the superuser's password. Creates it before the cluster, so that every cluster has a password. */
export const readOrCreatePassword = (dataDir: string, cluster: string): string => {
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
  if (process.platform !== 'win32') syncToDisk(path)
  return password
}

const changeOwner = (path: string, ids: UserIds | undefined): void => {
  if (ids) lchownSync(path, ids.uid, ids.gid)
}

/** Makes the server's user the owner of the data folder, because a copied or restored folder may belong to root. */
export const changeClusterOwner = (cluster: string, ids: UserIds | undefined): void => {
  if (!ids || lstatSync(cluster).uid === ids.uid) return
  for (const entry of readdirSync(cluster, { recursive: true, withFileTypes: true })) {
    changeOwner(join(entry.parentPath, entry.name), ids)
  }
  // Last, because the next start reads the owner of the folder to see whether all files were changed.
  changeOwner(cluster, ids)
  chmodSync(cluster, 0o700)
}

const waitForExit = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', reject)
  })

type NewCluster = {
  readonly dataDir: string
  readonly cluster: string
  readonly password: string
  readonly durable: boolean
  readonly method: LaunchMethod
  readonly ids: UserIds | undefined
  readonly log: ServerLog
  /** Version of the npm package with the server. */
  readonly version: string
}

const draftPrefix = 'postgres.new'

const removeDrafts = (dataDir: string): void => {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(draftPrefix)) continue
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true })
    } catch (thrown) {
      // The initdb of a killed service may still write there. The next start removes the draft.
      if (errorCode(thrown) !== 'ENOTEMPTY') throw thrown
    }
  }
}

/** First major version of PostgreSQL with the builtin locale provider. */
const builtinLocaleSince = 17

const initdbArguments = (draft: string, durable: boolean, major: number): readonly string[] => [
  `--pgdata=${draft}/cluster`,
  `--pwfile=${draft}/password`,
  '--username=postgres',
  '--auth=scram-sha-256',
  '--encoding=UTF8',
  // Sorts by code point, independent of the platform and of the version of the C library.
  '--locale=C',
  ...(major >= builtinLocaleSince ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
  '--data-checksums',
  '--no-instructions',
  ...(durable ? [] : ['--no-sync']),
]

/**
 * Creates the cluster in a draft folder and renames it when it is complete, so that an incomplete cluster is never
 * used. Each attempt has its own draft, because the initdb of a killed service removes its folder when it ends.
 */
export const createCluster = async (options: NewCluster): Promise<void> => {
  const { dataDir, cluster, password, durable, method, ids, log, version } = options
  removeDrafts(dataDir)
  const draft = mkdtempSync(join(dataDir, `${draftPrefix}-`))
  mkdirSync(join(draft, 'cluster'), { mode: 0o700 })
  writeFileSync(join(draft, 'password'), password, { mode: 0o600 })
  for (const path of [draft, join(draft, 'cluster'), join(draft, 'password')]) changeOwner(path, ids)
  log.mark()
  const args = initdbArguments(`${method.data}/${basename(draft)}`, durable, Number.parseInt(version, 10))
  const code = await waitForExit(launch(method, 'initdb', args, log.file))
  if (code !== 0) {
    const line = log.failure()
    removeDrafts(dataDir)
    throw new EmbeddedPostgresError(`PostgreSQL could not create its cluster in ${dataDir}: ${line}`)
  }
  renameSync(join(draft, 'cluster'), cluster)
  if (durable && process.platform !== 'win32') syncToDisk(dataDir)
  removeDrafts(dataDir)
}

/**
 * Shuts down the server that a killed service left running, and waits for its end. Removes `postmaster.pid` if its pid
 * belongs to another process, because PostgreSQL would refuse to start. PostgreSQL still protects itself against a
 * second server: it finds shared memory by the folder's inode.
 */
export const stopPreviousServer = async (cluster: string): Promise<void> => {
  const found = readPidFile(cluster)
  if (!found || process.platform === 'win32' || startTimeOf(found.pid) === undefined) return
  const isAlive = (): boolean => hasArgument(found.pid, clusterArgument(cluster))
  if (!isAlive()) {
    rmSync(join(cluster, 'postmaster.pid'), { force: true })
    return
  }
  sendSignal(found.pid, 'SIGINT')
  if (await until(() => !isAlive(), shutdownMsMax)) return
  sendSignal(found.pid, 'SIGQUIT')
  if (await until(() => !isAlive(), quitMsMax)) return
  const which = `the previous PostgreSQL (pid ${found.pid}) of ${cluster}`
  throw new EmbeddedPostgresError(`${which} does not stop: end that process`)
}
