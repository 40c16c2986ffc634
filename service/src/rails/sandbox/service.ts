/**
 * The sandbox bank: takes instructions, acknowledges, settles, rejects and returns on its own time. Its books are
 * durable, so that it remembers what a killed service told it, and it counts what it was told twice.
 */
import type { DepositOutcome } from '@partner-payments/wire'
import { Unreachable } from '../../api/index.ts'
import { after, assert, type Clock, newId } from '../../kernel/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Acknowledgement, Instruction, Notice, Rail } from '../port.ts'
import { behaviourOf, noticesOfDeposit, noticesOfInstruction, type PlannedNotice } from './script.ts'
import * as store from './store.ts'

export type SandboxBank = Rail & {
  /** Plans the steps of a simulated deposit, in the transaction that opens it. */
  readonly planDeposit: (tx: Tx, partnerId: string, depositId: string, outcome: DepositOutcome) => Promise<void>
  /** The bank's delay between two steps. */
  readonly stepMs: number
}

/** Who was turned away how often, for the `unreachable` behaviour; bounded, and forgotten with the process. */
const turnedAwayMax = 10_000

export function createSandboxBank(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly stepMs: number
}): SandboxBank {
  const { db, clock, stepMs } = deps
  const turnedAway = new Map<string, number>()

  const plan = async (tx: Tx, partnerId: string, subjectId: string, notices: readonly PlannedNotice[]) => {
    const now = clock.now()
    for (const { kind, afterSteps, payload } of notices) {
      const dueAt = after(now, afterSteps * stepMs)
      await store.insertNotice(tx, { partnerId, id: newId(), subjectId, kind, payload: JSON.stringify(payload), dueAt })
    }
  }

  return {
    id: 'sandbox',
    stepMs,
    instruct: async (instruction: Instruction) => {
      const behaviour = behaviourOf(instruction)
      if (behaviour.kind === 'unreachable') {
        const tries = (turnedAway.get(instruction.id) ?? 0) + 1
        if (turnedAway.size >= turnedAwayMax) turnedAway.clear()
        turnedAway.set(instruction.id, tries)
        if (tries <= behaviour.tries)
          throw new Unreachable('downstream_unreachable', 'the sandbox bank cannot be reached')
      }
      const refused = behaviour.kind === 'refuse'
      const answer = refused
        ? { accepted: false, errorKey: behaviour.errorKey, errorDetails: behaviour.details }
        : { accepted: true, errorKey: null, errorDetails: null }
      return db.transaction(async (tx) => {
        if (await store.receiveInstruction(tx, instruction, answer, clock.now()))
          await plan(tx, instruction.partnerId, instruction.id, noticesOfInstruction(behaviour))
        const row = await store.instructionById(tx, instruction.partnerId, instruction.id)
        assert(row, 'an instruction that was received is known')
        return toAcknowledgement(row)
      })
    },
    find: async (partnerId, instructionId) => {
      const row = await store.instructionById(db, partnerId, instructionId)
      return row && toAcknowledgement(row)
    },
    notices: async (noticesMax) =>
      (await store.dueNotices(db, clock.now(), noticesMax)).map(
        ({ payload, ...notice }) => ({ ...notice, ...(JSON.parse(payload) as object) }) as Notice,
      ),
    acknowledge: async (notices) => {
      if (notices.length > 0) await store.deleteNotices(db, notices)
    },
    planDeposit: (tx, partnerId, depositId, outcome) => plan(tx, partnerId, depositId, noticesOfDeposit(outcome)),
  }
}

function toAcknowledgement({ accepted, errorKey, errorDetails }: store.InstructionRow): Acknowledgement {
  return accepted ? { accepted } : { accepted, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '' }
}
