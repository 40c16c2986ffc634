/** Checks of calls that the bank answers: `instruct` (limits, duplicates, refusals, batches, amounts, texts), `find`, `forecast` and `recall`. */
import assert from 'node:assert/strict'
import { amountMajorMax, currencies, type Currency, newId, systemClock } from '../../kernel/index.ts'
import { callTimeoutMsMax, type Instruction, type RecallOutcome, type RecallRequest } from '../../rails/index.ts'
import { type Check, checkExecuted, type CheckContext, withTimeLimit, resolveOutcomes } from './context.ts'
import type { BankRecord } from './harness.ts'

const accepted = { accepted: true } as const
const concurrentCalls = 10

const limits: Check = {
  title: 'the id and the limits are valid',
  needs: [],
  run: async ({ connector }) => {
    const { id, limits: own } = connector()
    assert.match(id, /^[a-z][a-z0-9-]*$/, 'the id has lower-case letters, digits and hyphens')
    for (const [name, value] of Object.entries(own))
      assert.ok(Number.isSafeInteger(value) && value >= 1, `${name} is a whole number of at least 1: ${value}`)
    assert.ok(
      own.callTimeoutMs <= callTimeoutMsMax,
      `callTimeoutMs is at most ${callTimeoutMsMax}: ${own.callTimeoutMs}`,
    )
  },
}

const acceptedOnce: Check = {
  title: 'an instruction is accepted, executed once and settled by one notification',
  needs: ['settle'],
  run: async (context) => {
    const one = context.instruction()
    assert.deepEqual(await context.instruct([one]), [accepted])
    await checkExecuted(context, one)
    const [settled] = await context.notificationsOf([one], 1)
    assert.equal(settled?.kind, 'payout.settled')
  },
}

const duplicates: Check = {
  title: 'duplicates in one call are executed once, with one outcome',
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const one = context.instruction()
    const refused = context.instruction('refuse')
    const outcomes = await context.instruct([one, refused, one, refused])
    assert.deepEqual(outcomes[0], accepted)
    assert.deepEqual(outcomes.slice(2), outcomes.slice(0, 2), 'a duplicate has the outcome of the first one')
    await checkExecuted(context, one)
    await checkExecuted(context, refused, 0)
    await context.notificationsOf([one, refused], 1)
  },
}

const concurrent: Check = {
  title: `${concurrentCalls} concurrent calls of two processes execute an instruction once, with one outcome`,
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const pair = [context.instruction(), context.instruction('refuse')]
    const other = await context.harness.open()
    try {
      const connectors = [context.connector(), other.connector]
      const answers = await Promise.all(
        Array.from({ length: concurrentCalls }, (_none, index) => context.instruct(pair, connectors[index % 2])),
      )
      const known = answers.filter((answer) => !answer.includes('unknown'))
      for (const answer of known) assert.deepEqual(answer, known[0], 'each call has the same outcomes')
      const [first, second] = await resolveOutcomes(context, pair, known[0] ?? [])
      assert.deepEqual([first?.accepted, second?.accepted], [true, false])
      await context.notificationsOf(pair, 1)
    } finally {
      await other.close()
    }
  },
}

const afterRestart: Check = {
  title: 'an instruction repeated after a restart is executed once, with the same outcome',
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const pair = [context.instruction(), context.instruction('refuse')]
    const before = await context.instruct(pair)
    await context.restart()
    assert.deepEqual(await context.instruct(pair), before, 'the outcomes are the same')
    await resolveOutcomes(context, pair, before)
    await context.notificationsOf(pair, 1)
  },
}

const refusal: Check = {
  title: 'a refused instruction returns an error key, a text and a code, and is not executed',
  needs: ['refuse'],
  run: async (context) => {
    const refused = context.instruction('refuse')
    const [outcome] = await context.instruct([refused])
    assert.ok(outcome && outcome !== 'unknown' && !outcome.accepted, 'the instruction is refused')
    await checkExecuted(context, refused, 0)
    assert.deepEqual(await context.find([refused]), [outcome], 'find returns the same refusal')
  },
}

const batch: Check = {
  title: 'a partly accepted batch has one outcome for each instruction, in order',
  needs: ['settle', 'refuse', 'answer later'],
  run: async (context) => {
    const behaviours = ['settle', 'refuse', 'answer later', 'settle', 'answer later', 'refuse', 'settle'] as const
    const instructions = behaviours.map((behaviour) => context.instruction(behaviour))
    const outcomes = await context.instruct(instructions)
    assert.deepEqual(
      outcomes.map((outcome) => (outcome === 'unknown' ? 'answer later' : outcome.accepted ? 'settle' : 'refuse')),
      behaviours,
      'the outcomes stand in the order of the instructions',
    )
    const acknowledgements = await resolveOutcomes(context, instructions, outcomes)
    assert.deepEqual(
      acknowledgements.map((acknowledgement) => acknowledgement.accepted),
      behaviours.map((behaviour) => behaviour !== 'refuse'),
    )
  },
}

