/**
 * The context of the checks: instructions, calls with a time limit, the comparison with the bank's records, and
 * notifications.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { transactions } from '@partner-payments/wire'
import { Unreachable } from '../../kernel/api/index.ts'
import { newId, present, secondMs } from '../../kernel/index.ts'
import {
  type Acknowledgement,
  type BankNotification,
  joinBankTexts,
  type CallOptions,
  type Connector,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
} from '../../rails/index.ts'
import type { Ability, Behaviour, Harness, OpenConnector } from './harness.ts'

/** Limit of a read that returns all notifications: more than any check leaves at the bank. */
export const notificationsReadMax = 5000
const notificationMsMaxDefault = 5 * secondMs
const pollMs = 10
/** The time within which a call must end after its signal aborts. */
export const abortGraceMs = secondMs
const roundsMax = 50

/** The answer of a connector, or `unreachable` if it threw Unreachable. */
type Answer<T> = T | 'unreachable'

/** The fields of a refusal or of a failed payment that partners read. */
type Reason = {
  readonly errorKey: string
  readonly details: string
  readonly reasonCode: string | null
  readonly bankText?: string | null
}

export type CheckContext = {
  readonly harness: Harness
  /** The open connector. `restart` replaces it. */
  readonly connector: () => Connector
  readonly restart: () => Promise<void>
  readonly instruction: (behaviour?: Behaviour, fields?: Partial<Instruction>) => Instruction
  /** Submits instructions and checks the outcomes, one for each. All are `unknown` if the connector throws Unreachable. */
  readonly instruct: (
    instructions: readonly Instruction[],
    connector?: Connector,
  ) => Promise<readonly InstructionOutcome[]>
  readonly find: (keys: readonly InstructionKey[]) => Promise<readonly (Acknowledgement | undefined)[]>
  readonly read: (notificationsMax?: number) => Promise<readonly BankNotification[]>
  readonly acknowledge: (notifications: readonly BankNotification[]) => Promise<void>
  /** Reads until the bank has sent `count` notifications of these instructions. Returns all notifications of them. */
  readonly notificationsOf: (
    instructions: readonly Instruction[],
    count: number,
  ) => Promise<readonly BankNotification[]>
  /** Acknowledges all remaining notifications, so that a check begins without any. */
  readonly drain: () => Promise<void>
}

export async function createContext(harness: Harness): Promise<CheckContext & { readonly close: () => Promise<void> }> {
  let opened: OpenConnector = await harness.open()
  const connector = () => opened.connector
  const calls = createCalls(connector)
  return {
    harness,
    connector,
    restart: async () => {
      await opened.close()
      opened = await harness.open()
    },
    close: () => opened.close(),
    instruction: createInstruction(harness),
    ...calls,
    ...createNotifications(harness, calls),
  }
}

const createInstruction =
  (harness: Harness): CheckContext['instruction'] =>
  (behaviour = 'settle', fields = {}) => {
    const id = newId()
    const instruction: Instruction = {
      partnerId: harness.partnerIds[0],
      id,
      endToEndId: id.replaceAll('-', ''),
      amount: 12_50n,
      currency: harness.currencies[0],
      creditorName: 'Grace Hopper',
      creditorAccount: 'DE89370400440532013000',
      creditorBic: null,
      remittance: null,
      simulatedOutcome: null,
      ...fields,
    }
    return harness.prepare(instruction, behaviour)
  }

type Calls = Pick<CheckContext, 'instruct' | 'find' | 'read' | 'acknowledge'>

function createCalls(connector: () => Connector): Calls {
  /** Calls the connector with a signal that aborts the call at its time limit, as the settlement worker does. */
  const callInTime = <T>(what: string, call: (options: CallOptions) => Promise<T>): Promise<T> => {
    const { callTimeoutMs } = connector().limits
    return withTimeLimit(what, call({ signal: AbortSignal.timeout(callTimeoutMs) }), callTimeoutMs + abortGraceMs)
  }
  return {
    instruct: async (instructions, by = connector()) => {
      const outcomes = await catchUnreachable(callInTime('instruct', (options) => by.instruct(instructions, options)))
      if (outcomes === 'unreachable') return instructions.map(() => 'unknown')
      assert.equal(outcomes.length, instructions.length, 'instruct returns one outcome for each instruction')
      return outcomes.map((outcome) => (outcome === 'unknown' ? outcome : checkAcknowledgement(outcome)))
    },
    find: async (keys) => {
      const found = await callInTime('find', (options) => connector().find(keys, options))
      assert.equal(found.length, keys.length, 'find returns one answer for each key')
      return found.map((acknowledgement) => acknowledgement && checkAcknowledgement(acknowledgement))
    },
    read: async (notificationsMax = notificationsReadMax) => {
      const read = await callInTime('notifications', (options) => connector().notifications(notificationsMax, options))
      assert.ok(
        read.length <= notificationsMax,
        `notifications returns at most ${notificationsMax}, not ${read.length}`,
      )
      const ids = read.map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'the notifications of one read have unique ids')
      for (const notification of read) if ('errorKey' in notification) checkReason(notification)
      return read
    },
    acknowledge: (notifications) =>
      callInTime('acknowledge', (options) => connector().acknowledge(notifications, options)),
  }
}

function createNotifications(
  harness: Harness,
  { read, acknowledge }: Calls,
): Pick<CheckContext, 'notificationsOf' | 'drain'> {
  return {
    notificationsOf: async (instructions, count) => {
      const ids = new Set(instructions.map(({ id }) => id))
      let found: readonly BankNotification[] = []
      await eventually(harness.notificationMsMax ?? notificationMsMaxDefault, async () => {
        await harness.letTimePass()
        found = (await read()).filter(({ subjectId }) => ids.has(subjectId))
        return found.length >= count
      })
      const kinds = found.map(({ kind }) => kind).join(', ')
      assert.equal(found.length, count, `expected ${count} notifications of these instructions, found: ${kinds}`)
      return found
    },
    drain: async () => {
      for (let round = 0; round < roundsMax; round += 1) {
        await harness.letTimePass()
        const left = await read()
        if (left.length === 0) return
        await acknowledge(left)
      }
      assert.fail('the bank still reports acknowledged notifications')
    },
  }
}

