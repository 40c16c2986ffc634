/** The preview, rails and exchanges of payouts. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { instructionIdOf } from './rules.ts'
import { payoutsRoutes } from './routes.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { accountsOf, addTrader, convert, quote } from '../../../test/support/fx.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refused, refusalOf } from '../../../test/support/refusals.ts'

suite('preview', async () => {
  const service = await useModules()

  type Fields = { readonly amount?: string; readonly [name: string]: unknown }
  const bodyOf = (partner: TestPartner, { amount = '10.00', ...fields }: Fields = {}) => ({
    amount: rawNumber(amount),
    currency: 'EUR',
    beneficiaryId: partner.beneficiary.id,
    ...fields,
  })
  const previewOf = (partner: TestPartner, fields: Fields = {}) =>
    service.payouts.preview(partner.caller, bodyOf(partner, fields), ip)
  const verdictsOf = async (partner: TestPartner, fields: Fields = {}) => {
    const { verdicts } = await previewOf(partner, fields)
    return Object.fromEntries(verdicts.map(({ rule, verdict, code }) => [rule, code ?? verdict]))
  }
  const passed = {
    idempotencyKey: 'notApplicable',
    currency: 'passed',
    connection: 'passed',
    beneficiary: 'passed',
    beneficiaryCurrency: 'passed',
    beneficiaryAccount: 'passed',
    beneficiaryBank: 'notApplicable',
    qrReference: 'notApplicable',
    requirements: 'passed',
    country: 'passed',
    customer: 'passed',
    account: 'passed',
    payer: 'notApplicable',
    walletOwnership: 'notApplicable',
    duplicate: 'passed',
    coolingOff: 'notApplicable',
    limits: 'notApplicable',
    approval: 'notApplicable',
    funds: 'passed',
    reach: 'passed',
    payeeCheck: 'notApplicable',
  }

  /** Everything that a payout could write, as one text. */
  const stateOf = async (partnerId: string): Promise<string> =>
    JSON.stringify(
      await Promise.all([
        service.db.rows(sql`select * from ledger.accounts where partner_id = ${partnerId} order by id`),
        service.db.rows(sql`select id from ledger.transfers where partner_id = ${partnerId} order by id`),
        service.db.rows(sql`select id from payouts.payouts where partner_id = ${partnerId} order by id`),
        service.db.rows(sql`select id from transactions.transactions where partner_id = ${partnerId} order by id`),
        service.db.rows(
          sql`select * from payouts.limit_counters where partner_id = ${partnerId} order by scope, period`,
        ),
      ]),
      (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    )

  test('a payout that would be accepted passes every rule, with its rail, days and total', async () => {
    const partner = await addPartner(service, 10_00n)
    const { partnerId } = partner
    await service.db.transaction((tx) =>
      service.payoutControls.fees.set(tx, {
        partnerId,
        currency: 'EUR',
        rail: 'any',
        fixedAmount: 25n,
        basisPoints: 0,
        minAmount: 0n,
        maxAmount: null,
      }),
    )
    const before = await stateOf(partnerId)
    assert.deepEqual(await verdictsOf(partner, { amount: '9.75' }), passed)
    const { payout, forecast } = await previewOf(partner, { amount: '9.75' })
    assert.equal(payout?.fee, 25n)
    const now = service.clock.now()
    assert.deepEqual(forecast, {
      possible: true,
      method: 'SepaCreditTransfer',
      cutOffAt: null,
      submitsAt: now,
      valueDate: now.toISOString().slice(0, 10),
      arrivesOn: now.toISOString().slice(0, 10),
    })
    assert.deepEqual(await verdictsOf(partner, { amount: '9.76' }), { ...passed, funds: 'insufficient_funds' })
    assert.equal(await stateOf(partnerId), before)
  })

  test('each limit has its own verdict, which includes the amount counted so far', async () => {
    const partner = await addPartner(service, 1000_00n)
    const { partnerId } = partner
    const set = (scope: 'partner' | 'customer', period: 'payment' | 'day', amount: bigint) =>
      service.db.transaction((tx) =>
        service.payoutControls.limits.set(tx, { partnerId, scope, period, amount, currency: 'EUR' }),
      )
    await set('partner', 'day', 15_00n)
    await set('partner', 'payment', 12_00n)
    await set('customer', 'day', 100_00n)
    const { limits: _none, ...rest } = passed
    const ofLimits = {
      'limit.partner.payment': 'passed',
      'limit.partner.day': 'passed',
      'limit.customer.day': 'passed',
    }
    assert.deepEqual(await verdictsOf(partner), { ...rest, ...ofLimits })
    await pay(service, partner, '10.00')
    const before = await stateOf(partnerId)
    const repeated = { ...rest, ...ofLimits, duplicate: 'possible_duplicate' }
    assert.deepEqual(await verdictsOf(partner), { ...repeated, 'limit.partner.day': 'limit_exceeded' })
    const { verdicts } = await previewOf(partner)
    const failed = verdicts.find(({ verdict }) => verdict === 'failed')
    assert.match(failed?.detail ?? '', /5\.00 EUR is left until 2026-01-02/)
    assert.deepEqual(failed?.amounts, [
      { kind: 'limit', amount: 15_00n, currency: 'EUR' },
      { kind: 'left', amount: 5_00n, currency: 'EUR' },
    ])
    assert.equal(await stateOf(partnerId), before)
  })

  test('create refuses with the code of the first rule that fails in the preview', async () => {
    const partner = await addPartner(service, 5_00n)
    const { partnerId, caller } = partner
    const pounds = await service.beneficiaries.create(partnerId, {
      name: 'Joan',
      iban: 'GB29NWBK60161331926819',
      currency: 'GBP',
    })
    const other = await addPartner(service)
    const idempotencyKey = newId()
    await pay(service, partner, '1.00', { idempotencyKey })
    const cases: readonly Fields[] = [
      { currency: 'USDC' },
      { beneficiaryId: newId() },
      { beneficiaryId: other.beneficiary.id },
      { beneficiaryId: pounds.id },
      { beneficiaryId: pounds.id, currency: 'GBP' },
      { amount: '4.01' },
      { idempotencyKey },
    ]
    for (const fields of cases) {
      const { verdicts } = await previewOf(partner, fields)
      const failed = verdicts.find(({ verdict }) => verdict === 'failed')
      const created = service.payouts.create(caller, { idempotencyKey: newId(), ...bodyOf(partner, fields) }, ip)
      await assert.rejects(created, (error) => {
        assert.ok(error instanceof Refusal)
        assert.equal(failed?.code, error.code, JSON.stringify(fields))
        return true
      })
    }
  })

  test('an amount or a currency that no payout may have is refused as it is at create', async () => {
    const partner = await addPartner(service)
    await assert.rejects(previewOf(partner, { amount: '0.001' }), { code: 'validation_failed' })
    await assert.rejects(previewOf(partner, { currency: 'JPY' }), { code: 'currency_not_supported' })
  })

  test('an unused key passes, and for a used key the preview shows the payout that the same request would replay', async () => {
    const partner = await addPartner(service, 10_00n)
    const idempotencyKey = newId()
    assert.equal((await verdictsOf(partner, { idempotencyKey }))['idempotencyKey'], 'passed')
    const { payout } = await pay(service, partner, '10.00', { idempotencyKey })
    const { verdicts } = await previewOf(partner, { idempotencyKey })
    const [ofKey] = verdicts
    assert.deepEqual([ofKey?.rule, ofKey?.verdict], ['idempotencyKey', 'passed'])
    assert.match(ofKey?.detail ?? '', new RegExp(payout.reference))
  })

  test("the preview shows this partner's last result for the payee's name and account, and the payout is still accepted", async () => {
    const [partner, stranger] = [await addPartner(service, 1_000_00n), await addPartner(service, 1_000_00n)]
    const { partnerId, beneficiary } = partner
    const checked = async (payee: 'match' | 'close_match' | 'no_match' | 'unchecked') => {
      const { payout } = await pay(service, partner, '1.00')
      await submitDuePayouts(service.settlement)
      const reported = { partnerId, instructionId: instructionIdOf(payout) }
      assert.equal(await service.payoutLife.payeeChecked(reported, payee), true)
    }
    const told = async (each: TestPartner) => (await verdictsOf(each))['payeeCheck']
    assert.equal(await told(partner), 'notApplicable')
    for (const [payee, verdict] of [
      ['no_match', 'InvalidAccountDetails'],
      ['close_match', 'InvalidAccountDetails'],
      ['unchecked', 'InvalidAccountDetails'],
      ['match', 'passed'],
      ['no_match', 'InvalidAccountDetails'],
    ] as const) {
      await checked(payee)
      assert.equal(await told(partner), verdict, payee)
    }
    assert.equal(await told(stranger), 'notApplicable')
    await service.beneficiaries.update(partnerId, { id: beneficiary.id, name: 'Grace B. Hopper' })
    assert.equal(await told(partner), 'notApplicable', 'another name was not checked')
  })

  test("the funds rule states whose money pays: everyone's in a pooled balance, the customer's in a segregated balance", async () => {
    const partner = await addPartner(service, 10_00n)
    const detail = async () => (await previewOf(partner)).verdicts.find(({ rule }) => rule === 'funds')?.detail ?? ''
    assert.match(await detail(), /money of all customers and yours/)
    await service.db.transaction((tx) => service.ledger.segregate(tx, partner.partnerId, 'EUR'))
    const { customerId } = partner.beneficiary
    const whose =
      customerId === null ? /Only your own money pays/ : new RegExp(`Only the money of the customer ${customerId} pays`)
    assert.match(await detail(), whose)
  })
})

