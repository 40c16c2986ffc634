/**
 * Processes one file of the bank. After a kill at any step, the next process continues from the stored state: the file in
 * the bank's folder, the row of its message (by the hash of its bytes), and the file in the archive.
 */
import { amountText, type Clock, deriveTimeId, type Minor, newId, nilId, sumMinor } from '../../kernel/index.ts'
import type { BankDeps, RemoteFile } from './deps.ts'
import { unpack, type UnpackedDocument } from './containers.ts'
import {
  inspectFile,
  type InspectedMessage,
  type InspectedReport,
  type FileRefusal,
  type InspectedStatement,
} from './inspect.ts'
import type { Lease } from './lease.ts'
import { createRecallAnswers } from './recall-answers.ts'
import { oddityReport, writeReports } from './reports.ts'
import type { Spool, SpooledFile } from './spool.ts'
import { createStatuses } from './statuses.ts'
import * as store from './store-incoming.ts'
import { bookReport } from './take-report.ts'
import type { Tx } from '../../postgres/index.ts'
import { closingBefore, valuedBetween } from './store-books.ts'

/** The outcome of a file. `left`: it is incomplete or stays in the bank's folder. */
export type TakeOutcome = 'taken' | 'repeated' | 'aside' | 'left'

const transferMsMax = 600_000

/** Runs the last steps of a file while others are processed. */
export type RunLater = (file: RemoteFile, work: () => Promise<void>) => Promise<void>

type FileInProgress = {
  readonly lease: Lease
  /** The file at the bank. The name of a document includes its container. */
  readonly file: RemoteFile
  /** True for a document of a container, which is removed from the bank's folder as a whole. */
  readonly isWithin: boolean
  readonly spooled: SpooledFile
  readonly later: RunLater
}

type UnfinishedFiles = ReturnType<typeof createUnfinishedFiles>

type TakeContext = {
  readonly deps: BankDeps
  readonly spool: Spool
  readonly watch: UnfinishedFiles
  readonly answers: ProcessMessage
}

export function createTake(deps: BankDeps, spool: Spool, watch: UnfinishedFiles, answers: ProcessMessage) {
  const { rules, transport } = deps
  const context = { deps, spool, watch, answers }
  return async (lease: Lease, file: RemoteFile, later: RunLater): Promise<TakeOutcome> => {
    if (watch.isLeft(file, rules.unfinishedAfterMs)) return 'left'
    if (file.bytes > rules.messageBytesMax) return refuseTooLarge(deps, lease, file, watch)
    const spooled = await spool.copy(transport, file, signal(), lease.keep)
    if (spooled === undefined) return 'left'
    await lease.keep()
    const taking = { lease, file, spooled, later, isWithin: false }
    const unpacked = await unpack(spooled, { bytesMax: rules.messageBytesMax, keep: lease.keep })
    if (unpacked === undefined) return takeOne(context, taking)
    if ('problem' in unpacked) return handleUnpackProblem(context, taking, unpacked)
    return takeContainer(context, taking, unpacked.documents)
  }
}

async function takeOne(context: TakeContext, taking: FileInProgress): Promise<TakeOutcome> {
  const { db, rules } = context.deps
  const { file, spooled } = taking
  const known = await store.messagesByHash(db, rules.id, spooled.sha256)
  const counted = known.find(({ state }) => state === 'Taking' || state === 'Taken')
  const own = known.find(({ fileName, finishedAt }) => fileName === file.name && finishedAt === null)
  if (counted !== undefined && (counted === own || counted.state === 'Taking')) return resume(context, taking, counted)
  if (counted !== undefined) return takeRepeated(context, taking, counted)
  return own === undefined ? takeNew(context, taking) : resume(context, taking, own)
}

/** Leaves a truncated container, which the bank may still be writing. Quarantines others. */
async function handleUnpackProblem(
  context: TakeContext,
  taking: FileInProgress,
  { problem, isCut }: { readonly problem: string; readonly isCut: boolean },
): Promise<TakeOutcome> {
  const { deps, spool, watch } = context
  if (isCut && !watch.isStale(taking.file, deps.rules.unfinishedAfterMs)) {
    watch.leave(taking.file)
    await spool.drop(taking.spooled)
    return 'left'
  }
  const { db, rules } = deps
  const known = await store.messagesByHash(db, rules.id, taking.spooled.sha256)
  const own = known.find(({ fileName, finishedAt }) => fileName === taking.file.name && finishedAt === null)
  if (own !== undefined) return resume(context, taking, own)
  return quarantine(context, taking, { what: 'file_unreadable', problem: `${problem}.`, kind: null, messageId: null })
}

