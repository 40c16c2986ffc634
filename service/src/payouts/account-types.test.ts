/** The type of an American account goes with each payout to its payee. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, createTestService, ip, type Service } from '../../../test/support/composition.ts'
import { newId } from '../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

test('a payout keeps the type that its payee had when it was accepted', async () => {
  const { partnerId, caller } = await addPartner(service)
  const float = { debit: 'settlement.sandbox', currency: 'USD', amount: 100_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, float))
  const account = { name: 'Grace Hopper', currency: 'USD', routingNumber: '021000021' }
  for (const accountType of ['Savings', 'Checking', undefined] as const) {
    const number = { accountNumber: `12345${accountType?.length ?? ''}` }
    const payee = await service.beneficiaries.create(partnerId, {
      ...{ ...account, ...number },
      ...(accountType === undefined ? {} : { accountType }),
    })
    const body = {
      amount: rawNumber('1.00'),
      currency: 'USD',
      beneficiaryId: payee.id,
      idempotencyKey: newId(),
    } as const
    const { verdicts } = await service.payouts.preview(caller, body, ip)
    assert.ok(verdicts.every(({ verdict }) => verdict !== 'failed'))
    const { payout } = await service.payouts.create(caller, body, ip)
    assert.equal(payout.creditorAccountType, accountType ?? null)
    assert.equal((await service.payouts.get(partnerId, payout.id)).creditorAccountType, accountType ?? null)
  }
})
