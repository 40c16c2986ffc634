/** A person makes the next attempt of a payout due, never under a running attempt, and the bank gets one instruction. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { Unreachable } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'

let service: Service
let partner: TestPartner
/** True if the answers of the bank are lost: the outcome of an instruction that it has is unknown. */
let isSilent = false
let instructed = 0
before(async () => {
  const lost = () => Promise.reject(new Unreachable('downstream_timeout', 'the bank does not answer'))
  service = await createTestService({
    wrapConnector: (bank) => ({
      ...bank,
      instruct: async (instructions, options) => {
        const outcomes = await bank.instruct(instructions, options)
        instructed += instructions.length
        return isSilent ? lost() : outcomes
      },
      find: (keys, options) => (isSilent ? lost() : bank.find(keys, options)),
    }),
  })
  partner = await addPartner(service, 1_000_00n)
})
after(() => service.close())

const retry = (id: string, partnerId = partner.partnerId) =>
  service.db.transaction((tx) => service.payouts.retry(tx, partnerId, id))
const read = (id: string) => service.payouts.get(partner.partnerId, id)

test('of two retries at once of a payout with an unknown outcome one attempt follows, which asks and pays nothing again', async () => {
  const { payout } = await pay(service, partner, '10.00')
  isSilent = true
  await retry(payout.id)
  await submitDuePayouts(service.settlement)
  const unknown = await read(payout.id)
  assert.deepEqual([unknown.status, unknown.sendAttempts, instructed], ['Processing', 1, 1])
  assert.ok(unknown.dueAt !== null && unknown.dueAt > service.clock.now(), 'the next attempt waits')
  isSilent = false
  await submitDuePayouts(service.settlement)
  assert.equal((await read(payout.id)).status, 'Processing', 'no attempt before its time')
  await Promise.all([retry(payout.id), retry(payout.id)])
  await submitDuePayouts(service.settlement)
  assert.deepEqual([(await read(payout.id)).status, instructed], ['Sent', 1])
})

test('a running attempt, a status without attempts and the payout of another partner are refused', async () => {
  const { payout } = await pay(service, partner, '11.00')
  await retry(payout.id)
  const [claim] = await service.payoutLife.claim('sandbox', [partner.partnerId], 1)
  assert.equal(claim?.id, payout.id)
  const { dueAt } = await read(payout.id)
  await assert.rejects(retry(payout.id), { detail: /^An attempt is running until/ })
  assert.deepEqual((await read(payout.id)).dueAt, dueAt, 'the lease is not shortened')
  const stranger = await addPartner(service)
  await assert.rejects(retry(payout.id, stranger.partnerId), { code: 'not_found' })
  await assert.rejects(retry(newId()), { code: 'not_found' })
  service.clock.advance(600_000)
  await submitDuePayouts(service.settlement)
  await assert.rejects(retry(payout.id), { detail: 'The payout is Sent: no attempt follows.' })
})
