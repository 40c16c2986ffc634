/** `insufficient_funds` says what is available to a caller who may read balances, and to no other. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { createTestService, ip, pay, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { Refusal } from '../kernel/api/index.ts'
import { newId } from '../kernel/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

type Detail = string | null | undefined
const detailOf = async (asked: Promise<unknown>): Promise<string> => {
  const refusal = await asked.then(
    () => assert.fail('the payout is refused'),
    (error: unknown) => error,
  )
  assert.ok(refusal instanceof Refusal && refusal.code === 'insufficient_funds', String(refusal))
  return refusal.detail
}
const bodyOf = ({ ownBeneficiary }: TestPartner) => ({
  amount: rawNumber('1000.01'),
  currency: 'EUR',
  beneficiaryId: ownBeneficiary.id,
  idempotencyKey: newId(),
})
async function fxBodyOf(partner: TestPartner) {
  const payee = { iban: 'DE89370400440532013000', currency: 'USD', name: 'Ada Lovelace' } as const
  const { id: beneficiaryId } = await service.beneficiaries.create(partner.partnerId, payee)
  const { row } = await quote(service, partner, { sellAmount: '1000.01' })
  return { quoteId: row.id, beneficiaryId, idempotencyKey: newId() }
}

const pooled = ' The whole balance pays, the money of all customers and yours: it is pooled.'
/** The detail of the rule `funds`, without the sentence that says whose money pays. */
const fundsOf = (verdicts: readonly { readonly rule: string; readonly detail?: string }[]): Detail => {
  const detail = verdicts.find(({ rule }) => rule === 'funds')?.detail ?? ''
  assert.ok(detail.endsWith(pooled), detail)
  return detail.slice(0, -pooled.length)
}

/** Each asks for 1,000.01 of 1,000.00. */
const asked: Readonly<Record<string, (partner: TestPartner) => Promise<Detail>>> = {
  'a fiat payout': (partner) => detailOf(service.payouts.create(partner.caller, bodyOf(partner), ip)),
  'an fx payout': async (partner) => detailOf(service.payouts.createFx(partner.caller, await fxBodyOf(partner), ip)),
  'a conversion': async (partner) => detailOf(convert(service, partner, (await fxBodyOf(partner)).quoteId)),
  'a simulated withdrawal': ({ caller, customer }) => {
    const request = { amount: 1_000_01n, currency: 'EUR', outcome: 'completed', idempotencyKey: null } as const
    return detailOf(service.payouts.simulate(caller, { customerRef: customer.id, ...request }, ip))
  },
  'a preview': async (partner) => {
    const { verdicts } = await service.payouts.preview(partner.caller, bodyOf(partner), ip)
    return fundsOf(verdicts)
  },
  'a preview of an fx payout': async (partner) => {
    const { verdicts } = await service.payouts.previewFx(partner.caller, await fxBodyOf(partner), ip)
    return fundsOf(verdicts)
  },
}

const short = 'The available EUR balance is smaller than the amount.'
for (const [name, ask] of Object.entries(asked))
  test(`${name}: who may read balances is told what is available, and no other caller is`, async () => {
    const partner = await addTrader(service)
    assert.equal(await ask(partner), `${short} 1000.00 EUR is available.`)
    const permissions = partner.caller.permissions.filter((permission) => permission !== 'accounts:read')
    assert.equal(await ask({ ...partner, caller: { ...partner.caller, permissions } }), short)
  })

/** Every reader of payouts reads the stored result, whatever else it may read. */
test('the stored result of a bulk does not say what is available', async () => {
  const partner = await addTrader(service)
  const body = { mode: 'BestEffort' as const, idempotencyKey: newId(), payouts: [bodyOf(partner)] }
  const { bulk } = await service.bulkPayouts.create(partner.caller, body, ip)
  while ((await service.bulkPayouts.step()) > 0);
  const [item] = await service.bulkPayouts.items(partner.partnerId, bulk.id, undefined)
  assert.deepEqual([item?.problemCode, item?.problemDetail], ['insufficient_funds', short])
})

test('of payouts at once each refusal says what the accepted ones have left', async () => {
  const partner = await addTrader(service)
  const answers = await Promise.allSettled([1, 2, 3].map(() => pay(service, partner, '600.00')))
  const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
  const details = refusals.map((refusal) => (refusal instanceof Refusal ? refusal.detail : refusal))
  assert.deepEqual(
    details,
    Array.from({ length: 2 }, () => `${short} 400.00 EUR is available.`),
  )
})
