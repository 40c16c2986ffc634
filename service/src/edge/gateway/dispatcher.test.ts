/** When the dispatcher consumes a nonce: before the handler, in the handler, or after a refusal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OperationId, operationIds, permissions } from '@partner-payments/wire'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { type AllHandlers, type OperationCall, Refusal, Unreachable } from '../../kernel/api/index.ts'
import { createLog, newId } from '../../kernel/index.ts'
import { createDispatcher } from './gateway.ts'
import { compileOperations } from './operation.ts'

const service = await useModules()
const { partnerId } = await addPartner(service)

/** `createFiatPayout` consumes its nonce itself; `createBeneficiary` leaves this to the dispatcher. */
const requests = {
  createFiatPayout: {
    path: '/v1/payouts/fiat',
    body: () => ({ amount: 1, beneficiaryId: newId(), currency: 'EUR', idempotencyKey: newId() }),
  },
  createBeneficiary: {
    path: '/v1/beneficiaries',
    body: () => ({ name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR' }),
  },
}
type Operation = keyof typeof requests
type TestHandler = (call: OperationCall<Operation>) => Promise<never>

/** Sends requests that all have the same nonce; resolves to the status. */
function sender(id: Operation, handler: TestHandler) {
  const { path, body: validBody } = requests[id]
  const unexpected = () => Promise.reject(new Error('the test calls no other operation'))
  const handlers = {
    ...Object.fromEntries(operationIds.map((each: OperationId) => [each, unexpected])),
    [id]: handler,
  } as unknown as AllHandlers
  const { access, clock } = service
  const log = createLog('silent')
  const operationOf = compileOperations({ handlers, clock, sandbox: true, itemRate: { perSecond: 1, burst: 1 } })
  const dispatch = createDispatcher({ access, clock, operationOf, log, windowSeconds: 300 })
  const nonce = newId().replaceAll('-', '')
  return async (fields: object = {}): Promise<number | undefined> => {
    const reply = await dispatch(id, {
      caller: { partnerId, serviceAccountId: partnerId, name: 'Till', permissions },
      nonce,
      method: 'POST',
      path,
      params: {},
      query: '',
      headers: {},
      contentType: 'application/json',
      body: Buffer.from(JSON.stringify({ ...validBody(), ...fields })),
      requestId: newId(),
      ip: '127.0.0.1',
    })
    return reply?.status
  }
}

/** A handler that fails, and records for each call whether the nonce was consumed before. */
function failing(error: () => Error) {
  const consumedBefore: (boolean | undefined)[] = []
  const handler: TestHandler = ({ nonce }) => {
    consumedBefore.push(nonce?.consumed)
    return Promise.reject(error())
  }
  return { consumedBefore, handler }
}

test('the nonce is consumed before the handler, unless the operation consumes it', async () => {
  const beneficiary = failing(() => new Refusal('insufficient_funds'))
  await sender('createBeneficiary', beneficiary.handler)()
  const payout = failing(() => new Refusal('insufficient_funds'))
  await sender('createFiatPayout', payout.handler)()
  assert.deepEqual([beneficiary.consumedBefore, payout.consumedBefore], [[true], [false]])
})

const failures = [
  { what: 'refuses', error: () => new Refusal('insufficient_funds'), status: 422 },
  { what: 'fails', error: () => new Error('a bug'), status: 500 },
] as const
for (const { what, error, status } of failures)
  test(`${status} consumes the nonce even if the handler ${what} without consuming it, and a replay is 401`, async () => {
    const { consumedBefore, handler } = failing(error)
    const send = sender('createFiatPayout', handler)
    assert.deepEqual([await send(), await send()], [status, 401])
    // The handler runs for the replay too, because its batch would detect the replay. Its result is discarded.
    assert.equal(consumedBefore.length, 2)
  })

test('400 to an invalid body consumes the nonce, and a corrected request with the same nonce is 401', async () => {
  const { consumedBefore, handler } = failing(() => new Refusal('insufficient_funds'))
  const send = sender('createFiatPayout', handler)
  assert.deepEqual([await send({ colour: 'red' }), await send()], [400, 401])
  assert.equal(consumedBefore.length, 1)
})

test('502 while the database is unreachable does not consume the nonce, because the outcome is unknown', async () => {
  const unreachable = failing(() => new Unreachable('downstream_unreachable', 'away'))
  const send = sender('createFiatPayout', unreachable.handler)
  assert.deepEqual([await send(), await send()], [502, 502])
})
