/** Movements that rules count: exchanges, parts of sessions, transfers, payouts to one account, failures, returns, refunds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createSessionsInParts } from '../../../test/support/checkout.ts'
import { addPartner, createTestService, ip, pay, type TestPartner } from '../../../test/support/composition.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { type Currency, hourMs, newId, nilId, secondMs } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { readRule } from './rules.ts'
const service = await useModules()
await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })

const { inParts, sendAll } = createSessionsInParts(() => service)
const today = () => service.clock.now().toISOString().slice(0, 10)

/** Turns a rule on for one partner. */
async function on({ partnerId }: Pick<TestPartner, 'partnerId'>, fields: object): Promise<string> {
  const { db, monitoring } = service
  const given = { name: 'A rule', currency: 'EUR', partners: [partnerId], ...fields }
  const { id } = await db.transaction((tx) =>
    monitoring.setRule(tx, { draft: readRule(JSON.stringify(given)), staff: 'Ada' }),
  )
  await monitoring.backtest({ id, from: '2026-01-01', until: today(), staff: 'Ada' })
  for (const staff of ['Ada', 'Joan']) await db.transaction((tx) => monitoring.turnOn(tx, { id, staff }))
  return id
}
const outward = (fields: object) => ({ kind: 'velocity', direction: 'Outward', hours: 24, ...fields })

type HitEvidence = {
  readonly count: number
  readonly sum: string
  readonly currency: string
  readonly ratesOn?: string
}
/** Reads all changes, then returns the evidence of each hit of a rule and the subject of its alert. */
async function hitsOf({ partnerId }: Pick<TestPartner, 'partnerId'>, ruleId: string) {
  const { db, monitoring } = service
  service.clock.advance(secondMs)
  while ((await monitoring.step()) > 0);
  const alerts = (await monitoring.alerts(db, partnerId, nilId, 100)).filter((alert) => alert.ruleId === ruleId)
  const found = []
  for (const { id, subjectId } of alerts)
    for (const hit of await monitoring.hits(db, partnerId, id, nilId, 100))
      found.push({ subjectId, reference: hit.reference, ...(JSON.parse(hit.evidence) as HitEvidence) })
  return found
}
const sumsOf = async (partner: Pick<TestPartner, 'partnerId'>, ruleId: string) =>
  (await hitsOf(partner, ruleId)).map(({ count, sum, currency }) => `${count} ${sum} ${currency}`)
/** Checks that a backtest of the rule over all days finds the same. */
async function backtested(id: string): Promise<number> {
  const { hits } = await service.monitoring.backtest({ id, from: '2026-01-01', until: today(), staff: 'Ada' })
  return Number(hits)
}

async function settle(): Promise<void> {
  for (let round = 0; round < 6; round += 1) {
    await submitDuePayouts(service.settlement)
    service.clock.advance(secondMs)
    while ((await processBankNotifications(service.settlement)) > 0);
  }
}

