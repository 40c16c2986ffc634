/** Files left in the bank's folder: incomplete ones, until they grow or are too old. Known to this process only. */
import type { Clock } from '../../kernel/index.ts'
import type { RemoteFile } from './deps.ts'

type Seen = { readonly bytes: number; readonly modifiedMs: number; readonly sinceMs: number; readonly forever?: true }

export function createWatch(clock: Clock) {
  const seen = new Map<string, Seen>()
  const sameOf = ({ name, bytes, modifiedAt }: RemoteFile): Seen | undefined => {
    const found = seen.get(name)
    return found?.bytes === bytes && found.modifiedMs === modifiedAt.getTime() ? found : undefined
  }
  const ageOf = ({ sinceMs }: Seen) => clock.now().getTime() - sinceMs
  const note = (file: RemoteFile, more: Pick<Seen, 'forever'> = {}) => {
    if (sameOf(file) !== undefined) return
    const { name, bytes, modifiedAt } = file
    seen.set(name, { bytes, modifiedMs: modifiedAt.getTime(), sinceMs: clock.now().getTime(), ...more })
  }
  return {
    leave: (file: RemoteFile) => note(file),
    leaveForever: (file: RemoteFile) => note(file, { forever: true }),
    /** The file is unchanged, so that there is nothing to read. */
    isLeft: (file: RemoteFile, staleAfterMs: number): boolean => {
      const found = sameOf(file)
      return found !== undefined && (found.forever === true || ageOf(found) < staleAfterMs)
    },
    /** The file has not grown for so long that no writer is at it. */
    isStale: (file: RemoteFile, staleAfterMs: number): boolean => {
      const found = sameOf(file)
      return found !== undefined && ageOf(found) >= staleAfterMs
    },
    forget: (name: string) => void seen.delete(name),
    /** Drops files that have left the folder. */
    keepOnly: (names: ReadonlySet<string>) => {
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name)
    },
  }
}
