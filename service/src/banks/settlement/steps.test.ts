/** The steps of the settlement worker while the bank is unreachable, and while notifications fail. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createFaultyRail } from '../../../../test/model/bank.ts'
import { checkPayments } from '../../../../test/model/payments.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
} from '../../../../test/support/composition.ts'
import { startSettlement } from '../../../../test/support/jobs.ts'
import { dayMs, newId, present } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { createSubmitter } from './instructions.ts'
import { createNotificationStep } from './notifications.ts'
import { processBankNotifications, type RetryPauses, submitDuePayouts } from './index.ts'

const { wrapConnector, arm, disarm } = createFaultyRail()
let service: Service
before(async () => {
  service = await createTestService({ wrapConnector })
})
beforeEach(disarm)
after(() => service.close())

const sendAttemptsMax = 300

/** A payout for which every attempt found the bank unreachable, and one attempt is left. */
async function payoutBeforeLastAttempt() {
  const partner = await addPartner(service, 10_000n)
  const { partnerId } = partner
  const { id, reference } = (await pay(service, partner, '10.00')).payout
  arm('unreachable')
  await submitDuePayouts(service.settlement)
  await service.db.run(sql`
    update payouts.payouts set send_attempts = ${sendAttemptsMax - 1} where partner_id = ${partnerId} and id = ${id}`)
  const send = async () => {
    service.clock.advance(dayMs)
    await submitDuePayouts(service.settlement)
    const { status, errorKey } = await service.payouts.get(partnerId, id)
    return [status, errorKey]
  }
  return { partnerId, reference, send }
}

test('a payout fails and its money is released when the bank has no instruction after the last attempt', async () => {
  const { partnerId, reference, send } = await payoutBeforeLastAttempt()
  arm('unreachable')
  assert.deepEqual(await send(), ['Processing', null])
  assert.deepEqual(await send(), ['Failed', 'BankUnreachable'])
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 10_000n, reserved: 0n, available: 10_000n })
  assert.equal((await service.transactions.get(partnerId, reference)).row.errorKey, 'BankUnreachable')
  await checkPayments(service.db, partnerId, new Map())
})

test('a payout whose last attempt arrived without an answer stays open until the enquiry finds it at the bank', async () => {
  const { partnerId, send } = await payoutBeforeLastAttempt()
  arm('answer lost')
  assert.deepEqual(await send(), ['Processing', null])
  assert.equal((await balanceOf(service, partnerId)).reserved, 1000n, 'the outcome is unknown')
  assert.deepEqual(await send(), ['Sent', null])
  await processBankNotifications(service.settlement)
  assert.deepEqual(await balanceOf(service, partnerId), { posted: 9000n, reserved: 0n, available: 9000n })
  await checkPayments(service.db, partnerId, new Map())
})

test('a worker that loses due payouts to another one goes on, and claims the next ones', async () => {
  const partner = await addPartner(service, 10_000n)
  const make = async (count: number) => {
    for (let made = 0; made < count; made += 1) await pay(service, partner, '1.00')
  }
  const { payouts } = service.settlement
  const connector = present(service.settlement.connectors.at(0), 'the sandbox bank')
  let reads = 0
  const due: typeof payouts.due = async (...given) => {
    reads += 1
    const read = await payouts.due(...given)
    // Another worker is faster.
    await payouts.claimAgain(connector.id, read.slice(0, 2))
    return read
  }
  const worker = createSubmitter({ ...service.settlement, payouts: { ...payouts, due } }, connector)
  await make(3)
  assert.equal(await worker.step(), 3, 'the worker looks again at once, because there was work')
  await make(2)
  assert.equal(await worker.step(), 2)
  assert.equal(reads, 1, 'the second set was claimed')
  await worker.drain()
  const rows = await service.db.rows<{ readonly status: string }>(sql`
    select status from payouts.payouts where partner_id = ${partner.partnerId} order by id`)
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['Pending', 'Pending', 'Sent', 'Sent', 'Sent'],
  )
})

test('a failing notification holds up later notifications of its own payment only', async () => {
  const [broken, sound] = [await addPartner(service, 1_000_000n), await addPartner(service, 1_000_000n)]
  const one = (await pay(service, broken, '4001.05')).payout
  const other = (await pay(service, sound, '10.00')).payout
  await submitDuePayouts(service.settlement)
  service.clock.advance(2 * stepMsDefault)
  const seal = (kyc: Uint8Array | undefined) =>
    service.db.run(sql`update customers.customers set kyc_sealed = ${kyc} where partner_id = ${broken.partnerId}`)
  const kept = await service.db.row<{ kycSealed: Buffer }>(sql`
    select kyc_sealed from customers.customers where partner_id = ${broken.partnerId}`)
  // The status before the acknowledgement was recorded: catching up must read the customer, which fails.
  await service.db.run(sql`
    update payouts.payouts set status = 'Processing' where partner_id = ${broken.partnerId} and id = ${one.id}`)
  await seal(Buffer.from('lost'))
  await processBankNotifications(service.settlement)
  assert.equal((await service.payouts.get(sound.partnerId, other.id)).status, 'Completed')
  assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Processing')
  await seal(kept?.kycSealed)
  assert.equal(await processBankNotifications(service.settlement), 2)
  assert.equal((await service.payouts.get(broken.partnerId, one.id)).status, 'Returned')
  assert.equal((await balanceOf(service, broken.partnerId)).posted, 1_000_000n)
})

