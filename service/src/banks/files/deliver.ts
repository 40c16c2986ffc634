/**
 * Delivers files: each step is committed before the next one begins, so that the process that continues after a kill
 * knows what the bank has (docs/decisions/0044-a-bank-by-files.md).
 */
import { after, newId, present, secondMs } from '../../kernel/index.ts'
import { archiveFile, markPublished, unmarkPublished } from './archive.ts'
import { dayOf } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import type { RecentBytes } from './recent-bytes.ts'
import * as store from './store-instructions.ts'
import { createHash } from 'node:crypto'
import { batchIdsOf } from './ids.ts'
import { executionDateOf, type Message, paymentsMessage } from './message.ts'
import { openPayers } from './payer.ts'
import { recallMessage } from './recall-message.ts'
import * as files from './store-instructions.ts'
import { paymentsOfBatches } from './store-instructions.ts'
import { recallsOfFile } from './store-recalls.ts'

/** Each delivery mostly waits for the disk of the bank and of this process. */
const filesAtOnceMax = 4
/** Longer than an attempt, which ends by itself. */
const leaseMs = 60 * secondMs
const attemptMsMax = 40 * secondMs
const retryMs = 5 * secondMs
const problemCharsMax = 500

type Held = store.OutgoingFile & { readonly leaseId: string }

/** Returns how many files it delivered. A file that cannot be delivered now is tried again later. */
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
      if (isFailing && delivered > 0) log.info({ connector: rules.id }, 'bank takes files again')
      if (delivered > 0) isFailing = false
      return delivered
    } catch (error) {
      const facts = { err: error, connector: rules.id, file: file.name }
      onFailed?.(error)
      if (!isFailing) log.error(facts, 'file not delivered; will retry')
      isFailing = true
      const problem = error instanceof Error ? error.message : String(error)
      await store.postpone(db, held, after(clock.now(), retryMs), problem.slice(0, problemCharsMax))
      return 0
    }
  }

  return async (): Promise<number> => {
    const due = await store.undelivered(db, rules.id, clock.now(), filesAtOnceMax)
    const delivered = await Promise.all(due.map(attempt))
    return delivered.reduce((sum, count) => sum + count, 0)
  }
}

type Staged = { readonly temporary: string; readonly day: string }

const earlierStage = ({ stagedName, madeAt }: Held, rules: BankDeps['rules']): Staged | undefined =>
  stagedName === null ? undefined : { temporary: stagedName, day: dayOf(madeAt, rules) }

/** Returns 1, or 0 if another process has the file now. Throws what keeps the file from the bank. */
function createDelivery(deps: BankDeps, recent: RecentBytes) {
  const { db, clock, log, rules, transport } = deps
  const contentsOf = createContents(deps, recent)

  /** Puts the bytes under the temporary name of this attempt. Undefined: the lease was lost. */
  const stage = async (file: Held, signal: AbortSignal): Promise<Staged | undefined> => {
    const made = await contentsOf(file)
    if (made === undefined) return undefined
    const temporary = `.${file.name}.${file.leaseId}.tmp`
    // Archived before the bank has it, so that every file at the bank is in the archive.
    const day = dayOf(made.madeAt, rules)
    await archiveFile(rules.archive, day, file.name, file.leaseId, made.bytes)
    await transport.stage(temporary, made.bytes, signal)
    if ((await store.markStaged(db, file, temporary)) === 1) return { temporary, day }
    await transport.discard(temporary, signal)
    return undefined
  }

  return async (file: Held, earlierLease: string | null): Promise<number> => {
    const signal = AbortSignal.timeout(attemptMsMax)
    const isStaging = file.state === 'Made'
    // Removes the temporary file of an attempt that ended before its name was committed. No attempt has published it or
    // will.
    if (isStaging && earlierLease !== null) await transport.discard(`.${file.name}.${earlierLease}.tmp`, signal)
    const staged = isStaging ? await stage(file, signal) : earlierStage(file, rules)
    if (staged === undefined) return 0
    const { temporary, day } = staged
    await markPublished(rules.archive, day, file.name)
    const outcome = await transport.publish(temporary, file.name, signal)
    if (isStaging && outcome === 'absent' && (await store.unmarkStaged(db, file, temporary)) === 1) {
      await unmarkPublished(rules.archive, day, file.name)
      // The temporary file is gone, although this attempt has not renamed it and no other process had the lease.
      log.error({ connector: rules.id, file: file.name }, 'staged file disappeared before it was renamed')
      return 0
    }
    return store.markDelivered(db, file.id, temporary, clock.now())
  }
}

// The bytes of a file to be staged: they are built from rows, and checked against the hash of its row.

type ContentHeld = files.OutgoingFile & { readonly leaseId: string }
type Made = { readonly bytes: Buffer; readonly madeAt: Date }

/** Undefined: the lease was lost. */
function createContents(deps: BankDeps, recent: RecentBytes) {
  const { db, log, rules } = deps
  return async (file: ContentHeld): Promise<Made | undefined> => {
    const kept = recent.take(file.id)
    const isKept = kept !== undefined && createHash('sha256').update(kept).digest('hex') === file.sha256
    const payments =
      isKept || file.kind !== 'pain.001' ? [] : await paymentsOfBatches(db, rules.id, batchIdsOf(file.id))
    const madeAt = dateIsOver(deps, file, payments[0]) ? deps.clock.now() : file.madeAt
    if (isKept && madeAt === file.madeAt) return { bytes: kept, madeAt }
    const message = await messageOf(deps, { ...file, madeAt }, payments)
    const { sha256 } = message.contents
    if (sha256 !== file.sha256) {
      const facts = { connector: rules.id, file: file.name, sha256, earlier: file.sha256 }
      log.warn(facts, 'file remade before its delivery: its day is over, or the configuration has changed')
      const messageName = file.kind === 'pain.001' ? rules.profile.message : file.messageName
      if ((await files.remake(db, { ...file, messageName }, madeAt, message.contents)) === 0) return undefined
    }
    return { bytes: message.bytes, madeAt }
  }
}

type Payments = Awaited<ReturnType<typeof paymentsOfBatches>>

/** A file that could not be delivered for days requests an execution date that has passed. */
function dateIsOver(
  { clock, rules }: BankDeps,
  { madeAt }: ContentHeld,
  payment: Payments[number] | undefined,
): boolean {
  if (payment === undefined) return false
  return executionDateOf(payment, madeAt, rules) < executionDateOf(payment, clock.now(), rules)
}

async function messageOf(deps: BankDeps, file: ContentHeld, payments: Payments): Promise<Message> {
  const { db, rules } = deps
  const { kind } = file
  if (kind === 'pain.001') return paymentsMessage(file, openPayers(deps, payments), rules)
  const recalls = await recallsOfFile(db, file.id)
  const [first] = recalls
  const fileId = present(first?.fileId, 'a recall names the file of its payment')
  const original = (await files.filesByIds(db, [fileId])).get(fileId)
  return recallMessage({ ...file, kind }, present(original, 'the file of a payment is kept'), recalls, rules)
}
