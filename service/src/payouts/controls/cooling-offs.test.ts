/** Cooling-off: a beneficiary that is new or renamed is not paid before its time, in any kind of payout and under races. */
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
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
let other: Service
before(async () => {
  service = await createTestService()
  // As another process.
  other = await createTestService({ url: service.url, now: service.clock.now() })
})
after(async () => {
  await other.close()
  await service.close()
})

const setHours = ({ partnerId }: TestPartner, hours: number, currency: 'EUR' | 'USD' = 'EUR') =>
  service.db.transaction((tx) => service.payoutControls.coolingOffs.set(tx, { partnerId, currency, hours }))
const advance = (ms: number) => {
  service.clock.advance(ms)
  other.clock.advance(ms)
}
const timeAfter = (ms: number) => new Date(service.clock.now().getTime() + ms).toISOString()
const rename = ({ partnerId, beneficiary }: TestPartner, name: string) =>
  service.beneficiaries.update(partnerId, { id: beneficiary.id, name })

const outcomeOf = (paying: Promise<unknown>) =>
  paying.then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )
async function refusalOf(paying: Promise<unknown>): Promise<Refusal> {
  const error = await paying.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
}

test('a new beneficiary is refused with the time from which it can be paid, and is paid then', async () => {
  const partner = await addPartner(service, 100_00n)
  await setHours(partner, 24)
  const from = timeAfter(24 * hourMs)
  const idempotencyKey = newId()
  const refusal = await refusalOf(pay(service, partner, '1.00', { idempotencyKey }))
  assert.equal(refusal.code, 'beneficiary_cooling_off')
  assert.match(refusal.detail, new RegExp(`It can be paid from ${from}\\.$`))
  assert.deepEqual(refusal.errors, [
    { pointer: '/beneficiaryId', code: 'invalid_value', message: `can be paid from ${from}` },
  ])
  assert.equal((await balanceOf(service, partner.partnerId)).reserved, 0n)
  advance(24 * hourMs - 1)
  assert.equal(await outcomeOf(pay(other, partner, '1.00', { idempotencyKey })), 'beneficiary_cooling_off')
  advance(1)
  assert.equal(await outcomeOf(pay(service, partner, '1.00', { idempotencyKey })), 'accepted')
})

test('a new name starts it again; a new alias or the same name does not', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, beneficiary } = partner
  await setHours(partner, 2)
  advance(2 * hourMs)
  await service.beneficiaries.update(partnerId, { id: beneficiary.id, alias: 'grace' })
  await rename(partner, beneficiary.name)
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'accepted')
  await rename(partner, 'Mallory')
  assert.match((await refusalOf(pay(service, partner, '1.00'))).detail, new RegExp(timeAfter(2 * hourMs)))
  advance(hourMs)
  await rename(partner, beneficiary.name)
  advance(hourMs)
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'beneficiary_cooling_off')
  advance(hourMs)
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'accepted')
})

test('hours hold for one partner and one currency, change at once, and end with the rule', async () => {
  const [partner, stranger] = [await addPartner(service, 100_00n), await addPartner(service, 100_00n)]
  const { partnerId } = partner
  const balances = () =>
    service.db.rows(sql`select currency, controlled from ledger.accounts
      where partner_id = ${partnerId} and name = 'balance' order by currency`)
  const dollars = await setHours(partner, 5, 'USD')
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'accepted')
  const rule = await setHours(partner, 5)
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'beneficiary_cooling_off')
  assert.equal(await outcomeOf(pay(service, stranger, '1.00')), 'accepted')
  assert.equal((await setHours(partner, 1)).id, rule.id)
  advance(hourMs)
  assert.equal(await outcomeOf(pay(service, partner, '1.00')), 'accepted')
  const { coolingOffs } = service.payoutControls
  assert.deepEqual(await coolingOffs.list(service.db, partnerId), [{ ...rule, hours: 1 }, dollars])
  const remove = (id: string) => service.db.transaction((tx) => coolingOffs.remove(tx, partnerId, id))
  await remove(rule.id)
  assert.equal((await refusalOf(remove(rule.id))).code, 'not_found')
  assert.equal(
    (await refusalOf(service.db.transaction((tx) => coolingOffs.remove(tx, stranger.partnerId, dollars.id)))).code,
    'not_found',
  )
  assert.deepEqual(await balances(), [
    { currency: 'EUR', controlled: false },
    { currency: 'USD', controlled: true },
  ])
})

