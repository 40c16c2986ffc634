/** The name that a payer gives to its bank passes verification of payee, however the IBAN was issued and whatever the customer is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BodyOf, rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService } from '../../../test/support/composition.ts'
import { ibansFrom, importIbans } from '../../../test/support/ibans.ts'
import { newId } from '../kernel/index.ts'
import { epcText } from './index.ts'

const customers: Readonly<Record<string, Omit<BodyOf<'createCustomer'>, 'email'>>> = {
  person: { kyc: { fullName: 'Dr. Zoë Müller-Straßer' } },
  company: { customerType: 'Business', kyc: { legalName: 'Acme Maschinen G.m.b.H.', tradingName: 'Acme' } },
  'without a name': {},
}
const modes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a range of our own': { IBAN_ISSUERS: 'LT:10000' },
  "a pool of a bank's IBANs": { IBAN_ISSUERS: 'LT:10000', IBAN_POOLS: 'LT' },
}

for (const [mode, settings] of Object.entries(modes))
  test(`the recipient on the page matches in verification of payee: ${mode}`, async () => {
    const service = await createTestService({ settings })
    try {
      const { partnerId, caller } = await addPartner(service)
      if ('IBAN_POOLS' in settings)
        await importIbans(service, 'bank', [...ibansFrom(1, 9, { country: 'LT', bankCode: '70440' })])
      for (const [kind, fields] of Object.entries(customers)) {
        const customer = await service.customers.create(partnerId, { email: `${newId()}@example.com`, ...fields })
        const body = { amount: rawNumber('49.90'), currency: 'EUR', idempotencyKey: newId(), customerId: customer.id }
        const { session } = await service.checkout.create(caller, body)
        const verifies = async () => {
          const payment = await service.checkout.payment(session.url.split('/').at(-1) ?? '')
          const inCode = epcText(payment)?.split('\n')[5]
          assert.equal(inCode, payment.accountHolder)
          const { result, source } = await service.beneficiaries.verify(caller, {
            name: payment.accountHolder,
            iban: payment.iban,
          })
          assert.deepEqual({ kind, result, source }, { kind, result: 'Match', source: 'own' })
        }
        await verifies()
        await service.customers.update(partnerId, customer.id, { kyc: { legalName: null, fullName: 'Grace Hopper' } })
        await verifies()
      }
    } finally {
      await service.close()
    }
  })