test('many failing notifications do not displace others from a step', async () => {
  const partner = await addPartner(service, 10_000n)
  const many = 250
  await service.db.run(sql`
    insert into rails.sandbox_notifications (partner_id, id, subject_id, kind, payload, due_at)
    select ${partner.partnerId}::uuid, id, id, 'payout.settled', '{}', '2020-01-01T00:00:00Z'::timestamptz
    from unnest(${Array.from({ length: many }, () => newId())}::uuid[]) as id`)
  const { id } = (await pay(service, partner, '10.00')).payout
  await submitDuePayouts(service.settlement)
  service.clock.advance(stepMsDefault)
  const retryPauses: RetryPauses = new Map()
  for (let step = 0; step < 3; step += 1) await processBankNotifications(service.settlement, retryPauses)
  assert.equal((await service.payouts.get(partner.partnerId, id)).status, 'Completed')
  await service.db.run(sql`
    delete from rails.sandbox_notifications
    where partner_id = ${partner.partnerId} and due_at = '2020-01-01T00:00:00Z'::timestamptz`)
})

test('a step reads fewer notifications after a slow one and more after a quick full one', async () => {
  const { partnerId } = await addPartner(service)
  // With a case, it is ignored when it is repeated.
  const odd = {
    kind: 'oddity',
    what: 'file_refused',
    partnerId,
    id: newId(),
    subjectId: newId(),
    details: 'Odd.',
  } as const
  const asked: number[] = []
  let stepMs = 0
  let nowMs = 0
  const bank = (notificationsOf: (count: number) => readonly (typeof odd)[]) => ({
    ...service.bank,
    notifications: async (notificationsMax: number) => {
      asked.push(notificationsMax)
      nowMs += stepMs
      return notificationsOf(notificationsMax)
    },
    acknowledge: async () => undefined,
  })
  assert.equal(
    await createNotificationStep(
      service.settlement,
      bank(() => [odd]),
    )(),
    1,
  )
  const repeated = bank((count) => Array.from({ length: count }, () => ({ ...odd, subjectId: newId() })))
  const step = createNotificationStep(service.settlement, repeated, () => nowMs)
  for (stepMs of [100, 100, 300, 300, 300, 100]) await step()
  assert.deepEqual(asked, [200, 200, 400, 800, 400, 200, 200])
})

test('deposit notifications are acknowledged in parts, and only a part that fails is repeated', async () => {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const depositCount = 510
  const deposit = { customerId: partner.customer.id, amount: 1, currency: 'EUR', outcome: 'completed' } as const
  // In parts: a call waits a few seconds for a connection, and then fails.
  for (let made = 0; made < depositCount; made += 85)
    await Promise.all(Array.from({ length: 85 }, () => service.simulations.deposit(partner.caller, deposit, ip)))
  service.clock.advance(4 * stepMsDefault)
  const count = async () => {
    const row = await service.db.row<{ completed: bigint; unacknowledged: bigint }>(sql`select
      (select count(*) from deposits.deposits where partner_id = ${partnerId} and status = 'Completed') as completed,
      (select count(*) from rails.sandbox_notifications where partner_id = ${partnerId}) as unacknowledged`)
    return { completed: row?.completed, unacknowledged: row?.unacknowledged }
  }
  arm('died before acknowledging')
  assert.equal(await processBankNotifications(service.settlement), 4 * (depositCount - 500))
  const partly = { completed: BigInt(depositCount - 500), unacknowledged: 4n * 500n }
  assert.deepEqual(await count(), partly, 'the failed part stays unacknowledged')
  assert.equal(await processBankNotifications(service.settlement), 4 * 500)
  assert.deepEqual(await count(), { completed: BigInt(depositCount), unacknowledged: 0n })
  const posted = BigInt(depositCount) * 100n
  assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
  await checkPayments(service.db, partnerId, new Map())
})

test('steps without work return 0, and the jobs stop on request', async () => {
  assert.equal(await submitDuePayouts(service.settlement), 0)
  assert.equal(await processBankNotifications(service.settlement), 0)
  const running = startSettlement(service)
  await running.stop()
})
