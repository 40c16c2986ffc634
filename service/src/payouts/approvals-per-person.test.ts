/** The daily maximum per person: exact in two processes, given back without a settlement, by person, currency and day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ip, pay, type Service, stepMsDefault, type TestPartner } from '../../../test/support/composition.ts'
import { quote } from '../../../test/support/fx.ts'
import { until } from '../../../test/support/until.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { addApprovers, type RuleFields, setApprovalRule } from '../../../test/support/approvals.ts'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { dayMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
const service = await useModules()
// As another process.
const other = await service.anotherProcess()

/** Each payout waits, and one person approves 100.00 a day. */
const eachWaits = { aboveAmount: 0n, perPersonAmount: 100_00n, expiresHours: 72 }
const setRule = ({ partnerId }: TestPartner, rule: RuleFields = {}) =>
  setApprovalRule(service, partnerId, { ...eachWaits, ...rule })
const addHolding = (rule: RuleFields = {}) => addApprovers(service, { ...eachWaits, ...rule })
const waitingOf = async (partner: TestPartner, amount: string) => {
  const { payout } = await pay(service, partner, amount)
  assert.equal(payout.status, 'PendingApproval')
  return payout.id
}
const outcomeOf = (deciding: Promise<{ readonly status: string }>) =>
  deciding.then(
    ({ status }) => status,
    (error: unknown) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )
const approve = (by: Caller, id: string, process: Service = service) => outcomeOf(process.payouts.approve(by, id))
/** The sums of a person's id, by day and currency. */
const usedOf = async ({ serviceAccountId }: Caller) => {
  const rows = await service.db.rows<{ used: bigint }>(sql`
    select used from payouts.limit_counters where scope = 'approver' and scope_id = ${serviceAccountId} order by starts_on, currency`)
  return rows.map(({ used }) => used)
}
const approvedOf = async ({ partnerId }: TestPartner, { serviceAccountId }: Caller) =>
  service.db.rows<{ countedIn: string | null }>(sql`
    select counted_in from payouts.approvals
    where partner_id = ${partnerId} and decided_by = ${serviceAccountId} and decision = 'approved'`)

/**
 * Makes approvals of two processes overlap: the first one has counted its payout, and cannot write its transaction until one of the other
 * process waits, or all of these have ended. Without the lock the other process judges by the sum before.
 */
