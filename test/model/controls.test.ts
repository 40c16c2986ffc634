/**
 * Random days of a partner whose payouts have limits, fees and approvals, on a real database: payouts of every outcome,
 * decisions by a second person, cancellations, some of them concurrent, the ends of days, workers. The outcome of each
 * request, the counters, the balance and the fees follow from the earlier payouts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { dayMs, hourMs, newId, nilId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { setApprovalRule } from '../support/approvals.ts'
import { addPartner, balanceOf, pay, type Service, stepMsDefault, type TestPartner } from '../support/composition.ts'
import { drawing, weighted } from '../support/drawing.ts'
import { checkPayments, type Ends } from './payments.ts'
import { checkWalks, type Places } from './walks.ts'
import { useModules } from '../support/fixture.ts'
import { answerOrCode } from '../support/refusals.ts'

/** The amount selects what the sandbox bank does (docs/sandbox.md): pays, refuses, rejects, returns, is silent. */
const amounts = [1n, 120_00n, 999_99n, 1_000_01n, 2_345_67n, 4001_01n, 4001_02n, 4001_05n, 4001_07n, 4500_01n]
const floatMinor = 30_000_00n
const approvalAbove = 1_000_00n
const expiresHours = 24
/** The sum that may be paid on a day without an approval. */
const unapprovedDay = 2_000_00n
/** The sum that one person may approve on a day. */
const perPersonDay = 4_500_00n
const limits = {
  'partner payment': 4_500_00n,
  'partner day': 12_000_00n,
  'beneficiary month': 20_000_00n,
  'customer day': 9_000_00n,
} as const
/** 0.25 and 0.5 %, at most 10.00. */
const feeOf = (amount: bigint) => {
  const fee = 25n + (amount + 199n) / 200n
  return fee > 10_00n ? 10_00n : fee
}

