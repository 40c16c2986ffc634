/** When a nonce is spent: before the handler, by it, or for it, and what the answer is. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OperationId, operationIds, permissions } from '@partner-payments/wire'
import { addPartner, createTestService, type Service } from '../../../test/support/composition.ts'
import { type AllHandlers, type Handler, Refusal, spending, Unreachable } from '../api/index.ts'
import { createLog, newId } from '../kernel/index.ts'
import { createDesk } from './dispatcher.ts'

let service: Service
let partnerId: string
before(async () => {
  service = await createTestService()
  ;({ partnerId } = await addPartner(service))
})
after(() => service.close())

type Pay = Handler<'createFiatPayout'>

function deskWith(pay: Pay) {
  const nobody = () => Promise.reject(new Error('is not asked'))
  const handlers = {
    ...Object.fromEntries(operationIds.map((id: OperationId) => [id, nobody])),
    createFiatPayout: pay,
  } as unknown as AllHandlers
  const { access, clock } = service
  const desk = createDesk({ access, clock, handlers, log: createLog('silent'), sandbox: true, windowSeconds: 300 })
  const nonce = newId().replaceAll('-', '')
  return async (body: object = {}): Promise<number | undefined> => {
    const caller = { partnerId, serviceAccountId: partnerId, name: 'Till', permissions }
    const whole = { amount: 1, beneficiaryId: newId(), currency: 'EUR', idempotencyKey: newId(), ...body }
    const reply = await desk.serve(caller, {
      ...{ operation: 'createFiatPayout', params: {}, query: '', nonce, method: 'POST', path: '/v1/payouts/fiat' },
      ...{ contentType: 'application/json', contentEncoding: undefined, ip: '127.0.0.1', requestId: newId() },
      body: Buffer.from(JSON.stringify(whole)),
    })
    return reply?.status
  }
}

/** A handler that answers nothing good, and counts how often it is asked. */
function failing(error: () => Error) {
  const seen: (boolean | undefined)[] = []
  const handler: Pay = ({ nonce }) => {
    seen.push(nonce?.spent)
    return Promise.reject(error())
  }
  return { seen, handler }
}

test('before the handler, unless it is spending', async () => {
  const usual = failing(() => new Refusal('insufficient_funds'))
  await deskWith(usual.handler)()
  const own = failing(() => new Refusal('insufficient_funds'))
  await deskWith(spending(own.handler))()
  assert.deepEqual([usual.seen, own.seen], [[true], [false]])
})

for (const [what, error, status] of [
  ['refuses', () => new Refusal('insufficient_funds'), 422],
  ['fails', () => new Error('a bug'), 500],
] as const)
  test(`for a spending handler that ${what} and has spent nothing: ${status}, and 401 to the same again`, async () => {
    const { seen, handler } = failing(error)
    const serve = deskWith(spending(handler))
    assert.deepEqual([await serve(), await serve()], [status, 401])
    // It is asked again, since its own batch would have found the replay; what it says then is not what is answered.
    assert.equal(seen.length, 2)
  })

test('for a request whose body is refused before the handler is asked: a mended one is a replay', async () => {
  const { seen, handler } = failing(() => new Refusal('insufficient_funds'))
  const serve = deskWith(spending(handler))
  assert.deepEqual([await serve({ colour: 'red' }), await serve()], [400, 401])
  assert.equal(seen.length, 1)
})

test('not where the database is away: the outcome is unknown, and nothing else can be said', async () => {
  const serve = deskWith(spending(failing(() => new Unreachable('downstream_unreachable', 'away')).handler))
  assert.deepEqual([await serve(), await serve()], [502, 502])
})
