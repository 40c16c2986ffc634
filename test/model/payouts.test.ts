/**
 * Random days of a partner's money on a real database: deposits and payouts of every outcome, twins under one key,
 * workers in parallel, dead ones, frozen ones, a bank whose connection breaks. After each step everything that must
 * always hold is checked; at the end, when all is quiet, each payment must have come to the end that it was made for.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import { Refusal } from '../../service/src/api/index.ts'
import { minuteMs, newId, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/settlement/index.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  type Service,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../support/composition.ts'
import { createFrailRail, type Fault, faults } from './bank.ts'
import { checkPayments, type Ends } from './payments.ts'
import { drawing } from '../support/drawing.ts'

/** The amount chooses what the sandbox bank does (docs/sandbox.md), and the end that it leads to. */
const amounts = {
  '0.01': 'Completed',
  '1234.50': 'Completed',
  '9000': 'Completed',
  '4001.01': 'Failed',
  '4001.02': 'Failed',
  '4001.05': 'Returned',
  '4001.06': 'Completed',
  '4001.07': 'Sent',
} as const
type Amount = keyof typeof amounts
const depositEnds = { completed: 'Completed', failed: 'Unsuccessful', expired: 'Expired' } as const
const withdrawalEnds = { sent: 'Sent', completed: 'Completed', failed: 'Failed' } as const

/** Within a step of the bank, past one, past a rest between tries, past a lease. */
const waitsMs = [0, stepMsDefault, 20 * secondMs, 10 * minuteMs]
const amount = fc.constantFrom(...(Object.keys(amounts) as Amount[]))
const pick = fc.nat(1000)
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('pay' as const), amount, own: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('twins' as const), amount, count: fc.integer({ min: 2, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), pick, other: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('deposit' as const),
      cents: fc.integer({ min: 1, max: 500_000 }),
      outcome: fc.constantFrom('completed' as const, 'failed' as const, 'expired' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('withdraw' as const),
      cents: fc.integer({ min: 1, max: 500_000 }),
      outcome: fc.constantFrom('sent' as const, 'completed' as const, 'failed' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('send' as const, 'notifications' as const, 'expire' as const) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('workers' as const), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(...waitsMs) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('abandon' as const, 'freeze' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('break' as const), fault: fc.constantFrom(...faults) }) },
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

/** What the model knows of a payment: how it was asked for, and how it must end. */
type Asked = { readonly key: string; readonly text: string; readonly own: boolean; readonly reference: string }
type Day = {
  readonly service: Service
  readonly partner: TestPartner
  readonly arm: (fault: Fault) => void
  readonly asked: Asked[]
  readonly payoutEnds: Map<string, string>
  readonly depositEnds: Map<string, string>
  readonly seen: Ends
  posted: bigint
}

const floatMinor = 2_000_000n
const cents = (text: string) => {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'))
}
const textOf = (minor: number) => `${Math.trunc(minor / 100)}.${String(minor % 100).padStart(2, '0')}`

/** Asks, and judges the answer by the balance before it: a refusal is right exactly when the money is not there. */
async function ask<T>(day: Day, minor: bigint, request: () => Promise<T>): Promise<T | undefined> {
  const { available } = await balanceOf(day.service, day.partner.partnerId)
  const answer = await request().catch((error: unknown) => {
    if (!(error instanceof Refusal && error.code === 'insufficient_funds')) throw error
    return undefined
  })
  assert.equal(answer !== undefined, available >= minor, `${minor} of ${available}`)
  return answer
}

const beneficiaryOf = ({ partner }: Day, own: boolean) => (own ? partner.ownBeneficiary.id : partner.beneficiary.id)

async function payTwins(day: Day, text: Amount, own: boolean, count: number): Promise<void> {
  const key = newId()
  const request = { idempotencyKey: key, beneficiaryId: beneficiaryOf(day, own), reference: `ref ${key}` }
  const answers = await ask(day, cents(text), () =>
    Promise.all(Array.from({ length: count }, () => pay(day.service, day.partner, text, request))),
  )
  const [first] = answers ?? []
  if (!answers || !first) return
  assert.deepEqual(new Set(answers.map(({ payout }) => payout.reference)), new Set([`ref ${key}`]))
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1, 'one of the twins made the payout')
  day.asked.push({ key, text, own, reference: first.payout.reference })
  day.payoutEnds.set(first.payout.id, amounts[text])
  if (amounts[text] === 'Completed') day.posted -= cents(text)
}

/** The same key later: the same request gets the same payout, another is refused and told which. */
async function payAgain(day: Day, at: number, other: boolean): Promise<void> {
  const earlier = day.asked[at % Math.max(1, day.asked.length)]
  if (!earlier) return
  const { key, text, own, reference } = earlier
  const request = { idempotencyKey: key, beneficiaryId: beneficiaryOf(day, own), reference: `ref ${key}` }
  if (!other) {
    const { payout, replayed } = await pay(day.service, day.partner, text, request)
    assert.deepEqual([payout.reference, replayed], [reference, true])
    return
  }
  await assert.rejects(pay(day.service, day.partner, '7.77', request), (error) => {
    assert.ok(error instanceof Refusal && error.code === 'idempotency_key_reused')
    return error.detail.includes(reference)
  })
}

async function simulateDeposit(day: Day, minor: number, outcome: keyof typeof depositEnds): Promise<void> {
  const { service, partner } = day
  const amounted = { amount: rawNumber(textOf(minor)), currency: 'EUR', customerId: partner.customer.serviceId }
  const { reference } = await service.simulations.deposit(partner.caller, { ...amounted, outcome }, ip)
  day.depositEnds.set(reference, depositEnds[outcome])
  if (outcome === 'completed') day.posted += BigInt(minor)
}

