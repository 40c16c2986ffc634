/**
 * The sandbox bank: accepts instructions, and settles, rejects or returns them asynchronously. Its records survive a kill
 * of the service. It counts how often it receives each instruction.
 */
import { ownJson } from '@partner-payments/wire'
import { after, type Clock, type Currency, newId, partnerKey, present } from '../../kernel/index.ts'
import { groupByShard, type Database, type Tx } from '../../postgres/index.ts'
import {
  type Acknowledgement,
  type BankNotification,
  type BankSimulator,
  callTimeoutMsMax,
  type Connector,
  type Forecast,
  type ForecastPayment,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  chooseRail,
  type RecallOutcome,
  type RecallRequest,
  sandboxConnectorId,
  untilAborted,
} from '../../rails/index.ts'
import {
  type Behaviour,
  chooseBehaviour,
  simulatedDebtor,
  planDeposit,
  planCredit,
  planInstruction,
  planRecall,
  planPayerSteps,
  type PlannedNotification,
  sandboxBankCountries,
} from './script.ts'
import * as store from './store.ts'

export type SandboxBank = Connector & BankSimulator

type PlannedSubject = {
  readonly partnerId: string
  readonly subjectId: string
  readonly planned: readonly PlannedNotification[]
}

/** Several calls run at once, so that one writes while another commits. */
const limits = { instructionsPerCallMax: 256, callsMax: 4, callTimeoutMs: callTimeoutMsMax } as const
/** Limits the attempt counts of the `unreachable` behaviour. A restart clears them. */
const countedInstructionsMax = 10_000

type SandboxBankDeps = { readonly db: Database; readonly clock: Clock; readonly stepMs: number }

export function createSandboxBank(deps: SandboxBankDeps): SandboxBank {
  const { db, clock, stepMs } = deps
  const attemptCounts = new Map<string, number>()

  const schedule = createSchedule(deps)
  const receive = createReceive(deps, schedule)
  const receiveRecall = createReceiveRecall(deps, schedule)

  /** Reports whether the bank is unreachable for this attempt. */
  const isUnreachable = (instruction: Instruction): boolean => {
    const behaviour = chooseBehaviour(instruction)
    if (behaviour.kind === 'silent') return true
    if (behaviour.kind !== 'unreachable') return false
    const attempts = (attemptCounts.get(instruction.id) ?? 0) + 1
    if (attemptCounts.size >= countedInstructionsMax) attemptCounts.clear()
    attemptCounts.set(instruction.id, attempts)
    return attempts <= behaviour.attempts
  }

  return {
    id: sandboxConnectorId,
    limits,
    forecast: forecastPayment,
    initialWaitMs: (payment) => {
      const behaviour = chooseBehaviour(payment)
      return behaviour.kind === 'settle' ? (behaviour.waitMs ?? 0) : 0
    },
    stepMs,
    countries: sandboxBankCountries,
    debtorOf: simulatedDebtor,
    instruct: async (instructions, options) => {
      const reachable = instructions.filter((instruction) => !isUnreachable(instruction))
      const received = await untilAborted(receive(reachable), options)
      return instructions.map((instruction): InstructionOutcome => received.get(keyOf(instruction)) ?? 'unknown')
    },
    find: async (keys, options) => {
      if (keys.length === 0) return []
      const read = Promise.all(groupByShard(db, keys).map((group) => store.instructionsByIds(db, group)))
      const rows = await untilAborted(read, options)
      const found = new Map(rows.flat().map((row) => [keyOf(row), toAcknowledgement(row)]))
      return keys.map((key) => found.get(keyOf(key)))
    },
    recall: async (request, options) => untilAborted(receiveRecall(request), options),
    notifications: async (notificationsMax, options) => {
      const due = store.dueNotifications(db, clock.now(), notificationsMax)
      return (await untilAborted(due, options)).map(toNotification)
    },
    notificationsDue: store.notificationsDue,
    oldestNotification: (now) => store.oldestNotificationDueAt(db, now),
    acknowledge: async (notifications, options) => {
      const deletions = groupByShard(db, notifications).map((group) => store.deleteNotifications(db, group))
      await untilAborted(Promise.all(deletions), options)
    },
    scheduleDeposit: async (tx, { partnerId, id: subjectId, money, outcome }) =>
      schedule(tx, [{ partnerId, subjectId, planned: planDeposit(outcome, money) }]),
    scheduleSteps: (tx, { partnerId, id: subjectId }, steps, payer) =>
      schedule(tx, [{ partnerId, subjectId, planned: planPayerSteps(steps, payer) }]),
    sendCredit: (tx, partnerId, subjectId, credit) =>
      schedule(tx, [{ partnerId, subjectId, planned: [planCredit('credit.booked', credit)] }]),
    reverseCredit: (tx, partnerId, subjectId, reversed) =>
      schedule(tx, [{ partnerId, subjectId, planned: [planCredit('credit.reversed', reversed)] }]),
  }
}

