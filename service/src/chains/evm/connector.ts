/**
 * A connector to an EVM chain (README.md). Instructions and notifications are rows of this database; `step` calls the
 * nodes: it reads blocks, sends transactions and ends final transfers.
 */
import { ownJson } from '@partner-payments/wire'
import { Unreachable } from '../../kernel/api/index.ts'
import type { Currency } from '../../kernel/index.ts'
import {
  type BankNotification,
  type CallOptions,
  callTimeoutMsMax,
  type Connector,
  type InstructionKey,
  untilAborted,
} from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import { createFollow } from './follow.ts'
import { partnerKey } from '../../kernel/index.ts'
import { createScan } from './scan.ts'
import * as store from './store-chain.ts'
import { createSubmit, storedAnswers } from './submit.ts'

export type ChainConnector = Connector & {
  readonly chainId: number
  readonly network: string
  readonly tokens: readonly Currency[]
  /** One round of work with the nodes. Returns how much was done; 0 rests. */
  readonly step: () => Promise<number>
}

/** The nodes are asked about each instruction before it is signed. */
const limits = { instructionsPerCallMax: 20, callsMax: 2, callTimeoutMs: callTimeoutMsMax } as const
const stepMsMax = 60_000

export function createChainConnector(deps: ChainDeps): ChainConnector {
  const { db, rules, log } = deps
  const { id } = rules
  const submit = createSubmit(deps)
  const follow = createFollow(deps)
  const scan = createScan(deps)

  /** The rows exist: instructions that are not sent now are sent by the next step. */
  const sendNow = async (call: CallOptions) => {
    try {
      await follow.send(call)
    } catch (error) {
      log.warn({ err: error, connector: id }, 'transactions not sent yet')
    }
  }

  return {
    id,
    limits,
    forecast: (_payment, at) => {
      const valueDate = at.toISOString().slice(0, 10)
      // The fees of the chain decide when a block includes the transaction.
      return { possible: true, method: 'Wallet', cutOffAt: null, submitsAt: at, valueDate, arrivesOn: null }
    },
    chainId: rules.chainId,
    network: rules.network,
    tokens: Object.keys(rules.tokens) as Currency[],
    instruct: async (instructions, options) => {
      if (instructions.length === 0) return []
      const call = options ?? { signal: AbortSignal.timeout(limits.callTimeoutMs) }
      return untilAborted(
        submit(instructions, call, () => sendNow(call)),
        call,
      )
    },
    find: async (keys, options) => {
      const found = await untilAborted(storedAnswers(db, id, keys), options)
      return keys.map(({ partnerId, id: instructionId }: InstructionKey) =>
        found.get(partnerKey(partnerId, instructionId)),
      )
    },
    notifications: async (notificationsMax, options) =>
      (await untilAborted(store.chainNotifications(db, id, notificationsMax), options)).map(toNotification),
    acknowledge: async (notifications, options) => {
      if (notifications.length === 0) return
      const groups = db.sharded
        ? [...Map.groupBy(notifications, ({ partnerId }) => partnerId).values()]
        : [notifications]
      await untilAborted(Promise.all(groups.map((group) => store.deleteChainNotifications(db, id, group))), options)
    },
    notificationsDue: (after) => store.chainNotificationsDue(id, after),
    oldestNotification: () => store.oldestChainNotification(db, id),
    step: async () => {
      const call = { signal: AbortSignal.timeout(stepMsMax) }
      const { readTo, blocks } = await scan(call)
      const ended = readTo < 0 ? 0 : await follow.step(readTo, call)
      if (call.signal.aborted) throw new Unreachable('downstream_timeout', `the chain of ${id} does not answer in time`)
      return blocks + ended
    },
  }
}

type StoredMoney = { readonly money: { readonly currency: Currency; readonly amount: string } }

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  const { money, ...facts } = ownJson<StoredMoney>(payload)
  return { ...row, ...facts, money: { ...money, amount: BigInt(money.amount) } } as BankNotification
}
