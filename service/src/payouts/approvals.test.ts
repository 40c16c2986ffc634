/** Approvals: which payouts wait, who may decide, and exactly one outcome under races of two processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { payeeDigest } from '@partner-payments/wire'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { outcomeCode } from '../../../test/support/refusals.ts'
import { addApprovers, type RuleFields, setApprovalRule } from '../../../test/support/approvals.ts'
import type { Caller } from '../kernel/api/index.ts'
import { hourMs, newId, nilId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { erasePayouts } from './store.ts'
import { toPayoutRecord } from './routes.ts'

const service = await useModules()
// As another process.
const other = await service.anotherProcess()

const setRule = ({ partnerId }: TestPartner, rule: RuleFields) =>
  setApprovalRule(service, partnerId, { aboveAmount: 100_00n, ...rule })

/** A partner whose payouts above 100.00 wait, and two further service accounts. */
const addHolding = (rule: RuleFields = {}) => addApprovers(service, { aboveAmount: 100_00n, ...rule })

const timelineOf = async (partnerId: string, reference: string) => {
  const { row, timeline } = await service.transactions.get(partnerId, reference)
  return { status: row.status, steps: timeline.map(({ step }) => step) }
}
/** The approval of a payout in the API. */
const toldOf = async (partnerId: string, id: string) => {
  const payout = await service.payouts.get(partnerId, id)
  return toPayoutRecord(payout, (await service.payouts.decisionsOf(partnerId, [payout])).get(id)).approval
}
const approvalOf = (partnerId: string, id: string) =>
  service.db.row<{ decision: string | null; decidedName: string | null; reason: string | null }>(sql`
    select decision, decided_name, reason from payouts.approvals where partner_id = ${partnerId} and payout_id = ${id}`)

test('a payout above the amount awaits approval with its money reserved, as every replay reports', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  assert.equal((await pay(service, partner, '100.00')).payout.status, 'Pending')
  const idempotencyKey = newId()
  const { payout } = await pay(service, partner, '100.01', { idempotencyKey })
  assert.deepEqual([payout.status, payout.dueAt], ['PendingApproval', null])
  assert.equal((await balanceOf(service, partnerId)).reserved, 200_01n)
  assert.deepEqual(await service.payoutLife.claim('sandbox', [partnerId], 10).then((claims) => claims.length), 1)
  assert.equal((await service.payouts.approve(second, payout.id)).status, 'Pending')
  assert.deepEqual(await timelineOf(partnerId, payout.reference), {
    status: 'Pending',
    steps: ['Created', 'Reserved', 'Approval'],
  })
  assert.deepEqual(
    (await service.payoutLife.claim('sandbox', [partnerId], 10)).map(({ id }) => id),
    [payout.id],
  )
  const again = await pay(service, partner, '100.01', { idempotencyKey })
  assert.deepEqual([again.replayed, again.payout.approvalExpiresAt], [true, payout.approvalExpiresAt])
})

test('a payout of any amount to a new beneficiary waits until the beneficiary is old enough', async () => {
  const partner = await addHolding({ aboveAmount: null, beneficiaryHours: 1, payeeMismatch: false })
  const young = await service.beneficiaries.create(partner.partnerId, {
    name: 'Hedy Lamarr',
    iban: 'NL91ABNA0417164300',
    currency: 'EUR',
  })
  const to = async (at: Service) => (await pay(at, partner, '1.00', { beneficiaryId: young.id })).payout.status
  assert.equal(await to(service), 'PendingApproval')
  const almost = await createTestService({
    url: service.url,
    now: new Date(service.clock.now().getTime() + hourMs - 1),
  })
  assert.equal(await to(almost), 'PendingApproval')
  almost.clock.advance(1)
  assert.equal(await to(almost), 'Pending')
  await almost.close()
})

test('the creator cannot decide with any credential, and another partner finds nothing', async () => {
  const partner = await addHolding()
  const { caller, second } = partner
  const { payout } = await pay(service, partner, '200.00')
  const rotated = { ...caller, serviceAccountId: newId() }
  const renamed = { ...caller, name: 'Renamed' }
  const alike = ['Test account ', 'TEST  account', 'Test\u00a0account', 'Test\u200baccount', 'Tеst аccount'].map(
    (name) => ({
      ...rotated,
      name,
    }),
  )
  for (const creator of [caller, rotated, renamed, ...alike]) {
    assert.equal(await outcomeCode(service.payouts.approve(creator, payout.id)), 'approver_is_creator')
    assert.equal(await outcomeCode(service.payouts.reject(creator, payout.id, 'No.')), 'approver_is_creator')
  }
  const stranger = await addPartner(service)
  assert.equal(await outcomeCode(service.payouts.approve(stranger.caller, payout.id)), 'not_found')
  assert.equal(await outcomeCode(service.payouts.approve(second, newId())), 'not_found')
  const { payout: free } = await pay(service, partner, '1.00')
  assert.equal(await outcomeCode(service.payouts.approve(second, free.id)), 'payout_not_awaiting_approval')
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'PendingApproval')
})

