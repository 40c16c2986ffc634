/**
 * Random days of a partner on a real database: deposits and payouts of every outcome, duplicates under one key,
 * parallel, dead and frozen workers, a bank connection that breaks. After each step, every invariant must hold, and
 * each payment must have followed its table of transitions. At the end, when no work is due, each payment must have its
 * expected outcome.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { minuteMs, newId, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { submitDuePayouts, processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import {
  addPartner,
  balanceOf,
  type Service,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../support/composition.ts'
import { createFaultyRail, type Fault, faults } from './bank.ts'
import { checkPayments, type Ends } from './payments.ts'
import { checkWalks, type Places } from './walks.ts'
import { drawing, weighted } from '../support/drawing.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'

/** The amount selects the behaviour of the sandbox bank (docs/sandbox.md); the value is the final status. */
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

/** Less than a step of the bank, one step, more than a retry delay, more than a lease. */
const waitsMs = [0, stepMsDefault, 20 * secondMs, 10 * minuteMs]
const amount = fc.constantFrom(...(Object.keys(amounts) as Amount[]))
const pick = fc.nat(1000)
const minor = fc.integer({ min: 1, max: 500_000 })
const action = fc.oneof(
  weighted(5, 'pay', { amount, own: fc.boolean() }),
  weighted(1, 'duplicates', { amount, count: fc.integer({ min: 2, max: 5 }) }),
  weighted(1, 'repeat', { pick, other: fc.boolean() }),
  weighted(2, 'inside', { amount }),
  weighted(3, 'deposit', { minor, outcome: fc.constantFrom('completed', 'failed', 'expired') }),
  weighted(1, 'withdraw', { minor, outcome: fc.constantFrom('sent', 'completed', 'failed') }),
  weighted(1, 'send', {}),
  weighted(1, 'notifications', {}),
  weighted(1, 'expire', {}),
  weighted(2, 'workers', { count: fc.integer({ min: 1, max: 3 }) }),
  weighted(3, 'wait', { ms: fc.constantFrom(...waitsMs) }),
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('abandon' as const, 'freeze' as const) }) },
  weighted(3, 'break', { fault: fc.constantFrom(...faults) }),
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

/** A payout that the model requested, with its reference. */
type RequestedPayout = {
  readonly key: string
  readonly text: string
  readonly own: boolean
  readonly reference: string
}
type Day = {
  readonly service: Service
  readonly partner: TestPartner
  readonly segregated: boolean
  readonly arm: (fault: Fault) => void
  readonly requested: RequestedPayout[]
  readonly payoutEnds: Map<string, string>
  readonly depositEnds: Map<string, string>
  /** A beneficiary with an account of this service, and the references of the payouts to it. */
  readonly insider: string
  readonly inside: string[]
  readonly seen: Ends
  readonly places: Places
  posted: bigint
}

const floatMinor = 2_000_000n
const cents = (text: string) => {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'))
}
const textOf = (minor: number) => `${Math.trunc(minor / 100)}.${String(minor % 100).padStart(2, '0')}`

/** The available money: in a segregated balance that of the customer, or of the partner itself. */
async function availableTo({ service, partner, segregated }: Day, own: boolean): Promise<bigint> {
  const { partnerId, customer } = partner
  if (!segregated) return (await balanceOf(service, partnerId)).available
  const [part] = await service.ledger.partySumsAt(service.db, partnerId, own ? partnerId : customer.id, undefined)
  return part === undefined ? 0n : part.posted - part.reserved
}

/** Sends the request. It must be refused exactly when the available money does not cover the amount. */
async function expectByBalance<T>(
  day: Day,
  own: boolean,
  minor: bigint,
  send: () => Promise<T>,
): Promise<T | undefined> {
  const available = await availableTo(day, own)
  const answer = await send().catch((error: unknown) => {
    if (!(error instanceof Refusal && error.code === 'insufficient_funds')) throw error
    return undefined
  })
  assert.equal(answer !== undefined, available >= minor, `${minor} of ${available}`)
  return answer
}

const beneficiaryOf = ({ partner }: Day, own: boolean) => (own ? partner.ownBeneficiary.id : partner.beneficiary.id)