const fullCalls: Check = {
  title: 'the maximum number of concurrent full calls is answered in order',
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const { instructionsPerCallMax, callsMax } = context.connector().limits
    // A pattern whose period divides no usual limit, so that a shifted answer differs.
    const isRefused = (index: number) => index % 7 === 3
    const calls = Array.from({ length: callsMax }, () =>
      Array.from({ length: instructionsPerCallMax }, (_none, index) =>
        context.instruction(isRefused(index) ? 'refuse' : 'settle'),
      ),
    )
    const answers = await Promise.all(calls.map((call) => context.instruct(call)))
    for (const [at, call] of calls.entries()) {
      const outcomes = (answers[at] ?? []).map((outcome) => outcome !== 'unknown' && outcome.accepted)
      assert.deepEqual(
        outcomes,
        call.map((_each, index) => !isRefused(index)),
        'the outcomes are in order',
      )
      for (const [index, each] of call.entries()) await checkExecuted(context, each, isRefused(index) ? 0 : 1)
    }
  },
}

/** Returns amounts to check. The first two are inexact in floating point: 4.35 * 100 is below 435, and 1.15 * 100 below 115. */
const amountsIn = (currency: Currency): readonly bigint[] => {
  const max = amountMajorMax * 10n ** BigInt(currencies[currency].digits)
  return [435n, 115n, 1n, 10n, max, max - 1n]
}

const amounts: Check = {
  title: 'amounts arrive exactly, from the smallest to the largest, in each currency',
  needs: ['settle'],
  run: async (context) => {
    const instructions = context.harness.currencies.flatMap((currency) =>
      amountsIn(currency).map((amount) => context.instruction('settle', { amount, currency })),
    )
    await instructAll(context, instructions)
    for (const instruction of instructions) {
      const { amount, currency } = await recordOf(context, instruction)
      assert.deepEqual([amount, currency], [instruction.amount, instruction.currency])
    }
  },
}

const namesDefault = [
  'Zoë Łukasiewicz',
  "Søren O'Neill & Söhne",
  'Ελένη Παπαδοπούλου',
  '李小龍',
  '"A" <b> \\ / ; 100 % + ?',
]

const texts: Check = {
  title: 'names, accounts and references arrive exactly',
  needs: ['settle'],
  run: async (context) => {
    const instructions = (context.harness.creditorNames ?? namesDefault).map((creditorName, index) =>
      context.instruction('settle', {
        creditorName,
        endToEndId: `E2E${newId().replaceAll('-', '')}`,
        remittance: index === 0 ? null : `Invoice ${index}: ${creditorName}`,
        creditorBic: index === 0 ? null : 'COBADEFFXXX',
        creditorAccount: index % 2 === 0 ? 'DE89370400440532013000' : 'NL91ABNA0417164300',
      }),
    )
    await instructAll(context, instructions)
    for (const instruction of instructions) {
      const record = await recordOf(context, instruction)
      for (const name of ['creditorName', 'creditorAccount', 'endToEndId', 'creditorBic', 'remittance'] as const)
        if (name in record) assert.equal(record[name], instruction[name], `${name} arrives exactly`)
    }
  },
}

async function instructAll(context: CheckContext, instructions: readonly Instruction[]): Promise<void> {
  const { instructionsPerCallMax } = context.connector().limits
  for (let at = 0; at < instructions.length; at += instructionsPerCallMax) {
    const call = instructions.slice(at, at + instructionsPerCallMax)
    assert.deepEqual(
      await context.instruct(call),
      call.map(() => accepted),
    )
  }
}

async function recordOf({ harness }: CheckContext, instruction: Instruction): Promise<BankRecord> {
  const record = await harness.recordOf(instruction)
  assert.ok(record, 'the bank has the instruction')
  return record
}

export const submissionChecks: readonly Check[] = [
  limits,
  acceptedOnce,
  duplicates,
  concurrent,
  afterRestart,
  refusal,
  batch,
  fullCalls,
  amounts,
  texts,
]

// Checks of `find`, and of empty lists.

const many: Check = {
  title: 'find answers one key per instruction of a call, in order, with undefined for unknown ids',
  needs: ['settle', 'refuse'],
  run: async (context) => {
    const [partnerId] = context.harness.partnerIds
    const { instructionsPerCallMax } = context.connector().limits
    const behaviours = ['settle', 'refuse', 'settle', 'settle', 'refuse'] as const
    const instructions = behaviours.slice(0, instructionsPerCallMax).map((behaviour) => context.instruction(behaviour))
    const outcomes = await context.instruct(instructions)
    const asked = Array.from({ length: instructionsPerCallMax }, (_none, index) => {
      // Backwards, so that the order of the keys differs from the order at the bank.
      const known = instructions.length - 1 - (index % (instructions.length + 1))
      const id = instructions[known]?.id ?? newId()
      return { key: { partnerId, id }, expected: outcomes[known] }
    })
    assert.deepEqual(
      await context.find(asked.map(({ key }) => key)),
      asked.map(({ expected }) => expected),
    )
  },
}