test('a rejection releases the money and the limits, and records the person and the reason', async () => {
  const partner = await addHolding()
  const { partnerId, second, third } = partner
  await service.db.transaction((tx) =>
    service.payoutControls.limits.set(tx, {
      partnerId,
      scope: 'partner',
      period: 'day',
      amount: 200_00n,
      currency: 'EUR',
    }),
  )
  const before = await balanceOf(service, partnerId)
  const { payout } = await pay(service, partner, '200.00')
  assert.equal(await outcomeCode(pay(service, partner, '0.01')), 'limit_exceeded')
  assert.equal((await service.payouts.reject(second, payout.id, 'Paid before.')).status, 'Cancelled')
  assert.deepEqual(await balanceOf(service, partnerId), before)
  assert.deepEqual(await timelineOf(partnerId, payout.reference), {
    status: 'Cancelled',
    steps: ['Created', 'Reserved', 'Cancelled'],
  })
  assert.deepEqual(await approvalOf(partnerId, payout.id), {
    decision: 'rejected',
    decidedName: 'Second person',
    reason: 'Paid before.',
  })
  assert.deepEqual(await toldOf(partnerId, payout.id), {
    decision: 'Rejected',
    decidedBy: { id: second.serviceAccountId, name: 'Second person' },
    decidedAt: service.clock.now().toISOString(),
    reason: 'Paid before.',
  })
  const { data } = await service.audit.list(partnerId, {})
  const step = data.find(({ subject }) => subject['reference'] === payout.reference)
  assert.deepEqual(step?.actor, { kind: 'partner', id: second.serviceAccountId, name: 'Second person' })
  assert.equal((await service.payouts.reject(second, payout.id, 'Paid before.')).status, 'Cancelled')
  assert.equal(await outcomeCode(service.payouts.reject(third, payout.id, 'Me too.')), 'payout_not_awaiting_approval')
  assert.equal(await outcomeCode(service.payouts.approve(second, payout.id)), 'payout_not_awaiting_approval')
  assert.equal((await pay(service, partner, '100.00')).payout.status, 'Pending')
})

test('a payout shows the result of its approval, and no result if it needs no approval', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  const { payout: free } = await pay(service, partner, '1.00')
  assert.equal(await toldOf(partnerId, free.id), undefined)
  const { payout: approved } = await pay(service, partner, '200.00')
  assert.deepEqual(await toldOf(partnerId, approved.id), {}, 'it waits')
  await service.payouts.approve(second, approved.id)
  const decidedAt = service.clock.now().toISOString()
  assert.deepEqual(await toldOf(partnerId, approved.id), {
    decision: 'Approved',
    decidedBy: { id: second.serviceAccountId, name: 'Second person' },
    decidedAt,
  })
  const { payout: cancelled } = await pay(service, partner, '200.00')
  await service.payouts.cancel(partnerId, cancelled.id)
  assert.deepEqual(await toldOf(partnerId, cancelled.id), { decision: 'Cancelled', decidedAt })
  const stranger = await addPartner(service)
  assert.equal((await service.payouts.decisionsOf(stranger.partnerId, [approved, cancelled])).size, 0)
})

test('the erasure of a customer erases why a payout to its beneficiary was rejected', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  const { id: customerId } = await service.customers.create(partnerId, { email: 'ada@example.com' })
  const beneficiary = await service.beneficiaries.create(partnerId, {
    name: 'Hedy Lamarr',
    iban: 'NL91ABNA0417164300',
    currency: 'EUR',
    customerId,
  })
  const { payout } = await pay(service, partner, '200.00', { beneficiaryId: beneficiary.id })
  await service.payouts.reject(second, payout.id, 'Ada Lovelace was paid before.')
  const page = { partnerId, customerId, afterId: nilId }
  await service.db.transaction((tx) => erasePayouts(tx, page, 10))
  const { decision, reason } = (await toldOf(partnerId, payout.id)) ?? {}
  assert.deepEqual([decision, reason], ['Rejected', undefined])
})

test('of two concurrent approvals exactly one decides, and the other person is refused', async () => {
  const partner = await addHolding()
  const { partnerId, second, third } = partner
  for (let round = 0; round < 8; round += 1) {
    const { payout } = await pay(service, partner, '200.00')
    const outcomes = await Promise.all([
      outcomeCode(service.payouts.approve(second, payout.id)),
      outcomeCode(other.payouts.approve(third, payout.id)),
    ])
    assert.deepEqual(outcomes.toSorted(), ['done', 'payout_not_awaiting_approval'])
    const winner = outcomes[0] === 'done' ? second : third
    assert.equal((await approvalOf(partnerId, payout.id))?.decidedName, winner.name)
    const { steps } = await timelineOf(partnerId, payout.reference)
    assert.equal(steps.filter((step) => step === 'Approval').length, 1)
  }
})

