/** All banks by files of an installation: one connector for each configured bank. */
import { type Clock, type Log, type Loop, secondMs, startLoop } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Connector, InstructionKey } from '../../rails/index.ts'
import { type BankObserver, createIsoBank, type IsoBank } from './connector.ts'
import { type Scheme, schemes, type Transport } from './deps.ts'
import { createRequestRecall, type RecallRequest } from './recalls.ts'
import type { BankConfig } from './settings.ts'
import * as files from './store-files.ts'
import { countQueued } from './store-queue.ts'
import * as recalls from './store-recalls.ts'
import { createTransport } from './transport/create.ts'

/** A payment, its file, and the request to take it back. */
export type BankPayment = recalls.PaymentView & {
  readonly file: Pick<files.OutgoingFile, 'messageId' | 'name' | 'state' | 'madeAt'> | null
  readonly recall: recalls.RecallView | null
}

export type IsoBanks = {
  readonly connectors: readonly Connector[]
  /** The loops that exchange files. */
  readonly start: () => readonly Loop[]
  /** At the start of the only process: no file has a process that delivers it. */
  readonly releaseLeases: () => Promise<void>
  /** The id is that of the instruction. Refuses: not_found, validation_failed. */
  /** `also` joins the transaction. */
  readonly requestRecall: (request: RecallRequest, also?: (tx: Tx) => Promise<void>) => Promise<recalls.RecallView>
  /** The newest files of a connector, newest first. */
  readonly files: (connector: string) => Promise<readonly files.ListedFile[]>
  /** By the id of the instruction. Undefined: no bank by files has it. */
  readonly payment: (key: InstructionKey) => Promise<BankPayment | undefined>
  /** When the oldest file was made that is not at the bank. */
  readonly oldestUndelivered: (connector: string) => Promise<Date | null>
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
  /** The pause between two looks for payments that wait for a file. */
  readonly idleMs: number
  readonly observe?: BanksObserver | undefined
}

const countIdleMs = 10 * secondMs
const filesListedMax = 200

export function createIsoBanks(deps: Deps): IsoBanks {
  const { banks: configured, db, observe } = deps
  const banks = configured.map(({ transport: config, ...rules }) => {
    const transport = createTransport(config)
    const bank = createIsoBank({ ...deps, rules, transport }, observe)
    return { id: rules.id, pollMs: rules.pollMs, transport, bank }
  })
  return {
    connectors: banks.map(({ bank }) => bank.connector),
    start: () => banks.flatMap((bank) => startBank(deps, bank)),
    releaseLeases: () => files.releaseFileLeases(db),
    requestRecall: createRequestRecall(deps),
    files: (connector) => files.newestFiles(db, connector, filesListedMax),
    payment: async (key) => {
      const payment = await recalls.paymentById(db, key)
      if (payment === undefined) return undefined
      const { fileId } = payment
      const file = fileId === null ? undefined : (await files.filesByIds(db, [fileId])).get(fileId)
      const { messageId = '', name = '', state = 'Made', madeAt = payment.createdAt } = file ?? {}
      const recall = (await recalls.recallOf(db, key)) ?? null
      return { ...payment, file: file === undefined ? null : { messageId, name, state, madeAt }, recall }
    },
    oldestUndelivered: (connector) => files.oldestUndelivered(db, connector),
  }
}

type Running = {
  readonly id: string
  readonly pollMs: number
  readonly transport: Transport
  readonly bank: IsoBank
}

function startBank({ db, log, idleMs, observe }: Deps, { id, pollMs, transport, bank }: Running): readonly Loop[] {
  const { make, deliver, take } = bank.steps
  const loop = (name: string, pauseMs: number, step: () => Promise<number>) =>
    startLoop({ name: `rails.${id}.${name}`, idleMs: pauseMs, log, step })
  const delivering = loop('deliver', idleMs, deliver)
  const making = loop('make', idleMs, async () => {
    const made = await make()
    if (made > 0) delivering.wake()
    return made
  })
  const taking = loop('take', pollMs, take)
  const count = async () => {
    const counts = await countQueued(db, id)
    for (const scheme of schemes) observe?.queued(id, scheme, counts.get(scheme) ?? 0)
    return 0
  }
  const counting = observe === undefined ? [] : [loop('count', countIdleMs, count)]
  // The connection is of use to both until they have stopped.
  const stopped = () => Promise.all([delivering.stop(), taking.stop()]).then(transport.close)
  return [making, { ...delivering, stop: stopped }, { ...taking, stop: stopped }, ...counting]
}
