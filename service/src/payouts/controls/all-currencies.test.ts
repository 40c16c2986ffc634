/**
 * Rules over all currencies on a real database: sums in one currency by the rate of the day, races, returned amounts,
 * and days without rates.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decimalText, rawNumber } from '@partner-payments/wire'
import { createTestService, ip, type Service, type TestPartner } from '../../../../test/support/composition.ts'
import { addTrader, convert, quote, type QuoteFields } from '../../../../test/support/fx.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refusalOf } from '../../../../test/support/refusals.ts'
import { type RuleFields, setApprovalRule } from '../../../../test/support/approvals.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { type Currency, currencies, dayMs, hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { parseStoredRate } from '../../rates/index.ts'
import { payoutsRoutes } from '../routes.ts'
import type { LimitPeriod, LimitScope } from './rules.ts'
import { payoutControlsRoutes } from './routes.ts'

/** Sets how many pounds and dollars one euro buys. */
async function setRates(pounds: string, dollars: string): Promise<void> {
  for (const [quoted, rate] of [
    ['GBP', pounds],
    ['USD', dollars],
  ] as const)
    await service.rates.setByHand({ pair: { base: 'EUR', quote: quoted, rate: parseStoredRate(rate) } })
}

const ibans = { EUR: 'DE89370400440532013000', GBP: 'GB29NWBK60161331926819' } as const

/** A trader with 1,000.00 in pounds and euros, and a payee in each. */
async function addPayer() {
  const partner = await addTrader(service, ['EUR', 'GBP'])
  const payeeIn = async (currency: 'EUR' | 'GBP') =>
    (
      await service.beneficiaries.create(partner.partnerId, {
        ...{ name: 'Grace Hopper', iban: ibans[currency], currency, customerId: partner.customer.id },
      })
    ).id
  const payees = { EUR: await payeeIn('EUR'), GBP: await payeeIn('GBP') }
  const payIn = (currency: 'EUR' | 'GBP', amount: string, process: Service = service) =>
    process.payouts.create(
      partner.caller,
      { amount: rawNumber(amount), currency, beneficiaryId: payees[currency], idempotencyKey: newId() },
      ip,
    )
  return { ...partner, payees, payIn }
}

type LimitFields = { readonly currency?: Currency; readonly allCurrencies?: boolean; readonly scopeRef?: string }
const setLimit = (
  { partnerId }: Pick<TestPartner, 'partnerId'>,
  scope: LimitScope,
  period: LimitPeriod,
  amount: bigint,
  more: LimitFields = {},
) =>
  service.db.transaction((tx) =>
    service.payoutControls.limits.set(tx, {
      ...{ partnerId, scope, period, amount, currency: 'EUR', allCurrencies: true, ...more },
    }),
  )
const setRule = ({ partnerId }: Pick<TestPartner, 'partnerId'>, rule: RuleFields) =>
  setApprovalRule(service, partnerId, { allCurrencies: true, expiresHours: 72, ...rule })

const quoted = async (partner: TestPartner, fields: QuoteFields) => (await quote(service, partner, fields)).row
const service = await useModules({ now: new Date('2026-03-30T12:00:00Z') })
// As another process.
const other = await service.anotherProcess()
await service.rates.prepare()
await setRates('0.8', '1.25')
/** Returns the status of a payout, or the code of its refusal. */
const outcomeOf = (asked: Promise<{ readonly payout: { readonly status: string } }>) =>
  asked.then(
    ({ payout }) => payout.status,
    (error: unknown) => (error instanceof Refusal ? error.code : assert.fail(String(error))),
  )
const usedOf = async (partnerId: string) =>
  (
    await service.db.rows<{ name: string; used: bigint }>(sql`
      select currency || ' ' || scope || '.' || period as name, used from payouts.limit_counters
      where partner_id = ${partnerId} order by name`)
  ).map(({ name, used }) => `${name} ${used}`)