async function simulateWithdrawal(day: Day, minor: number, outcome: keyof typeof withdrawalEnds): Promise<void> {
  const { service, partner } = day
  const { id: customerRef } = partner.customer
  const request = { customerRef, amount: BigInt(minor), currency: 'EUR', outcome, idempotencyKey: null } as const
  const made = await ask(day, BigInt(minor), () => service.payouts.simulate(partner.caller, request, ip))
  if (!made) return
  day.payoutEnds.set(made.payout.id, withdrawalEnds[outcome])
  if (outcome === 'completed') day.posted -= BigInt(minor)
}

/** A step of a worker; what an armed death leaves undone is found by the next. */
const workStep = ({ settlement }: Service, what: 'send' | 'notifications' | 'expire'): Promise<number> => {
  if (what === 'send') return submitDuePayouts(settlement)
  return what === 'expire' ? settlement.deposits.expireDue(100) : processBankNotifications(settlement)
}

/** A worker that slept past its lease finds it gone, whoever has done its work meanwhile. */
async function freeze({ service, partner }: Day): Promise<void> {
  const claims = await service.payouts.claim(partner.partnerId, 20)
  service.clock.advance(2 * minuteMs)
  await submitDuePayouts(service.settlement)
  const before = await service.payouts.list(partner.partnerId, { limit: '100' })
  for (const claim of claims) {
    assert.equal(await service.payouts.recordAttempt(claim), undefined, 'the lease is lost')
    await service.payouts.recordAcknowledgement(claim, { accepted: true })
    await service.payouts.recordUnreachable(claim)
  }
  assert.deepEqual(await service.payouts.list(partner.partnerId, { limit: '100' }), before)
}

/** The connection breaks or the worker dies; the bank goes on, and so do the other workers. */
async function mishap({ service, arm }: Day, fault: Fault): Promise<void> {
  arm(fault)
  await workStep(service, 'send')
  service.clock.advance(stepMsDefault)
  await workStep(service, 'notifications')
}

async function run(day: Day, step: Action): Promise<unknown> {
  const { service, partner } = day
  switch (step.do) {
    case 'pay':
      return payTwins(day, step.amount, step.own, 1)
    case 'twins':
      return payTwins(day, step.amount, false, step.count)
    case 'again':
      return payAgain(day, step.pick, step.other)
    case 'deposit':
      return simulateDeposit(day, step.cents, step.outcome)
    case 'withdraw':
      return simulateWithdrawal(day, step.cents, step.outcome)
    case 'send':
    case 'notifications':
    case 'expire':
      return workStep(service, step.do)
    case 'workers': {
      const kinds = ['send', 'notifications', 'expire'] as const
      return Promise.all(Array.from({ length: step.count }, () => kinds.map((kind) => workStep(service, kind))).flat())
    }
    case 'wait':
      return service.clock.advance(step.ms)
    case 'abandon':
      return service.payouts.claim(partner.partnerId, 20)
    case 'freeze':
      return freeze(day)
    case 'break':
      return mishap(day, step.fault)
  }
}

/** Until nothing is due any more, however long the leases and the rests between tries are. */
async function quiet(service: Service): Promise<void> {
  const waiting = () =>
    service.db.row<{ count: bigint }>(sql`select
      (select count(*) from payouts.payouts where due_at is not null)
      + (select count(*) from deposits.deposits where expires_at is not null)
      + (select count(*) from rails.sandbox_notifications) as count`)
  for (let rounds = 0; (await waiting())?.count !== 0n; rounds += 1) {
    assert.ok(rounds < 50, 'the work comes to an end')
    service.clock.advance(2 * minuteMs)
    for (const kind of ['send', 'notifications', 'expire'] as const) await workStep(service, kind)
  }
}

async function checkEnds(day: Day): Promise<void> {
  const { service, partner } = day
  const { partnerId } = partner
  const payouts = await service.db.rows<{ id: string; status: string; timesReceived: number | null }>(sql`
    select p.id, p.status, i.times_received from payouts.payouts p
    left join rails.sandbox_instructions i on i.partner_id = ${partnerId} and i.id = p.id
    where p.partner_id = ${partnerId}`)
  assert.deepEqual(new Map(payouts.map(({ id, status }) => [id, status])), day.payoutEnds)
  for (const { timesReceived } of payouts) assert.equal(timesReceived, 1, 'the bank has each instruction once')
  const payments = await checkPayments(service.db, partnerId, day.seen)
  const deposits = payments.filter(({ type }) => type === 'PartnerCustomerDeposit')
  assert.deepEqual(new Map(deposits.map(({ reference, status }) => [reference, status])), day.depositEnds)
  assert.equal((await balanceOf(service, partnerId)).posted, day.posted)
}

const { wrapRail, arm, disarm } = createFrailRail()
let service: Service
before(async () => {
  service = await createTestService({ wrapRail })
})
after(() => service.close())

test('whatever happens in whatever order, no cent is lost or made, and every event is told once', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 24 }), async (steps) => {
      disarm()
      const partner = await addPartner(service, floatMinor)
      const books = { asked: [], payoutEnds: new Map(), depositEnds: new Map(), seen: new Map(), posted: floatMinor }
      const day: Day = { service, partner, arm, ...books }
      for (const step of steps) {
        await run(day, step)
        await checkPayments(service.db, partner.partnerId, day.seen)
      }
      disarm()
      await quiet(service)
      await checkEnds(day)
    }),
    drawing(t, 25),
  )
})
