/** The parts of a report as they were parsed, on our own disk beside the message: its XML is parsed once, in constant memory. */
import { type FileHandle, open } from 'node:fs/promises'
import { deserialize, serialize } from 'node:v8'
import type { ReportPart } from '../../iso20022/index.ts'

type Parts = AsyncIterable<readonly ReportPart[]>

const lengthBytes = 4

/** The file of the parsed parts of a spooled message. */
export const parsedPathOf = (path: string): string => `${path}.parsed`

/** Passes on the parts of the message, and writes them to its file: each group preceded by its length. */
export async function* keepParsed(path: string, groups: Parts): Parts {
  const handle = await open(parsedPathOf(path), 'w')
  try {
    for await (const parts of groups) {
      const bytes = serialize(parts)
      const length = Buffer.alloc(lengthBytes)
      length.writeUInt32LE(bytes.length)
      await handle.appendFile(Buffer.concat([length, bytes]))
      yield parts
    }
  } finally {
    await handle.close()
  }
}

/** Reads the parts of a message again, in the groups in which they were written. */
export async function* readParsed(path: string): Parts {
  const handle = await open(parsedPathOf(path), 'r')
  try {
    for (;;) {
      const length = await readExactly(handle, lengthBytes)
      if (length === undefined) return
      const bytes = await readExactly(handle, length.readUInt32LE())
      if (bytes === undefined) throw new Error('the parsed parts of a message end before their length')
      yield deserialize(bytes) as readonly ReportPart[]
    }
  } finally {
    await handle.close()
  }
}

/** Undefined: the end of the file. */
async function readExactly(handle: FileHandle, count: number): Promise<Buffer | undefined> {
  const bytes = Buffer.alloc(count)
  let read = 0
  while (read < count) {
    const { bytesRead } = await handle.read(bytes, read, count - read)
    if (bytesRead === 0) return undefined
    read += bytesRead
  }
  return bytes
}
