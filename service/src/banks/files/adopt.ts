/**
 * Restores from a backup: files that were given to the bank after the backup are in the archive, and not in the
 * database. Their payments would be sent again in new files. Therefore the archive records a file before the bank gets
 * it (`<name>.published`), and each process compares the archive with the database before it makes its first file.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { readPain001, recognise } from '../../iso20022/index.ts'
import { amountText } from '../../kernel/index.ts'
import { type PublishedFile, publishedFiles } from './archive.ts'
import type { BankDeps } from './deps.ts'
import { readFileName, readInstructionId } from './ids.ts'
import * as adopted from './store-statements.ts'
import { filesByIds, type OutgoingFile } from './store-instructions.ts'

/** Older files were made before every backup that may still be restored. */
const daysMax = 90
const filesPerLook = 500

type Named = PublishedFile & NonNullable<ReturnType<typeof readFileName>>

export function createAdopt(deps: BankDeps) {
  const { db, log, rules } = deps
  let isCompared = false
  return async (): Promise<void> => {
    if (isCompared) return
    for await (const day of publishedFiles(rules.archive, daysMax)) {
      const named = day.flatMap((file): readonly Named[] => {
        const read = readFileName(file.name)
        return read === undefined ? [] : [{ ...file, ...read }]
      })
      for (let at = 0; at < named.length; at += filesPerLook) {
        const page = named.slice(at, at + filesPerLook)
        const known = await filesByIds(
          db,
          page.map(({ id }) => id),
        )
        for (const file of page) {
          const count = await compare(deps, file, known.get(file.id))
          if (count > 0)
            log.error(
              { connector: rules.id, file: file.name },
              'the bank has a file that the restored database did not know',
            )
        }
      }
    }
    isCompared = true
  }
}

/** Returns 1 if the database did not know that the bank has the file. */
async function compare(deps: BankDeps, file: Named, known: OutgoingFile | undefined): Promise<number> {
  const { db, clock } = deps
  if (known?.state === 'Delivered') return 0
  // Staged: the next attempt sees whether it was renamed.
  if (known !== undefined) return known.state === 'Made' ? adopted.markPublished(db, known.id, clock.now()) : 0
  return file.kind === 'pain.001' ? adoptFile(deps, file) : 0
}

async function adoptFile({ db, clock, rules }: BankDeps, { id, name, path }: Named): Promise<number> {
  const initiation = await readPain001(createReadStream(path))
  const { version = '' } = (await recognise(createReadStream(path))) ?? {}
  const bytes = await readFile(path)
  const rows = initiation.batches.flatMap(({ id: batchId, transfers: ofBatch }) =>
    ofBatch.flatMap(({ instructionId }) => {
      const read = readInstructionId(instructionId ?? '')
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
    // As when it was made: all currencies of banks have two digits.
    controlSum: amountText(sum, 'EUR'),
    state: 'Delivered',
    stagedName: name,
    leaseId: null,
    madeAt: initiation.createdAt,
  }
  return db.transaction(async (tx) => {
    const inserted = await adopted.insertAdoptedFile(tx, rules.id, file, clock.now())
    if (inserted > 0) await adopted.insertAdopted(tx, rules.id, rows)
    return inserted
  })
}
