/** Archives files on the disk of this process atomically, and compares the archive with the database. */
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Unreachable } from '../../kernel/api/index.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readPain001, recogniseMessage } from '../../iso20022/index.ts'
import { amountText } from '../../kernel/index.ts'
import type { BankDeps } from './deps.ts'
import { parseFileName, parseInstructionId } from './ids.ts'
import * as adopted from './store-books.ts'
import { filesByIds, type OutgoingFile } from './store-instructions.ts'

/** Writes `<folder>/out/<day>/<name>`. Replaces the file of an attempt that ended before the bank had the file. */
export async function archiveFile(
  folder: string,
  day: string,
  name: string,
  attempt: string,
  bytes: Uint8Array,
): Promise<void> {
  const target = join(folder, 'out', day, name)
  const temporary = join(dirname(target), `.${name}.${attempt}.tmp`)
  await changeFolder(dirname(target), async () => {
    try {
      await write(temporary, bytes)
      await rename(temporary, target)
    } catch (error) {
      // Removes the partial file, because it would keep a full disk full.
      await unlink(temporary).catch(() => undefined)
      throw error
    }
  })
}

/** Creates the folder, changes it and flushes it. Throws Unreachable if the disk fails. */
async function changeFolder(folder: string, change: () => Promise<void>): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await change()
    await flush(folder)
  } catch (error) {
    throw new Unreachable('storage_unavailable', `archive: ${(error as Error).message}`, error)
  }
}

const publishedSuffix = '.published'
const publishedMarkPath = (folder: string, day: string, name: string): string =>
  join(folder, 'out', day, name + publishedSuffix)

/** Records that the bank is about to get a file, because a database restored from a backup may not know the file. */
export async function markPublished(folder: string, day: string, name: string): Promise<void> {
  const path = publishedMarkPath(folder, day, name)
  await changeFolder(dirname(path), () => write(path, Buffer.alloc(0)))
}

/** Removes the record of a file that did not reach the bank. */
export async function unmarkPublished(folder: string, day: string, name: string): Promise<void> {
  await unlink(publishedMarkPath(folder, day, name)).catch(ignoreAbsent)
}

export type PublishedFile = { readonly name: string; readonly path: string }

/** Lists the files recorded as delivered, day by day, newest day first. */
async function* publishedFiles(folder: string, daysMax: number): AsyncGenerator<readonly PublishedFile[]> {
  const out = join(folder, 'out')
  const days = (await readdir(out).catch(ignoreAbsent)) ?? []
  for (const day of days.toSorted().toReversed().slice(0, daysMax)) {
    const names = await readdir(join(out, day))
    yield names
      .filter((name) => name.endsWith(publishedSuffix))
      .map((mark) => mark.slice(0, -publishedSuffix.length))
      .map((name) => ({ name, path: join(out, day, name) }))
  }
}

export function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function flush(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

// After a restore from a backup, the database does not know the files that the bank has received since the backup, and
// would send their payments again. Therefore the archive marks each file before the bank gets it (`<name>.published`),
// and each process compares the archive with the database before it makes its first file.

/** Older files are in every backup that may still be restored. */
const daysMax = 90
const filesPerLook = 500

type NamedFile = PublishedFile & NonNullable<ReturnType<typeof parseFileName>>

export function createAdoptFiles(deps: BankDeps) {
  const { db, log, rules } = deps
  let isCompared = false
  return async (): Promise<void> => {
    if (isCompared) return
    for await (const day of publishedFiles(rules.archive, daysMax)) {
      const named = day.flatMap((file): readonly NamedFile[] => {
        const read = parseFileName(file.name)
        return read === undefined ? [] : [{ ...file, ...read }]
      })
      for (let at = 0; at < named.length; at += filesPerLook) {
        const page = named.slice(at, at + filesPerLook)
        const known = await filesByIds(
          db,
          page.map(({ id }) => id),
        )
        for (const file of page) {
          const count = await compareFile(deps, file, known.get(file.id))
          if (count > 0)
            log.error(
              { connector: rules.id, file: file.name },
              'adopted a file that the bank has and the restored database did not know',
            )
        }
      }
    }
    isCompared = true
  }
}

/** Returns 1 if the database did not know that the bank has the file. */
async function compareFile(deps: BankDeps, file: NamedFile, known: OutgoingFile | undefined): Promise<number> {
  const { db, clock } = deps
  if (known?.state === 'Delivered') return 0
  // If the file is staged, the next attempt checks whether it was renamed.
  if (known !== undefined) return known.state === 'Made' ? adopted.markPublished(db, known.id, clock.now()) : 0
  return file.kind === 'pain.001' ? adoptFile(deps, file) : 0
}

async function adoptFile({ db, clock, rules }: BankDeps, { id, name, path }: NamedFile): Promise<number> {
  const initiation = await readPain001(createReadStream(path))
  const { version = '' } = (await recogniseMessage(createReadStream(path))) ?? {}
  const bytes = await readFile(path)
  const rows = initiation.batches.flatMap(({ id: batchId, transfers: ofBatch }) =>
    ofBatch.flatMap(({ instructionId }) => {
      const read = parseInstructionId(instructionId ?? '')
      return read === undefined ? [] : [{ ...read, fileId: id, batchId }]
    }),
  )
  const transfers = initiation.batches.flatMap((batch) => batch.transfers)
  const sum = transfers.reduce((before, { money }) => before + money.minor, 0n)
  const file: OutgoingFile = {
    id,
    kind: 'pain.001',
    messageId: initiation.messageId,
    messageName: `pain.001.001.${version}`,
    name,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: BigInt(bytes.length),
    payments: BigInt(rows.length),
    // All currencies of banks have two digits.
    controlSum: amountText(sum, 'EUR'),
    state: 'Delivered',
    stagedName: name,
    leaseId: null,
    madeAt: initiation.createdAt,
  }
  return db.transaction(async (tx) => {
    const inserted = await adopted.insertAdoptedFile(tx, rules.id, file, clock.now())
    if (inserted > 0) await adopted.insertAdoptedInstructions(tx, rules.id, rows)
    return inserted
  })
}