async function payDuplicates(day: Day, text: Amount, own: boolean, count: number): Promise<void> {
  const key = newId()
  const request = { idempotencyKey: key, beneficiaryId: beneficiaryOf(day, own), reference: `ref ${key}` }
  const answers = await expectByBalance(day, own, cents(text), () =>
    Promise.all(Array.from({ length: count }, () => pay(day.service, day.partner, text, request))),
  )
  const [first] = answers ?? []
  if (!answers || !first) return
  assert.deepEqual(new Set(answers.map(({ payout }) => payout.reference)), new Set([`ref ${key}`]))
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1, 'one of the duplicates made the payout')
  day.requested.push({ key, text, own, reference: first.payout.reference })
  day.payoutEnds.set(first.payout.id, amounts[text])
  if (amounts[text] === 'Completed') day.posted -= cents(text)
}

/**
 * Pays a customer of the partner: the payment is internal, so that the amount does not trigger a fault of the sandbox
 * bank.
 */
async function payInside(day: Day, text: Amount): Promise<void> {
  const request = { beneficiaryId: day.insider }
  const made = await expectByBalance(day, true, cents(text), () => pay(day.service, day.partner, text, request))
  if (!made) return
  day.payoutEnds.set(made.payout.id, 'Completed')
  day.inside.push(made.payout.reference)
}

/** Uses a key again: the same request replays its payout, another request is refused with its reference. */
async function repeatKey(day: Day, at: number, other: boolean): Promise<void> {
  const earlier = day.requested[at % Math.max(1, day.requested.length)]
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
  const made = await expectByBalance(day, false, BigInt(minor), () =>
    service.payouts.simulate(partner.caller, request, ip),
  )
  if (!made) return
  day.payoutEnds.set(made.payout.id, withdrawalEnds[outcome])
  if (outcome === 'completed') day.posted -= BigInt(minor)
}

/** One step of a worker. The next step does the work that an armed crash leaves undone. */
const workStep = ({ settlement }: Service, what: 'send' | 'notifications' | 'expire'): Promise<number> => {
  if (what === 'send') return submitDuePayouts(settlement)
  return what === 'expire' ? settlement.deposits.expireDue(100) : processBankNotifications(settlement)
}

/** Checks that a worker that was frozen past its lease changes nothing after another worker has done its work. */
async function freeze({ service, partner }: Day): Promise<void> {
  const claims = await service.payoutLife.claim('sandbox', [partner.partnerId], 20)
  service.clock.advance(2 * minuteMs)
  await submitDuePayouts(service.settlement)
  const before = await service.payouts.list(partner.partnerId, { limit: '100' })
  for (const claim of claims) {
    assert.equal(await service.payoutLife.begin(claim), undefined, 'the lease is lost')
    await service.payoutLife.answered(claim, { accepted: true })
    await service.payoutLife.unreachable(claim)
  }
  assert.deepEqual(await service.payouts.list(partner.partnerId, { limit: '100' }), before)
}

/** Breaks the connection or kills the worker. The bank and the other workers continue. */
async function breakBank({ service, arm }: Day, fault: Fault): Promise<void> {
  arm(fault)
  await workStep(service, 'send')
  service.clock.advance(stepMsDefault)
  await workStep(service, 'notifications')
}

async function run(day: Day, step: Action): Promise<unknown> {
  const { service, partner } = day
  switch (step.kind) {
    case 'pay':
      return payDuplicates(day, step.amount, step.own, 1)
    case 'duplicates':
      return payDuplicates(day, step.amount, false, step.count)
    case 'inside':
      return payInside(day, step.amount)
    case 'repeat':
      return repeatKey(day, step.pick, step.other)
    case 'deposit':
      return simulateDeposit(day, step.minor, step.outcome)
    case 'withdraw':
      return simulateWithdrawal(day, step.minor, step.outcome)
    case 'send':
    case 'notifications':
    case 'expire':
      return workStep(service, step.kind)
    case 'workers': {
      const kinds = ['send', 'notifications', 'expire'] as const
      return Promise.all(Array.from({ length: step.count }, () => kinds.map((kind) => workStep(service, kind))).flat())
    }
    case 'wait':
      return service.clock.advance(step.ms)
    case 'abandon':
      await service.payoutLife.claim('internal', [partner.partnerId], 20)
      return service.payoutLife.claim('sandbox', [partner.partnerId], 20)
    case 'freeze':
      return freeze(day)
    case 'break':
      return breakBank(day, step.fault)
  }
}

