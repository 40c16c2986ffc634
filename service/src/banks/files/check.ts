/** Checks that the folders of a bank can be used, before the first payment needs them. */
import { accessSync, constants, mkdirSync, realpathSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import type { TransportConfig } from './transport/settings.ts'

type Folders = { readonly id: string; readonly archive: string; readonly transport: TransportConfig }

/**
 * Undefined: they can be used. Otherwise one line that names the field. Folders of an SFTP server are checked when it
 * is reached.
 */
export function bankProblem({ id, archive, transport }: Folders): string | undefined {
  const problem = (field: string, what: string) => `${id}: ${field} ${what}`
  const found = new Map<string, string>()
  const given = { archive, ...(transport.kind === 'folder' ? foldersOf(transport) : {}) }
  for (const [field, path] of Object.entries(given)) {
    const usable = usableFolder(path, field === 'archive')
    if ('reason' in usable) return problem(field, `cannot be used: ${usable.reason}`)
    const same = [...found].find(([, other]) => other === usable.path)
    if (same !== undefined) return problem(field, `is the same folder as ${same[0]}: ${path}`)
    found.set(field, usable.path)
  }
  const own = found.get('archive') ?? archive
  for (const [field, path] of found)
    if (field !== 'archive' && own.startsWith(path + sep))
      return problem('archive', `is within ${field}, which the bank reads and writes: ${archive}`)
  return undefined
}

const foldersOf = ({ toBank, fromBank, taken }: Extract<TransportConfig, { readonly kind: 'folder' }>) => ({
  'transport.toBank': toBank,
  'transport.fromBank': fromBank,
  ...(taken === undefined ? {} : { 'transport.taken': taken }),
})

/** The real path without links, by which two names of one folder are recognised. */
function usableFolder(path: string, isOurs: boolean): { readonly path: string } | { readonly reason: string } {
  try {
    if (isOurs && statSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: 0o700 })
    if (!statSync(path).isDirectory()) return { reason: `${path} is no folder` }
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return { path: realpathSync(path) }
  } catch (error) {
    return { reason: (error as Error).message }
  }
}
