/** Checks of `recall`. A connector without it passes: its bank takes no recalls. */
import assert from 'node:assert/strict'
import { newId } from '../../kernel/index.ts'
import type { RecallOutcome, RecallRequest } from '../../rails/index.ts'
import type { Check } from './check.ts'
import { type Context, ended } from './context.ts'

const unknown: Promise<RecallOutcome> = Promise.resolve('unknown')

/**
 * Asks for a recall and returns the outcome, without the time until which the connector keeps the request. Asks again
 * while it is unknown, as the worker does.
 */
async function ask(context: Context, request: RecallRequest): Promise<RecallOutcome> {
  const connector = context.connector()
  const { callTimeoutMs } = connector.limits
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const calling = connector.recall?.(request, { signal: AbortSignal.timeout(callTimeoutMs) })
    const outcome = await ended('recall', calling ?? unknown, callTimeoutMs)
    if (outcome !== 'unknown') return outcome.taken ? { taken: true } : outcome
  }
  return 'unknown'
}

const recalls: Check = {
  title: 'a recall is taken once under its id, also after a restart, and not for a payment that the bank does not have',
  needs: ['settle'],
  run: async (context) => {
    if (context.connector().recall === undefined) return
    const payment = context.instruction()
    await context.instruct([payment])
    await context.acknowledge(await context.notificationsOf([payment], 1))
    const asked = { partnerId: payment.partnerId, reason: 'DUPL', details: null, requestedBy: 'Grace Hopper' }
    const request: RecallRequest = { ...asked, id: newId(), instructionId: payment.id }
    const outcome = await ask(context, request)
    assert.deepEqual(await ask(context, request), outcome, 'the same request is answered the same')
    await context.restart()
    assert.deepEqual(await ask(context, request), outcome, 'the same request is answered the same after a restart')
    const other = await ask(context, { ...asked, id: newId(), instructionId: newId() })
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
