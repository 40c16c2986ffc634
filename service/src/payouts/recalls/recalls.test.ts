/** Recalls on a real database with the sandbox bank: the answers, the deadlines, the money, races. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { BodyOf } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { addTrader, quote } from '../../../../test/support/fx.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { until } from '../../../../test/support/until.ts'
import { dayMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../../banks/settlement/index.ts'
import { answersDue, eraseRecalls } from './store.ts'
import { instructionIdOf } from '../rules.ts'

let service: Service
let partner: TestPartner
beforeEach(async () => {
  // A Thursday. TARGET is open on the days that follow, except for the weekends.
  service = await createTestService({ now: new Date('2026-01-08T09:00:00Z') })
  partner = await addPartner(service, 100_000_00n)
})
afterEach(() => service.close())

async function notified(steps = 1): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
}
async function settled(amount = '10.00', by: TestPartner = partner) {
  const { payout } = await pay(service, by, amount)
  await submitDuePayouts(service.settlement)
  await notified()
  return payout
}
type Reason = BodyOf<'createPayoutRecall'>['reason']
const request = (id: string, reason: Reason = 'FRAD', by: TestPartner = partner, text = 'The invoice was forged.') =>
  service.recalls.create(by.caller, id, { reason, text })
const send = () => sendDueRecalls(service.settlement, service.bank)
const recallsOf = (id: string, by: TestPartner = partner) => service.recalls.list(by.partnerId, id)
const statusesOf = async (id: string) => (await recallsOf(id)).map(({ status }) => status)
const postedOf = async () => (await balanceOf(service, partner.partnerId)).posted
const timelineOf = async (reference: string) =>
  (await service.transactions.get(partner.partnerId, reference)).timeline.map(({ step, actor, reason }) =>
    [step, actor, reason].filter((part) => part !== undefined).join(' '),
  )
const eventsOf = async () =>
  (
    await service.db.rows<{ readonly data: string }>(sql`
      select data from events.events
      where partner_id = ${partner.partnerId} and type = 'payout.recall.updated' order by id`)
  ).map(({ data }) => JSON.parse(data) as { readonly status: string; readonly answerCode: string | null })

test('an accepted recall returns the money exactly once, and payout, return and recall refer to each other', async () => {
  const payout = await settled()
  const before = await postedOf()
  const { id, status, requestDueOn } = await request(payout.id)
  assert.deepEqual([status, requestDueOn], ['Requested', '2027-02-08'])
  assert.equal(await send(), 1)
  const [sent] = await recallsOf(payout.id)
  // Three weeks of five days: no holiday of TARGET lies between.
  assert.deepEqual([sent?.status, sent?.answerDueOn], ['Sent', '2026-01-29'])
  await notified()
  assert.deepEqual(await statusesOf(payout.id), ['Accepted'])
  assert.equal(await postedOf(), before)
  await notified(3)
  const recall = await service.recalls.get(partner.partnerId, payout.id, id)
  assert.deepEqual([recall.status, recall.settledAmount], ['Accepted', 1000n])
  assert.equal(await postedOf(), before + 1000n)
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Returned')
  assert.deepEqual((await timelineOf(payout.reference)).slice(-4), [
    'RecallRequested partner FRAD',
    'RecallSent worker',
    'RecallAccepted bank',
    'Returned bank FOCR',
  ])
  const { related } = await service.transactions.related(partner.partnerId, payout.reference)
  assert.deepEqual(
    related.map(({ relation, transaction }) => [
      relation,
      transaction.row.reference,
      transaction.timeline.at(-1)?.recallId,
    ]),
    [['Return', recall.returnReference, id]],
  )
  assert.deepEqual(
    (await eventsOf()).map((event) => event.status),
    ['Requested', 'Sent', 'Accepted', 'Accepted'],
  )
})

test('the events of a recall have the same amount as other events of its payout, also for a payout with a quote', async () => {
  const trader = await addTrader(service, ['USD'])
  const { row } = await quote(service, trader, { sell: 'USD', buy: 'EUR' })
  const body = { quoteId: row.id, beneficiaryId: trader.beneficiary.id, idempotencyKey: newId() }
  const { payout } = await service.payouts.createFx(trader.caller, body, ip)
  await submitDuePayouts(service.settlement)
  await notified()
  await request(payout.id, 'FRAD', trader)
  await send()
  const events = await service.db.rows<{ readonly type: string; readonly data: string }>(sql`
    select type, data from events.events where partner_id = ${trader.partnerId} and type in ('payout.recall.updated',
      'partner.customer.withdrawal.sent') order by id`)
  const carried = events.map(({ type, data }) => {
    const { amount, currency, settledCurrency } = JSON.parse(data) as Record<string, unknown>
    return [type, amount, currency, settledCurrency]
  })
  assert.deepEqual(carried, [
    ['partner.customer.withdrawal.sent', 100, 'USD', undefined],
    ['payout.recall.updated', 100, 'USD', 'EUR'],
    ['payout.recall.updated', 100, 'USD', 'EUR'],
  ])
})

test('a refusal has its code, and a recall for another reason may follow, but not for the same reason', async () => {
  const payout = await settled('4001.11')
  await request(payout.id, 'DUPL')
  await send()
  await assert.rejects(request(payout.id, 'TECH'), refused('recall_exists'))
  await notified(3)
  const [first] = await recallsOf(payout.id)
  assert.deepEqual([first?.status, first?.answerCode, first?.settledAmount], ['Refused', 'NOAS', null])
  assert.equal((await timelineOf(payout.reference)).at(-1), 'RecallRefused bank NOAS')
  await assert.rejects(request(payout.id, 'DUPL'), refused('recall_exists'))
  await request(payout.id, 'TECH')
  await send()
  await notified(3)
  assert.deepEqual(await statusesOf(payout.id), ['Refused', 'Refused'])
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Completed')
})

test('a recall without an answer expires after 15 business days, and not earlier', async () => {
  const payout = await settled('4001.12')
  await request(payout.id)
  await send()
  await notified(3)
  // To 23:59:59 in Frankfurt on the last day.
  service.clock.advance(Date.parse('2026-01-29T22:59:59Z') - service.clock.now().getTime())
  assert.equal(await service.recalls.expireStep(), 0)
  const overdueAt = async () => (await service.db.row<{ readonly dueAt: Date }>(answersDue(new Date(0))))?.dueAt
  assert.equal((await overdueAt())?.toISOString(), '2026-01-29T23:00:00.000Z')
  service.clock.advance(1000)
  const steps = [service.recalls.expireStep(), service.recalls.expireStep()]
  assert.equal(
    (await Promise.all(steps)).reduce((sum, count) => sum + count, 0),
    1,
  )
  assert.deepEqual(await statusesOf(payout.id), ['Expired'])
  assert.equal((await timelineOf(payout.reference)).at(-1), 'RecallExpired time')
  assert.equal(await overdueAt(), undefined)
})

test('an agreement after the expiry still books the money, and the recall shows both', async () => {
  const payout = await settled('4001.14')
  const before = await postedOf()
  await request(payout.id)
  await send()
  service.clock.advance(22 * dayMs)
  await service.recalls.expireStep()
  assert.deepEqual(await statusesOf(payout.id), ['Expired'])
  service.clock.advance(10 * dayMs)
  await notified(3)
  const [recall] = await recallsOf(payout.id)
  assert.deepEqual([recall?.status, recall?.settledAmount, recall?.expiredAt === null], ['Accepted', 4001_14n, false])
  assert.equal(await postedOf(), before + 4001_14n)
})

test("the recipient's bank may deduct a fee, which opens a case without money", async () => {
  const payout = await settled('4001.13')
  const before = await postedOf()
  await request(payout.id)
  await send()
  await notified(3)
  const [recall] = await recallsOf(payout.id)
  assert.deepEqual([recall?.status, recall?.settledAmount, recall?.amount], ['Accepted', 3991_13n, 4001_13n])
  assert.equal(await postedOf(), before + 3991_13n)
  const cases = await service.db.rows<{ readonly kind: string }>(sql`
    select kind from cases.cases where partner_id = ${partner.partnerId}`)
  assert.deepEqual(cases, [{ kind: 'amount_differs' }])
})

test('each reason can be requested on its last day, and is refused on the next one', async () => {
  // Executed on Thursday 2026-01-08: ten business days, and 13 months.
  const lastDays = {
    DUPL: '2026-01-22',
    TECH: '2026-01-22',
    FRAD: '2027-02-08',
    CUST: '2027-02-08',
    AC03: '2027-02-08',
    AM09: '2027-02-08',
  }
  const payouts = await Promise.all(
    Object.keys(lastDays).flatMap((reason) =>
      [0, 1].map(async (late) => ({ reason: reason as Reason, late, payout: await settled('1.00') })),
    ),
  )
  await notified()
  for (const { reason, late, payout } of payouts.toSorted((a, b) =>
    lastDays[a.reason] < lastDays[b.reason] ? -1 : a.late - b.late,
  )) {
    // The day ends in Frankfurt at 23:00 UTC.
    const end = Date.parse(`${lastDays[reason]}T23:00:00Z`)
    service.clock.advance(Math.max(0, end - 1000 + late * 1000 - service.clock.now().getTime()))
    if (late === 0) assert.equal((await request(payout.id, reason)).requestDueOn, lastDays[reason])
    else await assert.rejects(request(payout.id, reason), refused('recall_deadline_passed'))
  }
})

test('a payout that is not completed, of another partner, or by another rail cannot be recalled', async () => {
  const { payout } = await pay(service, partner, '10.00')
  await assert.rejects(request(payout.id), refused('payout_not_recallable'))
  const completed = await settled()
  const other = await addPartner(service)
  await assert.rejects(request(completed.id, 'FRAD', other), refused('not_found'))
  await assert.rejects(request(newId()), refused('not_found'))
  await assert.rejects(recallsOf(completed.id, other), refused('not_found'))
  const { id } = await request(completed.id)
  await assert.rejects(service.recalls.get(other.partnerId, completed.id, id), refused('not_found'))
  await assert.rejects(service.recalls.get(partner.partnerId, completed.id, newId()), refused('not_found'))
  await service.db.run(
    sql`update payouts.payouts set rail = 'Swift' where partner_id = ${partner.partnerId} and id = ${payout.id}`,
  )
  await assert.rejects(request(payout.id), refused('recall_not_supported'))
})

test('a recall at a bank that does not support recalls is refused, and nothing is written', async () => {
  const payout = await settled()
  await service.db.run(
    sql`update payouts.payouts set connector = 'other' where partner_id = ${partner.partnerId} and id = ${payout.id}`,
  )
  await assert.rejects(request(payout.id), refused('recall_not_supported'))
  assert.deepEqual(await statusesOf(payout.id), [])
  assert.deepEqual(await eventsOf(), [])
})

test('of concurrent requests in two processes exactly one is accepted', async () => {
  const second = await createTestService({ url: service.url, now: service.clock.now() })
  const payout = await settled()
  const reasons = ['DUPL', 'TECH', 'FRAD', 'CUST'] as const
  const results = await Promise.allSettled(
    reasons.map((reason, index) =>
      (index % 2 === 0 ? service : second).recalls.create(partner.caller, payout.id, { reason }),
    ),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const result of results) if (result.status === 'rejected') refused('recall_exists')(result.reason)
  assert.deepEqual(await statusesOf(payout.id), ['Requested'])
  await Promise.all([send(), sendDueRecalls(second.settlement, second.bank), send()])
  const received = await service.db.rows<{ readonly timesReceived: number }>(sql`
    select times_received from rails.sandbox_recalls where partner_id = ${partner.partnerId}`)
  assert.deepEqual(received, [{ timesReceived: 1 }])
  await second.close()
})

test('a request that races a return is refused, or is linked to it', async () => {
  const outcomes = new Set<string>()
  for (let round = 0; round < 24; round += 1) {
    const payout = await settled('1.00')
    const report = { connector: 'sandbox', notificationId: newId(), money: { currency: 'EUR', amount: 100n } } as const
    const failure = { errorKey: 'BankRejection', details: 'Sent back.', reasonCode: 'AC04' } as const
    const reporting = { partnerId: partner.partnerId, instructionId: instructionIdOf(payout), report }
    // Half of the rounds begin the one a few round trips later, from before the lock of the other to behind its commit; half the other.
    const waits = async (turns: number) => {
      for (let turn = 0; turn < turns; turn += 1) await service.db.row(sql`select 1 as one`)
    }
    const [requested, returned] = await Promise.all([
      waits(round)
        .then(() => request(payout.id))
        .then(
          () => 'requested',
          (error: unknown) => (refused('payout_not_recallable')(error) ? 'refused' : 'other'),
        ),
      waits(12).then(() => service.payoutLife.returned(reporting, failure)),
    ])
    assert.equal(returned, true)
    outcomes.add(requested)
    const [recall] = await recallsOf(payout.id)
    assert.equal(recall?.status, requested === 'requested' ? 'Accepted' : undefined)
    assert.equal(recall?.settledAmount, requested === 'requested' ? 100n : undefined)
    assert.equal(await send(), 0)
  }
  assert.deepEqual([...outcomes].toSorted(), ['refused', 'requested'])
})

test('a recall whose call hangs does not delay others', async () => {
  const payouts = [await settled(), await settled(), await settled()]
  for (const { id } of payouts) await request(id)
  const { recall, ...bank } = service.bank
  assert.ok(recall !== undefined)
  // The first call hangs until the last one has its answer.
  const last = Promise.withResolvers<void>()
  let calls = 0
  const slow = {
    ...bank,
    recall: async (...args: Parameters<typeof recall>) => {
      calls += 1
      if (calls === 1) await last.promise
      const isLast = calls === payouts.length
      const answer = await recall(...args)
      if (isLast) last.resolve()
      return answer
    },
  }
  assert.equal(await sendDueRecalls(service.settlement, slow), 3)
  for (const { id } of payouts) assert.deepEqual(await statusesOf(id), ['Sent'])
})

test('a bank that hangs, fails or loses its answer gets the same request again, and stores it once', async () => {
  const payout = await settled('4001.11')
  const { id } = await request(payout.id)
  const { recall, ...bank } = service.bank
  assert.ok(recall !== undefined)
  const lost = {
    ...bank,
    recall: async (...args: Parameters<typeof recall>) => recall(...args).then(() => 'unknown' as const),
  }
  assert.equal(await sendDueRecalls(service.settlement, lost), 1)
  assert.deepEqual(await statusesOf(payout.id), ['Requested'])
  // The answer comes before the worker knows that the bank has the request.
  await notified()
  assert.deepEqual(await statusesOf(payout.id), ['Refused'])
  assert.deepEqual((await timelineOf(payout.reference)).slice(-2), ['RecallSent bank', 'RecallRefused bank NOAS'])
  service.clock.advance(dayMs)
  assert.equal(await send(), 0)
  const silent = await settled('4001.12')
  await request(silent.id)
  const broken = { ...bank, recall: async () => Promise.reject(new Error('The bank is broken.')) }
  assert.equal(await sendDueRecalls(service.settlement, broken), 1)
  assert.ok((await service.recalls.oldestUnsent('sandbox')) !== null)
  assert.equal(await sendDueRecalls(service.settlement, lost), 0)
  service.clock.advance(1000)
  assert.equal(await sendDueRecalls(service.settlement, lost), 1)
  service.clock.advance(2000)
  assert.equal(await send(), 1)
  assert.deepEqual(await statusesOf(silent.id), ['Sent'])
  assert.equal(await service.recalls.oldestUnsent('sandbox'), null)
  const received = await service.db.rows<{ readonly id: string; readonly timesReceived: number }>(sql`
    select id, times_received from rails.sandbox_recalls where partner_id = ${partner.partnerId} order by id`)
  assert.deepEqual(
    received.map((row) => [row.id === id, row.timesReceived]),
    [
      [true, 1],
      [false, 2],
    ],
  )
})

test('an answer to an unknown recall changes nothing, and an answer by payment id applies to the open recall', async () => {
  const payout = await settled('4001.12')
  const instructionId = instructionIdOf(payout)
  const answer = { partnerId: partner.partnerId, recallId: newId(), instructionId, reasonCode: null }
  assert.equal(await service.recalls.answered({ ...answer, accepted: true }), false)
  await request(payout.id)
  await send()
  assert.equal(await service.recalls.answered({ ...answer, accepted: false, reasonCode: 'LEGL' }), true)
  const [refused] = await recallsOf(payout.id)
  assert.deepEqual([refused?.status, refused?.answerCode], ['Refused', 'LEGL'])
  assert.equal(await service.recalls.answered({ ...answer, recallId: refused?.id ?? '', accepted: true }), true)
  assert.deepEqual(await statusesOf(payout.id), ['Accepted'])
})

test('a return without a recall creates no recall, and the payout is Returned', async () => {
  const payout = await settled('4001.05')
  await notified(2)
  assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Returned')
  assert.deepEqual(await recallsOf(payout.id), [])
  const { related } = await service.transactions.related(partner.partnerId, payout.reference)
  assert.ok(related.every(({ transaction }) => transaction.timeline.every(({ recallId }) => recallId === undefined)))
})

test('the erasure of a customer leaves the recall without its text', async () => {
  const payout = await settled()
  await request(payout.id)
  const { partnerId } = partner
  await service.db.transaction((tx) => eraseRecalls(tx, partnerId, [payout.id]))
  const [recall] = await recallsOf(payout.id)
  assert.deepEqual([recall?.details, recall?.reason], [null, 'FRAD'])
})

test('money that is recalled to a blocked account is booked', async () => {
  const payout = await settled()
  const before = await postedOf()
  await request(payout.id)
  await send()
  await service.db.run(sql`
    update ledger.accounts set state = 'Blocked'
    where partner_id = ${partner.partnerId} and name = 'balance' and currency = 'EUR'`)
  await notified(3)
  assert.equal(await postedOf(), before + 1000n)
  assert.equal((await recallsOf(payout.id))[0]?.settledAmount, 1000n)
})

test('a recall whose claim waits for a lock does not keep others from being sent', async () => {
  const [held, free] = [await settled('10.00'), await settled('11.00')]
  const recall = await request(held.id)
  service.clock.advance(1)
  await request(free.id)
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = service.db.transaction(async (tx) => {
    await tx.rows(sql`
      select id from payouts.recalls where partner_id = ${partner.partnerId} and id = ${recall.id} for update`)
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const sending = send()
  const sent = until('the other recall is sent', async () => (await statusesOf(free.id))[0] === 'Sent')
  await sent.finally(released.resolve)
  await holding
  assert.equal(await sending, 2)
  assert.deepEqual(await statusesOf(held.id), ['Sent'])
})
