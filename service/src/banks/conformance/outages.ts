/** Checks of outages of the bank: lost calls, lost answers, half-executed calls, hanging calls. */
import assert from 'node:assert/strict'
import type { CallOptions, Connector } from '../../rails/index.ts'
import {
  abortGraceMs,
  type Check,
  checkExecuted,
  type CheckContext,
  withTimeLimit,
  eventually,
  resolveOutcomes,
  catchUnreachable,
} from './context.ts'
import type { Fault, Harness } from './harness.ts'

/** Time within which a hanging call reaches the bank. */
const reachedMs = 200

/** Breaks a call with several instructions, then handles it as the settlement worker does. */
const brokenCall = (fault: Fault, title: string): Check => ({
  title,
  needs: ['settle', 'refuse', fault],
  run: async (context) => {
    const instructions = (['settle', 'refuse', 'settle', 'refuse'] as const).map((behaviour) =>
      context.instruction(behaviour),
    )
    context.harness.breakNext(fault)
    const outcomes = await context.instruct(instructions)
    const acknowledgements = await resolveOutcomes(context, instructions, outcomes)
    assert.deepEqual(
      acknowledgements.map((acknowledgement) => acknowledgement.accepted),
      [true, false, true, false],
    )
    await context.notificationsOf(instructions, 2)
  },
})

const lostCall = brokenCall(
  'lose call',
  'after a lost call the outcome is unknown, and the next submission executes the instruction once',
)
const lostAnswer = brokenCall(
  'lose answer',
  'after a lost answer find returns the outcome, and nothing is executed twice',
)
const lostHalf = brokenCall(
  'lose half',
  'after a half-executed call find returns which half, and each instruction is executed once',
)
const errorBefore = brokenCall(
  'error before',
  'after an error before the execution the outcome is unknown, and the next submission executes the instruction once',
)
const errorAfter = brokenCall(
  'error after',
  'after an error that follows the execution find returns the outcome, and nothing is executed twice',
)

/** Returns the faults of one call that this bank can produce. */
const possibleFaults = ({ cannot = [] }: Harness): readonly Fault[] =>
  (['lose call', 'lose answer', 'error before', 'error after'] as const).filter((fault) => !cannot.includes(fault))

const lostEnquiry: Check = {
  title: 'find throws if the bank does not answer, and does not report an instruction as absent',
  needs: ['settle', 'lose call', 'lose answer'],
  run: async (context) => {
    const one = context.instruction()
    await context.instruct([one])
    for (const fault of possibleFaults(context.harness)) {
      context.harness.breakNext(fault)
      const answer = await catchUnreachable(context.find([one]))
      // A connector may retry by itself.
      if (answer !== 'unreachable') assert.deepEqual(answer, [{ accepted: true }], 'find throws without an answer')
      context.harness.mend()
    }
    assert.deepEqual(await context.find([one]), [{ accepted: true }])
  },
}

const lostRead: Check = {
  title: 'a read or acknowledgement without an answer throws, and the notifications repeat',
  needs: ['settle', 'lose call', 'lose answer'],
  run: async (context) => {
    const one = context.instruction()
    await context.instruct([one])
    const notifications = await context.notificationsOf([one], 1)
    for (const fault of possibleFaults(context.harness)) {
      context.harness.breakNext(fault)
      const answer = await catchUnreachable(context.read())
      if (answer !== 'unreachable') assert.deepEqual(answer, notifications, 'a read without an answer throws')
      context.harness.mend()
    }
    context.harness.breakNext('lose call')
    const answer = await catchUnreachable(context.acknowledge(notifications))
    context.harness.mend()
    const left = await context.read()
    if (answer === 'unreachable') assert.deepEqual(left, notifications, 'the notifications repeat')
    else assert.deepEqual(left, [], 'an acknowledgement without an answer throws')
  },
}

type Call = readonly [name: string, call: (connector: Connector, options: CallOptions) => Promise<unknown>]

const hangs: Check = {
  title: 'a hanging call ends when its signal aborts, and closes its connection',
  needs: ['settle', 'hang'],
  run: async (context) => {
    const one = context.instruction()
    await context.instruct([one])
    const notifications = await context.notificationsOf([one], 1)
    const calls: readonly Call[] = [
      ['instruct', (connector, options) => connector.instruct([context.instruction()], options)],
      ['find', (connector, options) => connector.find([one], options)],
      ['notifications', (connector, options) => connector.notifications(1, options)],
      ['acknowledge', (connector, options) => connector.acknowledge(notifications, options)],
    ]
    for (const call of calls) for (const isLate of [false, true]) await checkHang(context, call, isLate)
    assert.deepEqual(await context.find([one]), [{ accepted: true }], 'find answers again after the hang')
    assert.deepEqual(await context.read(), notifications, 'nothing was acknowledged')
    const next = context.instruction()
    assert.deepEqual(await context.instruct([next]), [{ accepted: true }])
    await checkExecuted(context, next)
  },
}

/** Checks that a hanging call ends when its signal aborts. `isLate`: the signal was aborted before the call began. */
async function checkHang({ harness, connector }: CheckContext, [name, call]: Call, isLate: boolean): Promise<void> {
  const openCalls = harness.openCalls ?? (() => 0)
  harness.breakNext('hang')
  try {
    const controller = new AbortController()
    if (isLate) controller.abort()
    const answer = catchUnreachable(call(connector(), { signal: controller.signal }))
    // Awaited below. A rejection before that must not count as unhandled.
    answer.catch(() => undefined)
    if (!isLate) await eventually(reachedMs, () => openCalls() > 0)
    controller.abort()
    const ending = await withTimeLimit(`${name}, after its signal aborted,`, answer, abortGraceMs)
    const isUnknown = name === 'instruct' && Array.isArray(ending) && ending[0] === 'unknown'
    assert.ok(isUnknown || ending === 'unreachable', `${name} throws Unreachable when its signal aborts`)
    const isClosed = await eventually(abortGraceMs, () => openCalls() === 0)
    assert.ok(isClosed, `${name} leaves ${openCalls()} connections open after its signal aborted`)
  } finally {
    harness.mend()
  }
}

export const outageChecks: readonly Check[] = [
  lostCall,
  lostAnswer,
  lostHalf,
  errorBefore,
  errorAfter,
  lostEnquiry,
  lostRead,
  hangs,
]
