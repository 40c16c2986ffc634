/**
 * The file with the rows of one partner: lines of JSON. A header, then for each table a line with its columns and a line
 * for each row, then a trailer with the number of rows and a code (HMAC-SHA-256 under the key of the file) over every line
 * before it.
 */
import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ownJson } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { deriveKey, masterKeyId } from '../kernel/index.ts'
import type { TextRow } from '../postgres/index.ts'

export type Header = {
  readonly format: typeof format
  /** The number of the last migration. */
  readonly schema: number
  readonly partnerId: string
  readonly name: string
  readonly cell: string | null
  readonly exportedAt: string
  /** True if the export removed the partner from its cell. */
  readonly removed: boolean
  /** Id of the key that seals the values in the file. */
  readonly keyId: string
}
type TableLine = { readonly table: string; readonly columns: readonly string[] }
type Trailer = { readonly rows: Readonly<Record<string, number>>; readonly code: string }
type Line = Header | TableLine | TextRow | Trailer

export const format = 1
const bytesPerWrite = 65_536
const lineFeed = 0x0a

const codeOf = (key: Buffer): Hmac => createHmac('sha256', deriveKey(key, 'partner-file'))

type PartnerFileWriter = {
  readonly add: (line: Header | TableLine | TextRow) => Promise<void>
  /** Renames the complete file, flushed to the disk. */
  readonly complete: (rows: Trailer['rows']) => Promise<void>
}

/** Writes under a temporary name until `complete`. Removes the remains of an earlier attempt. */
export async function writePartnerFile(
  path: string,
  key: Buffer,
  work: (writer: PartnerFileWriter) => Promise<void>,
): Promise<void> {
  const part = `${path}.part`
  await rm(part, { force: true })
  const handle = await open(part, 'wx', 0o600).catch((error: Error) => {
    throw new ConfigError(`operator: --to ${path} cannot be written: ${error.message}`)
  })
  try {
    await work(createWriter(handle, key, path))
  } finally {
    await handle.close()
    await rm(part, { force: true })
  }
}

function createWriter(handle: FileHandle, key: Buffer, path: string): PartnerFileWriter {
  const code = codeOf(key)
  let waiting: string[] = []
  let chars = 0
  const flush = async () => {
    const bytes = Buffer.from(waiting.join(''))
    ;[waiting, chars] = [[], 0]
    code.update(bytes)
    await handle.writeFile(bytes)
  }
  return {
    add: async (line) => {
      const text = `${JSON.stringify(line)}\n`
      waiting.push(text)
      chars += text.length
      if (chars >= bytesPerWrite) await flush()
    },
    complete: async (rows) => {
      await flush()
      await handle.writeFile(`${JSON.stringify({ rows, code: code.digest('base64') } satisfies Trailer)}\n`)
      await handle.sync()
      await rename(`${path}.part`, path)
      const folder = await open(dirname(resolve(path)))
      try {
        await folder.sync()
      } finally {
        await folder.close()
      }
    },
  }
}

type PartnerFileReader = {
  readonly table: (table: TableLine) => Promise<void>
  readonly row: (row: TextRow) => Promise<void>
  readonly end: () => Promise<void>
}

const refuse = (path: string, reason: string) => new ConfigError(`operator: --from ${path} ${reason}`)

/**
 * Reads the whole file. Throws a ConfigError if it is incomplete, changed or of another key: the reader must not commit
 * what it has done by then.
 */
export async function readPartnerFile(
  path: string,
  key: Buffer,
  readerOf?: (header: Header) => PartnerFileReader,
): Promise<{ readonly header: Header; readonly rows: Trailer['rows'] }> {
  const code = codeOf(key)
  let header: Header | undefined
  let reader: PartnerFileReader | undefined
  let trailer: Trailer | undefined
  for await (const bytes of linesOf(path)) {
    const line = parse(path, bytes)
    if (header === undefined) {
      header = requireHeader(path, line, key)
      reader = readerOf?.(header)
    } else if (trailer !== undefined) throw refuse(path, 'was changed: it continues after its end')
    else if (isRow(line)) await reader?.row(line)
    else if ('table' in line) await reader?.table(line)
    else if ('code' in line) {
      trailer = line
      await reader?.end()
      continue
    }
    code.update(bytes)
  }
  if (header === undefined || trailer === undefined) throw refuse(path, 'is incomplete: export the partner again')
  const [expected, found] = [code.digest(), Buffer.from(String(trailer.code), 'base64')]
  if (expected.length !== found.length || !timingSafeEqual(expected, found))
    throw refuse(path, 'was changed after the export')
  return { header, rows: trailer.rows }
}

const isRow = (line: Line): line is TextRow => Array.isArray(line)

function requireHeader(path: string, line: Line, key: Buffer): Header {
  if (!('format' in line) || !('keyId' in line)) throw refuse(path, 'is not the file of a partner')
  if (line.format !== format) throw refuse(path, `has format ${String(line.format)}; this version reads ${format}`)
  if (line.keyId !== masterKeyId(key)) throw refuse(path, 'was written under another key: see --key-file')
  return line
}

/** The lines with their line feeds. The rest after the last one is incomplete and left out. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      let from = 0
      for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, from)) {
        yield Buffer.concat([...parts, chunk.subarray(from, at + 1)])
        parts = []
        from = at + 1
      }
      parts.push(chunk.subarray(from))
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code === undefined ? error : refuse(path, `cannot be read: ${message}`)
  }
}

function parse(path: string, bytes: Buffer): Line {
  try {
    const line = ownJson<Line | null>(bytes.toString('utf8'))
    if (typeof line === 'object' && line !== null) return line
  } catch {
    // Refused below, like every line that does not belong to the file.
  }
  throw refuse(path, 'was changed: it has a line that cannot be read')
}
