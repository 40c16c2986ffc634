/**
 * The sandbox bank: accepts instructions, and settles, rejects or returns them asynchronously. Its records are durable,
 * so they survive a kill of the service. It counts how often it receives each instruction.
 */
import type { DepositOutcome } from '@partner-payments/wire'
import { Unreachable } from '../../api/index.ts'
import { after, type Clock, newId, partnerKey, present } from '../../kernel/index.ts'
import { createBatcher, type Database, type Tx } from '../../postgres/index.ts'
import type { Acknowledgement, BankNotification, Instruction, Rail } from '../port.ts'
import {
  type Behaviour,
  behaviourOf,
  notificationsOfDeposit,
  notificationsOfInstruction,
  type PlannedNotification,
} from './script.ts'
import * as store from './store.ts'

export type SandboxBank = Rail & {
  /** Schedules the notifications of a simulated deposit, in the transaction that opens it. */
  readonly scheduleDeposit: (tx: Tx, partnerId: string, depositId: string, outcome: DepositOutcome) => Promise<void>
  /** Since when the oldest notification is unacknowledged; null: none is due. */
  readonly oldestNotification: (now: Date) => Promise<Date | null>
  /** The bank's delay between two steps. */
  readonly stepMs: number
}

type Subject = {
  readonly partnerId: string
  readonly subjectId: string
  readonly planned: readonly PlannedNotification[]
}

const instructionsPerBatchMax = 512
const batchesUnderWayMax = 2
/** Bounds the counts of failed attempts for the `unreachable` behaviour. A restart clears them. */
const countedInstructionsMax = 10_000

type SandboxBankDeps = { readonly db: Database; readonly clock: Clock; readonly stepMs: number }

export function createSandboxBank(deps: SandboxBankDeps): SandboxBank {
  const { db, clock, stepMs } = deps
  const attemptsOf = new Map<string, number>()

  const schedule = createSchedule(deps)
  const receive = createReceive(deps, schedule)

  /** Throws Unreachable for the first attempts of an instruction, as its behaviour says. */
  const failFirstAttempts = (instructionId: string, failures: number): void => {
    const attempts = (attemptsOf.get(instructionId) ?? 0) + 1
    if (attemptsOf.size >= countedInstructionsMax) attemptsOf.clear()
    attemptsOf.set(instructionId, attempts)
    if (attempts <= failures) throw new Unreachable('downstream_unreachable', 'the sandbox bank cannot be reached')
  }

  return {
    id: 'sandbox',
    stepMs,
    instruct: async (instruction: Instruction) => {
      const behaviour = behaviourOf(instruction)
      if (behaviour.kind === 'unreachable') failFirstAttempts(instruction.id, behaviour.attempts)
      return receive(instruction)
    },
    enquire: async (partnerId, instructionId) => {
      const row = await store.instructionById(db, partnerId, instructionId)
      return row && toAcknowledgement(row)
    },
    notifications: async (notificationsMax) =>
      (await store.dueNotifications(db, clock.now(), notificationsMax)).map(toNotification),
    oldestNotification: (now) => store.oldestDue(db, now),
    acknowledge: async (notifications) => {
      if (notifications.length > 0) await store.deleteNotifications(db, notifications)
    },
    scheduleDeposit: async (tx, partnerId, depositId, outcome) =>
      schedule(tx, [{ partnerId, subjectId: depositId, planned: notificationsOfDeposit(outcome) }]),
  }
}

type Schedule = (tx: Tx, subjects: readonly Subject[]) => void

const createSchedule =
  ({ clock, stepMs }: SandboxBankDeps): Schedule =>
  (tx, subjects) => {
    const now = clock.now()
    const rows = subjects.flatMap(({ partnerId, subjectId, planned }) =>
      planned.map(({ kind, afterSteps, payload }) => ({
        partnerId,
        id: newId(),
        subjectId,
        kind,
        payload: JSON.stringify(payload),
        dueAt: after(now, afterSteps * stepMs),
      })),
    )
    if (rows.length > 0) store.insertNotifications(tx, rows)
  }

/** Concurrent instructions share a transaction. */
function createReceive({ db, clock }: SandboxBankDeps, schedule: Schedule) {
  /** An instruction may occur more than once: each time counts, and the first one decides. */
  const receiveAll = async (tx: Tx, instructions: readonly Instruction[]): Promise<readonly Acknowledgement[]> => {
    const byKey = Map.groupBy(instructions, keyOf)
    const now = clock.now()
    const received = [...byKey.values()].flatMap(([instruction, ...repeated]) => {
      if (instruction === undefined) return []
      const behaviour = behaviourOf(instruction)
      const row = { ...instruction, ...answerOf(behaviour), timesReceived: 1 + repeated.length, receivedAt: now }
      return [{ row, planned: notificationsOfInstruction(behaviour) }]
    })
    const rows = await store.receiveInstructions(
      tx,
      received.map(({ row }) => row),
    )
    const stored = new Map(rows.map((row) => [keyOf(row), row]))
    const storedOf = (key: string) => present(stored.get(key), 'a received instruction is stored')
    const fresh = received.filter(({ row }) => storedOf(keyOf(row)).timesReceived === row.timesReceived)
    schedule(
      tx,
      fresh.map(({ row: { partnerId, id: subjectId }, planned }) => ({ partnerId, subjectId, planned })),
    )
    return instructions.map((instruction) => toAcknowledgement(storedOf(keyOf(instruction))))
  }
  return createBatcher({
    db,
    work: receiveAll,
    callsMax: instructionsPerBatchMax,
    batchesMax: batchesUnderWayMax,
    partnerOf: ({ partnerId }: Instruction) => partnerId,
    byIndex: true,
  })
}

const keyOf = ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) => partnerKey(partnerId, id)

const answerOf = (behaviour: Behaviour): Pick<store.InstructionRow, 'accepted' | 'errorKey' | 'errorDetails'> =>
  behaviour.kind === 'refuse'
    ? { accepted: false, errorKey: behaviour.errorKey, errorDetails: behaviour.details }
    : { accepted: true, errorKey: null, errorDetails: null }

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  return { ...row, ...(JSON.parse(payload) as object) } as BankNotification
}

function toAcknowledgement({ accepted, errorKey, errorDetails }: store.InstructionRow): Acknowledgement {
  return accepted ? { accepted } : { accepted, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '' }
}
