import { test } from 'node:test'
import { success, textAt } from '../support/client.ts'
import { createTestService, masterKeyText } from '../support/composition.ts'
import { useDesk } from '../support/desk.ts'
import { createBeneficiary, createCustomer, payoutText } from '../support/world.ts'
import { newId } from '../../service/src/kernel/index.ts'
const { service, site, join, visit } = await useDesk({ MASTER_KEY: masterKeyText })
test('shots', async () => {
  const { client } = service
  const { partnerId } = service.credentials
  const customerId = textAt(await createCustomer(client, { partnerCustomerIdentifier: 'shop-17', kyc: { fullName: 'Hedy Lamarr', dateOfBirth: '1914-11-09', citizenshipCountryCode: 'AT' } }), 'guid')
  const payeeId = textAt(await createBeneficiary(client, { name: 'Grace Hopper', alias: 'Rent', customerId }), 'id')
  for (const amount of ['1234.50', '20000.00', '3.10']) success(await client.post('/v1/payouts/fiat', payoutText(payeeId, amount, { reference: `Invoice ${amount}` })))
  const inside = await createTestService({ url: service.databaseUrl, now: new Date() })
  for (const kind of ['contradiction', 'unknown_payment', 'bank_fee'] as const)
    await inside.cases.open({ partnerId, kind, connector: 'sandbox', notificationId: newId(), subject: 'x', report: { kind: 'test' }, booked: { currency: 'EUR', amount: 123456n } })
  const { page, context } = await join('Lena', 'admin')
  const shots = [
    ['partner', `partners/${partnerId}`], ['customer', `customers/${partnerId}/${customerId}`], ['payee', `payees/${partnerId}/${payeeId}`],
    ['act', `act?command=limit%20set&partner=${partnerId}&beneficiary=${payeeId}&scope=beneficiary&currency=EUR&back=payees/${partnerId}/${payeeId}`],
    ['numbers', 'numbers'], ['reconciliation', 'reconciliation'], ['safeguarding', 'safeguarding'], ['customers', `partners/${partnerId}/customers`], ['runbook', 'runbooks/bank-files'], ['partners', 'partners'],
  ] as const
  for (const [name, path] of shots)
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${site}/desk/${path}`)
      await page.screenshot({ path: `/tmp/thing-shots/${name}-${width}.png`, fullPage: true })
    }
  const german = await visit({ locale: 'de-DE' })
  await german.context.addCookies(await context.cookies())
  for (const [name, path] of shots.slice(0, 5)) {
    await german.page.setViewportSize({ width: 1280, height: 800 })
    await german.page.goto(`${site}/desk/${path}`)
    await german.page.screenshot({ path: `/tmp/thing-shots/${name}-de.png`, fullPage: true })
  }
  await inside.close()
})