/**
 * Checks an acknowledgement and removes `notBefore`: the checks treat an instruction that the bank executes later as
 * accepted.
 */
function checkAcknowledgement(acknowledgement: Acknowledgement): Acknowledgement {
  if (!acknowledgement.accepted) {
    checkReason(acknowledgement)
    return acknowledgement
  }
  const { notBefore, ...accepted } = acknowledgement
  assert.ok(notBefore === undefined || notBefore instanceof Date, `notBefore is a time: ${String(notBefore)}`)
  return accepted
}

/** Checks that `details` is a sentence for partners and customers. The bank's own code and text are separate fields. */
function checkReason({ errorKey, details, reasonCode, bankText }: Reason): void {
  assert.ok(
    (transactions.errorKeys as readonly string[]).includes(errorKey),
    `${errorKey} is an error key of the contract`,
  )
  assert.match(details, /^[A-Z][^\n]*[a-z][^\n]* [^\n]*\.$/, `the details are a sentence: ${details}`)
  assert.ok(reasonCode === null || /^\S{1,35}$/.test(reasonCode), `the reason code is a code or null: ${reasonCode}`)
  const plain = typeof bankText === 'string' ? joinBankTexts([bankText]) : null
  assert.equal(bankText ?? null, plain, 'bankText is plain text of limited length')
}

/** Fails if `work` does not end within the limit. */
export async function withTimeLimit<T>(what: string, work: Promise<T>, msMax: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} did not end within ${msMax} ms`)), msMax)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns `unreachable` if `work` throws Unreachable. Rethrows other errors, which are defects of the connector. */
export async function catchUnreachable<T>(work: Promise<T>): Promise<Answer<T>> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Unreachable) return 'unreachable'
    throw error
  }
}

/** Polls until `condition` is true. Returns false if it is not true within the limit. */
export async function eventually(msMax: number, condition: () => Promise<boolean> | boolean): Promise<boolean> {
  const end = performance.now() + msMax
  while (!(await condition())) {
    if (performance.now() > end) return false
    await pause(pollMs)
  }
  return true
}

/** Checks that the bank has the instruction and executed it `times` times: 0 if it refused the instruction. */
export async function checkExecuted(
  { harness }: CheckContext,
  instruction: Instruction,
  times: 0 | 1 = 1,
): Promise<void> {
  const record = await harness.recordOf(instruction)
  assert.ok(record, 'the bank has the instruction')
  assert.equal(record.timesExecuted, times, `the bank executed the instruction ${record.timesExecuted} times`)
}

/**
 * Acts as the settlement worker does after a broken call: requests the unknown outcomes and resubmits the instructions
 * that the bank does not have. Checks that the answers agree with the bank's records and that the bank executed each
 * accepted instruction once.
 */
export async function resolveOutcomes(
  context: CheckContext,
  instructions: readonly Instruction[],
  outcomes: readonly InstructionOutcome[],
): Promise<readonly Acknowledgement[]> {
  const known = new Map<Instruction, Acknowledgement>()
  let open = instructions.map((instruction, index) => ({ instruction, outcome: outcomes[index] ?? 'unknown' }))
  for (let round = 0; open.length > 0; round += 1) {
    assert.ok(round < roundsMax, `every instruction is acknowledged within ${roundsMax} submissions`)
    for (const { instruction, outcome } of open)
      if (outcome !== 'unknown') {
        await checkExecuted(context, instruction, outcome.accepted ? 1 : 0)
        known.set(instruction, outcome)
      }
    const unknown = instructions.filter((instruction) => !known.has(instruction))
    if (unknown.length === 0) break
    const absent = await enquire(context, unknown, known)
    const again = absent.length === 0 ? [] : await context.instruct(absent)
    open = absent.map((instruction, index) => ({ instruction, outcome: again[index] ?? 'unknown' }))
  }
  const found = await context.find(instructions)
  return instructions.map((instruction, index) => {
    const acknowledgement = present(known.get(instruction), `no acknowledgement for instruction ${instruction.id}`)
    assert.deepEqual(found[index], acknowledgement, 'find returns the same acknowledgement')
    return acknowledgement
  })
}

/** Adds the acknowledgements of the bank to `known`, and returns the instructions that it does not have. */
async function enquire(
  context: CheckContext,
  instructions: readonly Instruction[],
  known: Map<Instruction, Acknowledgement>,
): Promise<readonly Instruction[]> {
  const found = await context.find(instructions)
  const absent: Instruction[] = []
  for (const [index, instruction] of instructions.entries()) {
    const acknowledgement = found[index]
    const record = await context.harness.recordOf(instruction)
    if (acknowledgement === undefined) {
      assert.equal(record, undefined, 'find does not know an instruction that the bank has')
      absent.push(instruction)
    } else {
      assert.ok(record, 'find knows an instruction that the bank does not have')
      await checkExecuted(context, instruction, acknowledgement.accepted ? 1 : 0)
      known.set(instruction, acknowledgement)
    }
  }
  return absent
}

export type Check = {
  /** The guarantee that the check verifies. */
  readonly title: string
  /** The abilities that the bank needs for the check. */
  readonly needs: readonly Ability[]
  /** Throws if the guarantee does not hold. */
  readonly run: (context: CheckContext) => Promise<void>
}
