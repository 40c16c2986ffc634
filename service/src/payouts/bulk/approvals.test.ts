/** Bulks that are approved as a whole: which wait, who may decide, one signature for all, races of two processes, and the maximum of a person. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type BulkApprovalSnapshot, faultsOfApproval, rawNumber, type SignedApproval } from '@partner-payments/wire'
import { signedByPasskey } from '../../../../test/support/passkey.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import {
  addPartner,
  balanceOf,
  createTestService,
  ip,
  type Service,
  type TestPartner,
} from '../../../../test/support/composition.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { ApprovalRule } from '../controls/approval-rules.ts'

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

const noCriterion = { aboveAmount: null, aboveDayAmount: null, aboveBulkAmount: null, perPersonAmount: null }
type Rule = Partial<Omit<ApprovalRule, 'partnerId' | 'id'>>
async function addHolding(rule: Rule) {
  const partner = await addPartner(service, 1_000_000_00n)
  const { partnerId } = partner
  const whole = {
    partnerId,
    currency: 'EUR',
    ...noCriterion,
    beneficiaryHours: null,
    payeeMismatch: false,
    expiresHours: 24,
  } as const
  await service.db.transaction((tx) =>
    service.payoutControls.approvalRules.set(tx, { ...whole, needsPasskey: false, ...rule }),
  )
  const personOf = (name: string): Caller => ({ ...partner.caller, serviceAccountId: newId(), name })
  return { ...partner, second: personOf('Second person'), third: personOf('Third person') }
}

async function bulkOf({ caller, beneficiary }: TestPartner, amounts: readonly string[], process = service) {
  const payouts = amounts.map((amount) => ({
    ...{ amount: rawNumber(amount), currency: 'EUR', beneficiaryId: beneficiary.id, idempotencyKey: newId() },
  }))
  const body = { mode: 'BestEffort', idempotencyKey: newId(), payouts } as const
  const { bulk } = await process.bulkPayouts.create(caller, body, ip)
  return bulk.id
}
const work = async () => {
  while ((await service.bulkPayouts.step()) > 0);
}
async function made(partner: TestPartner, amounts: readonly string[]) {
  const id = await bulkOf(partner, amounts)
  await work()
  return id
}
const statusesOf = async (partnerId: string) => {
  const rows = await service.db.rows<{ status: string; count: bigint }>(sql`
    select status, count(*) as count from payouts.payouts where partner_id = ${partnerId} group by status`)
  return Object.fromEntries(rows.map(({ status, count }) => [status, Number(count)]))
}
const codeOf = (deciding: Promise<unknown>) =>
  deciding.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )
const many = (count: number, amount = '10.00') => Array.from({ length: count }, () => amount)

test('the payouts of a bulk whose sum is above the amount of the rule wait, and those of a smaller one do not', async () => {
  const partner = await addHolding({ aboveBulkAmount: 100_00n })
  const { partnerId, second } = partner
  const small = await made(partner, many(10))
  assert.equal(await service.bulkPayouts.waiting(partnerId, small), undefined)
  const large = await made(partner, [...many(10), '0.01'])
  const waiting = await service.bulkPayouts.waiting(partnerId, large)
  assert.deepEqual([waiting?.payouts.length, waiting?.totals], [11, [{ currency: 'EUR', amount: 100_01n }]])
  assert.deepEqual(await statusesOf(partnerId), { Pending: 10, PendingApproval: 11 })
  assert.deepEqual(await service.payouts.bulksThatWait(partnerId), [large])
  assert.deepEqual(await service.bulkPayouts.approve(second, large, 11), { decided: 11, refused: [] })
  assert.deepEqual(await statusesOf(partnerId), { Pending: 21 })
  assert.deepEqual(await service.payouts.bulksThatWait(partnerId), [])
  assert.equal(await codeOf(service.bulkPayouts.approve(second, large, 11)), 'payout_not_awaiting_approval')
  await checkLedger(service.db, partnerId)
})

test('a second person decides, about as many as wait, once all are made; another partner finds nothing', async () => {
  const partner = await addHolding({ aboveAmount: 0n })
  const { partnerId, caller, second } = partner
  const id = await bulkOf(partner, many(3))
  assert.equal(await codeOf(service.bulkPayouts.approve(second, id, 3)), 'payout_not_awaiting_approval')
  await work()
  assert.equal(await codeOf(service.bulkPayouts.approve(caller, id, 3)), 'approver_is_creator')
  assert.equal(await codeOf(service.bulkPayouts.reject(caller, id, 3, 'Mine.')), 'approver_is_creator')
  for (const count of [2, 4])
    assert.equal(await codeOf(service.bulkPayouts.approve(second, id, count)), 'payout_not_awaiting_approval')
  const stranger = await addHolding({ aboveAmount: 0n })
  assert.equal(await codeOf(service.bulkPayouts.approve(stranger.second, id, 3)), 'not_found')
  assert.equal(await service.payouts.waitingOfBulk(stranger.partnerId, id), undefined)
  assert.deepEqual(await statusesOf(partnerId), { PendingApproval: 3 })
  const [item] = await service.bulkPayouts.items(partnerId, id, undefined)
  await service.payouts.cancel(partnerId, item?.payoutId ?? '')
  assert.deepEqual(await service.bulkPayouts.reject(second, id, 2, 'Sent twice.'), { decided: 2, refused: [] })
  assert.deepEqual(await statusesOf(partnerId), { Cancelled: 3 })
  assert.equal((await balanceOf(service, partnerId)).reserved, 0n)
})

test('of two persons who decide at once, each payout has one decision', async () => {
  const partner = await addHolding({ aboveAmount: 0n })
  const { partnerId, second, third } = partner
  const id = await made(partner, many(40))
  const outcomes = await Promise.all([
    service.bulkPayouts.approve(second, id, 40),
    // Refused as a whole if it comes behind the other.
    other.bulkPayouts.reject(third, id, 40, 'No.').catch(() => ({ decided: 0, refused: [] })),
  ])
  const [approved, rejected] = outcomes.map(({ decided }) => decided)
  assert.equal((approved ?? 0) + (rejected ?? 0), 40)
  const { Pending = 0, Cancelled = 0 } = await statusesOf(partnerId)
  assert.deepEqual([Pending, Cancelled], [approved, rejected])
  await checkLedger(service.db, partnerId)
})

test('a payout that is approved alone at the same time is approved once', async () => {
  const partner = await addHolding({ aboveAmount: 0n })
  const { partnerId, second, third } = partner
  const id = await made(partner, many(20))
  const waiting = await service.bulkPayouts.waiting(partnerId, id)
  const single = (waiting?.payouts ?? []).slice(0, 5).map((payout) => codeOf(other.payouts.approve(third, payout.id)))
  const [whole, ...alone] = await Promise.all([codeOf(service.bulkPayouts.approve(second, id, 20)), ...single])
  // The whole is refused if the single ones were first.
  if (whole !== 'done') assert.deepEqual([whole, ...new Set(alone)], ['payout_not_awaiting_approval', 'done'])
  const { Pending = 0, PendingApproval = 0 } = await statusesOf(partnerId)
  assert.deepEqual([Pending, PendingApproval], whole === 'done' ? [20, 0] : [5, 15])
})

test('the daily maximum of a person is for the sum: nothing is approved beyond it', async () => {
  const partner = await addHolding({ aboveAmount: 0n, perPersonAmount: 100_00n })
  const { partnerId, second, third } = partner
  const id = await made(partner, many(11))
  const { beyond } = await service.payouts.snapshotOfBulk(second, id, asked())
  assert.deepEqual([beyond?.most, beyond?.left], [100_00n, 100_00n])
  assert.equal(await codeOf(service.bulkPayouts.approve(second, id, 11)), 'approver_limit_exceeded')
  assert.deepEqual(await statusesOf(partnerId), { PendingApproval: 11 })
  const within = await made(partner, many(6))
  assert.equal((await service.bulkPayouts.approve(third, within, 6)).decided, 6)
  const next = await made(partner, many(5))
  assert.equal(await codeOf(service.bulkPayouts.approve(third, next, 5)), 'approver_limit_exceeded')
})

test('two bulks at once for one person never pass the maximum, and what is refused still waits', async () => {
  const partner = await addHolding({ aboveAmount: 0n, perPersonAmount: 100_00n })
  const { partnerId, second } = partner
  const [one, two] = [await made(partner, many(8)), await made(partner, many(8))]
  const outcomes = await Promise.all([
    service.bulkPayouts.approve(second, one, 8),
    other.bulkPayouts.approve(second, two, 8).catch(() => ({ decided: 0, refused: [] })),
  ])
  const decided = outcomes.reduce((sum, outcome) => sum + outcome.decided, 0)
  assert.ok(decided >= 8 && decided <= 10, `${decided} were approved`)
  for (const { refused } of outcomes)
    for (const { refusal } of refused) assert.equal(refusal.code, 'approver_limit_exceeded')
  assert.deepEqual(await statusesOf(partnerId), { Pending: decided, PendingApproval: 16 - decided })
})

const asked = () => ({ nonce: 'nonce', expiresAt: new Date('2030-01-01T00:02:00Z') })

test('one signature proves each payout alone, and none after the set has changed', async () => {
  const partner = await addHolding({ aboveAmount: 0n, needsPasskey: true })
  const { partnerId, second } = partner
  const id = await made(partner, ['1.00', '2.00', '3.00', '4.00', '5.00'])
  assert.equal(await codeOf(service.bulkPayouts.approve(second, id, 5)), 'permission_denied')
  const { text } = await service.payouts.snapshotOfBulk(second, id, asked())
  assert.equal((await service.payouts.snapshotOfBulk(second, id, asked())).text, text, 'made again it is the same')
  const { payouts: root, ...said } = JSON.parse(text) as BulkApprovalSnapshot
  assert.deepEqual(said, {
    ...{ version: 1, purpose: 'approveBulkPayout', partnerId, bulkId: id, count: 5 },
    ...{ totals: [{ amount: '15.00', currency: 'EUR' }], approverId: second.serviceAccountId },
    ...{ expiresAt: '2030-01-01T00:02:00.000Z', nonce: 'nonce' },
  })
  assert.match(root, /^[0-9a-f]{64}$/)
  const confirmation = signedByPasskey(text, generateKeyPairSync('ed25519'))
  const [first] = (await service.bulkPayouts.waiting(partnerId, id))?.payouts ?? []
  await service.payouts.cancel(partnerId, first?.id ?? '')
  assert.equal(
    await codeOf(service.bulkPayouts.approve({ ...second, confirmation }, id, 4)),
    'payout_not_awaiting_approval',
  )
  const rest = await service.payouts.snapshotOfBulk(second, id, asked())
  const signed = signedByPasskey(rest.text, generateKeyPairSync('ed25519'))
  assert.equal((await service.bulkPayouts.approve({ ...second, confirmation: signed }, id, 4)).decided, 4)
  const evidence: SignedApproval[] = []
  const { data } = await service.audit.list(partnerId, {})
  const approvals = data.flatMap(({ details }) => (details?.['approval'] ?? []) as SignedApproval | [])
  for (const { reference } of rest.payouts) {
    const proved = approvals.find(({ inBulk }) => inBulk?.reference === reference)
    assert.ok(proved, 'the record of the step has the evidence')
    assert.deepEqual(faultsOfApproval(proved, { partnerId, reference }), [])
    evidence.push(proved)
  }
  const [one, two] = evidence
  assert.ok(one?.inBulk && two?.inBulk)
  const reference = one.inBulk.reference
  const wrong: readonly SignedApproval[] = [
    two,
    { ...one, inBulk: { ...one.inBulk, amount: '9000.00' } },
    { ...one, inBulk: { ...one.inBulk, payee: '0'.repeat(64) } },
    { ...one, inBulk: { ...one.inBulk, index: 1 } },
    { ...one, inBulk: { ...one.inBulk, path: one.inBulk.path.slice(1) } },
    { ...one, inBulk: { ...two.inBulk, reference } },
  ]
  for (const each of wrong)
    assert.deepEqual(faultsOfApproval(each, { partnerId, reference }), ['The approval is about something else.'])
  const { inBulk: _none, ...bare } = one
  assert.deepEqual(faultsOfApproval(bare, { partnerId, reference }), ['The approval is about something else.'])
})

test('what waits lapses payout by payout, and a thousand are approved at once', async () => {
  const partner = await addHolding({ aboveAmount: 0n, expiresHours: 1 })
  const { partnerId, second } = partner
  const id = await made(partner, many(1000, '1.00'))
  assert.deepEqual(await service.bulkPayouts.approve(second, id, 1000), { decided: 1000, refused: [] })
  const late = await made(partner, many(2))
  service.clock.advance(2 * hourMs)
  assert.equal(await codeOf(service.bulkPayouts.approve(second, late, 2)), 'payout_not_awaiting_approval')
  assert.equal(await service.bulkPayouts.waiting(partnerId, late), undefined)
})
