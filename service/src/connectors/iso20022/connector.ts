/**
 * The connector of a file-based bank. Its port reads and writes rows of this database; `steps` exchange the files
 * (docs/decisions/0044-a-bank-by-files.md).
 */
import { partnerKey } from '../../kernel/index.ts'
import { callTimeoutMsMax, type Connector, type ConnectorHealth, untilAborted } from '../../rails/index.ts'
import { createAdopt } from './adopt.ts'
import { createDeliverFiles } from './deliver.ts'
import type { BankDeps } from './deps.ts'
import type { FileKind } from './ids.ts'
import { forecastOf } from './forecast.ts'
import { createIncoming } from './incoming.ts'
import { createFileMaker } from './make.ts'
import { createMakeRecalls } from './make-recalls.ts'
import { createNotificationsOf } from './notifications.ts'
import { createTellLetters } from './recall-letter.ts'
import { createTakeRecall } from './recalls.ts'
import { createRecentBytes } from './recent-bytes.ts'
import { createSubmit, storedAnswers } from './submit.ts'

export type IsoBank = {
  readonly connector: Connector
  /**
   * One round of work each. They return how much was done; 0 rests. They run concurrently, also with those of other
   * processes.
   */
  readonly steps: {
    /** Makes files of waiting payments and recalls. */
    readonly make: () => Promise<number>
    /** Delivers made files. */
    readonly deliver: () => Promise<number>
    /** Receives the files of the bank. */
    readonly take: () => Promise<number>
  }
}

export type BankObserver = {
  /** `payments`: the number of payments, or of recalls. */
  readonly fileMade: (connector: string, kind: FileKind, payments: number) => void
  readonly fileDelivered: (connector: string, kind: FileKind) => void
}

/** Learns whether the bank listed its files or took one. */
export type BankHealth = Pick<ConnectorHealth, 'answered' | 'failed'>

/** The same limits as for the sandbox bank: while one call commits, the others write. */
const limits = { instructionsPerCallMax: 256, callsMax: 4, callTimeoutMs: callTimeoutMsMax } as const

export function createIsoBank(deps: BankDeps, observe?: BankObserver, health?: BankHealth): IsoBank {
  const { id } = deps.rules
  const submit = createSubmit(deps)
  const takeRecall = createTakeRecall(deps)
  const recent = createRecentBytes()
  const makePayments = createFileMaker(deps, recent, (payments) => observe?.fileMade(id, 'pain.001', payments))
  const { recalls: form = 'camt.055' } = deps.rules
  const makeRecalls =
    form === 'letter'
      ? createTellLetters(deps)
      : createMakeRecalls(deps, form, (recalls) => observe?.fileMade(id, form, recalls))
  const watch = { answered: () => health?.answered(id), failed: (error: unknown) => health?.failed(id, error) }
  const onDelivered = ({ kind }: { readonly kind: FileKind }) => {
    watch.answered()
    observe?.fileDelivered(id, kind)
  }
  const deliver = createDeliverFiles(deps, recent, onDelivered, watch.failed)
  const adopt = createAdopt(deps)
  const incoming = createIncoming(deps, watch)
  return {
    connector: {
      id,
      limits,
      forecast: (payment, at) => forecastOf(payment, at, deps.rules),
      payerData: (deps.rules.payer ?? 'customer') === 'customer' ? (deps.rules.payerData ?? 'send') : undefined,
      instruct: async (instructions, options) =>
        instructions.length === 0 ? [] : untilAborted(submit(instructions), options),
      find: async (keys, options) => {
        if (keys.length === 0) return []
        const found = await untilAborted(storedAnswers(deps, keys), options)
        return keys.map((key) => found.get(partnerKey(key.partnerId, key.id)))
      },
      recall: async (request, options) => untilAborted(takeRecall(request), options),
      ...createNotificationsOf(deps),
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