test('payouts in several currencies count towards one limit, in addition to the limits of each currency', async () => {
  const payer = await addPayer()
  await setLimit(payer, 'partner', 'day', 100_00n)
  await setLimit(payer, 'customer', 'month', 100_00n)
  await setLimit(payer, 'beneficiary', 'payment', 40_00n)
  const tooLarge = await refusalOf(payer.payIn('GBP', '32.01'))
  assert.equal(
    tooLarge.detail,
    'The limit all.beneficiary.payment is 40.00 EUR for one payout. The payout counts as 40.02 EUR, by the rate 1.25 of 2026-03-30.',
  )
  await setLimit(payer, 'partner', 'day', 30_00n, { currency: 'GBP', allCurrencies: false })
  await payer.payIn('GBP', '24.00')
  await payer.payIn('EUR', '40.00')
  assert.match(
    (await refusalOf(payer.payIn('GBP', '6.01'))).detail,
    /^The limit partner\.day is 30\.00 GBP\. 6\.00 GBP/,
  )
  const beyond = await refusalOf(payer.payIn('EUR', '30.01'))
  assert.deepEqual(
    [beyond.code, beyond.detail],
    ['limit_exceeded', 'The limit all.partner.day is 100.00 EUR. 30.00 EUR is left until 2026-03-31T00:00:00.000Z.'],
  )
  assert.equal(beyond.errors[0]?.message, 'must count as at most 30.00 EUR by the limit all.partner.day')
  await payer.payIn('GBP', '6.00')
  await payer.payIn('EUR', '22.50')
  assert.deepEqual(await usedOf(payer.partnerId), [
    'EUR all.customer.month 10000',
    'EUR all.partner.day 10000',
    'GBP partner.day 3000',
  ])
  assert.equal(await outcomeOf(payer.payIn('EUR', '0.01')), 'limit_exceeded')
})

test("a partner's limits show which currencies they count and the used amount", async () => {
  const payer = await addPayer()
  await setLimit(payer, 'partner', 'day', 100_00n)
  await setLimit(payer, 'partner', 'day', 90_00n, { allCurrencies: false })
  await payer.payIn('GBP', '8.00')
  const { listPayoutLimits } = payoutControlsRoutes(service.payoutControls)
  const { body } = await listPayoutLimits({ caller: payer.caller, query: {} } as Parameters<typeof listPayoutLimits>[0])
  assert.deepEqual(
    body.data.map(({ counts, used, currency }) => [counts, used && decimalText(used), currency]),
    [
      ['Currency', '0.00', 'EUR'],
      ['AllCurrencies', '10.00', 'EUR'],
    ],
  )
})

test('an approval rule over all currencies applies to payouts by quote and to payouts in other currencies', async () => {
  const payer = await addPayer()
  const { partnerId, caller } = payer
  await setRule(payer, { aboveAmount: 100_00n })
  const { id } = await quoted(payer, { buy: 'GBP', sellAmount: '500.00' })
  await convert(service, payer, id)
  const body = {
    amount: rawNumber('300.00'),
    currency: 'GBP',
    beneficiaryId: payer.payees.GBP,
    idempotencyKey: newId(),
  }
  const preview = await service.payouts.preview(caller, body, ip)
  assert.deepEqual(
    preview.verdicts.flatMap(({ rule, detail }) => (rule === 'approval' ? [detail] : [])),
    [
      'The amount is above 100.00 EUR. The payout counts as 375.00 EUR, by the rate 1.25 of 2026-03-30. It waits for the approval of a second person.',
    ],
  )
  const { payout } = await service.payouts.create(caller, body, ip)
  assert.equal(payout.status, 'PendingApproval')
  const { getPayout } = payoutsRoutes(service.payouts)
  const read = await getPayout({ caller, params: { id: payout.id } } as Parameters<typeof getPayout>[0])
  const { amount, rate, ...reference } = read.body.referenceAmount ?? assert.fail('no reference amount')
  assert.deepEqual(
    { ...reference, amount: decimalText(amount), rate: decimalText(rate) },
    { amount: '375.00', currency: 'EUR', rate: '1.25', rateOn: '2026-03-30' },
  )
  // By quote at once: what is sold counts, once.
  const { id: quoteId } = await quoted(payer, { buy: 'GBP', sellAmount: '100.01' })
  const byQuote = { quoteId, beneficiaryId: payer.payees.GBP, idempotencyKey: newId() }
  const sold = await service.payouts.createFx(caller, byQuote, ip)
  assert.equal(sold.payout.status, 'PendingApproval')
  assert.equal((await service.payouts.get(partnerId, sold.payout.id)).referenceAmount?.includes('"10001"'), true)
  assert.equal(await outcomeOf(payer.payIn('GBP', '80.00')), 'Pending')
})

