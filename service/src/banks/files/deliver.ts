/**
 * Delivers files. Each step is committed before the next one begins, so that after a kill another process knows what the
 * bank has (docs/decisions/0044-a-bank-by-files.md).
 */
import { after, type Currency, newId, present, secondMs } from '../../kernel/index.ts'
import { archiveFile, markPublished, unmarkPublished } from './archive.ts'
import { bankDay, nextWindow } from '../../rails/index.ts'
import { type BankDeps, type Scheme, schemes } from './deps.ts'
import * as store from './store-instructions.ts'
import { createHash } from 'node:crypto'
import { formatBatchIds, formatFileName, formatMessageId } from './ids.ts'
import { computeExecutionDate, groupByFile, assignBatch, type FileMessage, buildPaymentMessage } from './message.ts'
import { openPayers } from './payer.ts'
import { buildRecallMessage } from './recalls.ts'
import { recallsOfFile } from './store-recalls.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import { paymentKind } from './schemes.ts'
import { adoptedInstructions } from './store-books.ts'

/** A delivery mostly waits for the disks of the bank and of this process. */
const filesAtOnceMax = 4
/** Longer than an attempt may take. */
const leaseMs = 60 * secondMs
const attemptMsMax = 40 * secondMs
const retryMs = 5 * secondMs
const problemCharsMax = 500

type LeasedFile = store.OutgoingFile & { readonly leaseId: string }

/** Delivers due files and returns their number. A file that cannot be delivered is retried later. */
export function createDeliverFiles(
  deps: BankDeps,
  recent: RecentBytes,
  onDelivered: (file: store.OutgoingFile) => void,
  onFailed?: (error: unknown) => void,
) {
  const { db, clock, log, rules } = deps
  const deliver = createDelivery(deps, recent)
  let isFailing = false

  const attempt = async ({ id, leaseId: earlierLease }: store.OutgoingFile): Promise<number> => {
    const leaseId = newId()
    const now = clock.now()
    const file = await store.claimFile(db, id, { leaseId, leasedUntil: after(now, leaseMs), now })
    if (file === undefined) return 0
    const held = { ...file, leaseId }
    try {
      const delivered = await deliver(held, earlierLease)
      if (delivered > 0) onDelivered(file)
      if (isFailing && delivered > 0) log.info({ connector: rules.id }, 'bank accepts files again')
      if (delivered > 0) isFailing = false
      return delivered
    } catch (error) {
      const facts = { err: error, connector: rules.id, file: file.name }
      onFailed?.(error)
      if (!isFailing) log.error(facts, 'file not delivered; will retry')
      isFailing = true
      const problem = error instanceof Error ? error.message : String(error)
      await store.postponeFile(db, held, after(clock.now(), retryMs), problem.slice(0, problemCharsMax))
      return 0
    }
  }

  return async (): Promise<number> => {
    const due = await store.undeliveredFiles(db, rules.id, clock.now(), filesAtOnceMax)
    const delivered = await Promise.all(due.map(attempt))
    return delivered.reduce((sum, count) => sum + count, 0)
  }
}

type StagedFile = { readonly temporary: string; readonly day: string }

const earlierStagedFile = ({ stagedName, madeAt }: LeasedFile, rules: BankDeps['rules']): StagedFile | undefined =>
  stagedName === null ? undefined : { temporary: stagedName, day: bankDay(madeAt, rules) }

