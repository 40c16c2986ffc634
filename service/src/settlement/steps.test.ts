/** The worker's steps when the bank is away for very long, and when a notice cannot be taken. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createFaultyRail } from '../../../test/model/bank.ts'
import { checkPayments } from '../../../test/model/payments.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
} from '../../../test/support/composition.ts'
import { dayMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { sendDue, startSettlement, takeNotices } from './index.ts'

const { wrapRail, arm, disarm } = createFaultyRail()
let service: Service
before(async () => {
  service = await createTestService({ wrapRail })
})
beforeEach(disarm)
after(() => service.close())

const manyTries = 300

/** A payout whose tries have all met a silent bank but for the last one, which is still to come. */
async function almostGivenUp() {
  const partner = await addPartner(service, 10_000n)
  const { partnerId } = partner
  const { id, reference } = (await pay(service, partner, '10.00')).payout
  arm('unreachable')
  await sendDue(service.settlement)
  await service.db.run(sql`
    update payouts.payouts set send_attempts = ${manyTries - 1} where partner_id = ${partnerId} and id = ${id}`)
  const send = async () => {
    service.clock.advance(dayMs)
    await sendDue(service.settlement)
    const { status, errorKey } = await service.payouts.get(partnerId, id)
    return [status, errorKey]
  }
  return { partnerId, reference, send }
}

test('after many tries, and asked once more, the bank has nothing: the payout fails and the money is free', async () => {
  const { partnerId, reference, send } = await almostGivenUp()
  arm('unreachable')
  assert.deepEqual(await send(), ['Processing', null])
  assert.deepEqual(await send(), ['Failed', 'BankUnreachable'])
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 10_000n, reserved: 0n, available: 10_000n })
  assert.equal((await service.transactions.get(partnerId, reference)).row.errorKey, 'BankUnreachable')
  await checkPayments(service.db, partnerId, new Map())
})

test('the last of many tries breaks after it has arrived: the payout is not given up, for the bank will pay it', async () => {
  const { partnerId, send } = await almostGivenUp()
  arm('answer lost')
  assert.deepEqual(await send(), ['Processing', null])
  assert.equal((await balanceOf(service, partnerId)).reserved, 1000n, 'nobody knows what became of it')
  assert.deepEqual(await send(), ['Sent', null])
  await takeNotices(service.settlement)
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 9000n, reserved: 0n, available: 9000n })
  await checkPayments(service.db, partnerId, new Map())
})

test('a notice that cannot be taken holds up its own payment only, in its order, until it can', async () => {
  const [broken, sound] = [await addPartner(service, 1_000_000n), await addPartner(service, 1_000_000n)]
  const one = (await pay(service, broken, '4001.05')).payout
  const other = (await pay(service, sound, '10.00')).payout
  await sendDue(service.settlement)
  service.clock.advance(2 * stepMsDefault)
  const seal = (kyc: Uint8Array | undefined) =>
    service.db.run(sql`update customers.customers set kyc_sealed = ${kyc} where partner_id = ${broken.partnerId}`)
  const kept = await service.db.row<{ kycSealed: Buffer }>(sql`
    select kyc_sealed from customers.customers where partner_id = ${broken.partnerId}`)
  // As it was when the worker died before the acknowledgement: to catch up on that, the customer must be read.
  await service.db.run(sql`
    update payouts.payouts set status = 'Processing' where partner_id = ${broken.partnerId} and id = ${one.id}`)
  await seal(Buffer.from('lost'))
  await takeNotices(service.settlement)
  assert.equal((await service.payouts.get(sound.partnerId, other.id)).status, 'Completed')
  assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Processing')
  await seal(kept?.kycSealed)
  assert.equal(await takeNotices(service.settlement), 2)
  assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Returned')
  assert.equal((await balanceOf(service, broken.partnerId)).posted, 1_000_000n)
})

test('notices that cannot be taken do not take the places of those that can, however many they are', async () => {
  const partner = await addPartner(service, 10_000n)
  const many = 250
  await service.db.run(sql`
    insert into rails.sandbox_notices (partner_id, id, subject_id, kind, payload, due_at)
    select ${partner.partnerId}::uuid, id, id, 'payout.settled', '{}', '2020-01-01T00:00:00Z'::timestamptz
    from unnest(${Array.from({ length: many }, () => newId())}::uuid[]) as id`)
  const { id } = (await pay(service, partner, '10.00')).payout
  await sendDue(service.settlement)
  service.clock.advance(stepMsDefault)
  const resting = new Map<string, number>()
  for (let step = 0; step < 3; step += 1) await takeNotices(service.settlement, resting)
  assert.equal((await service.payouts.get(partner.partnerId, id)).status, 'Completed')
  await service.db.run(sql`
    delete from rails.sandbox_notices
    where partner_id = ${partner.partnerId} and due_at = '2020-01-01T00:00:00Z'::timestamptz`)
})

test('deposits of one statement are acknowledged in parts: where one part breaks, only its deposits are told again', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const many = 510
  const deposit = { customerId: partner.customer.id, amount: 1, currency: 'EUR', outcome: 'completed' } as const
  await Promise.all(Array.from({ length: many }, () => service.simulations.deposit(partner.caller, deposit, ip)))
  service.clock.advance(4 * stepMsDefault)
  const count = async () => {
    const row = await service.db.row<{ completed: bigint; told: bigint }>(sql`select
      (select count(*) from deposits.deposits where partner_id = ${partnerId} and status = 'Completed') as completed,
      (select count(*) from rails.sandbox_notices where partner_id = ${partnerId}) as told`)
    return [row?.completed, row?.told]
  }
  arm('died before acknowledging')
  assert.equal(await takeNotices(service.settlement), 4 * (many - 500))
  assert.deepEqual(await count(), [BigInt(many - 500), 4n * 500n], 'what was not acknowledged is told again')
  assert.equal(await takeNotices(service.settlement), 4 * 500)
  assert.deepEqual(await count(), [BigInt(many), 0n])
  const posted = BigInt(many) * 100n
  assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
  await checkPayments(service.db, partnerId, new Map())
})

test('nothing to do is done, and the loops stop when they are told to', async () => {
  assert.equal(await sendDue(service.settlement), 0)
  assert.equal(await takeNotices(service.settlement), 0)
  const loops = startSettlement(service.settlement)
  await Promise.all(loops.map((loop) => loop.stop()))
})
