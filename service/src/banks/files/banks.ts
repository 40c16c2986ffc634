/** All file-based banks of an installation: one connector for each configured bank. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import { after, type Clock, type Log, partnerKey, secondMs } from '../../kernel/index.ts'
import { groupByShard, type Database, type Tx } from '../../postgres/index.ts'
import {
  type BankFiles,
  type BankNotification,
  callTimeoutMsMax,
  type Connector,
  type ConnectorHealth,
  bankDay,
  type Forecast,
  type ForecastPayment,
  type InstructionKey,
  isTargetDay,
  nextWindow,
  untilAborted,
} from '../../rails/index.ts'
import {
  type BankDeps,
  type BankRules,
  type Payers,
  type RemoteFile,
  type Scheme,
  schemes,
  type Transport,
} from './deps.ts'
import {
  createRecordLetterAnswer,
  createRecordLetterSent,
  createWriteRecallFiles,
  createRecallLetter,
  createRequestRecall,
  createRecallIntake,
  createLetterCases,
  type RecallRequest,
} from './recalls.ts'
import { createFileReceiver, createReleaseFile } from './incoming.ts'
import type { BankConfig } from './settings.ts'
import { createFilesView } from './shown.ts'
import * as files from './store-instructions.ts'
import * as recalls from './store-recalls.ts'
import { type FolderConfig, isFinishedName, type TransportConfig, pathIn } from './transport/settings.ts'
import { createSftpTransport } from './transport/sftp.ts'
import { createAdoptFiles, flush, ignoreAbsent } from './archive.ts'
import { createDeliverFiles, createWriteFiles, createFileBytesCache } from './deliver.ts'
import type { FileKind } from './ids.ts'
import { createSubmit, storedAnswers } from './submit.ts'
import { ownJson } from '@partner-payments/wire'
import { applyEntries } from './store-entries.ts'
import * as store from './store-books.ts'
import { constants, createReadStream } from 'node:fs'
import { type FileHandle, lstat, open, readdir, rename, stat, unlink } from 'node:fs/promises'
import { Refusal, Unreachable } from '../../kernel/api/index.ts'
import { chooseScheme, isRefused, isSepa } from './schemes.ts'
import { applyStatus } from './statuses.ts'
import { lockSentPayments } from './store-incoming.ts'

/** A payment, its file, and its recall. */
export type BankPayment = recalls.PaymentView & {
  readonly file: Pick<files.OutgoingFile, 'messageId' | 'name' | 'state' | 'madeAt'> | null
  readonly recall: recalls.RecallView | null
}

type IsoBanks = {
  readonly connectors: readonly Connector[]
  /** The jobs that exchange files. */
  readonly jobs: readonly Job[]
  /** Ends the leases of files at the start of the only process. */
  readonly releaseLeases: () => Promise<void>
  /** Requests a recall of the instruction. `also` joins the transaction. Refuses: not_found, validation_failed. */
  readonly requestRecall: (request: RecallRequest, also?: (tx: Tx) => Promise<void>) => Promise<recalls.RecallView>
  /**
   * Ends a payment with the outcome that the bank has confirmed in writing. The id is that of the instruction. Refuses:
   * not_found, validation_failed.
   */
  readonly endPayment: (tx: Tx, ending: InstructionKey & { readonly end: PaymentOutcome }) => Promise<void>
  /** Writes the letter that recalls a payment. The id is that of the instruction. Refuses: not_found. */
  readonly recallLetter: (key: InstructionKey) => Promise<AsyncGenerator<Uint8Array>>
  /** Records that the letter was sent. Returns the id of the recall. Refuses: not_found, validation_failed. */
  readonly letterSent: (tx: Tx, key: InstructionKey) => Promise<string>
  /** Records the bank's answer to the letter. Refuses: not_found, validation_failed. */
  readonly letterAnswered: (
    tx: Tx,
    answer: InstructionKey & { readonly accepted: boolean; readonly code: string | null },
  ) => Promise<void>
  /** Releases a quarantined file to the worker. The id is the subject of its case. Refuses: not_found, validation_failed. */
  readonly releaseFile: (tx: Tx, id: string) => Promise<{ readonly connector: string; readonly fileName: string }>
  /** Lists the newest files of a connector, newest first. */
  readonly files: (connector: string) => Promise<readonly files.ListedFile[]>
  /** Shows files to staff. */
  readonly shown: BankFiles
  /** Finds a payment by the id of the instruction. Undefined: no file-based bank has it. */
  readonly payment: (key: InstructionKey) => Promise<BankPayment | undefined>
}

