/** All file-based banks of an installation: one connector for each configured bank. */
import { defineJob, type Job } from '../../jobs/index.ts'
import { type Clock, type Log, secondMs } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { BankFiles, Connector, InstructionKey } from '../../rails/index.ts'
import { type BankHealth, type BankObserver, createIsoBank, type IsoBank } from './connector.ts'
import { type Scheme, schemes, type Transport } from './deps.ts'
import { createEndPayment, type PaymentEnd } from './end-payment.ts'
import { createLetterAnswered, createLetterSent, createRecallLetter } from './recall-letter.ts'
import { createReleaseFile } from './release.ts'
import { createRequestRecall, type RecallRequest } from './recalls.ts'
import type { BankConfig } from './settings.ts'
import { createShownFiles } from './shown.ts'
import type { Payers } from './payer.ts'
import * as files from './store-files.ts'
import { countQueued, filesDue } from './store-queue.ts'
import * as recalls from './store-recalls.ts'
import { createTransport } from './transport/create.ts'

/** A payment, its file, and its recall. */
export type BankPayment = recalls.PaymentView & {
  readonly file: Pick<files.OutgoingFile, 'messageId' | 'name' | 'state' | 'madeAt'> | null
  readonly recall: recalls.RecallView | null
}

export type IsoBanks = {
  readonly connectors: readonly Connector[]
  /** The jobs that exchange files. */
  readonly jobs: readonly Job[]
  /** Ends the leases of files at the start of the only process. */
  readonly releaseLeases: () => Promise<void>
  /** The id is that of the instruction. Refuses: not_found, validation_failed. */
  /** `also` joins the transaction. */
  readonly requestRecall: (request: RecallRequest, also?: (tx: Tx) => Promise<void>) => Promise<recalls.RecallView>
  /** Ends a payment by the bank's written word. The id is that of the instruction. Refuses: not_found, validation_failed. */
  readonly endPayment: (tx: Tx, ending: InstructionKey & { readonly end: PaymentEnd }) => Promise<void>
  /** The letter by which people recall a payment. The id is that of the instruction. Refuses: not_found. */
  readonly recallLetter: (key: InstructionKey) => Promise<AsyncGenerator<Uint8Array>>
  /** Records that the letter is sent. Returns the id of the recall. Refuses: not_found, validation_failed. */
  readonly letterSent: (tx: Tx, key: InstructionKey) => Promise<string>
  /** Records the bank's answer to the letter. Refuses: not_found, validation_failed. */
  readonly letterAnswered: (
    tx: Tx,
    answer: InstructionKey & { readonly accepted: boolean; readonly code: string | null },
  ) => Promise<void>
  /** Lets the worker take a file that was quarantined. The id is the subject of its case. Refuses: not_found, validation_failed. */
  readonly releaseFile: (tx: Tx, id: string) => Promise<{ readonly connector: string; readonly fileName: string }>
  /** The newest files of a connector, newest first. */
  readonly files: (connector: string) => Promise<readonly files.ListedFile[]>
  /** Shows files to staff. */
  readonly shown: BankFiles
  /** Finds a payment by the id of the instruction. Undefined: no file-based bank has it. */
  readonly payment: (key: InstructionKey) => Promise<BankPayment | undefined>
}

export type BanksObserver = BankObserver & {
  /** Payments that wait for a file, or for the opening of the bank. */
  readonly queued: (connector: string, scheme: Scheme, payments: number) => void
}

type Deps = {
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
/** A recall whose payment is in no file yet, or whose wake-up was lost. */
const makeEveryMs = 5 * secondMs
const filesListedMax = 200

export function createIsoBanks(deps: Deps): IsoBanks {
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
    letterSent: createLetterSent(deps),
    letterAnswered: createLetterAnswered(deps),
    files: (connector) => files.newestFiles(db, connector, filesListedMax),
    shown: createShownFiles(
      banks.map(({ id }) => id),
      deps.operatorId,
    ),
    payment: async (key) => {
      const payment = await recalls.paymentById(db, key)
      if (payment === undefined) return undefined
      const { fileId } = payment
      const file = fileId === null ? undefined : (await files.filesByIds(db, [fileId])).get(fileId)
      const { messageId = '', name = '', state = 'Made', madeAt = payment.createdAt } = file ?? {}
      const recall = (await recalls.recallOf(db, key)) ?? null
      return { ...payment, file: file === undefined ? null : { messageId, name, state, madeAt }, recall }
    },
  }
}

type Running = {
  readonly id: string
  readonly pollMs: number
  readonly transport: Transport
  readonly bank: IsoBank
}

function bankJobs({ db, observe }: Deps, { id, pollMs, transport, bank }: Running): readonly Job[] {
  const { make, deliver, take } = bank.steps
  const count = async () => {
    const counts = await countQueued(db, id)
    for (const scheme of schemes) observe?.queued(id, scheme, counts.get(scheme) ?? 0)
    return 0
  }
  // Both use the connection until they have stopped.
  let users = 2
  const drain = async () => {
    users -= 1
    if (users === 0) await transport.close()
  }
  return [
    defineJob({
      name: `rails.${id}.make`,
      due: (after) => filesDue(id, after),
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
