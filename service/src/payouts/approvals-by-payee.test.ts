/** Approvals of payouts to payees whose name a bank or a verification found not to be that of the account. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  addPartner,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import type { Caller } from '../kernel/api/index.ts'
import { hourMs, newId } from '../kernel/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { instructionIdOf } from './rules.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

async function addHolding(payeeMismatch = true) {
  const partner = await addPartner(service, 1_000_00n)
  const rule = {
    ...{ partnerId: partner.partnerId, currency: 'EUR' as const, payeeMismatch, expiresHours: 24, needsPasskey: false },
    ...{ aboveAmount: 500_00n, aboveDayAmount: null, aboveBulkAmount: null, perPersonAmount: null },
    beneficiaryHours: null,
  }
  await service.db.transaction((tx) => service.payoutControls.approvalRules.set(tx, rule))
  const second: Caller = { ...partner.caller, serviceAccountId: newId(), name: 'Second person' }
  return { ...partner, second }
}

const payOne = async (partner: TestPartner, beneficiaryId = partner.beneficiary.id) =>
  (await pay(service, partner, '1.00', { beneficiaryId })).payout

/** Pays, and has the bank say what it found. `meanwhile`: after the bank has the payment. */
async function checked(
  partner: TestPartner,
  payee: 'match' | 'close_match' | 'no_match' | 'unchecked',
  meanwhile: () => Promise<unknown> = async () => {},
) {
  const payout = await payOne(partner)
  if (payout.status === 'PendingApproval') {
    const { second } = partner as TestPartner & { readonly second: Caller }
    await service.payouts.approve(second, payout.id)
  }
  await submitDuePayouts(service.settlement)
  await meanwhile()
  const reported = { partnerId: partner.partnerId, instructionId: instructionIdOf(payout) }
  assert.equal(await service.payoutLife.payeeChecked(reported, payee), true)
}

test('after a bank has found another name, payouts wait until people release or withdraw them, or the name is right', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  assert.equal((await payOne(partner)).status, 'Pending')
  await checked(partner, 'no_match')
  const [released, withdrawn, forgotten] = [await payOne(partner), await payOne(partner), await payOne(partner)]
  assert.equal(released.status, 'PendingApproval')
  const asked = { nonce: newId(), expiresAt: new Date() }
  assert.equal((await service.payouts.snapshot(second, released.id, asked)).cause, 'payee')
  assert.equal((await service.payouts.approve(second, released.id)).status, 'Pending')
  assert.equal((await service.payouts.reject(second, withdrawn.id, 'Another name.')).status, 'Cancelled')
  await checked(partner, 'close_match')
  await checked(partner, 'unchecked')
  assert.equal((await payOne(partner)).status, 'PendingApproval')
  await checked(partner, 'match')
  assert.equal((await payOne(partner)).status, 'Pending')
  service.clock.advance(25 * hourMs)
  while ((await service.payoutLife.lapseStep()) > 0);
  assert.equal((await service.payouts.get(partnerId, forgotten.id)).status, 'Cancelled')
})

test('a new name is not what the bank compared, also if its answer comes later', async () => {
  const partner = await addHolding()
  const { partnerId, beneficiary } = partner
  const rename = (name: string) => service.beneficiaries.update(partnerId, { id: beneficiary.id, name })
  await checked(partner, 'no_match')
  await rename('Grace B. Hopper')
  assert.equal((await payOne(partner)).status, 'Pending')
  await checked(partner, 'no_match', () => rename('Grace Brewster Hopper'))
  assert.equal((await payOne(partner)).status, 'Pending')
})

test('an answer of the verification of payee counts, given before or after the beneficiary was made', async () => {
  const partner = await addHolding()
  const { partnerId, caller } = partner
  const payee = { name: 'NoMatch Grace', iban: 'NL91ABNA0417164300' }
  const create = async () => (await service.beneficiaries.create(partnerId, { ...payee, currency: 'EUR' })).id
  const early = await create()
  assert.equal((await payOne(partner, early)).status, 'Pending')
  assert.equal((await service.beneficiaries.verify(caller, payee)).result, 'NoMatch')
  assert.equal((await payOne(partner, early)).status, 'PendingApproval')
  assert.equal((await payOne(partner, await create())).status, 'PendingApproval')
  await service.beneficiaries.update(partnerId, { id: early, name: 'Grace Hopper' })
  assert.equal((await payOne(partner, early)).status, 'Pending')
})

test('nothing waits without the rule, and another partner learns nothing', async () => {
  const [without, stranger] = [await addHolding(false), await addHolding()]
  await checked(without, 'no_match')
  assert.equal((await payOne(without)).status, 'Pending')
  assert.equal((await payOne(stranger)).status, 'Pending')
})