type BanksObserver = BankObserver & {
  /** Counts payments that wait for a file or for the bank to open. */
  readonly queued: (connector: string, scheme: Scheme, payments: number) => void
}

type IsoBanksDeps = {
  readonly banks: readonly BankConfig[]
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly operatorId: string
  readonly payers?: Payers
  readonly observe?: BanksObserver | undefined
  readonly health?: BankHealth
}

const countEveryMs = 10 * secondMs
/** This interval finds recalls whose payment was not in a file yet, or whose hint was lost. */
const makeEveryMs = 5 * secondMs
const filesListedMax = 200

export function createIsoBanks(deps: IsoBanksDeps): IsoBanks {
  const { banks: configured, db, observe, health } = deps
  const banks = configured.map(({ transport: config, ...rules }) => {
    const transport = createTransport(config)
    const bank = createIsoBank({ ...deps, rules, transport }, observe, health)
    return { id: rules.id, pollMs: rules.pollMs, transport, bank }
  })
  return {
    connectors: banks.map(({ bank }) => bank.connector),
    jobs: banks.flatMap((bank) => bankJobs(deps, bank)),
    releaseLeases: () => files.releaseFileLeases(db),
    requestRecall: createRequestRecall(deps),
    endPayment: createEndPayment(deps),
    releaseFile: createReleaseFile(deps),
    recallLetter: createRecallLetter({ ...deps, banks: configured }),
    letterSent: createRecordLetterSent(deps),
    letterAnswered: createRecordLetterAnswer(deps),
    files: (connector) => files.newestFiles(db, connector, filesListedMax),
    shown: createFilesView(
      banks.map(({ id }) => id),
      deps.operatorId,
    ),
    payment: async (key) => {
      const payment = await recalls.paymentById(db, key)
      if (payment === undefined) return undefined
      const { fileId } = payment
      const file = fileId === null ? undefined : (await files.filesByIds(db, [fileId])).get(fileId)
      const { messageId = '', name = '', state = 'Made', madeAt = payment.createdAt } = file ?? {}
      const recall = (await recalls.newestRecall(db, key)) ?? null
      return { ...payment, file: file === undefined ? null : { messageId, name, state, madeAt }, recall }
    },
  }
}

type RunningBank = {
  readonly id: string
  readonly pollMs: number
  readonly transport: Transport
  readonly bank: IsoBank
}

function bankJobs({ db, observe }: IsoBanksDeps, { id, pollMs, transport, bank }: RunningBank): readonly Job[] {
  const { make, deliver, take } = bank.steps
  const count = async () => {
    const counts = await files.countQueued(db, id)
    for (const scheme of schemes) observe?.queued(id, scheme, counts.get(scheme) ?? 0)
    return 0
  }
  // Two jobs use the connection; the last one to stop closes it.
  let users = 2
  const drain = async () => {
    users -= 1
    if (users === 0) await transport.close()
  }
  return [
    defineJob({
      name: `rails.${id}.make`,
      due: (after) => files.filesDue(id, after),
      wokenBy: ['rails.iso_recalls', 'rails.iso_files'],
      everyMs: makeEveryMs,
      run: make,
    }),
    defineJob({
      name: `rails.${id}.deliver`,
      due: (after) => files.deliveriesDue(id, after),
      run: deliver,
      drain,
      age: { queue: 'bank_files', connector: id, since: () => files.oldestUndelivered(db, id) },
    }),
    defineJob({ name: `rails.${id}.take`, everyMs: pollMs, run: take, drain }),
    ...(observe === undefined ? [] : [defineJob({ name: `rails.${id}.count`, everyMs: countEveryMs, run: count })]),
  ]
}

