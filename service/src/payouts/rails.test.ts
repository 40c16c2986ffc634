/** The rail of a payout follows from its account: by SEPA within its area, otherwise by SWIFT with a BIC, or not at all. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { payoutsRoutes } from './routes.ts'

let service: Service
/** Another process, whose operator lets no bank pay by SWIFT. */
let withoutSwift: Service
before(async () => {
  service = await createTestService()
  withoutSwift = await createTestService({ url: service.url, settings: { RAIL_RULES: 'Swift=none' } })
})
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

const refusalOf = async (asked: Promise<unknown>): Promise<Refusal> => {
  const error: unknown = await asked.then(
    () => assert.fail('it is accepted'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
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

test('with a BIC it goes by SWIFT, at the fee of SWIFT, and everything that names the rail says so', async () => {
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

test('territories of SEPA are paid by SEPA, without a BIC', async () => {
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

test('the connector is chosen by the rail: where no bank pays by SWIFT, SEPA goes on', async () => {
  const partner = await addPartner(service, 100_00n)
  const beneficiaryId = await payee(partner, 'SA0380000000608010167519', 'RJHISARI')
  const { code, detail } = await refusalOf(pay(withoutSwift, partner, '10.00', { beneficiaryId }))
  assert.deepEqual([code, detail], ['currency_not_supported', 'No bank is connected that pays EUR outside SEPA.'])
  assert.equal((await pay(withoutSwift, partner, '10.00')).payout.rail, 'Sepa')
})

test('a beneficiary whose number counted as an IBAN before is no longer paid, by any kind of payout', async () => {
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
