/**
 * The sandbox bank: accepts instructions, and settles, rejects or returns them asynchronously. Its records are durable,
 * so they survive a kill of the service. It counts how often it receives each instruction.
 */
import type { DepositOutcome } from '@partner-payments/wire'
import { Unreachable } from '../../api/index.ts'
import { after, assert, type Clock, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Acknowledgement, BankNotification, Instruction, Rail } from '../port.ts'
import { behaviourOf, notificationsOfDeposit, notificationsOfInstruction, type PlannedNotification } from './script.ts'
import * as store from './store.ts'

export type SandboxBank = Rail & {
  /** Schedules the notifications of a simulated deposit, in the transaction that opens it. */
  readonly scheduleDeposit: (tx: Tx, partnerId: string, depositId: string, outcome: DepositOutcome) => Promise<void>
  /** Since when the oldest notification is unacknowledged; null: none is due. */
  readonly oldestNotification: (now: Date) => Promise<Date | null>
  /** The bank's delay between two steps. */
  readonly stepMs: number
}

/** Bounds the counts of failed attempts for the `unreachable` behaviour. A restart clears them. */
const countedInstructionsMax = 10_000

export function createSandboxBank(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly stepMs: number
}): SandboxBank {
  const { db, clock, stepMs } = deps
  const attemptsOf = new Map<string, number>()

  const schedule = async (
    tx: Tx,
    partnerId: string,
    subjectId: string,
    planned: readonly PlannedNotification[],
  ): Promise<void> => {
    const now = clock.now()
    for (const { kind, afterSteps, payload } of planned)
      await store.insertNotification(tx, {
        partnerId,
        id: newId(),
        subjectId,
        kind,
        payload: JSON.stringify(payload),
        dueAt: after(now, afterSteps * stepMs),
      })
  }

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
      const answer =
        behaviour.kind === 'refuse'
          ? { accepted: false, errorKey: behaviour.errorKey, errorDetails: behaviour.details }
          : { accepted: true, errorKey: null, errorDetails: null }
      return db.transaction(async (tx) => {
        if (await store.receiveInstruction(tx, instruction, answer, clock.now()))
          await schedule(tx, instruction.partnerId, instruction.id, notificationsOfInstruction(behaviour))
        const row = await store.instructionById(tx, instruction.partnerId, instruction.id)
        assert(row, 'a received instruction is stored')
        return toAcknowledgement(row)
      })
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
    scheduleDeposit: (tx, partnerId, depositId, outcome) =>
      schedule(tx, partnerId, depositId, notificationsOfDeposit(outcome)),
  }
}

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  return { ...row, ...(JSON.parse(payload) as object) } as BankNotification
}

function toAcknowledgement({ accepted, errorKey, errorDetails }: store.InstructionRow): Acknowledgement {
  return accepted ? { accepted } : { accepted, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '' }
}