export const createTransport = (config: TransportConfig): Transport =>
  config.kind === 'folder' ? createFolderTransport(config) : createSftpTransport(config)

// The connector of a file-based bank reads and writes rows of this database; `steps` exchange the files with the bank
// (docs/decisions/0044-a-bank-by-files.md).

type IsoBank = {
  readonly connector: Connector
  /** Each step does one round of work and returns its amount; 0 means idle. Steps run concurrently, in any process. */
  readonly steps: {
    /** Writes waiting payments and recalls into files. */
    readonly make: () => Promise<number>
    /** Delivers the files to the bank. */
    readonly deliver: () => Promise<number>
    /** Receives the files of the bank. */
    readonly take: () => Promise<number>
  }
}

type BankObserver = {
  /** `payments`: the number of payments or recalls in the file. */
  readonly fileMade: (connector: string, kind: FileKind, payments: number) => void
  readonly fileDelivered: (connector: string, kind: FileKind) => void
}

/** Records whether the bank listed its files or accepted a file. */
type BankHealth = Pick<ConnectorHealth, 'answered' | 'failed'>

/** Equal to the limits of the sandbox bank: while one call commits, others can write. */
const limits = { instructionsPerCallMax: 256, callsMax: 4, callTimeoutMs: callTimeoutMsMax } as const

export function createIsoBank(deps: BankDeps, observe?: BankObserver, health?: BankHealth): IsoBank {
  const { id } = deps.rules
  const submit = createSubmit(deps)
  const takeRecall = createRecallIntake(deps)
  const recent = createFileBytesCache()
  const makePayments = createWriteFiles(deps, recent, (payments) => observe?.fileMade(id, 'pain.001', payments))
  const { recalls: form = 'camt.055' } = deps.rules
  const makeRecalls =
    form === 'letter'
      ? createLetterCases(deps)
      : createWriteRecallFiles(deps, form, (recalls) => observe?.fileMade(id, form, recalls))
  const watch = { answered: () => health?.answered(id), failed: (error: unknown) => health?.failed(id, error) }
  const onDelivered = ({ kind }: { readonly kind: FileKind }) => {
    watch.answered()
    observe?.fileDelivered(id, kind)
  }
  const deliver = createDeliverFiles(deps, recent, onDelivered, watch.failed)
  const adopt = createAdoptFiles(deps)
  const incoming = createFileReceiver(deps, watch)
  return {
    connector: {
      id,
      limits,
      forecast: (payment, at) => forecastPayment(payment, at, deps.rules),
      payerData: (deps.rules.payer ?? 'customer') === 'customer' ? (deps.rules.payerData ?? 'send') : undefined,
      instruct: async (instructions, options) =>
        instructions.length === 0 ? [] : untilAborted(submit(instructions), options),
      find: async (keys, options) => {
        if (keys.length === 0) return []
        const found = await untilAborted(storedAnswers(deps, keys), options)
        return keys.map((key) => found.get(partnerKey(key.partnerId, key.id)))
      },
      recall: async (request, options) => untilAborted(takeRecall(request), options),
      ...createNotificationReader(deps),
    },
    steps: {
      make: async () => {
        await adopt()
        return (await makePayments()) + (await makeRecalls())
      },
      deliver: async () => {
        await adopt()
        return deliver()
      },
      take: incoming.step,
    },
  }
}

// Notifications of the connector for settlement: rows of this database, deleted once acknowledged.

export function createNotificationReader({
  db,
  clock,
  rules: { id },
  operatorId,
}: BankDeps): Pick<Connector, 'notifications' | 'notificationsDue' | 'acknowledge' | 'oldestNotification'> {
  return {
    notifications: async (notificationsMax, options) =>
      (await untilAborted(store.dueNotifications(db, id, notificationsMax), options)).map(toNotification),
    acknowledge: async (notifications, options) => {
      if (notifications.length === 0) return
      const ended = groupByShard(db, notifications).map((group) =>
        db.transaction(async (tx) => {
          const entries = await store.deleteNotifications(tx, id, group)
          if (entries.length > 0) await applyEntries(tx, operatorId, entries, clock.now())
        }),
      )
      await untilAborted(Promise.all(ended), options)
    },
    notificationsDue: (after) => store.notificationsDue(id, after),
    oldestNotification: () => store.oldestDue(db, id),
  }
}