test('a concurrent approval and rejection have one result', async () => {
  const partner = await addHolding()
  const { partnerId, second, third } = partner
  for (let round = 0; round < 8; round += 1) {
    const { payout } = await pay(service, partner, '200.00')
    const [approved, rejected] = await Promise.all([
      outcomeCode(service.payouts.approve(second, payout.id)),
      outcomeCode(other.payouts.reject(third, payout.id, 'No.')),
    ])
    const status = (await service.payouts.get(partnerId, payout.id)).status
    assert.deepEqual(
      [approved, rejected, status],
      approved === 'done'
        ? ['done', 'payout_not_awaiting_approval', 'Pending']
        : ['payout_not_awaiting_approval', 'done', 'Cancelled'],
    )
  }
  await checkLedger(service.db, partnerId)
})

test('a concurrent approval and cancellation leave a cancelled payout, whose money is released exactly once', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  const before = await balanceOf(service, partnerId)
  for (let round = 0; round < 8; round += 1) {
    const { payout } = await pay(service, partner, '200.00')
    const [approved, cancelled] = await Promise.all([
      outcomeCode(service.payouts.approve(second, payout.id)),
      outcomeCode(other.payouts.cancel(partnerId, payout.id)),
    ])
    // A payout that was approved first is Pending, and may still be cancelled.
    assert.equal(cancelled, 'done')
    const approval = await approvalOf(partnerId, payout.id)
    assert.equal(approval?.decision, approved === 'done' ? 'approved' : 'cancelled')
    const { status, steps } = await timelineOf(partnerId, payout.reference)
    assert.equal(status, 'Cancelled')
    assert.deepEqual(steps, ['Created', 'Reserved', ...(approved === 'done' ? ['Approval'] : []), 'Cancelled'])
  }
  assert.deepEqual(await balanceOf(service, partnerId), before)
  await checkLedger(service.db, partnerId)
})

test('a payout that is not approved in time is cancelled, and a later approval is refused', async () => {
  const partner = await addHolding({ expiresHours: 2, needsPasskey: false })
  const { partnerId, second } = partner
  const before = await balanceOf(service, partnerId)
  const { payout: approvedInTime } = await pay(service, partner, '200.00')
  const { payout } = await pay(service, partner, '200.00')
  const later = await createTestService({
    url: service.url,
    now: new Date(service.clock.now().getTime() + 2 * hourMs - 1),
  })
  await later.payouts.approve(second, approvedInTime.id)
  assert.equal(await later.payoutLife.expireApprovalsStep(), 0)
  later.clock.advance(1)
  // The loop has not run yet: the time alone ends the wait.
  assert.equal(await outcomeCode(later.payouts.approve(second, payout.id)), 'payout_not_awaiting_approval')
  const steps = await Promise.all([later.payoutLife.expireApprovalsStep(), later.payoutLife.expireApprovalsStep()])
  assert.equal(steps[0] + steps[1], 1)
  assert.deepEqual(await timelineOf(partnerId, payout.reference), {
    status: 'Cancelled',
    steps: ['Created', 'Reserved', 'Expired'],
  })
  assert.equal((await approvalOf(partnerId, payout.id))?.decision, 'expired')
  assert.equal(await outcomeCode(later.payouts.approve(second, payout.id)), 'payout_not_awaiting_approval')
  assert.equal((await later.payouts.cancel(partnerId, payout.id)).status, 'Cancelled')
  await later.payouts.cancel(partnerId, approvedInTime.id)
  assert.deepEqual(await balanceOf(service, partnerId), before)
  await later.close()
})

test('a concurrent approval, cancellation and expiry leave one outcome', async () => {
  const partner = await addHolding({ expiresHours: 1, needsPasskey: false })
  const { partnerId, second } = partner
  const before = await balanceOf(service, partnerId)
  const expiry = new Date(service.clock.now().getTime() + hourMs)
  const early = await createTestService({ url: service.url, now: new Date(expiry.getTime() - 1) })
  const late = await createTestService({ url: service.url, now: expiry })
  for (let round = 0; round < 6; round += 1) {
    const { payout } = await pay(service, partner, '200.00')
    const [approved] = await Promise.all([
      outcomeCode(early.payouts.approve(second, payout.id)),
      late.payoutLife.expireApprovalsStep(),
      outcomeCode(other.payouts.cancel(partnerId, payout.id)),
    ])
    const { decision } = (await approvalOf(partnerId, payout.id)) ?? {}
    assert.equal(decision === 'approved', approved === 'done')
    const { status, steps } = await timelineOf(partnerId, payout.reference)
    const ends = steps.filter((step) => ['Cancelled', 'Expired'].includes(step))
    assert.deepEqual([status, ends.length], ['Cancelled', 1])
  }
  assert.deepEqual(await balanceOf(service, partnerId), before)
  await checkLedger(service.db, partnerId)
  await Promise.all([early.close(), late.close()])
})