/** Forecasts a payment: the bank is always open and pays at once. */
function forecastPayment({ currency, creditorAccount, creditorBic }: ForecastPayment, at: Date): Forecast {
  const day = at.toISOString().slice(0, 10)
  const rail = chooseRail(currency, { account: creditorAccount, bic: creditorBic })
  const method = rail === 'Sepa' ? 'SepaCreditTransfer' : 'Swift'
  return { possible: true, method, cutOffAt: null, submitsAt: at, valueDate: day, arrivesOn: day }
}

type Schedule = (tx: Tx, subjects: readonly PlannedSubject[]) => void

const createSchedule =
  ({ clock, stepMs }: SandboxBankDeps): Schedule =>
  (tx, subjects) => {
    const now = clock.now()
    const rows = subjects.flatMap(({ partnerId, subjectId, planned }) =>
      planned.map(({ kind, afterSteps, payload, afterMs = 0 }) => ({
        partnerId,
        id: newId(),
        subjectId,
        kind,
        payload: JSON.stringify(payload),
        dueAt: after(now, afterSteps * stepMs + afterMs),
      })),
    )
    if (rows.length > 0) store.insertNotifications(tx, rows)
  }

type Acknowledgements = readonly (readonly [key: string, acknowledgement: Acknowledgement])[]

/** Records instructions and schedules the notifications of those that are new, in one transaction. */
function createReceive({ db, clock }: SandboxBankDeps, schedule: Schedule) {
  /**
   * Receives instructions. An instruction may occur several times: each occurrence is counted, and the first one
   * determines the outcome.
   */
  const receiveAll = async (tx: Tx, instructions: readonly Instruction[]): Promise<Acknowledgements> => {
    const now = clock.now()
    const received = [...Map.groupBy(instructions, keyOf).values()].flatMap(([instruction, ...repeated]) => {
      if (instruction === undefined) return []
      const behaviour = chooseBehaviour(instruction)
      const row = {
        ...instruction,
        ...instructionAnswer(behaviour),
        timesReceived: 1 + repeated.length,
        receivedAt: now,
      }
      return [{ row, planned: planInstruction(behaviour, instruction) }]
    })
    const rows = await store.receiveInstructions(
      tx,
      received.map(({ row }) => row),
    )
    const stored = new Map(rows.map((row) => [keyOf(row), row]))
    const storedOf = (key: string) => present(stored.get(key), `the stored instructions lack ${key}`)
    const fresh = received.filter(({ row }) => storedOf(keyOf(row)).timesReceived === row.timesReceived)
    schedule(
      tx,
      fresh.map(({ row: { partnerId, id: subjectId }, planned }) => ({ partnerId, subjectId, planned })),
    )
    return rows.map((row) => [keyOf(row), toAcknowledgement(row)] as const)
  }
  return async (instructions: readonly Instruction[]): Promise<ReadonlyMap<string, Acknowledgement>> => {
    const groups = groupByShard(db, instructions)
    const received = await Promise.all(
      groups.map((group) => db.transaction((tx) => receiveAll(tx, group), { byIndex: true })),
    )
    return new Map(received.flat())
  }
}

/** Stores a recall and schedules the notifications of a new one, in one transaction. */
const createReceiveRecall =
  ({ db, clock }: SandboxBankDeps, schedule: Schedule) =>
  (request: RecallRequest): Promise<RecallOutcome> =>
    db.transaction(async (tx) => {
      const { partnerId, id, instructionId, reason } = request
      const payment = await store.acceptedPayment(tx, partnerId, instructionId)
      if (payment === undefined)
        return { taken: false, details: 'The bank does not have the payment.', reasonCode: 'NOOR' }
      const row = { partnerId, id, instructionId, reason, receivedAt: clock.now() }
      if ((await store.receiveRecall(tx, row)) > 1) return { taken: true }
      const planned = planRecall(instructionId, payment)
      const about = (of: 'recall' | 'payment') => planned.filter((each) => each.of === of)
      schedule(tx, [
        { partnerId, subjectId: id, planned: about('recall') },
        { partnerId, subjectId: instructionId, planned: about('payment') },
      ])
      return { taken: true }
    })

const keyOf = ({ partnerId, id }: InstructionKey) => partnerKey(partnerId, id)

const instructionAnswer = (
  behaviour: Behaviour,
): Pick<store.InstructionRow, 'accepted' | 'errorKey' | 'errorDetails' | 'reasonCode'> =>
  behaviour.kind === 'refuse'
    ? {
        accepted: false,
        errorKey: behaviour.errorKey,
        errorDetails: behaviour.details,
        reasonCode: behaviour.reasonCode,
      }
    : { accepted: true, errorKey: null, errorDetails: null, reasonCode: null }

type StoredMoney = { readonly money?: { readonly currency: Currency; readonly amount: string } }

/** Notifications of earlier versions have no reason code and no money. */
function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  const { money, ...facts } = ownJson<StoredMoney>(payload)
  const reported = money === undefined ? {} : { money: { ...money, amount: BigInt(money.amount) } }
  return { reasonCode: null, ...row, ...facts, ...reported } as BankNotification
}

function toAcknowledgement({ accepted, errorKey, errorDetails, reasonCode }: store.InstructionRow): Acknowledgement {
  return accepted ? { accepted } : { accepted, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '', reasonCode }
}