test('the daily sum without approval and the sum of a bulk include all currencies', async () => {
  const payer = await addPayer()
  await setRule(payer, { aboveDayAmount: 50_00n })
  assert.equal(await outcomeOf(payer.payIn('GBP', '20.00')), 'Pending')
  assert.equal(await outcomeOf(payer.payIn('EUR', '25.01')), 'PendingApproval')
  assert.equal(await outcomeOf(payer.payIn('EUR', '25.00')), 'Pending')
  assert.equal(await outcomeOf(payer.payIn('GBP', '0.01')), 'PendingApproval')
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.unapproved.day 5000'])

  const sender = await addPayer()
  await setRule(sender, { aboveBulkAmount: 50_00n })
  const bulkOf = async (...amounts: readonly (readonly ['EUR' | 'GBP', string])[]) => {
    const payouts = amounts.map(([currency, amount]) => ({
      ...{ amount: rawNumber(amount), currency, beneficiaryId: sender.payees[currency], idempotencyKey: newId() },
    }))
    const body = { mode: 'BestEffort', idempotencyKey: newId(), payouts } as const
    const { bulk } = await service.bulkPayouts.create(sender.caller, body, ip)
    while ((await service.bulkPayouts.step()) > 0);
    const items = await service.bulkPayouts.items(sender.partnerId, bulk.id, undefined)
    const made = await Promise.all(items.map(({ payoutId }) => service.payouts.get(sender.partnerId, payoutId ?? '')))
    return made.map(({ status }) => status)
  }
  assert.deepEqual(await bulkOf(['EUR', '25.00'], ['GBP', '20.00']), ['Pending', 'Pending'])
  assert.deepEqual(await bulkOf(['EUR', '25.01'], ['GBP', '20.00']), ['PendingApproval', 'PendingApproval'])
})

test('a cancelled payout returns the amount that was counted, even if the rate has changed since', async () => {
  const payer = await addPayer()
  await setLimit(payer, 'partner', 'day', 100_00n)
  const { payout } = await payer.payIn('GBP', '40.00')
  await payer.payIn('EUR', '50.00')
  await setRates('0.5', '1.25')
  assert.equal(await outcomeOf(payer.payIn('EUR', '0.01')), 'limit_exceeded')
  await service.payouts.cancel(payer.partnerId, payout.id)
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.partner.day 5000'])
  await payer.payIn('GBP', '25.00')
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.partner.day 10000'])
  await setRates('0.8', '1.25')
})

test('concurrent payouts of three kinds in two processes fill a limit exactly and never exceed it', async () => {
  const payer = await addPayer()
  await setLimit(payer, 'partner', 'day', 200_00n)
  await setLimit(payer, 'customer', 'month', 195_00n)
  const quotes = await Promise.all(Array.from({ length: 10 }, () => quoted(payer, { buy: 'GBP', sellAmount: '10.00' })))
  const byQuote = ({ id: quoteId }: { readonly id: string }, process: Service) =>
    process.payouts.createFx(payer.caller, { quoteId, beneficiaryId: payer.payees.GBP, idempotencyKey: newId() }, ip)
  const asked = Array.from({ length: 15 }, (_, index) => {
    const process = index % 2 === 0 ? service : other
    return [payer.payIn('EUR', '10.00', process), payer.payIn('GBP', '8.00', process)]
  })
  const outcomes = await Promise.all(
    [...asked.flat(), ...quotes.map((each, index) => byQuote(each, index % 2 === 0 ? other : service))].map(outcomeOf),
  )
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length
  assert.deepEqual([count('Pending'), count('limit_exceeded')], [19, 21])
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.customer.month 19000', 'EUR all.partner.day 19000'])
  const waiting = (await service.payouts.list(payer.partnerId, { limit: '100' })).data
  await Promise.all(waiting.map(({ id }, index) => (index % 2 ? service : other).payouts.cancel(payer.partnerId, id)))
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.customer.month 0', 'EUR all.partner.day 0'])
})