async function addCustomer({ partnerId }: Pick<TestPartner, 'partnerId'>): Promise<string> {
  const kyc = { fullName: 'Joan Clarke', citizenshipCountryCode: 'GB' }
  return (await service.customers.create(partnerId, { email: `${newId()}@example.com`, kyc })).id
}
/** Moves money between parties of a partner. Without a customer, the party is the partner. */
function transfer({ partnerId, caller }: TestPartner, amount: string, from?: string, to?: string) {
  const parties = { ...(from && { fromCustomerId: from }), ...(to && { toCustomerId: to }) }
  const body = { amount: rawNumber(amount), currency: 'EUR', idempotencyKey: newId(), ...parties }
  return service.accounts.transfer(partnerId, body, { caller, ip, requestId: newId() })
}
async function payeeOf({ partnerId }: TestPartner, customerId: string, fields: object = {}): Promise<string> {
  const payee = { name: 'Grace Hopper', iban: 'FR1420041010050500013M02606', currency: 'EUR' as Currency, customerId }
  return (await service.beneficiaries.create(partnerId, { ...payee, ...fields })).id
}
async function payByQuote(trader: TestPartner, sellAmount: string): Promise<string> {
  const { row } = await quote(service, trader, { sellAmount })
  const beneficiaryId = await payeeOf(trader, trader.customer.id, { currency: 'USD' })
  const body = { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
  return (await service.payouts.createFx(trader.caller, body, ip)).payout.reference
}

test('a payout with a quote counts in the currency sold and in the currency paid', async () => {
  const trader = await addTrader(service)
  const [sold, bought, pounds] = [
    await on(trader, outward({ sum: '100.00' })),
    await on(trader, outward({ sum: '100.00', currency: 'USD' })),
    await on(trader, outward({ sum: '1.00', currency: 'GBP' })),
  ]
  await payByQuote(trader, '60.00')
  assert.deepEqual([await sumsOf(trader, sold), await sumsOf(trader, pounds)], [[], []])
  await payByQuote(trader, '50.00')
  assert.deepEqual(await sumsOf(trader, sold), ['2 110.00 EUR'])
  const [first] = await sumsOf(trader, bought)
  assert.match(first ?? '', /^2 13\d\.\d\d USD$/)
  assert.deepEqual(await sumsOf(trader, pounds), [])
  assert.deepEqual([await backtested(sold), await backtested(bought)], [2, 2])
})

test('a payout with a quote is held by a rule on either of its currencies', async () => {
  for (const currency of ['EUR', 'USD']) {
    const trader = await addTrader(service)
    await on(trader, outward({ sum: '50.00', currency, when: 'before' }))
    const reference = await payByQuote(trader, '60.00')
    service.clock.advance(6 * secondMs)
    await submitDuePayouts(service.settlement)
    const { timeline } = await service.transactions.get(trader.partnerId, reference)
    assert.equal(timeline.at(-1)?.step, 'Screening', currency)
  }
})

test('a conversion is outgoing in the currency sold and incoming in the currency bought', async () => {
  const trader = await addTrader(service)
  const rules = [
    await on(trader, outward({ sum: '90.00' })),
    await on(trader, { ...outward({ sum: '90.00', currency: 'USD' }), direction: 'Inward' }),
    await on(trader, { ...outward({ sum: '1000.01' }), direction: 'Inward' }),
    await on(trader, outward({ sum: '1.00', currency: 'USD' })),
    await on(trader, outward({ sum: '1.00', counts: 'AllCurrencies' })),
  ]
  await convert(service, trader, (await quote(service, trader, { sellAmount: '100.00' })).row.id)
  const found = []
  for (const rule of rules) found.push((await hitsOf(trader, rule)).length)
  assert.deepEqual(found, [1, 1, 0, 0, 0])
})

test('a sum over all currencies counts each payment once, at rates that are stored with the alert', async () => {
  const trader = await addTrader(service, ['EUR', 'USD'])
  const rule = await on(trader, outward({ sum: '180.00', counts: 'AllCurrencies' }))
  const one = await on(trader, outward({ sum: '180.00' }))
  await payByQuote(trader, '60.00')
  await pay(service, trader, '40.00')
  assert.deepEqual(await sumsOf(trader, rule), [])
  const beneficiaryId = await payeeOf(trader, trader.customer.id, { currency: 'USD' })
  const body = { amount: rawNumber('100.00'), currency: 'USD' as Currency, beneficiaryId, idempotencyKey: newId() }
  await service.payouts.create(trader.caller, body, ip)
  const hits = await hitsOf(trader, rule)
  assert.equal(hits.length, 1)
  const dollars = await service.db.row<{ rate: string }>(sql`
    select quotes::json ->> 'USD' as rate from rates.sheets order by as_of desc, id desc limit 1`)
  const euros = Math.ceil(Math.round(1e10 / Number(dollars?.rate)) / 1e6)
  assert.deepEqual(
    hits.map(({ sum, currency, ratesOn }) => [sum, currency, ratesOn]),
    [[((6000 + 4000 + euros) / 100).toFixed(2), 'EUR', today()]],
  )
  assert.deepEqual(await hitsOf(trader, one), [])
  assert.equal(await backtested(rule), 3)
})

test('without rates of the last days a backtest over all currencies is refused, and payouts wait for rates', async () => {
  const late = await createTestService({ now: new Date('2026-01-20T00:00:00Z') })
  try {
    const partner = await addPartner(late, 100_00n)
    const given = { name: 'A rule', currency: 'USD', counts: 'AllCurrencies', partners: [partner.partnerId] }
    const draft = readRule(JSON.stringify({ ...given, ...outward({ sum: '1000.00', when: 'before' }) }))
    const { id } = await late.db.transaction((tx) => late.monitoring.setRule(tx, { draft, staff: 'Ada' }))
    const days = { from: '2026-01-01', until: '2026-01-20', staff: 'Ada' }
    await pay(late, partner, '1.00')
    const unavailable = (error: unknown) => error instanceof Refusal && error.code === 'fx_rates_unavailable'
    await assert.rejects(late.monitoring.backtest({ id, ...days }), unavailable)
    await late.monitoring.backtest({ id, from: '2026-01-01', until: '2026-01-02', staff: 'Ada' })
    for (const staff of ['Ada', 'Joan']) await late.db.transaction((tx) => late.monitoring.turnOn(tx, { id, staff }))
    const statusAfter = async (ms: number) => {
      late.clock.advance(ms)
      await submitDuePayouts(late.settlement)
      return (await late.payouts.list(partner.partnerId, {})).data[0]?.status
    }
    assert.equal(await statusAfter(6 * secondMs), 'Pending')
    assert.deepEqual(await late.monitoring.alerts(late.db, partner.partnerId, nilId, 10), [])
    await late.rates.prepare()
    assert.equal(await statusAfter(31 * secondMs), 'Sent')
  } finally {
    await late.close()
  }
})

test('each part of a session counts separately once it has arrived, and the session does not count again', async () => {
  const partner = await addPartner(service)
  const threshold = { kind: 'structuring', direction: 'Inward', hours: 24, threshold: '20.00', count: 2 }
  const [parts, sum, whole] = [
    await on(partner, threshold),
    await on(partner, { kind: 'velocity', direction: 'Inward', hours: 24, sum: '49.90' }),
    await on(partner, { kind: 'velocity', direction: 'Inward', hours: 24, sum: '49.91' }),
  ]
  const opened = await inParts(partner)
  await sendAll(opened, '19.00')
  assert.deepEqual(await sumsOf(partner, parts), [])
  await sendAll(opened, '18.50')
  assert.deepEqual(await sumsOf(partner, parts), ['2 37.50 EUR'], 'before the session is paid')
  await sendAll(opened, '12.40')
  assert.deepEqual(await sumsOf(partner, sum), ['3 49.90 EUR'])
  assert.deepEqual(await sumsOf(partner, whole), [])
  assert.deepEqual([await backtested(parts), await backtested(sum), await backtested(whole)], [1, 1, 0])
})

test('accounts that pay parts of a session are many payers', async () => {
  const partner = await addPartner(service)
  const rule = await on(partner, { kind: 'many_payers', hours: 24, payers: 3 })
  const opened = await inParts(partner)
  await sendAll(opened, '10.00', '10.00', '10.00')
  assert.deepEqual(await sumsOf(partner, rule), [], 'all of one account')
  await service.db.run(sql`
    update deposits.parts set report = jsonb_set(report::jsonb, '{debtor,account}', to_jsonb('FR' || id))::text
    where partner_id = ${partner.partnerId}`)
  await sendAll(opened, '5.00')
  assert.deepEqual(await sumsOf(partner, rule), ['3 30.00 EUR'])
})

test('money sent to a customer and returned by it is a round trip of both', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const [ada, joan] = [partner.customer.id, await addCustomer(partner)]
  await transfer(partner, '500.00', undefined, ada)
  const rule = await on(partner, { kind: 'round_trip', hours: 48, sum: '100.00' })
  await transfer(partner, '300.00', ada, joan)
  await transfer(partner, '200.00', joan, ada)
  assert.deepEqual(await hitsOf(partner, rule), [], 'too little')
  await transfer(partner, '290.00', undefined, joan)
  await transfer(partner, '290.00', joan, ada)
  const hits = await hitsOf(partner, rule)
  assert.deepEqual(new Set(hits.map(({ subjectId }) => subjectId)), new Set([ada, joan]))
  assert.equal(await backtested(rule), 4, 'and what went there before')
})

