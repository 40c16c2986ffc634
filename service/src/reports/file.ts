/** Stores the file of a report in parts of one length, so that a download can start at any part. */
import { createHash } from 'node:crypto'
import { compress, decompress } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import * as store from './store.ts'

/**
 * One part is in memory for each download. A file of a gigabyte has 2,000 of them.
 * Each part is compressed by itself. PostgreSQL writes uncompressed parts at a tenth of the speed of its own `copy`; lines of a
 * statement shrink to a fifth.
 */
const chunkBytes = 512 * 1024
/** Parts that may wait for the database before the writer waits. */
const writesUnderWayMax = 4

/** The lease was lost: the report was deleted, or another worker writes it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

export type FileWriter = {
  /** Writes content. Resolves when the caller may write more. Throws LeaseLost. */
  readonly write: (content: string | Uint8Array) => Promise<void>
  readonly end: () => Promise<{ readonly bytes: number; readonly sha256: string }>
}

export function createFileWriter(db: Database, claimed: store.ReportRow): FileWriter {
  const hash = createHash('sha256')
  let buffer = Buffer.allocUnsafe(chunkBytes)
  let used = 0
  let number = 0
  const writing: Promise<void>[] = []

  const insert = async (at: number, bytes: Uint8Array) => {
    const compressed = await compress(bytes)
    if ((await store.insertChunk(db, claimed, at, compressed)) === 0) throw new LeaseLost()
  }
  const flush = async () => {
    const part = buffer.subarray(0, used)
    hash.update(part)
    const inserted = insert(number, part)
    // Awaited below, possibly after another part has failed.
    inserted.catch(() => undefined)
    writing.push(inserted)
    number += 1
    used = 0
    buffer = Buffer.allocUnsafe(chunkBytes)
    if (writing.length >= writesUnderWayMax) await writing.shift()
  }
  return {
    write: async (content) => {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      for (let at = 0; at < bytes.length;) {
        const taken = Math.min(bytes.length - at, chunkBytes - used)
        buffer.set(bytes.subarray(at, at + taken), used)
        at += taken
        used += taken
        if (used === chunkBytes) await flush()
      }
    },
    end: async () => {
      const bytes = number * chunkBytes + used
      if (used > 0) await flush()
      await Promise.all(writing)
      return { bytes, sha256: hash.digest('hex') }
    },
  }
}

/** Reads a range of bytes. Each part is a short statement, so that a slow reader does not hold a connection. */
export async function* readFile(
  db: Database,
  report: store.ReportRow,
  from: number,
  until: number,
): AsyncGenerator<Uint8Array> {
  for (let at = from; at < until;) {
    const number = Math.floor(at / chunkBytes)
    const compressed = await store.readChunk(db, report, number)
    if (compressed === undefined) throw new Error('the report was deleted while it was read')
    const chunk = await decompress(compressed)
    const first = at - number * chunkBytes
    const part = chunk.subarray(first, Math.min(chunk.length, first + until - at))
    if (part.length === 0) throw new Error('the content of the report is shorter than recorded')
    at += part.length
    yield part
  }
}
