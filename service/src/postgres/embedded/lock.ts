import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, EmbeddedPostgresError } from './error.ts'
import { startOf, until } from './process.ts'

export type Lock = { readonly release: () => void }

const ATTEMPTS_MAX = 20
const WAIT_MS_MAX = 5_000

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** The pid that holds the lock, or `undefined` when its holder is gone (or its pid is another process by now). */
const holderOf = (content: string): number | undefined => {
  const [pid, start] = content.split('\n')
  if (!/^[0-9]+$/.test(pid ?? '')) return undefined
  return startOf(Number(pid)) === start ? Number(pid) : undefined
}

/** Writes beside and links: the file appears whole or not at all, and only for one of several that try. */
const place = (path: string, content: string): boolean => {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, content)
    linkSync(draft, path)
    return true
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes(codeOf(thrown) ?? '')) throw thrown
    // A file system without hard links (exFAT, some shared folders).
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

/** Removes a stale lock by renaming it: if another starter was faster, its new lock was moved, and goes back. */
const clear = (path: string, stale: string): void => {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return
    throw thrown
  }
  const moved = read(aside)
  if (moved !== undefined && moved !== stale) place(path, moved)
  rmSync(aside, { force: true })
}

/** The lock, or the pid of the service that has it. */
const tryLock = (dataDir: string): Lock | number => {
  const path = join(dataDir, 'service.pid')
  const own = `${process.pid}\n${startOf(process.pid) ?? ''}\n`
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    if (place(path, own)) {
      return {
        release: () => {
          if (read(path) === own) rmSync(path, { force: true })
        },
      }
    }
    const content = read(path)
    if (content === undefined) continue
    const holder = holderOf(content)
    if (holder !== undefined) return holder
    clear(path, content)
  }
  throw new EmbeddedPostgresError(`cannot lock the data folder ${dataDir}: ${path} keeps changing hands`)
}

/**
 * One service per data folder: `<dataDir>/service.pid` holds the pid and the start time of the one that has it. A
 * service that is just stopping is waited for, so that a restart needs no pause between the two.
 */
export const takeLock = async (dataDir: string): Promise<Lock> => {
  let outcome = tryLock(dataDir)
  await until(() => typeof outcome !== 'number' || typeof (outcome = tryLock(dataDir)) !== 'number', WAIT_MS_MAX)
  if (typeof outcome !== 'number') return outcome
  const advice = 'stop that one first'
  throw new EmbeddedPostgresError(`the data folder ${dataDir} is in use by another service (pid ${outcome}): ${advice}`)
}