test('money returned through a third customer is a round trip of the first customer', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const [ada, joan, grace] = [partner.customer.id, await addCustomer(partner), await addCustomer(partner)]
  await transfer(partner, '500.00', undefined, ada)
  const rule = await on(partner, { kind: 'round_trip', hours: 48, sum: '100.00' })
  const references = []
  for (const [amount, from, to] of [
    ['300.00', ada, joan],
    ['295.00', joan, grace],
    ['290.00', grace, ada],
  ] as const)
    references.unshift((await transfer(partner, amount, from, to)).inwardReference)
  const hits = await hitsOf(partner, rule)
  assert.deepEqual(
    hits.map(({ subjectId, count, sum }) => [subjectId, count, sum]),
    [[ada, 3, '885.00']],
  )
  assert.equal(hits[0]?.reference, references[0])
  const late = await addCustomer(partner)
  await transfer(partner, '280.00', ada, late)
  service.clock.advance(49 * hourMs)
  await transfer(partner, '280.00', late, joan)
  await transfer(partner, '280.00', joan, ada)
  assert.equal((await hitsOf(partner, rule)).length, 1, 'longer ago than the window')
})

test('a transfer between customers counts for payer and payee', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const givers = [await addCustomer(partner), await addCustomer(partner), await addCustomer(partner)]
  const rule = await on(partner, { kind: 'many_payers', hours: 24, payers: 3 })
  const given = await on(partner, outward({ count: 2 }))
  for (const giver of givers) {
    await transfer(partner, '10.00', undefined, giver)
    await transfer(partner, '5.00', giver, partner.customer.id)
    await transfer(partner, '1.00', giver, partner.customer.id)
  }
  assert.ok((await hitsOf(partner, rule)).every(({ subjectId }) => subjectId === partner.customer.id))
  assert.equal((await hitsOf(partner, rule)).length, 6)
  const subjects = new Set((await hitsOf(partner, given)).map(({ subjectId }) => subjectId))
  for (const giver of givers) assert.ok(subjects.has(giver))
})