/**
 * Processes each document of a container as a separate message. Removes the container from the bank's folder after the
 * last document. After a kill, processed documents are recognised by their hashes.
 */
async function takeContainer(
  context: TakeContext,
  taking: FileInProgress,
  documents: readonly UnpackedDocument[],
): Promise<TakeOutcome> {
  const { deps, spool, watch } = context
  const { lease, file, spooled, later } = taking
  const now: RunLater = (_file, work) => work()
  let isWhole = true
  for (const { name, spooled: document } of documents) {
    const within = { ...file, name: name === '' ? file.name : `${file.name}/${name}`, bytes: document.bytes }
    const taken = await takeOne(context, { lease, file: within, spooled: document, later: now, isWithin: true })
    if (taken === 'left') {
      isWhole = false
      await spool.drop(document)
    }
    await lease.keep()
  }
  if (!isWhole) {
    // Its document needs other settings (`resume`).
    watch.ignore(file)
    await spool.drop(spooled)
    return 'left'
  }
  await later(file, async () => {
    await spool.keep(spooled, 'taken', deps.clock.now(), file.name)
    await deps.transport.finish(file.name, signal())
    watch.forget(file.name)
  })
  return 'taken'
}

const signal = () => AbortSignal.timeout(transferMsMax)

/** Archives the file and removes it from the bank's folder, while the next file is processed. */
async function finish(
  { deps: { db, clock, transport }, spool, watch }: TakeContext,
  { file, spooled, later, isWithin }: FileInProgress,
  message: Pick<store.KnownMessage, 'id' | 'receivedAt'>,
  to: 'taken' | 'aside',
): Promise<TakeOutcome> {
  await later(file, async () => {
    await spool.keep(spooled, to, message.receivedAt, file.name)
    if (!isWithin) await transport.finish(file.name, signal())
    await store.markMessageArchived(db, message.id, clock.now())
    watch.forget(file.name)
  })
  return to
}

async function quarantine(context: TakeContext, taking: FileInProgress, refused: FileRefusal): Promise<TakeOutcome> {
  const { deps } = context
  const { lease, file, spooled } = taking
  const row = messageRow(deps, taking, { ...refused, state: 'Aside' })
  await lease.transaction((tx) => insertQuarantined(deps, tx, row, refused))
  const facts = { connector: deps.rules.id, file: file.name, bytes: spooled.bytes, problem: refused.problem }
  deps.log.warn(facts, 'bank file quarantined')
  return finish(context, taking, row, 'aside')
}

/** Removes a file whose bytes were already processed. Its id is derived, so that a repetition after a kill changes nothing. */
async function takeRepeated(
  { deps, spool, watch }: TakeContext,
  taking: FileInProgress,
  { kind, messageId }: store.KnownMessage,
): Promise<TakeOutcome> {
  const { db, rules, clock, transport } = deps
  const { file, spooled, isWithin } = taking
  const id = deriveTimeId(nilId, 'repeated', rules.id, file.name, spooled.sha256, file.modifiedAt.toISOString())
  const row = messageRow(deps, taking, { kind, messageId, problem: null, state: 'Repeated' })
  await store.insertMessage(db, { ...row, id })
  await spool.drop(spooled)
  if (!isWithin) await transport.finish(file.name, signal())
  await store.markMessageArchived(db, id, clock.now())
  watch.forget(file.name)
  return 'repeated'
}

async function takeNew(context: TakeContext, taking: FileInProgress): Promise<TakeOutcome> {
  const { deps, spool, watch, answers } = context
  const { rules } = deps
  const verdict = await inspectFile(taking.spooled, rules, taking.lease.keep)
  // A truncated document in a complete container does not grow.
  if ('unfinished' in verdict && !taking.isWithin && !watch.isStale(taking.file, rules.unfinishedAfterMs)) {
    watch.leave(taking.file)
    await spool.drop(taking.spooled)
    return 'left'
  }
  if ('refused' in verdict) return quarantine(context, taking, verdict.refused)
  const { message } = verdict
  const { kind, messageId } = message
  const row = messageRow(deps, taking, { kind, messageId, problem: null, state: 'Taking' })
  const refused = await taking.lease.transaction(async (tx): Promise<FileRefusal | undefined> => {
    const found = await store.messageById(tx, rules.id, kind, messageId)
    if (found !== undefined) return refuseReusedId(message, found)
    const problem = 'report' in message ? await balanceProblem(tx, deps, message.report) : undefined
    if (problem !== undefined) return { what: 'sum_differs', problem, kind, messageId }
    await store.insertMessage(tx, row)
    return undefined
  })
  if (refused !== undefined) return quarantine(context, taking, refused)
  await answers(taking, row, message)
  return finish(context, taking, row, 'taken')
}