type StoredPayload = { readonly money?: { readonly currency: string; readonly amount: string } }

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  const { money, ...facts } = ownJson<StoredPayload>(payload)
  const counted = money === undefined ? {} : { money: { ...money, amount: BigInt(money.amount) } }
  return { ...row, ...facts, ...counted } as BankNotification
}

// Exchanges files in folders of this machine, as an EBICS client or a mount provides them.
//
// Publishes by rename(2), not by link(2) and unlink(2): a kill between these two leaves both names, and once the bank has
// processed one file, the other would be sent again. Names contain our id, so that a check before the rename suffices.

type FolderPaths = Omit<FolderConfig, 'kind'>

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants
const readBytes = 256 * 1024
const statsAtOnceMax = 64

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT'

/** Stops waiting when the signal aborts, because a mount may hang. The next attempt finds the outcome. */
async function inTime<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(new Unreachable('downstream_timeout', `${what}: the folder does not answer in time`))
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work(), aborted])
  } catch (error) {
    if (error instanceof Unreachable || codeOf(error) === '') throw error
    throw new Unreachable('downstream_unreachable', `${what}: ${(error as Error).message}`, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

export function createFolderTransport({ toBank, fromBank, taken }: FolderPaths): Transport {
  return {
    list: (signal) => inTime('list', signal, () => listFiles(fromBank)),
    read: (name, offset, signal) => readFrom(fromBank, name, offset, signal),
    finish: (name, signal) =>
      inTime('finish', signal, async () => {
        const source = pathIn(fromBank, name)
        if (taken === undefined) await unlink(source).catch(ignoreAbsent)
        else await moveInto(taken, name, source)
        await flush(fromBank)
      }),
    stage: (temporary, bytes, signal) =>
      inTime('stage', signal, async () => {
        await writeWhole(pathIn(toBank, temporary), bytes)
        // A process that does not find this name later assumes that the file was published, so that the name must survive
        // a power cut.
        await flush(toBank)
      }),
    publish: (temporary, name, signal) => inTime('publish', signal, () => publishIn(toBank, temporary, name)),
    discard: (temporary, signal) =>
      inTime('discard', signal, () => unlink(pathIn(toBank, temporary)).catch(ignoreAbsent)),
    close: () => Promise.resolve(),
  }
}

/** Lists regular files only: the bank must not choose the target of a link. */
async function listFiles(folder: string): Promise<readonly RemoteFile[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && isFinishedName(entry.name)).map(({ name }) => name)
  const files: RemoteFile[] = []
  for (let at = 0; at < names.length; at += statsAtOnceMax)
    files.push(
      ...(await Promise.all(names.slice(at, at + statsAtOnceMax).map((name) => describe(folder, name)))).flat(),
    )
  return files
}

/** Returns an empty list if the file was removed since it was listed. */
async function describe(folder: string, name: string): Promise<readonly RemoteFile[]> {
  try {
    const { size, mtime } = await lstat(pathIn(folder, name))
    return [{ name, bytes: size, modifiedAt: mtime }]
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

async function* readFrom(
  folder: string,
  name: string,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const path = pathIn(folder, name)
  // O_NONBLOCK: opening a named pipe would block for ever.
  const file = await inTime('read', signal, () => open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  try {
    const stream = createReadStream(path, { fd: file, start: offset, highWaterMark: readBytes, autoClose: false })
    const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
    for (;;) {
      const next = await inTime('read', signal, () => chunks.next())
      if (next.done) return
      yield next.value
    }
  } finally {
    await file.close()
  }
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const file: FileHandle = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function publishIn(folder: string, temporary: string, name: string): Promise<'published' | 'absent'> {
  const source = pathIn(folder, temporary)
  const target = pathIn(folder, name)
  if (!(await exists(source))) return confirmAbsent(folder)
  if (await exists(target))
    throw new Unreachable('downstream_unreachable', `publish: ${name} already exists in the folder of the bank`)
  // A share may rename the file and still report a failure: the next attempt detects it.
  await rename(source, target)
  await flush(folder)
  return 'published'
}

/** Throws if the folder is missing as well, such as an unmounted share: the file may then exist. */
async function confirmAbsent(folder: string): Promise<'absent'> {
  await stat(folder)
  return 'absent'
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      ignoreAbsent(error)
      return false
    },
  )

/** Banks reuse names: an earlier file keeps its name, and this one gets a number. */
async function moveInto(folder: string, name: string, source: string): Promise<void> {
  let target = pathIn(folder, name)
  for (let number = 2; await exists(target); number += 1) target = pathIn(folder, `${name}.${number}`)
  await rename(source, target).catch(ignoreAbsent)
  await flush(folder)
}

// Forecasts a payment that the connector receives at a given time. Pure.

/** SCT Inst rulebook 2025, section 4.2.3: the beneficiary has the money within ten seconds. */
const instantMs = 10 * secondMs

export function forecastPayment(payment: ForecastPayment, at: Date, rules: BankRules): Forecast {
  const { opensAt, cutOffAt, date } = nextWindow(at, rules, payment.currency)
  const choice = chooseScheme(payment, rules, date)
  if (isRefused(choice)) return { possible: false, errorKey: choice.errorKey, details: choice.details }
  if (choice.applied === 'Instant') {
    const arrivesAt = after(at, rules.instantWindowMs + instantMs)
    const days = { valueDate: bankDay(at, rules), arrivesOn: bankDay(arrivesAt, rules) }
    return { possible: true, method: 'SepaInstant', cutOffAt: null, submitsAt: at, ...days }
  }
  const goesBySepa = isSepa(payment)
  return {
    possible: true,
    method: goesBySepa ? 'SepaCreditTransfer' : 'Swift',
    cutOffAt,
    submitsAt: opensAt > at ? opensAt : at,
    valueDate: date,
    arrivesOn: goesBySepa ? nextTargetDay(date) : null,
  }
}

/** Returns the next TARGET day. Directive (EU) 2015/2366, article 83(1): a payment arrives by the end of the next business day. */
function nextTargetDay(date: string): string {
  let day = Temporal.PlainDate.from(date).add({ days: 1 })
  while (!isTargetDay(day)) day = day.add({ days: 1 })
  return day.toString()
}

// Ends a payment with the outcome that the bank has confirmed in writing, if the bank never sends the status in a file.
// A later booking that contradicts it opens a case, as after a status of the bank.

/** `paid`: the bank has executed the payment. `not-paid`: it has not, and will not. */
export const paymentOutcomes = ['paid', 'not-paid'] as const
export type PaymentOutcome = (typeof paymentOutcomes)[number]

type EndPaymentDeps = { readonly clock: Clock; readonly operatorId: string }

/** Ends the payment of an instruction. Refuses: not_found, validation_failed (it has ended, or is not at the bank). */
const createEndPayment =
  ({ clock, operatorId }: EndPaymentDeps) =>
  async (tx: Tx, { partnerId, id, end }: InstructionKey & { readonly end: PaymentOutcome }): Promise<void> => {
    const payment = await recalls.paymentById(tx, { partnerId, id })
    if (payment === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
    const [sent] = await lockSentPayments(tx, payment.connector, [{ partnerId, id }])
    if (sent === undefined) throw new Refusal('not_found', 'No file-based bank has this payment.')
    const { status, fileId } = sent
    if (status !== 'Filed' && status !== 'Accepted')
      throw new Refusal(
        'validation_failed',
        `The payment is ${status}. Only a payment that waits at the bank can be ended manually.`,
      )
    const file = fileId === null ? undefined : (await files.filesByIds(tx, [fileId])).get(fileId)
    if (file?.state !== 'Delivered')
      throw new Refusal(
        'validation_failed',
        'The bank does not have the file of the payment yet. Wait until it is delivered.',
      )
    await applyStatus(
      tx,
      { clock, operatorId, rules: { id: payment.connector } },
      sent,
      end === 'paid' ? 'settled' : 'rejected',
    )
  }