test('the preview has a verdict, and limits and funds are judged besides', async () => {
  const partner = await addPartner(service, 1_00n)
  await setHours(partner, 3)
  const verdicts = async () => {
    const body = { amount: rawNumber('1.00'), currency: 'EUR', beneficiaryId: partner.beneficiary.id }
    const preview = await service.payouts.preview(partner.caller, body, ip)
    return Object.fromEntries(preview.verdicts.map((verdict) => [verdict.rule, verdict]))
  }
  const young = await verdicts()
  assert.deepEqual(young.coolingOff, {
    rule: 'coolingOff',
    verdict: 'failed',
    code: 'beneficiary_cooling_off',
    detail: `can be paid from ${timeAfter(3 * hourMs)}`,
    hold: { kind: 'coolingOff', by: new Date(timeAfter(3 * hourMs)) },
  })
  assert.equal(young.funds?.verdict, 'passed')
  advance(3 * hourMs)
  assert.deepEqual((await verdicts()).coolingOff, { rule: 'coolingOff', verdict: 'passed' })
})

test('a refused payout takes nothing from a limit or from the others of its batch', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId } = partner
  await setHours(partner, 1)
  advance(hourMs)
  const young = await service.beneficiaries.create(partnerId, {
    name: 'Hedy Lamarr',
    iban: 'NL91ABNA0417164300',
    currency: 'EUR',
  })
  await service.db.transaction((tx) =>
    service.payoutControls.limits.set(tx, {
      partnerId,
      scope: 'partner',
      period: 'day',
      amount: 10_00n,
      currency: 'EUR',
    }),
  )
  const outcomes = await Promise.all([
    outcomeOf(pay(service, partner, '10.00', { beneficiaryId: young.id })),
    outcomeOf(pay(service, partner, '10.00')),
  ])
  assert.deepEqual(outcomes, ['beneficiary_cooling_off', 'accepted'])
})

test('a bulk that is all or nothing names the beneficiary that is too new, and makes nothing', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, caller } = partner
  await setHours(partner, 1)
  advance(hourMs)
  await rename(partner, 'Mallory')
  const item = (beneficiaryId: string) => ({
    amount: rawNumber('1.00'),
    currency: 'EUR',
    beneficiaryId,
    idempotencyKey: newId(),
  })
  const payouts = [item(partner.ownBeneficiary.id), item(partner.beneficiary.id)]
  const body = { mode: 'AllOrNothing' as const, idempotencyKey: newId(), payouts }
  const { bulk } = await service.bulkPayouts.create(caller, body, ip)
  while ((await service.bulkPayouts.step()) > 0);
  const items = await service.bulkPayouts.items(partnerId, bulk.id, undefined)
  assert.deepEqual(
    items.map(({ status, problemCode }) => [status, problemCode]),
    [
      ['NotMade', null],
      ['Refused', 'beneficiary_cooling_off'],
    ],
  )
  assert.equal((await balanceOf(service, partnerId)).reserved, 0n)
})

test('a simulated withdrawal has no beneficiary, and does not wait', async () => {
  const partner = await addPartner(service, 100_00n)
  await setHours(partner, 24)
  const request = { customerRef: partner.customer.id, amount: 100n, currency: 'EUR', outcome: 'sent' } as const
  assert.equal(
    await outcomeOf(service.payouts.simulate(partner.caller, { ...request, idempotencyKey: null }, ip)),
    'accepted',
  )
})

test('a new name against payouts of two processes: each is accepted with the old name, or refused', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, beneficiary } = partner
  await setHours(partner, 1)
  advance(hourMs)
  const paying = Array.from({ length: 20 }, (_, index) =>
    outcomeOf(pay(index % 2 === 0 ? service : other, partner, '1.00')),
  )
  const [outcomes] = await Promise.all([Promise.all(paying), rename(partner, 'Mallory')])
  const later = await outcomeOf(pay(other, partner, '1.00'))
  assert.equal(later, 'beneficiary_cooling_off')
  const names = await service.db.rows<{ name: string }>(sql`
    select creditor_name as name from payouts.payouts where partner_id = ${partnerId}`)
  assert.deepEqual(new Set(names.map(({ name }) => name)), new Set(names.length === 0 ? [] : [beneficiary.name]))
  assert.equal(names.length, outcomes.filter((outcome) => outcome === 'accepted').length)
  assert.ok(outcomes.every((outcome) => ['accepted', 'beneficiary_cooling_off'].includes(outcome)))
})
