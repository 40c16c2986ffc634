import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  stepMsDefault,
} from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications } from '../banks/settlement/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }

const connector = 'sandbox'

/** A deposit without scheduled notifications: the test sends them itself. */
async function open(customFields: Record<string, unknown> | null = null) {
  const partner = await addPartner(service)
  const { partnerId } = partner
  const { row } = await service.deposits.open(
    {
      partnerId,
      operation: 'simulateDeposit',
      customerRef: partner.customer.serviceId,
      amount: 700n,
      currency: 'EUR',
      idempotencyKey: null,
      websiteReference: 'order 1',
      customFields,
      ip,
      expiresAfterMs: 60_000,
      variant: '',
    },
    () => Promise.resolve(),
  )
  const notification = { partnerId, id: newId(), subjectId: row.id }
  const status = async () => {
    const view = await service.transactions.get(partnerId, row.reference)
    return view.timeline.map(({ step }) => step).at(-1)
  }
  const events = () =>
    service.db.rows<{ type: string; data: string }>(sql`
      select type, data from events.events where partner_id = ${partnerId} and reference = ${row.reference} order by id`)
  return { partnerId, row, notification, status, events }
}

test('the balance is credited once, when the deposit settles', async () => {
  const { partnerId, notification, status } = await open()
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.submitted' })
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.accepted', debtor })
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
  for (let repetition = 0; repetition < 3; repetition += 1)
    await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.settled' })
  assert.equal((await balanceOf(service, partnerId)).posted, 700n)
  await service.deposits.processNotification(connector, {
    ...notification,
    kind: 'deposit.failed',
    details: 'too late',
    reasonCode: null,
  })
  assert.equal(await status(), 'Credited')
})

test('a notification that is out of order or repeated changes nothing', async () => {
  const { notification, status, events } = await open()
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.settled' })
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.accepted', debtor })
  assert.equal(await status(), 'Created')
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
  assert.equal((await events()).length, 2)
})

test('a deposit expires exactly at its expiry time, and later notifications change nothing', async () => {
  const { partnerId, notification, status, events } = await open()
  service.clock.advance(59_999)
  await service.deposits.expireDue(10)
  assert.equal(await status(), 'Created')
  service.clock.advance(1)
  await Promise.all([service.deposits.expireDue(10), service.deposits.expireDue(10)])
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
  assert.equal(await status(), 'Expired')
  const types = (await events()).map(({ type }) => type)
  assert.deepEqual(types.slice(1), ['partner.customer.deposit.expired', 'transaction.status.changed'])
  assert.equal((await balanceOf(service, partnerId)).posted, 0n)
})

test('a submitted deposit does not expire', async () => {
  const { notification, status } = await open()
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.initiated' })
  await service.deposits.processNotification(connector, { ...notification, kind: 'deposit.submitted' })
  service.clock.advance(120_000)
  await service.deposits.expireDue(10)
  assert.equal(await status(), 'Submitted')
})

test("the partner's custom fields are in the events with all digits of their numbers", async () => {
  const { notification, events } = await open({ price: rawNumber('1.10'), big: rawNumber('12345678901234567890') })
  await service.deposits.processNotification(connector, {
    ...notification,
    kind: 'deposit.failed',
    details: 'no',
    reasonCode: null,
  })
  for (const { data } of await events())
    assert.ok(data.includes('"customFields":{"price":1.10,"big":12345678901234567890}'), data)
})

test('a deposit whose expiry fails does not stop the expiry of others', async () => {
  const [broken, sound] = [await open(), await open()]
  await service.db.run(sql`
    update customers.customers set kyc_sealed = ${Buffer.from('lost')} where partner_id = ${broken.partnerId}`)
  service.clock.advance(60_000)
  await assert.rejects(service.deposits.expireDue(10), (error) => (error as Error).cause instanceof AssertionFailure)
  assert.equal(await sound.status(), 'Expired')
  await service.db.run(sql`update deposits.deposits set expires_at = null where partner_id = ${broken.partnerId}`)
})

test('a repeated key returns the same deposit, or is refused with its reference if the request differs', async () => {
  const { caller, customer } = await addPartner(service)
  const body = {
    customerId: customer.id,
    amount: 5,
    currency: 'EUR',
    outcome: 'completed',
    idempotencyKey: 'K',
  } as const
  const first = await service.simulations.deposit(caller, body, ip)
  const second = await service.simulations.deposit(caller, { ...body, customerId: customer.serviceId }, ip)
  assert.deepEqual([second.reference, second.replayed], [first.reference, true])
  for (const other of [{ amount: 6 }, { outcome: 'failed' as const }, { websiteReference: 'w' }, { customFields: {} }])
    await assert.rejects(service.simulations.deposit(caller, { ...body, ...other }, ip), (error) => {
      assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
      return error.detail.includes(first.reference)
    })
})

test('an unknown customer and an unsupported currency are refused', async () => {
  const { caller, customer } = await addPartner(service)
  const body = { customerId: customer.id, amount: 5, currency: 'EUR', outcome: 'completed' } as const
  const code = (expected: string) => (error: unknown) => error instanceof Refusal && error.code === expected
  await assert.rejects(service.simulations.deposit(caller, { ...body, customerId: newId() }, ip), code('not_found'))
  await assert.rejects(
    service.simulations.deposit(caller, { ...body, currency: 'USDC' }, ip),
    code('currency_not_supported'),
  )
  service.clock.advance(4 * stepMsDefault)
  await processBankNotifications(service.settlement)
})