test('a person has one daily maximum over all currencies, and a cancelled payout returns its amount to it', async () => {
  const payer = await addPayer()
  await setRule(payer, { aboveAmount: 0n, perPersonAmount: 100_00n })
  const second: Caller = { ...payer.caller, serviceAccountId: newId(), name: 'Second person' }
  const approve = (id: string, process: Service = service) =>
    outcomeOf(process.payouts.approve(second, id).then((payout) => ({ payout })))
  const made = async (currency: 'EUR' | 'GBP', amount: string) => (await payer.payIn(currency, amount)).payout.id
  const pounds = await made('GBP', '40.00')
  // The amount that was used at the acceptance counts, not the current one.
  await setRates('0.4', '1.25')
  assert.equal(await approve(pounds), 'Pending')
  await setRates('0.8', '1.25')
  const ids = await Promise.all(Array.from({ length: 8 }, (_, index) => made(index % 2 ? 'EUR' : 'GBP', '8.00')))
  const outcomes = await Promise.all(ids.map((id, index) => approve(id, index % 2 ? service : other)))
  const sums = ids.map((_, index) => (index % 2 ? 8_00 : 10_00))
  const approved = outcomes.reduce((sum, outcome, index) => sum + (outcome === 'Pending' ? (sums[index] ?? 0) : 0), 0)
  assert.ok(approved <= 50_00 && approved > 40_00, String(approved))
  assert.equal(new Set([...outcomes, 'approver_limit_exceeded', 'Pending']).size, 2)
  const [counter] = await usedOf(payer.partnerId)
  assert.equal(counter, `EUR all.approver.day ${50_00 + approved}`)
  for (const { id, status } of (await service.payouts.list(payer.partnerId, { limit: '100' })).data)
    if (status === 'Pending') await service.payouts.cancel(payer.partnerId, id)
  assert.equal((await usedOf(payer.partnerId))[0], 'EUR all.approver.day 0')
})

test('the sum of a bulk in several currencies is compared with the maximum of a person', async () => {
  const payer = await addPayer()
  await setRule(payer, { aboveBulkAmount: 10_00n, perPersonAmount: 50_00n })
  const second: Caller = { ...payer.caller, serviceAccountId: newId(), name: 'Second person' }
  const item = (currency: 'EUR' | 'GBP', amount: string) => ({
    ...{ amount: rawNumber(amount), currency, beneficiaryId: payer.payees[currency], idempotencyKey: newId() },
  })
  const payouts = [item('EUR', '30.00'), item('GBP', '24.00')]
  const { bulk } = await service.bulkPayouts.create(
    payer.caller,
    { mode: 'BestEffort', idempotencyKey: newId(), payouts },
    ip,
  )
  while ((await service.bulkPayouts.step()) > 0);
  const refused = await refusalOf(service.bulkPayouts.approve(second, bulk.id, 2))
  assert.equal(refused.code, 'approver_limit_exceeded')
  assert.match(refused.detail, /50\.00 EUR/)
})

/** Gives 101 other payees limits in euros, which are more than a process keeps. Both the index and the table have them first. */
async function addOtherLimits({ partnerId }: Pick<TestPartner, 'partnerId'>): Promise<void> {
  const now = service.clock.now()
  await service.db.transaction(async (tx) => {
    for (let count = 0; count < 101; count += 1)
      await tx.run(sql`
        insert into payouts.limits (partner_id, id, scope, scope_id, currency, period, amount, created_at, updated_at)
        values (${partnerId}, ${newId()}, 'beneficiary', ${`00000000-0000-7000-8000-${String(count).padStart(12, '0')}`},
          'EUR', 'payment', 1, ${now}, ${now})`)
  })
}

test('limits of one customer and one payee over all currencies apply and are counted beside many other limits', async () => {
  const payer = await addPayer()
  await addOtherLimits(payer)
  await setLimit(payer, 'customer', 'day', 50_00n, { scopeRef: payer.customer.id })
  await setLimit(payer, 'beneficiary', 'payment', 30_00n, { scopeRef: payer.payees.GBP })
  const byQuote = async (sellAmount: string) => {
    const { id: quoteId } = await quoted(payer, { buy: 'GBP', sellAmount })
    const asked = { quoteId, beneficiaryId: payer.payees.GBP, idempotencyKey: newId() }
    return outcomeOf(service.payouts.createFx(payer.caller, asked, ip))
  }
  assert.equal(await outcomeOf(payer.payIn('GBP', '24.01')), 'limit_exceeded', 'the payee')
  assert.equal(await byQuote('30.01'), 'limit_exceeded', 'the payee, by what is sold')
  assert.equal(await outcomeOf(payer.payIn('GBP', '8.00')), 'Pending')
  assert.equal(await byQuote('10.00'), 'Pending')
  assert.equal(await outcomeOf(payer.payIn('EUR', '30.01')), 'limit_exceeded', 'the customer')
  const raced = [payer.payIn('EUR', '30.00'), payer.payIn('GBP', '24.00', other)].map(outcomeOf)
  assert.deepEqual((await Promise.all(raced)).toSorted(), ['Pending', 'limit_exceeded'])
  assert.deepEqual(await usedOf(payer.partnerId), ['EUR all.customer.day 5000'])
  const { verdicts } = await service.payouts.preview(
    payer.caller,
    { amount: rawNumber('0.01'), currency: 'EUR', beneficiaryId: payer.payees.EUR, idempotencyKey: newId() },
    ip,
  )
  assert.match(
    verdicts.find(({ rule }) => rule === 'limit.all.customer.day')?.detail ?? '',
    /all\.customer\.day is 50\.00 EUR/,
  )
})