test('many customers paying one account open one alert; many payouts of one customer do not', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const rule = await on(partner, { kind: 'many_customers', hours: 24, customers: 3 })
  const payees = []
  for (let index = 0; index < 4; index += 1) payees.push(await payeeOf(partner, await addCustomer(partner)))
  const other = await payeeOf(partner, partner.customer.id, { iban: 'DE89370400440532013000' })
  const [first = '', second = '', third = '', fourth = ''] = payees
  for (const beneficiaryId of [first, first, first, second, other])
    await pay(service, partner, '5.00', { beneficiaryId })
  assert.deepEqual(await hitsOf(partner, rule), [])
  // A payee removed after its payout still counts.
  await service.beneficiaries.remove(partner.partnerId, second)
  await pay(service, partner, '5.00', { beneficiaryId: third })
  service.clock.advance(23 * hourMs)
  await pay(service, partner, '5.00', { beneficiaryId: fourth })
  const hits = await hitsOf(partner, rule)
  assert.deepEqual([...new Set(hits.map(({ subjectId }) => subjectId))], [first])
  assert.equal(await backtested(rule), 6, 'of all payouts to the account')
  const [row] = await service.cases.list(undefined, 200)
  const subjects = (await service.cases.list(undefined, 200)).map(({ subject }) => subject)
  assert.ok(row && subjects.includes(`payee ${first}`))
  service.clock.advance(25 * hourMs)
  await pay(service, partner, '5.00', { beneficiaryId: third })
  assert.equal((await hitsOf(partner, rule)).length, hits.length, 'the others are too long ago')
})

test('with a rule before payment, the payout of another customer to the account waits', async () => {
  const partner = await addPartner(service, 1_000_00n)
  await on(partner, { kind: 'many_customers', hours: 24, customers: 3, when: 'before' })
  service.clock.advance(6 * secondMs)
  const statuses = []
  for (let index = 0; index < 3; index += 1) {
    await pay(service, partner, '5.00', { beneficiaryId: await payeeOf(partner, await addCustomer(partner)) })
    await submitDuePayouts(service.settlement)
  }
  for (const { status } of (await service.payouts.list(partner.partnerId, {})).data) statuses.unshift(status)
  assert.deepEqual(statuses, ['Sent', 'Sent', 'Pending'])
})

