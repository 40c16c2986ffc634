/** A bank recognises a payout that a partner repeats after the database was restored to a time before it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { minuteMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'

/** The bank keeps its own records: those of the first service. */
const first = await createTestService()
const restored = await createTestService({ wrapConnector: () => first.settlement.connectors[0] ?? first.bank })
after(async () => {
  await restored.close()
  await first.close()
})

/** The partner is in both databases, the payout in the first one only. */
async function partnerOfBoth(): Promise<Readonly<{ before: TestPartner; restoredTo: TestPartner }>> {
  const before = await addPartner(first, 1_000_00n)
  const restoredTo = await addPartner(restored, 1_000_00n, before.partnerId)
  return { before, restoredTo }
}

const instructionsOf = (partnerId: string) =>
  first.db.rows<{ id: string; timesReceived: number }>(
    sql`select id, times_received from rails.sandbox_instructions where partner_id = ${partnerId}`,
  )
const statusOf = async (service: Service, { partnerId }: TestPartner, id: string) =>
  (await service.payouts.get(partnerId, id)).status

test('a payout that is repeated after a restore has the instruction of the first one, and is paid once', async () => {
  const { before, restoredTo } = await partnerOfBoth()
  const request = { idempotencyKey: 'rent 2026-03', reference: 'RENT 3' }
  const paid = await pay(first, before, '12.00', request)
  await submitDuePayouts(first.settlement)
  assert.equal(await statusOf(first, before, paid.payout.id), 'Sent')

  const repeated = await pay(restored, restoredTo, '12.00', request)
  assert.equal(repeated.replayed, false)
  assert.notEqual(repeated.payout.id, paid.payout.id)
  assert.equal(repeated.payout.endToEndId, paid.payout.endToEndId)
  await submitDuePayouts(restored.settlement)
  assert.deepEqual(
    (await instructionsOf(before.partnerId)).map(({ timesReceived }) => timesReceived),
    [2],
    'one instruction, received twice',
  )
  for (const { clock } of [first, restored]) clock.advance(minuteMs)
  assert.equal(await processBankNotifications(restored.settlement), 1)
  assert.equal(await statusOf(restored, restoredTo, repeated.payout.id), 'Completed')
})

test('payouts with other keys, and those of other partners with the same key, have instructions of their own', async () => {
  const { before } = await partnerOfBoth()
  const other = await addPartner(first, 1_000_00n)
  const paid = [
    await pay(first, before, '1.00', { idempotencyKey: 'a' }),
    await pay(first, before, '1.00', { idempotencyKey: 'b' }),
    await pay(first, other, '1.00', { idempotencyKey: 'a' }),
  ]
  assert.equal(new Set(paid.map(({ payout }) => payout.endToEndId)).size, paid.length)
  await submitDuePayouts(first.settlement)
  assert.equal((await instructionsOf(before.partnerId)).length, 2)
})
