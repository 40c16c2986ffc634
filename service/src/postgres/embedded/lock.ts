import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { startTimeOf, until } from './process.ts'

export type Lock = { readonly release: () => void }

const attemptsMax = 20
const waitMsMax = 5_000

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** The pid of the lock's owner, or undefined if that process has ended or its pid has been reused. */
const ownerPid = (content: string): number | undefined => {
  const [pid, start] = content.split('\n')
  if (!/^[0-9]+$/.test(pid ?? '')) return undefined
  return startTimeOf(Number(pid)) === start ? Number(pid) : undefined
}

/** Writes a draft and links it, so that the file appears complete, and for only one of several concurrent callers. */
const createWhole = (path: string, content: string): boolean => {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, content)
    linkSync(draft, path)
    return true
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(codeOf(thrown) ?? '')) throw thrown
    // The file system has no hard links (exFAT, some shared folders).
    try {
      writeFileSync(path, content, { flag: 'wx' })
      return true
    } catch (refused) {
      if (codeOf(refused) === 'EEXIST') return false
      throw refused
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Removes a stale lock by renaming it. If another service has replaced the lock meanwhile, its lock is put back. */
const removeStale = (path: string, stale: string): void => {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return
    throw thrown
  }
  const moved = read(aside)
  if (moved !== undefined && moved !== stale) createWhole(path, moved)
  rmSync(aside, { force: true })
}

/** Returns the lock, or the pid of the service that holds it. */
const tryLock = (dataDir: string): Lock | number => {
  const path = join(dataDir, 'service.pid')
  const own = `${process.pid}\n${startTimeOf(process.pid) ?? ''}\n`
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (createWhole(path, own)) {
      return {
        release: () => {
          if (read(path) === own) rmSync(path, { force: true })
        },
      }
    }
    const content = read(path)
    if (content === undefined) continue
    const pid = ownerPid(content)
    if (pid !== undefined) return pid
    removeStale(path, content)
  }
  throw new EmbeddedPostgresError(`cannot lock the data folder ${dataDir}: ${path} keeps changing`)
}

/**
 * One service per data folder: `<dataDir>/service.pid` holds the owner's pid and start time. Waits for a service that is
 * stopping, so that a restart needs no pause.
 */
export const takeLock = async (dataDir: string): Promise<Lock> => {
  let outcome = tryLock(dataDir)
  await until(() => typeof outcome !== 'number' || typeof (outcome = tryLock(dataDir)) !== 'number', waitMsMax)
  if (typeof outcome !== 'number') return outcome
  const advice = 'stop that one first'
  throw new EmbeddedPostgresError(`the data folder ${dataDir} is in use by another service (pid ${outcome}): ${advice}`)
}