test('a rule can be set, replaced and removed, and waiting payouts still wait', async () => {
  const partner = await addHolding()
  const { partnerId, second } = partner
  const { payout } = await pay(service, partner, '200.00')
  const replaced = await setRule(partner, { aboveAmount: 300_00n })
  assert.equal((await pay(service, partner, '200.00')).payout.status, 'Pending')
  assert.deepEqual(await service.payoutControls.approvalRules.list(service.db, partnerId), [replaced])
  const remove = (of: string) =>
    service.db.transaction((tx) => service.payoutControls.approvalRules.remove(tx, of, replaced.id))
  await assert.rejects(remove((await addPartner(service)).partnerId), { code: 'not_found' })
  await remove(partnerId)
  assert.equal((await pay(service, partner, '400.00')).payout.status, 'Pending')
  assert.equal((await service.payouts.approve(second, payout.id)).status, 'Pending')
})

test("the text to sign contains the amount, the payee's digest and the signer, and is only for a second person while the payout waits", async () => {
  const partner = await addHolding()
  const { partnerId, caller, second } = partner
  const { payout } = await pay(service, partner, '100.01')
  const asked = { nonce: 'nonce', expiresAt: new Date('2030-01-01T00:02:00Z') }
  const { text, requestedName, needsPasskey } = await service.payouts.snapshot(second, payout.id, asked)
  const { payeeSalt } = (await toldOf(partnerId, payout.id)) ?? {}
  assert.ok(payeeSalt)
  const payee = payeeDigest(payeeSalt, payout.creditorName, payout.creditorAccount)
  assert.deepEqual(JSON.parse(text), {
    ...{ version: 1, purpose: 'approvePayout', partnerId, payoutId: payout.id, reference: payout.reference },
    ...{ amount: '100.01', currency: 'EUR', payee, approverId: second.serviceAccountId },
    ...{ expiresAt: '2030-01-01T00:02:00.000Z', nonce: 'nonce' },
  })
  assert.deepEqual([requestedName, needsPasskey], [caller.name, false])
  assert.equal((await service.payouts.snapshot(second, payout.id, asked)).text, text, 'made again it is the same')
  assert.equal(await outcomeCode(service.payouts.snapshot(caller, payout.id, asked)), 'approver_is_creator')
  const stranger = await addPartner(service)
  assert.equal(await outcomeCode(service.payouts.snapshot(stranger.caller, payout.id, asked)), 'not_found')
  await service.payouts.approve(second, payout.id)
  assert.equal(await outcomeCode(service.payouts.snapshot(second, payout.id, asked)), 'payout_not_awaiting_approval')
  const { payout: free } = await pay(service, partner, '1.00')
  assert.equal(await outcomeCode(service.payouts.snapshot(second, free.id, asked)), 'payout_not_awaiting_approval')
})

test('a rule that requires a passkey refuses a credential and a code, and the record of the step has the signature', async () => {
  const partner = await addHolding({ needsPasskey: true })
  const { partnerId, second, third } = partner
  const { payout } = await pay(service, partner, '100.01')
  const confirmed = (factor: 'passkey' | 'code'): Caller => ({ ...third, confirmation: { snapshot: '{}', factor } })
  assert.equal(await outcomeCode(service.payouts.approve(second, payout.id)), 'permission_denied')
  assert.equal(await outcomeCode(service.payouts.approve(confirmed('code'), payout.id)), 'permission_denied')
  await setRule(partner, { needsPasskey: false })
  assert.equal(
    await outcomeCode(service.payouts.approve(second, payout.id)),
    'permission_denied',
    'the rule of its acceptance',
  )
  assert.equal(await outcomeCode(service.payouts.approve(confirmed('passkey'), payout.id)), 'done')
  const records = await service.audit.list(partnerId, {})
  const step = records.data.find(({ details }) => details?.['approval'] !== undefined)
  assert.deepEqual(step?.actor, { kind: 'partner', id: third.serviceAccountId, name: third.name })
  assert.deepEqual(step?.details?.['approval'], { snapshot: '{}', factor: 'passkey' })
  const { payout: rejected } = await pay(service, partner, '100.01')
  assert.equal(await outcomeCode(service.payouts.reject(second, rejected.id, 'paid before')), 'done')
})
