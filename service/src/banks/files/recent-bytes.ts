/** The bytes of files that were just made, so that the delivery that follows need not rebuild them. A hint only. */
export type RecentBytes = {
  readonly keep: (fileId: string, bytes: Buffer) => void
  /** Can be taken once. Undefined: they are rebuilt from the rows. */
  readonly take: (fileId: string) => Buffer | undefined
}

const filesMax = 8

export function createRecentBytes(): RecentBytes {
  const kept = new Map<string, Buffer>()
  return {
    keep: (fileId, bytes) => {
      kept.set(fileId, bytes)
      const [oldest] = kept.keys()
      if (kept.size > filesMax && oldest !== undefined) kept.delete(oldest)
    },
    take: (fileId) => {
      const bytes = kept.get(fileId)
      kept.delete(fileId)
      return bytes
    },
  }
}