test('without recent rates, payouts in other than the reference currency exceed limits and need approvals', async () => {
  const payer = await addPayer()
  await setLimit(payer, 'partner', 'day', 100_00n)
  const holding = await addPayer()
  await setRule(holding, { aboveAmount: 900_00n })
  const later = await createTestService({ url: service.url, now: new Date(service.clock.now().getTime() + 6 * dayMs) })
  assert.equal(await outcomeOf(payer.payIn('GBP', '8.00', later)), 'Pending')
  later.clock.advance(dayMs + hourMs)
  const refused = await refusalOf(payer.payIn('GBP', '8.00', later))
  assert.match(refused.detail, /There is no recent rate to EUR, so that the payout cannot be counted\.$/)
  assert.equal(refused.code, 'limit_exceeded')
  assert.equal(await outcomeOf(payer.payIn('EUR', '8.00', later)), 'Pending')
  assert.equal(await outcomeOf(holding.payIn('GBP', '8.00', later)), 'PendingApproval')
  assert.equal(await outcomeOf(holding.payIn('EUR', '8.00', later)), 'Pending')
  const [waiting] = (await service.payouts.list(holding.partnerId, { status: 'PendingApproval' })).data
  assert.equal(waiting?.referenceAmount, null)
  await later.close()
})

test('rules over all currencies must be in the reference currency, and mark every balance until the last is removed', async () => {
  const payer = await addPayer()
  const { partnerId } = payer
  const marks = async () => {
    const rows = await service.db.rows<{ currency: Currency }>(sql`
      select currency from ledger.accounts where partner_id = ${partnerId} and name = 'balance' and controlled order by currency`)
    return rows.map(({ currency }) => currency)
  }
  assert.match((await refusalOf(setLimit(payer, 'partner', 'day', 1n, { currency: 'GBP' }))).detail, /is in EUR/)
  assert.deepEqual(await marks(), [])
  const limit = await setLimit(payer, 'partner', 'payment', 10_00n)
  const rule = await setRule(payer, { aboveAmount: 5_00n })
  assert.deepEqual(await marks(), Object.keys(currencies).toSorted())
  assert.equal(await outcomeOf(payer.payIn('GBP', '4.01', other)), 'PendingApproval')
  const inPounds = await createTestService({
    ...{ url: service.url, now: service.clock.now(), settings: { REFERENCE_CURRENCY: 'GBP' } },
  })
  const inOther = inPounds.db.transaction((tx) =>
    inPounds.payoutControls.limits.set(tx, {
      ...{ partnerId, scope: 'partner', period: 'day', amount: 1n, currency: 'GBP', allCurrencies: true },
    }),
  )
  assert.match((await refusalOf(inOther)).detail, /in EUR\. Remove them first/)
  assert.equal(await outcomeOf(payer.payIn('GBP', '8.01', inPounds)), 'limit_exceeded', 'it goes on in euros')
  await inPounds.close()
  const { limits, approvalRules } = service.payoutControls
  await service.db.transaction((tx) => limits.remove(tx, partnerId, limit.id))
  assert.equal(await outcomeOf(payer.payIn('GBP', '8.01')), 'PendingApproval')
  await service.db.transaction((tx) => approvalRules.remove(tx, partnerId, rule.id))
  assert.deepEqual(await marks(), [])
  assert.equal(await outcomeOf(payer.payIn('GBP', '8.01', other)), 'Pending')
})
