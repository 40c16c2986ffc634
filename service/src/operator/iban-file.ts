/** Reads a bank's file of IBANs line by line, whatever its size, and keeps the bad lines on the disk. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../app/config.ts'
import type { BadLine } from '../accounts/index.ts'

/** A line with an IBAN and a BIC has 48. The rest of a longer line is dropped: the line is bad anyway. */
const lineCharsMax = 256
const lineFeed = 0x0a

const readFailed = (path: string, error: unknown) => new ConfigError(`operator: ${path}: ${(error as Error).message}`)

/** SHA-256 of a file. Throws a ConfigError. */
export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  } catch (error) {
    throw readFailed(path, error)
  }
  return hash.digest('hex')
}

/**
 * The lines without their ends and without a byte order mark. IBANs are ASCII: other characters make a line bad,
 * whatever their encoding. Throws a ConfigError if the hash of the file differs.
 */
export async function* linesOf(path: string, fileHash: string): AsyncGenerator<string> {
  const hash = createHash('sha256')
  let kept = ''
  let isFirst = true
  const keep = (text: string) => {
    kept = (kept + text).slice(0, lineCharsMax)
  }
  const take = (): string => {
    const line = (isFirst ? kept.replace(/^\u00EF\u00BB\u00BF/, '') : kept).replace(/\r$/, '')
    ;[kept, isFirst] = ['', false]
    return line
  }
  const chunks = createReadStream(path)
  try {
    for await (const each of chunks) {
      const chunk = each as Buffer
      hash.update(chunk)
      let from = 0
      for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
        keep(chunk.toString('latin1', from, Math.min(at, from + lineCharsMax)))
        from = at + 1
        yield take()
      }
      keep(chunk.toString('latin1', from, Math.min(chunk.length, from + lineCharsMax)))
    }
  } finally {
    chunks.destroy()
  }
  if (kept !== '') yield take()
  if (hash.digest('hex') !== fileHash)
    throw new ConfigError(`operator: ${path} was changed during the import: repeat it`)
}

export type BadLines = {
  readonly clear: () => Promise<void>
  readonly add: (lines: readonly BadLine[]) => Promise<void>
  /** Parts of a list of JSON without its brackets. */
  readonly read: () => AsyncIterable<string>
}

/**
 * Keeps bad lines on the disk until the transaction has ended: a slow reader of the report would keep it open. There
 * may be as many as the file has lines.
 */
export async function withBadLines<T>(work: (lines: BadLines) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-ibans-'))
  let file: FileHandle | undefined
  try {
    file = await open(join(folder, 'bad.jsonl'), 'w+', 0o600)
    return await work(createBadLines(file))
  } finally {
    await file?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function createBadLines(file: FileHandle): BadLines {
  let count = 0
  let bytes = 0
  return {
    clear: async () => {
      ;[count, bytes] = [0, 0]
      await file.truncate(0)
    },
    add: async (lines) => {
      const text = lines.map((line) => `${count++ === 0 ? '' : ','}\n${JSON.stringify(line)}`).join('')
      bytes += (await file.write(text, bytes)).bytesWritten
    },
    read: () => file.createReadStream({ start: 0, encoding: 'utf8', autoClose: false }) as AsyncIterable<string>,
  }
}
