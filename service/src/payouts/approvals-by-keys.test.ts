/** Approvals by keys that the team made itself: a person must not be the second person of their own payouts. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { serviceAccounts as wire } from '@partner-payments/wire'
import { addPartner, createTestService, pay, type Service } from '../../../test/support/composition.ts'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

/** A partner whose payouts above 100.00 wait, and two further people. */
async function addHolding() {
  const partner = await addPartner(service, 1_000_000n)
  const { partnerId, caller } = partner
  await service.db.transaction((tx) =>
    service.payoutControls.approvalRules.set(tx, {
      ...{
        partnerId,
        currency: 'EUR',
        aboveAmount: 100_00n,
        aboveDayAmount: null,
        aboveBulkAmount: null,
        perPersonAmount: null,
      },
      ...{ beneficiaryHours: null, payeeMismatch: false, expiresHours: 24, needsPasskey: false },
    }),
  )
  const second: Caller = { ...caller, serviceAccountId: newId(), name: 'Second person' }
  const third: Caller = { ...caller, serviceAccountId: newId(), name: 'Third person' }
  return { ...partner, second, third }
}

const codeOf = (deciding: Promise<unknown>) =>
  deciding.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )

test('a key that the team made approves nothing, and its maker approves none of its payouts', async () => {
  const partner = await addHolding()
  const { caller, second, third } = partner
  const { serviceAccounts, payouts } = service
  const made = {
    name: 'Robot',
    publicKeyPem: wire.examplePublicKey,
    permissions: ['payouts:write' as const, 'users:write' as const],
  }
  const keyBy = async (by: Caller): Promise<Caller> => {
    const { serviceAccountId, name } = (await serviceAccounts.create(by, made)).account
    return { ...caller, serviceAccountId, name }
  }
  const waiting = async (by: Caller) => (await pay(service, { ...partner, caller: by }, '100.01')).payout.id
  const own = await waiting(second)
  const robot = await keyBy(second)
  // A key of the key has the same maker.
  const robotOfRobot = await keyBy(robot)
  const rotated = await serviceAccounts.rotate(second, robot.serviceAccountId, made)
  const next: Caller = { ...robot, serviceAccountId: rotated.account.serviceAccountId, name: 'Renamed' }
  for (const key of [robot, robotOfRobot, next, await keyBy(third)])
    assert.equal(await codeOf(payouts.approve(key, own)), 'permission_denied')
  for (const key of [robot, robotOfRobot, next]) {
    const id = await waiting(key)
    assert.equal(await codeOf(payouts.approve(second, id)), 'approver_is_creator')
    const renamed = { ...second, serviceAccountId: newId() }
    assert.equal(await codeOf(payouts.approve(renamed, id)), 'approver_is_creator')
    assert.equal(
      await codeOf(payouts.snapshot(second, id, { nonce: newId(), expiresAt: new Date() })),
      'approver_is_creator',
    )
    assert.equal(await codeOf(payouts.approve(third, id)), 'done')
  }
  assert.equal(await codeOf(payouts.approve(third, own)), 'done')
})