async function resume(context: TakeContext, taking: FileInProgress, found: store.KnownMessage): Promise<TakeOutcome> {
  const { deps, spool, watch, answers } = context
  if (found.state === 'Aside') return finish(context, taking, found, 'aside')
  if (found.state === 'Taking') {
    const verdict = await inspectFile(taking.spooled, deps.rules, taking.lease.keep)
    if ('refused' in verdict) {
      // The settings have changed since the first part was processed: the file stays until a process with other settings starts.
      const facts = { connector: deps.rules.id, file: taking.file.name, problem: verdict.refused.problem }
      deps.log.error(facts, 'partly processed bank file no longer passes inspection; it stays at the bank')
      watch.ignore(taking.file)
      await spool.drop(taking.spooled)
      return 'left'
    }
    await answers(taking, found, verdict.message)
  }
  return finish(context, taking, found, 'taken')
}

/** Processes a message, from the position that an earlier process reached. */
export function createProcessMessage(deps: BankDeps) {
  const statuses = createStatuses(deps)
  const recalls = createRecallAnswers(deps)
  return async (
    { lease, spooled: { path, sha256 } }: Pick<FileInProgress, 'lease' | 'spooled'>,
    { id, receivedAt }: Pick<store.KnownMessage, 'id' | 'receivedAt'>,
    message: InspectedMessage,
  ): Promise<void> => {
    if ('report' in message) {
      const { kind, report } = message
      return bookReport(deps, lease, { id, kind, sha256, receivedAt, path, report })
    }
    if (message.kind === 'pain.002') await statuses(lease, id, message.status)
    else await recalls(lease, id, message.answer)
    await lease.transaction(async (tx) => {
      if ((await store.messagePosition(tx, id)) !== undefined) store.markMessageProcessed(tx, id, deps.clock.now())
    })
  }
}

export type ProcessMessage = ReturnType<typeof createProcessMessage>

type MessageDecision = Pick<store.MessageRow, 'kind' | 'messageId' | 'problem' | 'state'>

function messageRow(
  { clock, rules }: BankDeps,
  { file, spooled }: Pick<FileInProgress, 'file'> & { readonly spooled: Pick<SpooledFile, 'sha256' | 'bytes'> },
  { kind, messageId, problem, state }: MessageDecision,
): store.MessageRow {
  const { sha256, bytes } = spooled
  const row = { id: newId(), connector: rules.id, kind, messageId, fileName: file.name, sha256, bytes }
  return { ...row, state, problem, receivedAt: clock.now(), takenAt: null }
}

/** Quarantines a file. The same file has only one case. */
async function insertQuarantined(
  { rules, operatorId, clock }: BankDeps,
  tx: Parameters<typeof store.insertMessage>[0],
  row: store.MessageRow,
  { what, problem }: FileRefusal,
): Promise<void> {
  await store.insertMessage(tx, row)
  const balanceText = `The file ${row.fileName} was quarantined: ${problem}`
  const report = oddityReport({ operatorId, connector: rules.id }, what, balanceText, [row.sha256], row.id)
  writeReports(tx, rules.id, [report], clock.now())
}

const refuseReusedId = ({ kind, messageId }: InspectedMessage, { fileName }: store.KnownMessage): FileRefusal => ({
  what: 'message_differs',
  problem: `The ${kind} ${messageId} was already processed from the file ${fileName}, with other contents.`,
  kind,
  messageId,
})

/** Leaves a file that is too large in the bank's folder without copying it, and reports it once. */
async function refuseTooLarge(
  deps: BankDeps,
  lease: Lease,
  file: RemoteFile,
  watch: UnfinishedFiles,
): Promise<TakeOutcome> {
  const { db, rules } = deps
  const sha256 = `unread ${deriveTimeId(nilId, file.name, String(file.bytes), file.modifiedAt.toISOString())}`
  watch.ignore(file)
  if ((await store.messagesByHash(db, rules.id, sha256)).length > 0) return 'left'
  const problem = `It has ${file.bytes} bytes, more than the maximum of ${rules.messageBytesMax}. It is still in the bank's folder.`
  const refused: FileRefusal = { what: 'file_unreadable', problem, kind: null, messageId: null }
  const row = messageRow(deps, { file, spooled: { sha256, bytes: file.bytes } }, { ...refused, state: 'Aside' })
  await lease.transaction((tx) => insertQuarantined(deps, tx, row, refused))
  return 'aside'
}

