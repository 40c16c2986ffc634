import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, balanceOf, createTestService, pay, type Service } from '../../../../test/support/composition.ts'
import { minuteMs } from '../../kernel/index.ts'
import { submitDuePayouts } from '../settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

test('a payout of 4001.15 stays Pending for a minute: it can be cancelled meanwhile, and is sent afterwards', async () => {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId } = partner
  const [cancelled, kept] = [await pay(service, partner, '4001.15'), await pay(service, partner, '4001.15')]
  const statusOf = async ({ payout: { id } }: typeof kept) => (await service.payouts.get(partnerId, id)).status
  service.clock.advance(minuteMs - 1)
  await submitDuePayouts(service.settlement)
  assert.equal(await statusOf(kept), 'Pending')
  assert.equal((await service.payouts.cancel(partnerId, cancelled.payout.id)).status, 'Cancelled')
  assert.equal((await balanceOf(service, partnerId)).reserved, 400_115n)
  service.clock.advance(1)
  await submitDuePayouts(service.settlement)
  assert.deepEqual([await statusOf(cancelled), await statusOf(kept)], ['Cancelled', 'Sent'])
})