suite('rails', async () => {
  const service = await createTestService()
  /** Another process, whose operator lets no bank pay by SWIFT. */
  const withoutSwift = await createTestService({ url: service.url, settings: { RAIL_RULES: 'Swift=none' } })
  after(async () => {
    await withoutSwift.close()
    await service.close()
  })

  /** The registry's example of countries outside SEPA, with the BIC of a bank there. */
  const outside = {
    SA0380000000608010167519: 'RJHISARI',
    TR330006100519786457841326: 'AKBKTRIS',
    RU0304452522540817810538091310419: 'SABRRUMM',
    BY13NBRB3600900000002Z00AB00: 'NBRBBY2X',
    SD2129010501234001: 'BLUNSDKH',
    UA213223130000026007233566001: 'PBANUA2X',
    // New Caledonia, with the IBAN of France.
    FR1420041010050500013M02606: 'BNPANCNX',
  } as const

  const payee = async ({ partnerId }: TestPartner, iban: string, bic?: string, country?: string) => {
    const where = { ...(bic === undefined ? {} : { bic }), ...(country === undefined ? {} : { country }) }
    return (await service.beneficiaries.create(partnerId, { name: 'Grace Hopper', currency: 'EUR', iban, ...where })).id
  }

  const preview = async (partner: TestPartner, beneficiaryId: string) => {
    const body = { amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId }
    const call = { caller: partner.caller, params: {}, query: undefined, requestId: newId(), ip, body }
    return (await payoutsRoutes(service.payouts).previewFiatPayout(call)).body
  }

  test('euro to an account outside SEPA without a BIC is refused, and the preview says why', async () => {
    const partner = await addPartner(service, 100_00n)
    for (const [iban, bic] of Object.entries(outside)) {
      const country = bic.slice(4, 6)
      const beneficiaryId = await payee(partner, iban, undefined, country)
      const { code, errors } = await refusalOf(pay(service, partner, '10.00', { beneficiaryId }))
      assert.deepEqual([code, errors.map(({ pointer }) => pointer)], ['beneficiary_not_payable', ['/beneficiaryId']])
      assert.match(errors[0]?.message ?? '', /outside SEPA.*BIC/)
      const { accepted, rules, rail, method } = await preview(partner, beneficiaryId)
      assert.deepEqual([accepted, rail, method], [false, undefined, undefined])
      assert.deepEqual(
        rules.flatMap(({ rule, verdict, code: why }) => (verdict === 'failed' ? [[rule, why]] : [])),
        [['beneficiaryBank', 'beneficiary_not_payable']],
      )
    }
    assert.deepEqual(await balanceOf(service, partner.partnerId), { posted: 100_00n, reserved: 0n, available: 100_00n })
  })

  test('with a BIC the payout is sent by SWIFT at the SWIFT fee, and preview, payout and transaction show that rail', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const { partnerId } = partner
    const rule = { partnerId, currency: 'EUR', basisPoints: 0, minAmount: 0n, maxAmount: null } as const
    await service.db.transaction(async (tx) => {
      await service.payoutControls.fees.set(tx, { ...rule, rail: 'Sepa', fixedAmount: 1n })
      await service.payoutControls.fees.set(tx, { ...rule, rail: 'Swift', fixedAmount: 15_00n })
    })
    for (const [iban, bic] of Object.entries(outside)) {
      const beneficiaryId = await payee(partner, iban, bic)
      const { accepted, rail, method, rules } = await preview(partner, beneficiaryId)
      assert.deepEqual([accepted, rail, method], [true, 'Swift', 'Swift'])
      assert.equal(rules.find(({ rule: name }) => name === 'beneficiaryBank')?.verdict, 'passed')
      const { payout } = await pay(service, partner, '10.00', { beneficiaryId })
      assert.deepEqual([payout.rail, payout.feeAmount], ['Swift', 15_00n])
      assert.equal((await service.transactions.get(partnerId, payout.reference)).row.rail, 'Swift')
    }
    await submitDuePayouts(service.settlement)
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
    const { data } = await service.payouts.list(partnerId, { status: 'Completed' })
    assert.equal(data.length, Object.keys(outside).length)
  })

  test('accounts in SEPA territories are paid by SEPA, without a BIC', async () => {
    const partner = await addPartner(service, 100_00n)
    for (const [iban, country] of [
      ['FR1420041010050500013M02606', 'RE'],
      ['GB29NWBK60161331926819', 'JE'],
      ['GI75NWBK000000007099453', 'GI'],
      ['SM86U0322509800000000270100', 'SM'],
      ['RS35260005601001611379', 'RS'],
    ] as const) {
      const { payout } = await pay(service, partner, '1.00', {
        beneficiaryId: await payee(partner, iban, undefined, country),
      })
      assert.deepEqual([payout.rail, payout.creditorCountry], ['Sepa', country])
    }
  })

  test('the rail determines the connector: without a SWIFT bank SEPA payouts continue', async () => {
    const partner = await addPartner(service, 100_00n)
    const beneficiaryId = await payee(partner, 'SA0380000000608010167519', 'RJHISARI')
    const { code, detail } = await refusalOf(pay(withoutSwift, partner, '10.00', { beneficiaryId }))
    assert.deepEqual([code, detail], ['currency_not_supported', 'No bank is connected that pays EUR outside SEPA.'])
    assert.equal((await pay(withoutSwift, partner, '10.00')).payout.rail, 'Sepa')
  })

  test('a beneficiary whose number was accepted as an IBAN earlier is no longer paid, by any kind of payout', async () => {
    const partner = await addPartner(service, 100_00n)
    const { partnerId, caller, beneficiary } = partner
    const stored = { iban: 'IR580540105180021273113007', country: 'IR' }
    await service.db.run(sql`
    update beneficiaries.beneficiaries set iban = ${stored.iban}, country = ${stored.country}
    where partner_id = ${partnerId} and id = ${beneficiary.id}`)
    const { code, errors } = await refusalOf(pay(service, partner, '10.00'))
    assert.deepEqual([code, errors[0]?.pointer], ['beneficiary_not_payable', '/beneficiaryId'])
    assert.match(errors[0]?.message ?? '', /not a valid IBAN/)
    const item = { amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: beneficiary.id, idempotencyKey: newId() }
    const { bulk } = await service.bulkPayouts.create(
      caller,
      { mode: 'BestEffort', idempotencyKey: newId(), payouts: [item] },
      ip,
    )
    while ((await service.bulkPayouts.step()) > 0);
    const [result] = await service.bulkPayouts.items(partnerId, bulk.id, undefined)
    assert.equal(result?.problemCode, 'beneficiary_not_payable')
    assert.equal((await service.beneficiaries.get(partnerId, beneficiary.id)).iban, stored.iban, 'it is still shown')
    assert.equal((await balanceOf(service, partnerId)).reserved, 0n)
  })
})

