/** Payments that stand still are seen: by a metric, and by a line in the log. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checkSoundness } from '../../../../test/lifecycle/soundness.ts'
import {
  addPartner,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
} from '../../../../test/support/composition.ts'
import { dayMs, hourMs, type Log, minuteMs } from '../../kernel/index.ts'
import { depositLifecycle, mayExpire } from '../../deposits/lifecycle.ts'
import { payoutAgeLimitsMs, payoutLifecycle } from '../../payouts/lifecycle.ts'
import { createAgeWatch } from './ages.ts'
import { processBankNotifications, submitDuePayouts } from './index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

/** A watch whose log lines and metrics the test reads. */
function createWatch() {
  const lines: { readonly text: string; readonly paymentId: string; readonly ageSeconds: number }[] = []
  const ages = new Map<string, { readonly ageMs: number; readonly limitMs: number }>()
  const error = (facts: { readonly paymentId: string; readonly ageSeconds: number }, text: string) =>
    void lines.push({ text, ...facts })
  const observe = {
    instructions: () => undefined,
    bankNotification: () => undefined,
    answered: () => undefined,
    failed: () => undefined,
    connector: () => undefined,
    age: (subject: string, status: string, age: { readonly ageMs: number; readonly limitMs: number }) =>
      void ages.set(`${subject} ${status}`, age),
  }
  const look = createAgeWatch({ ...service.settlement, log: { ...service.log, error } as unknown as Log, observe })
  return { look, lines, ages }
}

test('every status whose transaction has not ended has an age limit, expires, or is a queue of its own (deposits in screening)', () => {
  const open = (lifecycle: Parameters<typeof checkSoundness>[0]) =>
    [...checkSoundness(lifecycle)].filter(([, states]) => states.some(({ ended }) => !ended)).map(([status]) => status)
  assert.deepEqual(
    open(payoutLifecycle)
      .filter((status) => status !== 'PendingApproval')
      .toSorted(),
    Object.keys(payoutAgeLimitsMs).toSorted(),
  )
  assert.deepEqual(
    open(depositLifecycle).filter((status) => status !== 'Screening' && !mayExpire(status as 'Created')),
    ['Submitted', 'Accepted'],
  )
})

test('a payout is seen in each status, with its age, and one line is logged once it is too old', async () => {
  const { look, lines, ages } = createWatch()
  const partner = await addPartner(service, 1_000_000n)
  await look()
  assert.deepEqual(
    [...ages.values()].map(({ ageMs }) => ageMs),
    [0, 0, 0, 0, 0],
  )
  const { payout: waiting } = await pay(service, partner, '4001.07')
  service.clock.advance(4 * minuteMs)
  await look()
  assert.deepEqual(ages.get('payout Pending'), { ageMs: 4 * minuteMs, limitMs: 5 * minuteMs })
  assert.deepEqual(lines, [])
  service.clock.advance(2 * minuteMs)
  await look()
  await look()
  assert.deepEqual(lines.splice(0), [
    {
      text: 'payout stands still',
      partnerId: partner.partnerId,
      paymentId: waiting.id,
      connector: 'sandbox',
      status: 'Pending',
      ageSeconds: 360,
      limitSeconds: 300,
    },
  ])
  await submitDuePayouts(service.settlement)
  await look()
  assert.equal(ages.get('payout Pending')?.ageMs, 0)
  assert.equal(ages.get('payout Sent')?.ageMs, 6 * minuteMs)
  service.clock.advance(6 * dayMs)
  await look()
  assert.deepEqual(
    lines.splice(0).map(({ text, paymentId }) => [text, paymentId]),
    [['payout stands still', waiting.id]],
  )
})

test('the oldest of many partners is seen', async () => {
  const { look, ages } = createWatch()
  service.clock.advance(hourMs)
  const [first] = await Promise.all(Array.from({ length: 60 }, () => addPartner(service, 1_000_000n)))
  assert.ok(first)
  await pay(service, first, '1.00')
  service.clock.advance(minuteMs)
  await pay(service, await addPartner(service, 1_000_000n), '1.00')
  service.clock.advance(minuteMs)
  await look()
  assert.equal(ages.get('payout Pending')?.ageMs, 2 * minuteMs)
})

test('a deposit that the bank has and does not end is seen, from the time at which the bank took it', async () => {
  const { look, lines, ages } = createWatch()
  const partner = await addPartner(service)
  const body = { customerId: partner.customer.id, amount: 7, currency: 'EUR', outcome: 'completed' } as const
  await service.simulations.deposit(partner.caller, body, ip)
  service.clock.advance(2 * stepMsDefault)
  await processBankNotifications(service.settlement)
  service.clock.advance(minuteMs)
  const unheard = { ...service.bank, notifications: () => Promise.resolve([]) }
  assert.equal(await processBankNotifications({ ...service.settlement, connectors: [unheard] }), 0)
  await look()
  assert.deepEqual(ages.get('deposit Submitted'), { ageMs: minuteMs, limitMs: 5 * dayMs })
  service.clock.advance(5 * dayMs)
  await look()
  assert.ok(lines.some(({ text }) => text === 'deposit stands still'))
  await processBankNotifications(service.settlement)
  await look()
  assert.deepEqual([ages.get('deposit Submitted')?.ageMs, ages.get('deposit Accepted')?.ageMs], [0, 0])
})
