/** A worker begins what it has read as due: once, and only if nothing has changed since. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { newId } from '../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

/** The due payouts of a new partner, as a worker reads them. */
async function readDue(payouts: number) {
  const partner = await addPartner(service, 10_000n)
  for (let made = 0; made < payouts; made += 1) await pay(service, partner, '1.00')
  const { partnerId } = partner
  const read = () => service.payoutLife.due('sandbox', [partnerId], 10)
  return { partnerId, read, due: await read() }
}

test('of two workers that read the same due payouts, one begins each', async () => {
  const { partnerId, read, due } = await readDue(5)
  assert.equal(due.length, 5)
  const begin = () => {
    const leaseId = newId()
    return Promise.all(due.map((payout) => service.payoutLife.beginDue(payout, leaseId)))
  }
  const [ones, others] = await Promise.all([begin(), begin()])
  for (const [index, { id, reference }] of due.entries()) {
    const claims = [ones[index], others[index]].filter((claim) => claim !== undefined)
    assert.equal(claims.length, 1)
    const { status, sendAttempts, leaseId } = await service.payouts.get(partnerId, id)
    assert.deepEqual(
      { status, sendAttempts, leaseId },
      { status: 'Processing', sendAttempts: 1, leaseId: claims[0]?.leaseId },
    )
    const { timeline } = await service.transactions.get(partnerId, reference)
    assert.deepEqual(
      timeline.map(({ step }) => step),
      ['Created', 'Reserved', 'Accepted'],
    )
  }
  assert.deepEqual(await read(), [])
})

test('a payout that was cancelled or claimed after it was read does not begin', async () => {
  const { partnerId, due } = await readDue(2)
  const [cancelled, claimed] = due
  assert.ok(cancelled && claimed)
  await service.payouts.cancel(partnerId, cancelled.id)
  const claims = await service.payoutLife.claimAgain('sandbox', due)
  assert.deepEqual(
    claims.map(({ id }) => id),
    [claimed.id],
  )
  for (const payout of due) assert.equal(await service.payoutLife.beginDue(payout, newId()), undefined)
  assert.equal((await service.payouts.get(partnerId, cancelled.id)).status, 'Cancelled')
  const { status, leaseId, sendAttempts } = await service.payouts.get(partnerId, claimed.id)
  assert.deepEqual(
    { status, leaseId, sendAttempts },
    { status: 'Pending', leaseId: claims[0]?.leaseId, sendAttempts: 0 },
  )
})

test('without due payouts nothing is read, free or claimed', async () => {
  const { read, due } = await readDue(0)
  assert.deepEqual([due, await read()], [[], []])
  assert.deepEqual(await service.payoutLife.free(due), [])
  assert.deepEqual(await service.payoutLife.claimAgain('sandbox', due), [])
})