async function overlapping(
  { partnerId }: TestPartner,
  by: Caller,
  [first = '', ...ids]: readonly string[],
): Promise<readonly string[]> {
  const { reference } = await service.payouts.get(partnerId, first)
  const [isHeld, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = service.db.transaction(async (tx) => {
    await tx.rows(sql`
      select id from transactions.transactions where partner_id = ${partnerId} and reference = ${reference} for update`)
    isHeld.resolve()
    await mayEnd.promise
  })
  await isHeld.promise
  const waitFor = (sessions: number) =>
    until(`${sessions} sessions wait`, async () => {
      const [row] = await service.db.rows<{ waiting: bigint }>(sql`
        select count(distinct pid) as waiting from pg_locks where not granted`)
      return row !== undefined && Number(row.waiting) >= sessions
    })
  const held = approve(by, first)
  await waitFor(1)
  const half = ids.length / 2
  const ofOther = ids.slice(0, half).map((id) => approve(by, id, other))
  await Promise.race([waitFor(2), Promise.all(ofOther)])
  const ofSame = ids.slice(half).map((id) => approve(by, id))
  mayEnd.resolve()
  await holding
  return Promise.all([held, ...ofOther, ...ofSame])
}

test('of forty concurrent approvals by one person in two processes, exactly as many succeed as the maximum permits', async () => {
  for (const [perPersonAmount, fit] of [
    [250_00n, 8],
    [40_00n, 1],
  ] as const) {
    const partner = await addHolding({ perPersonAmount })
    const { partnerId, second } = partner
    assert.equal(await approve(second, await waitingOf(partner, '10.00')), 'Pending')
    const ids = await Promise.all(Array.from({ length: 40 }, () => waitingOf(partner, '30.00')))
    const outcomes = await overlapping(partner, second, ids)
    const count = (outcome: string) => outcomes.filter((each) => each === outcome).length
    assert.deepEqual([count('Pending'), count('approver_limit_exceeded')], [fit, 40 - fit])
    assert.deepEqual(await usedOf(second), [perPersonAmount])
    assert.equal((await approvedOf(partner, second)).length, fit + 1)
    for (const id of ids.filter((_id, index) => outcomes[index] !== 'Pending'))
      assert.equal((await service.payouts.get(partnerId, id)).status, 'PendingApproval', 'a refusal changes nothing')
  }
})

test('concurrent approvals and cancellations in two processes leave the approved sum, and never deadlock', async () => {
  const partner = await addHolding({ perPersonAmount: 100_00n })
  const { partnerId, second, third } = partner
  for (let round = 0; round < 6; round += 1) {
    const ids = await Promise.all(Array.from({ length: 16 }, () => waitingOf(partner, '10.00')))
    const outcomes = await Promise.all(
      ids.flatMap((id, index) => {
        const [one, two] = index % 2 === 0 ? [service, other] : [other, service]
        return [approve(index % 3 === 0 ? third : second, id, one), outcomeOf(two.payouts.cancel(partnerId, id))]
      }),
    )
    assert.ok(outcomes.includes('Cancelled'))
    assert.deepEqual(new Set([...(await usedOf(second)), ...(await usedOf(third)), 0n]), new Set([0n]))
  }
})

test('the refusal states the maximum, the remaining amount and the time of its reset, and another person can approve', async () => {
  const partner = await addHolding()
  const { second, third } = partner
  const first = await waitingOf(partner, '60.00')
  const next = await waitingOf(partner, '40.01')
  const fits = await waitingOf(partner, '40.00')
  assert.equal(await approve(second, first), 'Pending')
  const midnight = new Date(service.clock.now().toISOString().slice(0, 10))
  await assert.rejects(service.payouts.approve(second, next), {
    code: 'approver_limit_exceeded',
    detail: `One person approves at most 100.00 EUR on a day. 40.00 EUR is left for you until ${new Date(midnight.getTime() + dayMs).toISOString()}. Another person must approve the payout.`,
  })
  assert.equal(await approve(second, fits), 'Pending', 'a refused approval takes nothing')
  assert.equal(await approve(third, next), 'Pending')
  assert.deepEqual([await usedOf(second), await usedOf(third)], [[100_00n], [40_01n]])
  assert.equal(await approve(second, first), 'Pending', 'a repetition is answered, and not counted')
  assert.deepEqual(await usedOf(second), [100_00n])
})

test('a rotated credential and a renamed account count towards the sum of the same person', async () => {
  const partner = await addHolding()
  const { second, personOf } = partner
  assert.equal(await approve(second, await waitingOf(partner, '60.00')), 'Pending')
  const id = await waitingOf(partner, '40.01')
  assert.equal(await approve(personOf(' second PERSON'), id), 'approver_limit_exceeded')
  assert.equal(await approve({ ...second, name: 'Renamed' }, id), 'approver_limit_exceeded')
})

test('approvals by passkey, code and service account count, and rejections do not', async () => {
  const partner = await addHolding()
  const { second } = partner
  const confirmed = (factor: 'passkey' | 'code'): Caller => ({ ...second, confirmation: { snapshot: '{}', factor } })
  assert.equal(await approve(confirmed('passkey'), await waitingOf(partner, '40.00')), 'Pending')
  assert.equal(await approve(confirmed('code'), await waitingOf(partner, '40.00')), 'Pending')
  const rejected = await waitingOf(partner, '70.00')
  assert.equal(await outcomeOf(service.payouts.reject(second, rejected, 'No.')), 'Cancelled')
  assert.equal(await approve(second, await waitingOf(partner, '20.01')), 'approver_limit_exceeded')
  assert.equal(await approve(second, await waitingOf(partner, '20.00')), 'Pending')
  assert.deepEqual(await usedOf(second), [100_00n])
})

test('a payout that ends without a settlement is subtracted from the day of its approval, exactly once', async () => {
  const partner = await addHolding({ perPersonAmount: 10_000_00n })
  const { partnerId, second } = partner
  const cancelled = await waitingOf(partner, '60.00')
  // The sandbox bank refuses this amount.
  const failed = await waitingOf(partner, '4001.01')
  const paid = await waitingOf(partner, '70.00')
  for (const id of [cancelled, failed, paid]) assert.equal(await approve(second, id), 'Pending')
  assert.deepEqual(await usedOf(second), [4131_01n])
  for (const each of [service, other]) each.clock.advance(dayMs)
  for (let repeated = 0; repeated < 2; repeated += 1) await service.payouts.cancel(partnerId, cancelled)
  assert.deepEqual(await usedOf(second), [4071_01n])
  for (let rounds = 0; rounds < 4; rounds += 1) {
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    other.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
  const statusOf = async (id: string) => (await service.payouts.get(partnerId, id)).status
  assert.deepEqual([await statusOf(failed), await statusOf(paid)], ['Failed', 'Completed'])
  assert.deepEqual(await usedOf(second), [70_00n], 'a settled payout stays counted')
})

test("a person's approved sum begins at zero the next day", async () => {
  const partner = await addHolding()
  const { second } = partner
  assert.equal(await approve(second, await waitingOf(partner, '100.00')), 'Pending')
  const id = await waitingOf(partner, '100.00')
  assert.equal(await approve(second, id), 'approver_limit_exceeded')
  for (const each of [service, other]) each.clock.advance(dayMs)
  assert.equal(await approve(second, id), 'Pending')
  assert.deepEqual(await usedOf(second), [100_00n, 100_00n])
})

test('a payout with a quote counts the sold and the paid amount, each against the maximum of its currency', async () => {
  const partner = await addHolding()
  const { partnerId, caller, second } = partner
  await setRule(partner, { currency: 'USD', aboveAmount: null, perPersonAmount: 20_00n })
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
  const account = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'USD' } as const
  const { id: beneficiaryId } = await service.beneficiaries.create(partnerId, account)
  const waiting = async () => {
    const { id: quoteId } = (await quote(service, partner, { sellAmount: '10.00' })).row
    return (await service.payouts.createFx(caller, { quoteId, beneficiaryId, idempotencyKey: newId() }, ip)).payout.id
  }
  const first = await waiting()
  assert.equal(await approve(second, first), 'Pending')
  const paid = (await service.payouts.get(partnerId, first)).amount
  assert.deepEqual(await usedOf(second), [10_00n, paid])
  assert.equal(
    await approve(second, await waiting()),
    'approver_limit_exceeded',
    'beyond the maximum of the paid currency',
  )
  assert.deepEqual(await usedOf(second), [10_00n, paid], 'nothing of it is counted')
  assert.equal(await approve(second, await waitingOf(partner, '90.00')), 'Pending')
  await service.payouts.cancel(partnerId, first)
  assert.deepEqual(await usedOf(second), [90_00n, 0n])
})

test('a rule without a maximum counts nothing, a changed rule applies at once, and only approvals count', async () => {
  const partner = await addHolding({ perPersonAmount: null })
  const { partnerId, second, third } = partner
  assert.equal(await approve(second, await waitingOf(partner, '500.00')), 'Pending')
  assert.deepEqual([await usedOf(second), await approvedOf(partner, second)], [[], [{ countedIn: null }]])
  const id = await waitingOf(partner, '500.00')
  const { id: ruleId } = await setRule(partner)
  assert.equal(await approve(second, id), 'approver_limit_exceeded')
  await service.db.transaction((tx) => service.payoutControls.approvalRules.remove(tx, partnerId, ruleId))
  assert.equal(await approve(second, id), 'Pending', 'a removed maximum holds no more')
  await setRule(partner, { aboveAmount: null })
  assert.equal((await pay(service, partner, '500.00')).payout.status, 'Pending', 'a maximum alone makes no payout wait')
  assert.deepEqual(await usedOf(third), [])
})

test('a person sees before signing that the maximum would be exceeded', async () => {
  const partner = await addHolding()
  const { second, third } = partner
  const asked = { nonce: 'nonce', expiresAt: new Date('2030-01-01T00:02:00Z') }
  assert.equal(await approve(second, await waitingOf(partner, '60.00')), 'Pending')
  const beyondOf = async (by: Caller, amount: string) =>
    (await service.payouts.snapshot(by, await waitingOf(partner, amount), asked)).beyond
  assert.equal(await beyondOf(second, '40.00'), undefined)
  assert.equal(await beyondOf(third, '100.00'), undefined)
  const { currency, most, left } = (await beyondOf(second, '40.01')) ?? {}
  assert.deepEqual([currency, most, left], ['EUR', 100_00n, 40_00n])
  assert.deepEqual(await usedOf(second), [60_00n])
})
