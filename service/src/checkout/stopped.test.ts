/** A customer whose account takes no money gets no session, and a page that is open invites no payer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AccountRef } from '../accounts/index.ts'
import type { AccountState } from '../ledger/index.ts'
import { bodyFor, code, createSessions } from '../../../test/support/checkout.ts'
import { addPartner, createTestService, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'

let service: Service
before(async () => {
  service = await createTestService()
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
})
after(() => service.close())
const { open, settle, statusOf } = createSessions(() => service)

const setState = async ({ partnerId }: TestPartner, account: AccountRef, state: AccountState) =>
  service.db.transaction((tx) =>
    service.accounts.changeState(tx, {
      partnerId,
      account,
      state,
      reason: 'CourtOrder',
      note: 'Order 17',
      staff: 'Ada',
    }),
  )
const ofCustomer = ({ customer }: TestPartner): AccountRef => ({ customerRef: customer.id })

async function freeze({ partnerId, customer }: TestPartner): Promise<void> {
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: listedName } })
  await screenAll(service)
  await decideAll(service, partnerId, 'confirm')
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: 'Ada Lovelace' } })
  await screenAll(service)
}

const stops: Readonly<Record<string, (partner: TestPartner) => Promise<unknown>>> = {
  'a customer that is blocked': (partner) => setState(partner, ofCustomer(partner), 'Blocked'),
  'a customer that is blocked for what comes in': (partner) => setState(partner, ofCustomer(partner), 'BlockedInbound'),
  'a customer that is closed': (partner) => setState(partner, ofCustomer(partner), 'Closed'),
  'a balance that is blocked': (partner) => setState(partner, { currency: 'EUR' }, 'BlockedInbound'),
  'a party that is the listed one, whatever it is called now': freeze,
}

for (const [what, stop] of Object.entries(stops))
  test(`${what} gets no session, and its open page invites no payer`, async () => {
    const partner = await addPartner(service, 100n)
    const opened = await open({}, partner)
    assert.equal((await service.checkout.payment(opened.token)).mayPay, true)
    await stop(partner)
    for (const fields of [{}, { customer: { email: 'ADA@example.com' } }])
      await assert.rejects(service.checkout.create(partner.caller, bodyFor(partner, fields)), code('account_blocked'))
    assert.equal((await service.checkout.payment(opened.token)).mayPay, false)
    assert.equal(await service.checkout.begin(opened.token, '198.51.100.7', 'FR'), false)
    await service.checkout.decide(opened.token, 'approved')
    await settle()
    assert.equal(await statusOf(opened), 'Open')
  })

test('an erased customer gets no session', async () => {
  const partner = await addPartner(service)
  const { caller, customer } = partner
  await screenAll(service)
  await service.personalData.erasures.erase(partner.partnerId, customer.id, false)
  await assert.rejects(service.checkout.create(caller, bodyFor(partner)), code('not_found'))
})

test('an account that takes money gets a session: blocked for what goes out, or unblocked again', async () => {
  const partner = await addPartner(service)
  const account = ofCustomer(partner)
  const opened = await open({}, partner)
  await setState(partner, account, 'BlockedOutbound')
  await open({}, partner)
  await setState(partner, account, 'Blocked')
  await assert.rejects(open({}, partner), code('account_blocked'))
  await service.cancellations.finish(partner.partnerId, { currency: null, customerId: partner.customer.id })
  await setState(partner, account, 'Active')
  assert.equal((await service.checkout.payment(opened.token)).mayPay, true)
})