const pick = fc.nat(1000)
const who = fc.constantFrom('creator' as const, 'second' as const, 'third' as const)
const how = fc.constantFrom('approve' as const, 'reject' as const, 'cancel' as const)
const decision = fc.record({ who, how })
const action = fc.oneof(
  weighted(5, 'pay', { amount: fc.constantFrom(...amounts), own: fc.boolean() }),
  weighted(4, 'decide', { pick, decisions: fc.array(decision, { minLength: 1, maxLength: 3 }) }),
  weighted(1, 'lapse', {}),
  weighted(3, 'work', {}),
  weighted(2, 'wait', { ms: fc.constantFrom(stepMsDefault, hourMs, dayMs) }),
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never
type Decision = typeof decision extends fc.Arbitrary<infer D> ? D : never

type ModelPayout = {
  readonly id: string
  readonly amount: bigint
  readonly own: boolean
  readonly at: Date
  readonly isHeld: boolean
}
type Day = {
  readonly service: Service
  readonly partner: TestPartner
  readonly callers: Readonly<Record<Decision['who'], Caller>>
  readonly made: ModelPayout[]
  readonly seen: Ends
  readonly places: Places
}
type Standing = ModelPayout & {
  readonly status: string
  readonly isSettled: boolean
  /** The approver and the time of the approval. Null: it has no approval. */
  readonly approvedBy: string | null
  readonly approvedAt: Date | null
}

/** The payouts of the model, each with its present state. */
async function standing({ service, partner, made }: Day): Promise<readonly Standing[]> {
  const rows = await service.db.rows<Omit<Standing, keyof ModelPayout> & { readonly id: string }>(sql`
    select payout.id, payout.status, timeline @> '[{"step": "Settled"}]' as is_settled, decided_by as approved_by,
      decided_at as approved_at
    from payouts.payouts as payout
      left join payouts.approvals as approval
        on approval.partner_id = payout.partner_id and approval.payout_id = payout.id and approval.decision = 'approved'
      join transactions.transactions as transaction
        on transaction.partner_id = ${partner.partnerId} and transaction.id = payout.transaction_id
    where payout.partner_id = ${partner.partnerId}`)
  const byId = new Map(rows.map((row) => [row.id, row]))
  assert.equal(rows.length, made.length, 'a refused request makes no payout')
  return made.map((payout) => {
    const row = byId.get(payout.id)
    assert.ok(row, 'an accepted payout is there')
    return { ...payout, ...row }
  })
}

const hasEnded = ({ status, isSettled }: Standing) => !isSettled && ['Cancelled', 'Failed', 'Returned'].includes(status)
const startOf = (period: 'day' | 'month', at: Date) => at.toISOString().slice(0, period === 'day' ? 10 : 7)

/**
 * Sums that the limits count in a period: payouts that have not ended without a settlement, by the time of their
 * request.
 */
const usedOf = (payouts: readonly Standing[], period: 'day' | 'month', at: string, of: (payout: Standing) => boolean) =>
  payouts
    .filter((payout) => !hasEnded(payout) && of(payout) && startOf(period, payout.at) === at)
    .reduce((sum, { amount }) => sum + amount, 0n)

/** The sum that a person has approved on a day, of payouts that have not ended without a settlement. */
const approvedOn = (payouts: readonly Standing[], by: string, at: string) =>
  payouts
    .filter(
      ({ approvedBy, approvedAt }) => approvedBy === by && approvedAt !== null && startOf('day', approvedAt) === at,
    )
    .filter((payout) => !hasEnded(payout))
    .reduce((sum, { amount }) => sum + amount, 0n)

/** Reason for which a request would be refused now, by the rules as the guide states them. */
function verdictOf(day: Day, payouts: readonly Standing[], amount: bigint, own: boolean, available: bigint) {
  const now = day.service.clock.now()
  const [today, month] = [startOf('day', now), startOf('month', now)]
  const isBeyond =
    amount > limits['partner payment'] ||
    usedOf(payouts, 'day', today, () => true) + amount > limits['partner day'] ||
    (!own && usedOf(payouts, 'day', today, (payout) => !payout.own) + amount > limits['customer day']) ||
    usedOf(payouts, 'month', month, (payout) => payout.own === own) + amount > limits['beneficiary month']
  if (isBeyond) return 'limit_exceeded'
  return amount + feeOf(amount) > available ? 'insufficient_funds' : 'accepted'
}

async function request(day: Day, amount: bigint, own: boolean): Promise<void> {
  const { service, partner } = day
  const { available } = await balanceOf(service, partner.partnerId)
  const before = await standing(day)
  const expected = verdictOf(day, before, amount, own, available)
  const text = `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`
  const beneficiaryId = (own ? partner.ownBeneficiary : partner.beneficiary).id
  const answer = await answerOrCode(pay(service, partner, text, { beneficiaryId, idempotencyKey: newId() }))
  assert.equal(typeof answer === 'string' ? answer : 'accepted', expected, `${text} of ${available}`)
  if (typeof answer === 'string') return
  const today = startOf('day', service.clock.now())
  const isHeld =
    amount > approvalAbove || usedOf(before, 'day', today, (payout) => !payout.isHeld) + amount > unapprovedDay
  assert.equal(answer.payout.status, isHeld ? 'PendingApproval' : 'Pending')
  assert.equal(answer.payout.feeAmount, feeOf(amount))
  day.made.push({ id: answer.payout.id, amount, own, at: service.clock.now(), isHeld })
}

const decide = ({ service: { payouts }, partner, callers }: Day, id: string, { who: by, how: verb }: Decision) => {
  if (verb === 'cancel') return payouts.cancel(partner.partnerId, id)
  return verb === 'approve' ? payouts.approve(callers[by], id) : payouts.reject(callers[by], id, 'Not ordered.')
}

/** Makes concurrent decisions, and checks that the status follows from those that succeeded, in any order. */
async function decideAtOnce(day: Day, at: number, decisions: readonly Decision[]): Promise<void> {
  const payouts = await standing(day)
  const before = payouts[at % Math.max(1, payouts.length)]
  if (before === undefined) return
  const { id, status, isHeld } = before
  const answers = await Promise.all(decisions.map((each) => answerOrCode(decide(day, id, each))))
  const after = (await standing(day)).find((payout) => payout.id === id)?.status
  const done = decisions.filter((_, index) => typeof answers[index] !== 'string')
  const waits = status === 'PendingApproval'
  for (const [index, { who: by, how: verb }] of decisions.entries())
    if (waits && by === 'creator' && verb !== 'cancel')
      assert.ok(['approver_is_creator', 'payout_not_awaiting_approval'].includes(String(answers[index])))
  const today = startOf('day', day.service.clock.now())
  for (const [index, { who: by, how: verb }] of decisions.entries()) {
    const sum: bigint = approvedOn(payouts, day.callers[by].serviceAccountId, today) + before.amount
    if (answers[index] === 'approver_limit_exceeded')
      assert.ok(sum > perPersonDay, 'it is refused beyond the maximum only')
    if (waits && verb === 'approve' && typeof answers[index] !== 'string') assert.ok(sum <= perPersonDay)
  }
  if (!isHeld)
    assert.ok(
      done.every(({ how: verb }) => verb === 'cancel'),
      'a payout that needs no approval gets none',
    )
  if (status === 'Pending') {
    const isCancelled = decisions.some(({ how: verb }) => verb === 'cancel')
    assert.equal(after, isCancelled ? 'Cancelled' : 'Pending')
  } else if (!waits) assert.equal(after, status, 'what has begun or ended stays')
  else if (done.length === 0) assert.equal(after, 'PendingApproval')
  else {
    const isCancelled = done.some(({ how: verb }) => verb !== 'approve')
    assert.equal(after, isCancelled ? 'Cancelled' : 'Pending')
    const rejecting = done.filter(({ how: verb }) => verb === 'reject').map(({ who: by }) => by)
    const approving = done.filter(({ how: verb }) => verb === 'approve').map(({ who: by }) => by)
    // A person may repeat a decision. Of several people, one decides.
    assert.ok(rejecting.length === 0 || approving.length === 0, 'it is approved or rejected, not both')
    assert.ok(new Set([...rejecting, ...approving]).size <= 1, 'one person decides')
  }
}

async function work({ service }: Day): Promise<void> {
  await submitDuePayouts(service.settlement)
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
}

/** Checks that every pending approval expires. */
async function lapse(day: Day): Promise<void> {
  const waiting = (await standing(day)).filter(({ status }) => status === 'PendingApproval')
  day.service.clock.advance(expiresHours * hourMs)
  // Both processes of a deployment run the step, and each payout expires once. Payouts left by other days of this run
  // expire, too.
  await Promise.all([day.service.payoutLife.expireApprovalsStep(), day.service.payoutLife.expireApprovalsStep()])
  const after = new Map((await standing(day)).map(({ id, status }) => [id, status]))
  for (const { id } of waiting) assert.equal(after.get(id), 'Cancelled')
}

function run(day: Day, step: Action): Promise<void> {
  switch (step.kind) {
    case 'pay':
      return request(day, step.amount, step.own)
    case 'decide':
      return decideAtOnce(day, step.pick, step.decisions)
    case 'lapse':
      return lapse(day)
    case 'work':
      return work(day)
    case 'wait':
      return Promise.resolve(day.service.clock.advance(step.ms))
  }
}

/** Compares the counters with sums of the payouts. A counter of zero may be absent. */
async function checkCounters(day: Day, payouts: readonly Standing[]): Promise<void> {
  const { service, partner } = day
  const { partnerId, customer } = partner
  const rows = await service.db.rows<{
    scope: string
    scopeId: string
    period: 'day' | 'month'
    startsOn: string
    used: bigint
  }>(sql`
    select scope, scope_id, period, starts_on::text, used from payouts.limit_counters where partner_id = ${partnerId}`)
  const owners = new Map<string, (payout: Standing) => boolean>([
    [`partner ${nilId}`, () => true],
    [`unapproved ${nilId}`, ({ isHeld }) => !isHeld],
    [`customer ${customer.id}`, ({ own }) => !own],
    [`beneficiary ${partner.beneficiary.id}`, ({ own }) => !own],
    [`beneficiary ${partner.ownBeneficiary.id}`, ({ own }) => own],
  ])
  const callers = Object.values(day.callers)
  const ofApprovers = rows.filter(({ scope }) => scope === 'approver')
  const byId = ofApprovers.filter((row) => callers.some((caller) => caller.serviceAccountId === row.scopeId))
  for (const { scopeId, startsOn, used } of byId) {
    assert.equal(used, approvedOn(payouts, scopeId, startsOn), 'what a person has approved')
    assert.ok(used <= perPersonDay)
  }
  // Each person has a counter by id and a counter by name.
  const sumsOf = (of: typeof rows) => of.map(({ startsOn, used }) => `${startsOn} ${used}`).toSorted()
  assert.deepEqual(sumsOf(ofApprovers.filter((row) => !byId.includes(row))), sumsOf(byId))
  for (const { scope, scopeId, period, startsOn, used } of rows.filter((row) => !ofApprovers.includes(row))) {
    const of = owners.get(`${scope} ${scopeId}`)
    assert.ok(of, `a counter of something else: ${scope} ${scopeId}`)
    assert.equal(used, usedOf(payouts, period, startsOn.slice(0, period === 'day' ? 10 : 7), of), `${scope} ${period}`)
  }
}

async function checkMoney(day: Day, payouts: readonly Standing[]): Promise<void> {
  const { service, partner } = day
  const settled = payouts.filter(({ isSettled }) => isSettled)
  const fees = settled.reduce((sum, { amount }) => sum + feeOf(amount), 0n)
  const paid = settled.filter(({ status }) => status === 'Completed').reduce((sum, { amount }) => sum + amount, 0n)
  const { posted } = await balanceOf(service, partner.partnerId)
  assert.equal(posted, floatMinor - paid - fees, 'the balance has lost what was paid, and the fees of what was settled')
  const account = await service.db.row<{ posted: bigint }>(sql`
    select posted from ledger.accounts where partner_id = ${partner.partnerId} and name = 'fees' and currency = 'EUR'`)
  assert.equal(account?.posted ?? 0n, fees, 'a fee is kept with the settlement, also if the money returns')
}

async function check(day: Day): Promise<void> {
  const payouts = await standing(day)
  await checkPayments(day.service.db, day.partner.partnerId, day.seen)
  await checkWalks(day.service.db, day.partner.partnerId, day.places)
  await checkCounters(day, payouts)
  await checkMoney(day, payouts)
}

async function addControlled(service: Service): Promise<TestPartner> {
  const partner = await addPartner(service, floatMinor)
  const { partnerId } = partner
  const of = { partnerId, currency: 'EUR' } as const
  await service.db.transaction(async (tx) => {
    const { limits: rules, fees } = service.payoutControls
    await rules.set(tx, { ...of, scope: 'partner', period: 'payment', amount: limits['partner payment'] })
    await rules.set(tx, { ...of, scope: 'partner', period: 'day', amount: limits['partner day'] })
    await rules.set(tx, { ...of, scope: 'beneficiary', period: 'month', amount: limits['beneficiary month'] })
    await rules.set(tx, { ...of, scope: 'customer', period: 'day', amount: limits['customer day'] })
    await fees.set(tx, { ...of, rail: 'any', fixedAmount: 25n, basisPoints: 50, minAmount: 0n, maxAmount: 10_00n })
  })
  const amountsAbove = { aboveAmount: approvalAbove, aboveDayAmount: unapprovedDay, perPersonAmount: perPersonDay }
  await setApprovalRule(service, partnerId, { ...amountsAbove, expiresHours })
  return partner
}

const service = await useModules()

test('limits are exact, fees add up and each payout has one outcome, in any order of requests, decisions and days', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 30 }), async (steps) => {
      const partner = await addControlled(service)
      const { caller } = partner
      const callers = {
        creator: caller,
        second: { ...caller, serviceAccountId: newId(), name: 'Second person' },
        third: { ...caller, serviceAccountId: newId(), name: 'Third person' },
      }
      const day: Day = { service, partner, callers, made: [], seen: new Map(), places: new Map() }
      for (const step of steps) {
        await run(day, step)
        await check(day)
      }
      await lapse(day)
      for (let rounds = 0; rounds < 4; rounds += 1) await work(day)
      await check(day)
      for (const { status, amount } of await standing(day))
        assert.ok(['Completed', 'Failed', 'Returned', 'Cancelled'].includes(status) || amount === 4001_07n, status)
    }),
    drawing(t, 21),
  )
})