/** Delivers one file: returns 1, or 0 if another process has the file now. Throws if the delivery fails. */
function createDelivery(deps: BankDeps, recent: RecentBytes) {
  const { db, clock, log, rules, transport } = deps
  const contentsOf = createContents(deps, recent)

  /** Writes the file under the temporary name of this attempt. Undefined: the lease was lost. */
  const stage = async (file: LeasedFile, signal: AbortSignal): Promise<StagedFile | undefined> => {
    const made = await contentsOf(file)
    if (made === undefined) return undefined
    const temporary = `.${file.name}.${file.leaseId}.tmp`
    // Archived first, so that the archive has every file that the bank has.
    const day = bankDay(made.madeAt, rules)
    await archiveFile(rules.archive, day, file.name, file.leaseId, made.bytes)
    await transport.stage(temporary, made.bytes, signal)
    if ((await store.markStaged(db, file, temporary)) === 1) return { temporary, day }
    await transport.discard(temporary, signal)
    return undefined
  }

  return async (file: LeasedFile, earlierLease: string | null): Promise<number> => {
    const signal = AbortSignal.timeout(attemptMsMax)
    const isStaging = file.state === 'Made'
    // An attempt that ended before its temporary name was committed has not published its file, and never will.
    if (isStaging && earlierLease !== null) await transport.discard(`.${file.name}.${earlierLease}.tmp`, signal)
    const staged = isStaging ? await stage(file, signal) : earlierStagedFile(file, rules)
    if (staged === undefined) return 0
    const { temporary, day } = staged
    await markPublished(rules.archive, day, file.name)
    const outcome = await transport.publish(temporary, file.name, signal)
    if (isStaging && outcome === 'absent' && (await store.unmarkStaged(db, file, temporary)) === 1) {
      await unmarkPublished(rules.archive, day, file.name)
      // This attempt did not rename the file, and no other process had the lease.
      log.error({ connector: rules.id, file: file.name }, 'staged file disappeared before it was renamed')
      return 0
    }
    return store.markDelivered(db, file.id, temporary, clock.now())
  }
}

// Builds the bytes of a file from rows, and checks them against the hash in the row of the file.

type FileContents = { readonly bytes: Buffer; readonly madeAt: Date }

/** Returns the contents of a file; undefined if the lease was lost. */
function createContents(deps: BankDeps, recent: RecentBytes) {
  const { db, log, rules } = deps
  return async (file: LeasedFile): Promise<FileContents | undefined> => {
    const kept = recent.take(file.id)
    const isKept = kept !== undefined && createHash('sha256').update(kept).digest('hex') === file.sha256
    const payments =
      isKept || file.kind !== 'pain.001' ? [] : await store.paymentsOfBatches(db, rules.id, formatBatchIds(file.id))
    const madeAt = isDatePassed(deps, file, payments[0]) ? deps.clock.now() : file.madeAt
    if (isKept && madeAt === file.madeAt) return { bytes: kept, madeAt }
    const message = await buildMessage(deps, { ...file, madeAt }, payments)
    const { sha256 } = message.contents
    if (sha256 !== file.sha256) {
      const facts = { connector: rules.id, file: file.name, sha256, earlier: file.sha256 }
      log.warn(facts, 'rebuilt a file before delivery because its day is over or the configuration has changed')
      const messageName = file.kind === 'pain.001' ? rules.profile.message : file.messageName
      if ((await store.rebuildFile(db, { ...file, messageName }, madeAt, message.contents)) === 0) return undefined
    }
    return { bytes: message.bytes, madeAt }
  }
}

type Payments = Awaited<ReturnType<typeof store.paymentsOfBatches>>

/** Reports whether the execution date of an undelivered file has passed. */
function isDatePassed(
  { clock, rules }: BankDeps,
  { madeAt }: LeasedFile,
  payment: Payments[number] | undefined,
): boolean {
  if (payment === undefined) return false
  return computeExecutionDate(payment, madeAt, rules) < computeExecutionDate(payment, clock.now(), rules)
}

async function buildMessage(deps: BankDeps, file: LeasedFile, payments: Payments): Promise<FileMessage> {
  const { db, rules } = deps
  const { kind } = file
  if (kind === 'pain.001') return buildPaymentMessage(file, openPayers(deps, payments), rules)
  const recalls = await recallsOfFile(db, file.id)
  const [first] = recalls
  const fileId = present(first?.fileId, `recall file ${file.id} has no recalls`)
  const original = (await store.filesByIds(db, [fileId])).get(fileId)
  return buildRecallMessage(
    { ...file, kind },
    present(original, `no file ${fileId}, whose payments are recalled`),
    recalls,
    rules,
  )
}

// Writes waiting payments into files: inserts the row of a file and assigns the payments to it, in one transaction.

/** Writes due payments into files and returns their number. */
export function createWriteFiles(deps: BankDeps, recent: RecentBytes, onMade: (payments: number) => void) {
  return async (): Promise<number> => {
    const made = await Promise.all(schemes.map((scheme) => makeFile(deps, recent, scheme)))
    for (const payments of made) if (payments > 0) onMade(payments)
    return made.reduce((sum, count) => sum + count, 0)
  }
}