test('a payout that fails before evaluation counts; a cancelled payout does not', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const [many, failures] = [
    await on(partner, outward({ count: 3 })),
    await on(partner, { kind: 'failures', hours: 24, count: 2 }),
  ]
  const beneficiaryId = await payeeOf(partner, partner.customer.id, { name: 'Sandbox Rejected' })
  await pay(service, partner, '1.00')
  await pay(service, partner, '2.00', { beneficiaryId })
  const { payout } = await pay(service, partner, '3.00')
  await service.payouts.cancel(partner.partnerId, payout.id)
  await settle()
  assert.deepEqual([await hitsOf(partner, many), await hitsOf(partner, failures)], [[], []])
  await pay(service, partner, '4.00', { beneficiaryId })
  await settle()
  const sums = await sumsOf(partner, many)
  assert.deepEqual(sums, ['3 7.00 EUR'])
  assert.deepEqual(await sumsOf(partner, failures), ['2 6.00 EUR'])
  assert.deepEqual([await backtested(many), await backtested(failures)], [3, 2])
})

test('returns and failed payouts are not round trips, and a return does not count as a payer', async () => {
  const partner = await addPartner(service, 1_000_00n)
  const [rule, payers, inward] = [
    await on(partner, { kind: 'round_trip', hours: 48, sum: '10.00' }),
    await on(partner, { kind: 'many_payers', hours: 48, payers: 2 }),
    await on(partner, { kind: 'velocity', direction: 'Inward', hours: 48, count: 2 }),
  ]
  const ibans = ['FR1420041010050500013M02606', 'DE89370400440532013000']
  for (const iban of ibans)
    for (const name of ['Sandbox Returned', 'Grace Hopper', 'Sandbox Rejected'])
      await pay(service, partner, '50.00', {
        beneficiaryId: await payeeOf(partner, partner.customer.id, { iban, name }),
      })
  await settle()
  const { data } = await service.transactions.list(partner.partnerId, { category: 'Deposit', limit: '100' })
  const returns = data.filter(({ row }) => row.originatingReference !== null)
  assert.equal(returns.length, 2, 'the bank has returned two')
  assert.deepEqual([await hitsOf(partner, rule), await hitsOf(partner, payers)], [[], []])
  assert.equal((await hitsOf(partner, inward)).length, 2)
  assert.deepEqual([await backtested(rule), await backtested(payers)], [0, 0])
})

test('a refund of a session is not a round trip, but a payout to the account that paid it is', async () => {
  const opened = await createSessionsInParts(() => service).open()
  const { partner, session } = opened
  const rule = await on(partner, { kind: 'round_trip', hours: 48, sum: '10.00' })
  const debtor = { step: 'credit', debtorName: 'Grace Hopper' } as const
  await service.checkout.simulate(partner.partnerId, session.id, debtor, ip)
  await settle()
  const body = { amount: rawNumber('49.90'), idempotencyKey: newId() }
  await service.checkout.refund(partner.caller, session.id, body, ip)
  await settle()
  assert.deepEqual(await hitsOf(partner, rule), [])
  assert.equal(await backtested(rule), 0)
  const { row } = await service.transactions.get(partner.partnerId, session.reference)
  const { iban } = JSON.parse(row.debtor ?? '{}') as { readonly iban: string }
  const float = { debit: 'settlement.sandbox', currency: 'EUR', amount: 100_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partner.partnerId, float))
  const rejected = await payeeOf(partner, partner.customer.id, { iban, name: 'Sandbox Rejected' })
  await pay(service, partner, '49.90', { beneficiaryId: rejected })
  await settle()
  assert.deepEqual(await hitsOf(partner, rule), [], 'the money has not gone there')
  const { payout } = await pay(service, partner, '49.90', {
    beneficiaryId: await payeeOf(partner, partner.customer.id, { iban }),
  })
  assert.deepEqual(
    (await hitsOf(partner, rule)).map(({ reference }) => reference),
    [payout.reference],
  )
})