// Checks balances by value date: an entry of today with the value date of tomorrow is in tomorrow's closing balance.
// Value dates must explain the difference to the cent; otherwise the statement is quarantined.

/** Describes wrong balances of a report; undefined if they fit or value dates explain the difference. */
async function balanceProblem(
  tx: Tx,
  { rules, operatorId }: Pick<BankDeps, 'rules' | 'operatorId'>,
  { statements }: InspectedReport,
): Promise<string | undefined> {
  for (const [index, facts] of statements.entries()) {
    const { account, difference, closing, opening } = facts
    if (account === undefined || difference === 0n || closing === null || opening === null) continue
    const of = { operatorId, connector: rules.id, account: account.iban, currency: account.currency }
    const inFile = statements.slice(0, index).filter((one) => one.account === account)
    const stored = await closingBefore(tx, of, closing.on)
    const after = [stored ?? '', ...inFile.map((one) => one.closing?.on ?? '')].toSorted().at(-1) ?? ''
    const carried =
      (after === '' ? 0n : await valuedBetween(tx, of, after, closing.on)) + valuedWithin(inFile, after, closing.on)
    if (difference !== carried - sumMinor([...facts.valuedLater.values()])) return text(facts, difference)
  }
  return undefined
}

const valuedWithin = (statements: readonly InspectedStatement[], after: string, to: string): Minor =>
  sumMinor(
    statements.flatMap(({ valuedLater }) =>
      [...valuedLater].flatMap(([on, amount]) => (on > after && on <= to ? [amount] : [])),
    ),
  )

function text(
  { statementId, account, opening, closing, credits, debits }: InspectedStatement,
  difference: Minor,
): string {
  const currency = account?.currency ?? 'EUR'
  const [first, moved, sum, last, more] = [
    opening?.minor ?? 0n,
    credits - debits,
    (opening?.minor ?? 0n) + credits - debits,
    closing?.minor ?? 0n,
    difference,
  ].map((minor) => amountText(minor, currency))
  return `Statement ${statementId} of ${account?.iban ?? ''}: the opening balance ${first} and the entries ${moved} are ${sum}, and the closing balance is ${last}. The value dates of entries do not explain the difference of ${more}.`
}

// Remembers, in this process, the files left in the bank's folder until they grow or become stale.

type FileSighting = {
  readonly bytes: number
  readonly modifiedMs: number
  readonly sinceMs: number
  readonly isIgnored?: true
}

export function createUnfinishedFiles(clock: Clock) {
  const seen = new Map<string, FileSighting>()
  const sameOf = ({ name, bytes, modifiedAt }: RemoteFile): FileSighting | undefined => {
    const found = seen.get(name)
    return found?.bytes === bytes && found.modifiedMs === modifiedAt.getTime() ? found : undefined
  }
  const ageOf = ({ sinceMs }: FileSighting) => clock.now().getTime() - sinceMs
  const note = (file: RemoteFile, more: Pick<FileSighting, 'isIgnored'> = {}) => {
    if (sameOf(file) !== undefined) return
    const { name, bytes, modifiedAt } = file
    seen.set(name, { bytes, modifiedMs: modifiedAt.getTime(), sinceMs: clock.now().getTime(), ...more })
  }
  return {
    leave: (file: RemoteFile) => note(file),
    ignore: (file: RemoteFile) => note(file, { isIgnored: true }),
    /** Reports whether a file left in the folder is unchanged and not stale, so that it need not be read. */
    isLeft: (file: RemoteFile, staleAfterMs: number): boolean => {
      const found = sameOf(file)
      return found !== undefined && (found.isIgnored === true || ageOf(found) < staleAfterMs)
    },
    /** Reports whether a file left in the folder has not grown for so long that it is no longer being written. */
    isStale: (file: RemoteFile, staleAfterMs: number): boolean => {
      const found = sameOf(file)
      return found !== undefined && ageOf(found) >= staleAfterMs
    },
    forget: (name: string) => void seen.delete(name),
    /** Forgets files that are no longer in the folder. */
    forgetExcept: (names: ReadonlySet<string>) => {
      for (const name of seen.keys()) if (!names.has(name)) seen.delete(name)
    },
  }
}