const otherPartner: Check = {
  title: 'find does not return the instruction of another partner',
  needs: ['settle'],
  run: async (context) => {
    const [partnerId, other] = context.harness.partnerIds
    const own = context.instruction()
    const others = context.instruction('settle', { partnerId: other })
    await context.instruct([own, others])
    assert.deepEqual(
      await context.find([own, { partnerId: other, id: own.id }, others, { partnerId, id: others.id }]),
      [{ accepted: true }, undefined, { accepted: true }, undefined],
    )
    const notifications = await context.notificationsOf([own, others], 2)
    for (const instruction of [own, others]) {
      const found = notifications.find(({ subjectId }) => subjectId === instruction.id)
      assert.equal(found?.partnerId, instruction.partnerId, 'a notification names the partner of its instruction')
    }
  },
}

const empty: Check = {
  title: 'calls with empty lists return empty lists',
  needs: [],
  run: async (context) => {
    assert.deepEqual(await context.instruct([]), [])
    assert.deepEqual(await context.find([]), [])
    assert.deepEqual(await context.read(), [], 'a read without notifications is empty')
    await context.acknowledge([])
  },
}

export const enquiryChecks: readonly Check[] = [many, otherPartner, empty]

// Checks of `forecast`: it computes without calling the bank.

const dateForm = /^\d{4}-\d{2}-\d{2}$/

const forecasts: Check = {
  title: 'a forecast has times in order, is repeatable, and sends nothing to the bank',
  needs: [],
  run: async ({ connector, harness, instruction }) => {
    const one = instruction()
    const at = (harness.clock ?? systemClock).now()
    const forecast = connector().forecast(one, at)
    assert.deepEqual(connector().forecast(one, at), forecast, 'two forecasts at one time are the same')
    assert.equal(await harness.recordOf(one), undefined, 'a forecast sends nothing to the bank')
    assert.ok(forecast.possible, 'a payment that the bank accepts is possible')
    const { cutOffAt, submitsAt, valueDate, arrivesOn } = forecast
    assert.ok(submitsAt >= at, 'a payment is submitted at the time of the forecast or later')
    assert.ok(cutOffAt === null || cutOffAt > submitsAt, 'the cut-off is after the submission')
    assert.match(valueDate, dateForm, 'the value date is YYYY-MM-DD')
    if (arrivesOn === null) return
    assert.match(arrivesOn, dateForm, 'the day of arrival is YYYY-MM-DD')
    assert.ok(arrivesOn >= valueDate, 'the money does not arrive before the value date')
  },
}

export const forecastChecks: readonly Check[] = [forecasts]

// Checks of `recall`. A connector without `recall` passes: its bank does not take recalls.

const unknown: Promise<RecallOutcome> = Promise.resolve('unknown')

/**
 * Requests a recall, and repeats the request while its outcome is unknown, as the worker does. Returns the outcome
 * without `notBefore`.
 */
async function requestRecall(context: CheckContext, request: RecallRequest): Promise<RecallOutcome> {
  const connector = context.connector()
  const { callTimeoutMs } = connector.limits
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const calling = connector.recall?.(request, { signal: AbortSignal.timeout(callTimeoutMs) })
    const outcome = await withTimeLimit('recall', calling ?? unknown, callTimeoutMs)
    if (outcome !== 'unknown') return outcome.taken ? { taken: true } : outcome
  }
  return 'unknown'
}

const recalls: Check = {
  title: 'the bank takes a recall once by its id, also after a restart, and only for a payment that it has',
  needs: ['settle'],
  run: async (context) => {
    if (context.connector().recall === undefined) return
    const payment = context.instruction()
    await context.instruct([payment])
    await context.acknowledge(await context.notificationsOf([payment], 1))
    const asked = { partnerId: payment.partnerId, reason: 'DUPL', details: null, requestedBy: 'Grace Hopper' }
    const request: RecallRequest = { ...asked, id: newId(), instructionId: payment.id }
    const outcome = await requestRecall(context, request)
    assert.deepEqual(await requestRecall(context, request), outcome, 'a repeated request has the same outcome')
    await context.restart()
    assert.deepEqual(
      await requestRecall(context, request),
      outcome,
      'a request repeated after a restart has the same outcome',
    )
    const other = await requestRecall(context, { ...asked, id: newId(), instructionId: newId() })
    assert.ok(other !== 'unknown' && !other.taken, 'a recall of an unknown payment is not taken')
    await context.harness.letTimePass()
    const notifications = await context.read()
    const answers = notifications.filter(({ subjectId }) => subjectId === request.id)
    assert.ok(answers.length <= 1, 'the bank answers a recall once')
    assert.ok(
      answers.every(({ kind }) => kind === 'recall.answered'),
      'the answer to a recall names that recall',
    )
  },
}

export const recallChecks: readonly Check[] = [recalls]