async function makeFile(deps: BankDeps, recent: RecentBytes, scheme: Scheme): Promise<number> {
  const { db, clock, rules } = deps
  const now = clock.now()
  // A payment that missed its window waits for the next window of its currency.
  const isOpen = (currency: Currency) => scheme === 'Instant' || nextWindow(now, rules, currency).opensAt <= now
  const open = [...new Set(rules.accounts.map(({ currency }) => currency))].filter(isOpen)
  if (open.length === 0) return 0
  const queued = await store.queuedPayments(
    db,
    { connector: rules.id, scheme, currencies: open },
    now,
    rules.paymentsPerFileMax,
  )
  const [oldest] = queued
  const windowMs = scheme === 'Instant' ? rules.instantWindowMs : rules.fileWindowMs
  const isDue =
    queued.length >= rules.paymentsPerFileMax || (oldest && oldest.dueAt.getTime() + windowMs <= now.getTime())
  if (!isDue) return 0
  const files = await db.transaction(async (tx) => {
    const groups = groupByShard(tx, queued)
    const locked = await Promise.all(groups.map((group) => store.lockQueued(tx, rules.id, scheme, group)))
    const found = await withoutAdopted(deps, tx, locked.flat(), now)
    return groupByFile(openPayers(deps, found), rules).flatMap((payments) => makeFileRow(deps, tx, payments, now) ?? [])
  })
  for (const { id, bytes } of files) recent.keep(id, bytes)
  return files.reduce((sum, { payments }) => sum + payments, 0)
}

/** Inserts a file of these payments. Undefined: the bank's profile no longer supports them, and they stay in the queue. */
function makeFileRow({ log, rules }: BankDeps, tx: Tx, payments: readonly store.OutgoingPayment[], madeAt: Date) {
  const [first] = payments
  const kind = first && paymentKind(first, rules)
  if (kind === undefined || rules.profile.kinds[kind] === undefined) {
    const facts = { connector: rules.id, profile: rules.profile.id, kind, payments: payments.length }
    log.error(facts, "payments stay in the queue because the bank's profile does not support them")
    return undefined
  }
  const id = newId()
  const messageId = formatMessageId('pain.001', id)
  const name = formatFileName('pain.001', messageId)
  const file = { id, kind: 'pain.001' as const, messageId, messageName: rules.profile.message, name, madeAt }
  const filed = assignBatch(id, payments)
  const { contents, bytes } = buildPaymentMessage(file, filed, rules)
  store.insertFile(tx, rules.id, { ...file, ...contents, state: 'Made', stagedName: null, leaseId: null })
  for (const group of groupByShard(tx, filed)) store.assignInstructionsToFile(tx, group, id, madeAt)
  return { id, bytes, payments: payments.length }
}

/** Removes payments that the bank already has in an adopted file (archive.ts), and assigns them to that file. */
async function withoutAdopted(
  { rules }: BankDeps,
  tx: Tx,
  payments: readonly store.SealedPayment[],
  now: Date,
): Promise<readonly store.SealedPayment[]> {
  const ids = payments.map(({ id }) => id)
  const found = ids.length === 0 ? [] : await adoptedInstructions(tx, rules.id, ids)
  if (found.length === 0) return payments
  const adopted = new Map(found.map((one) => [`${one.id} ${one.attempt}`, one]))
  const fileOf = ({ id, attempt }: store.SealedPayment) => adopted.get(`${id} ${attempt}`)
  for (const [fileId, ofFile] of Map.groupBy(payments, (payment) => fileOf(payment)?.fileId)) {
    if (fileId === undefined) continue
    const rows = ofFile.map((payment) => ({ ...payment, batchId: fileOf(payment)?.batchId ?? '' }))
    for (const group of groupByShard(tx, rows)) store.assignInstructionsToFile(tx, group, fileId, now)
  }
  return payments.filter((payment) => fileOf(payment) === undefined)
}

/** Caches the bytes of new files, so that the delivery need not rebuild them. */
type RecentBytes = {
  readonly keep: (fileId: string, bytes: Buffer) => void
  /** Returns the bytes once; undefined if they must be rebuilt from the rows. */
  readonly take: (fileId: string) => Buffer | undefined
}

const filesMax = 8

export function createFileBytesCache(): RecentBytes {
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