suite('payouts with a quote', async () => {
  const service = await useModules()
  await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })

  type Trader = Awaited<ReturnType<typeof addTrader>>

  async function beneficiaryOf({ partnerId, customer }: Trader, name = 'Grace Hopper', currency = 'USD') {
    const input = { name, iban: 'DE89370400440532013000', currency, customerId: customer.id }
    return (await service.beneficiaries.create(partnerId, input)).id
  }

  async function payByQuote(trader: Trader, fields: { name?: string; buyAmount?: string; key?: string } = {}) {
    const { name, buyAmount, key: idempotencyKey = newId() } = fields
    const { row } = await quote(service, trader, buyAmount === undefined ? {} : { buyAmount })
    const body = { quoteId: row.id, beneficiaryId: await beneficiaryOf(trader, name), idempotencyKey }
    const { payout } = await service.payouts.createFx(trader.caller, body, ip)
    return { quote: row, payout, body }
  }

  async function settled(steps = 3): Promise<void> {
    await submitDuePayouts(service.settlement)
    for (let step = 0; step < steps; step += 1) {
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
    }
  }

  const viewOf = async ({ partnerId }: Trader, reference: string) =>
    (await service.transactions.get(partnerId, reference)).row

  test('a payout reserves the sold amount of its quote, and its settlement moves both currencies in one entry', async () => {
    const trader = await addTrader(service)
    const before = await balanceOf(service, trader.partnerId)
    const { quote: accepted, payout } = await payByQuote(trader)
    assert.deepEqual([payout.amount, payout.currency, payout.rail], [accepted.buyAmount, 'USD', 'Swift'])
    const reserved = await balanceOf(service, trader.partnerId)
    assert.deepEqual([reserved.posted, reserved.reserved], [before.posted, accepted.sellAmount])
    const opened = await viewOf(trader, payout.reference)
    assert.deepEqual(
      [opened.type, opened.amount, opened.currency, opened.userAmount, opened.userCurrency],
      ['CustomerWithdraw', accepted.sellAmount, 'EUR', accepted.buyAmount, 'USD'],
    )
    assert.deepEqual(opened.fxQuoteExpiresAt, accepted.expiresAt)
    assert.equal((await service.fx.get(trader.partnerId, accepted.id)).status, 'Accepted')
    await settled()
    assert.equal((await viewOf(trader, payout.reference)).status, 'Completed')
    const after = await balanceOf(service, trader.partnerId)
    assert.deepEqual([before.posted - after.posted, after.reserved], [accepted.sellAmount, 0n])
    const accounts = await accountsOf(service, trader)
    assert.equal(accounts['fx USD'], -accepted.buyAmount)
    assert.equal(accounts['fx EUR'], accepted.sellAmount - accepted.feeAmount)
    await checkLedger(service.db, trader.partnerId)
  })

  test('a payout that the bank rejects exchanges nothing', async () => {
    const trader = await addTrader(service)
    const before = await accountsOf(service, trader)
    const { payout } = await payByQuote(trader, { name: 'Sandbox Rejected' })
    await settled()
    assert.equal((await viewOf(trader, payout.reference)).status, 'Unsuccessful')
    const moved = Object.entries(await accountsOf(service, trader)).filter(
      ([name, posted]) => posted !== (before[name] ?? 0n),
    )
    assert.deepEqual(moved, [])
    assert.equal((await balanceOf(service, trader.partnerId)).reserved, 0n)
  })

  test('money that is returned after settlement is credited in the bought currency', async () => {
    const trader = await addTrader(service)
    const before = await balanceOf(service, trader.partnerId, 'USD')
    const { quote: accepted, payout } = await payByQuote(trader, { name: 'Sandbox Returned' })
    await settled(4)
    assert.equal((await service.payouts.get(trader.partnerId, payout.id)).status, 'Returned')
    const after = await balanceOf(service, trader.partnerId, 'USD')
    assert.equal(after.posted - before.posted, accepted.buyAmount)
    const { data } = await service.transactions.list(trader.partnerId, {
      category: 'Deposit',
      customerId: trader.customer.id,
    })
    assert.equal(data[0]?.row.type, 'CustomerRefund')
    await checkLedger(service.db, trader.partnerId)
  })

  test('a key replays its payout, and is refused for another request', async () => {
    const trader = await addTrader(service)
    const { payout, body } = await payByQuote(trader)
    const again = await service.payouts.createFx(trader.caller, body, ip)
    assert.deepEqual([again.replayed, again.payout.id], [true, payout.id])
    await assert.rejects(
      service.payouts.createFx(trader.caller, { ...body, reference: 'other' }, ip),
      refused('idempotency_key_reused'),
    )
  })

  test('concurrent requests with one key create one payout, and other requests for the same quote are refused', async () => {
    const trader = await addTrader(service)
    const { row } = await quote(service, trader)
    const beneficiaryId = await beneficiaryOf(trader)
    const body = { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
    const answers = await Promise.allSettled([
      ...Array.from({ length: 6 }, () => service.payouts.createFx(trader.caller, body, ip)),
      service.payouts.createFx(trader.caller, { ...body, idempotencyKey: newId() }, ip),
      convert(service, trader, row.id),
    ])
    const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const lost = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
    assert.ok(lost.length > 0 && lost.every(refused('fx_quote_accepted')), String(lost))
    const references = new Set(won.map((each) => ('payout' in each ? each.payout.reference : each.row.reference)))
    assert.equal(references.size, 1)
    assert.equal(won.filter(({ replayed }) => !replayed).length, 1)
  })

  test('a refused payout leaves its quote and its key unused', async () => {
    const trader = await addTrader(service)
    const { row } = await quote(service, trader)
    const body = { quoteId: row.id, beneficiaryId: await beneficiaryOf(trader, 'Ada', 'EUR'), idempotencyKey: newId() }
    await assert.rejects(service.payouts.createFx(trader.caller, body, ip), refused('beneficiary_currency_mismatch'))
    const poor = await addTrader(service, ['USD'])
    const { row: dear } = await quote(service, poor)
    const request = { quoteId: dear.id, beneficiaryId: await beneficiaryOf(poor), idempotencyKey: newId() }
    await assert.rejects(service.payouts.createFx(poor.caller, request, ip), refused('insufficient_funds'))
    for (const [each, id] of [
      [trader, row.id],
      [poor, dear.id],
    ] as const)
      assert.equal((await service.fx.get(each.partnerId, id)).status, 'Open')
    const mended = { ...body, beneficiaryId: await beneficiaryOf(trader) }
    assert.equal((await service.payouts.createFx(trader.caller, mended, ip)).replayed, false)
  })

  test("an expired quote and another partner's quote are refused", async () => {
    const [trader, other] = [await addTrader(service), await addTrader(service)]
    const { row } = await quote(service, trader)
    const request = async (by: Trader) => ({
      quoteId: row.id,
      beneficiaryId: await beneficiaryOf(by),
      idempotencyKey: newId(),
    })
    await assert.rejects(service.payouts.createFx(other.caller, await request(other), ip), refused('not_found'))
    service.clock.advance(row.expiresAt.getTime() - service.clock.now().getTime())
    await assert.rejects(
      service.payouts.createFx(trader.caller, await request(trader), ip),
      refused('fx_quote_expired'),
    )
  })
})
