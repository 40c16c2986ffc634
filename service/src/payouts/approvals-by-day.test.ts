/** Approvals by the sum of a day: what leaves without one never exceeds it, in two processes and in batches, and is given back when it fails. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  type TestPartner,
} from '../../../test/support/composition.ts'
import type { Caller } from '../kernel/api/index.ts'
import { dayMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'

let service: Service
let other: Service
before(async () => {
  service = await createTestService()
  other = await createTestService({ url: service.url })
})
after(async () => {
  await other.close()
  await service.close()
})

/** A partner of whose payouts 100.00 a day leave without an approval. */
async function addHolding(aboveAmount: bigint | null = null) {
  const partner = await addPartner(service, 1_000_000n)
  await service.db.transaction((tx) =>
    service.payoutControls.approvalRules.set(tx, {
      ...{
        partnerId: partner.partnerId,
        currency: 'EUR',
        aboveAmount,
        aboveDayAmount: 100_00n,
        aboveBulkAmount: null,
        perPersonAmount: null,
      },
      ...{ beneficiaryHours: null, payeeMismatch: false, expiresHours: 24, needsPasskey: false },
    }),
  )
  return partner
}
const second = ({ caller }: TestPartner): Caller => ({ ...caller, serviceAccountId: newId(), name: 'Second person' })
const statusOf = async (partner: TestPartner, amount: string, by = service) =>
  (await pay(by, partner, amount)).payout.status
const usedOf = async ({ partnerId }: TestPartner) => {
  const rows = await service.db.rows<{ used: bigint }>(sql`
    select used from payouts.limit_counters where partner_id = ${partnerId} and scope = 'unapproved' order by starts_on`)
  return rows.map(({ used }) => used)
}

test('what would take the sum of the day above the amount waits; a smaller one still leaves, and the next day begins at zero', async () => {
  const partner = await addHolding()
  assert.equal(await statusOf(partner, '60.00'), 'Pending')
  const { payout } = await pay(service, partner, '40.01')
  assert.equal(payout.status, 'PendingApproval')
  assert.equal(await statusOf(partner, '40.00'), 'Pending')
  assert.equal(await statusOf(partner, '0.01'), 'PendingApproval')
  assert.equal((await service.payouts.approve(second(partner), payout.id)).status, 'Pending')
  assert.deepEqual(await usedOf(partner), [100_00n], 'what a second person has approved is not counted')
  const why = await service.db.rows<{ cause: string }>(sql`
    select cause from payouts.approvals where partner_id = ${partner.partnerId}`)
  assert.deepEqual(why, [{ cause: 'day' }, { cause: 'day' }])
  for (const each of [service, other]) each.clock.advance(dayMs)
  assert.equal(await statusOf(partner, '100.00'), 'Pending')
  assert.deepEqual(await usedOf(partner), [100_00n, 100_00n])
})

test('of many payouts just under the threshold in two processes exactly as many leave as the sum allows', async () => {
  const partner = await addHolding(30_00n)
  const paid = await Promise.all(
    Array.from({ length: 40 }, (_none, index) => statusOf(partner, '30.00', index % 2 === 0 ? service : other)),
  )
  const count = (status: string) => paid.filter((each) => each === status).length
  assert.deepEqual([count('Pending'), count('PendingApproval')], [3, 37])
  assert.equal(await statusOf(partner, '30.01'), 'PendingApproval', 'the amount of one payout is judged as before')
  assert.deepEqual(await usedOf(partner), [90_00n])
})

test('a payout that ends without a settlement gives its part of the day back', async () => {
  const partner = await addHolding()
  const { payout } = await pay(service, partner, '100.00')
  assert.equal(await statusOf(partner, '1.00'), 'PendingApproval')
  assert.ok(await service.payoutLife.cancel(partner.partnerId, payout.id, 'operator'))
  assert.deepEqual(await usedOf(partner), [0n])
  assert.equal(await statusOf(partner, '1.00'), 'Pending')
})

test('the preview says that a payout would wait because of the day, and counts nothing', async () => {
  const partner = await addHolding()
  assert.equal(await statusOf(partner, '60.00'), 'Pending')
  const previewOf = async (amount: string) => {
    const body = { amount: rawNumber(amount), currency: 'EUR' as const, beneficiaryId: partner.beneficiary.id }
    const { verdicts } = await service.payouts.preview(partner.caller, { ...body, idempotencyKey: newId() }, ip)
    return {
      approval: verdicts.find(({ rule }) => rule === 'approval'),
      limits: verdicts.filter(({ rule }) => rule.startsWith('limit')),
    }
  }
  const fits = await previewOf('40.00')
  assert.equal(fits.approval?.verdict, 'notApplicable')
  const beyond = await previewOf('40.01')
  assert.equal(beyond.approval?.verdict, 'passed')
  assert.match(
    beyond.approval?.detail ?? '',
    /^The payouts of this day \(UTC\) without an approval are above 100\.00 EUR\. It waits/,
  )
  assert.deepEqual(beyond.limits, [{ rule: 'limits', verdict: 'notApplicable' }])
  assert.deepEqual(await usedOf(partner), [60_00n])
})