/** Runs the workers until no work is due, past every lease and retry delay. */
async function finishWork(service: Service): Promise<void> {
  const countDue = () =>
    service.db.row<{ count: bigint }>(sql`select
      (select count(*) from payouts.payouts where due_at is not null)
      + (select count(*) from deposits.deposits where expires_at is not null)
      + (select count(*) from rails.sandbox_notifications)
      + (select count(*) from rails.internal_transfers where due_at is not null) as count`)
  for (let rounds = 0; (await countDue())?.count !== 0n; rounds += 1) {
    assert.ok(rounds < 50, 'the work comes to an end')
    service.clock.advance(2 * minuteMs)
    for (const kind of ['send', 'notifications', 'expire'] as const) await workStep(service, kind)
  }
}

async function checkEnds(day: Day): Promise<void> {
  const { service, partner } = day
  const { partnerId } = partner
  const payouts = await service.db.rows<{ id: string; status: string; timesReceived: number | null }>(sql`
    select payout.id, payout.status, instruction.times_received from payouts.payouts as payout
    left join (
      select end_to_end_id, times_received from rails.sandbox_instructions where partner_id = ${partnerId}
      union all select end_to_end_id, times_received from rails.internal_transfers where partner_id = ${partnerId}) as instruction
      on instruction.end_to_end_id = payout.end_to_end_id
    where payout.partner_id = ${partnerId}`)
  assert.deepEqual(new Map(payouts.map(({ id, status }) => [id, status])), day.payoutEnds)
  assert.equal(payouts.length, day.payoutEnds.size, 'one instruction for each payout')
  for (const { timesReceived } of payouts) assert.equal(timesReceived, 1, 'the bank has each instruction once')
  const payments = await checkPayments(service.db, partnerId, day.seen)
  await checkWalks(service.db, partnerId, day.places)
  const arrived = await service.db.rows<{ reference: string; origin: string }>(sql`
    select reference, originating_reference as origin from transactions.transactions
    where partner_id = ${partnerId} and type = 'PartnerCustomerDeposit' and originating_reference is not null`)
  assert.deepEqual(pluck(arrived, 'origin').toSorted(), day.inside.toSorted(), 'each payout inside arrives once')
  for (const { reference } of arrived) day.depositEnds.set(reference, 'Completed')
  const deposits = payments.filter(({ type }) => type === 'PartnerCustomerDeposit')
  assert.deepEqual(new Map(deposits.map(({ reference, status }) => [reference, status])), day.depositEnds)
  assert.equal((await balanceOf(service, partnerId)).posted, day.posted)
}

const { wrapConnector, arm, disarm } = createFaultyRail()
const service = await useModules({ wrapConnector })

test('no cent is lost or created, and every event is appended exactly once, in any order of steps and faults', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 24 }), fc.boolean(), async (steps, segregated) => {
      disarm()
      const partner = await addPartner(service, floatMinor)
      if (segregated) await service.db.transaction((tx) => service.ledger.segregate(tx, partner.partnerId, 'EUR'))
      const [{ iban }] = (await service.accounts.create(partner.partnerId, partner.customer.id)).ibans
      const account = { iban, name: 'Ada Lovelace', currency: 'EUR' }
      const day: Day = {
        service,
        partner,
        segregated,
        arm,
        requested: [],
        insider: (await service.beneficiaries.create(partner.partnerId, account)).id,
        inside: [],
        payoutEnds: new Map(),
        depositEnds: new Map(),
        seen: new Map(),
        places: new Map(),
        posted: floatMinor,
      }
      for (const step of steps) {
        await run(day, step)
        await checkPayments(service.db, partner.partnerId, day.seen)
        await checkWalks(service.db, partner.partnerId, day.places)
      }
      disarm()
      await finishWork(service)
      await checkEnds(day)
    }),
    drawing(t, 21),
  )
})
