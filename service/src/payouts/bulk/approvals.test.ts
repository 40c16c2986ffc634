/** Tests bulks that need the approval of a second person. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { suite, test } from 'node:test'
import { type BulkApprovalSnapshot, findApprovalFaults, rawNumber, type SignedApproval } from '@partner-payments/wire'
import { signedByPasskey } from '../../../../test/support/passkey.ts'
import { checkLedger } from '../../../../test/model/ledger-audit.ts'
import { addPartner, balanceOf, ip, pay, type Service, type TestPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { outcomeCode } from '../../../../test/support/refusals.ts'
import { addApprovers, type RuleFields } from '../../../../test/support/approvals.ts'
import type { Caller } from '../../kernel/api/index.ts'
import { hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { WaitingApproval } from '../index.ts'

suite('approvals', async () => {
  const service = await useModules()
  // Acts as another process.
  const other = await service.anotherProcess()

  const addHolding = (rule: RuleFields) => addApprovers(service, rule, 1_000_000_00n)

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
  const many = (count: number, amount = '10.00') => Array.from({ length: count }, () => amount)

  test('payouts need an approval only if the sum of their bulk exceeds the amount of the rule', async () => {
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
    assert.equal(await outcomeCode(service.bulkPayouts.approve(second, large, 11)), 'payout_not_awaiting_approval')
    await checkLedger(service.db, partnerId)
  })

  test('a second person decides about all pending payouts once all are created, and another partner gets 404', async () => {
    const partner = await addHolding({ aboveAmount: 0n })
    const { partnerId, caller, second } = partner
    const id = await bulkOf(partner, many(3))
    assert.equal(await outcomeCode(service.bulkPayouts.approve(second, id, 3)), 'payout_not_awaiting_approval')
    await work()
    assert.equal(await outcomeCode(service.bulkPayouts.approve(caller, id, 3)), 'approver_is_creator')
    assert.equal(await outcomeCode(service.bulkPayouts.reject(caller, id, 3, 'Mine.')), 'approver_is_creator')
    for (const count of [2, 4])
      assert.equal(await outcomeCode(service.bulkPayouts.approve(second, id, count)), 'payout_not_awaiting_approval')
    const stranger = await addHolding({ aboveAmount: 0n })
    assert.equal(await outcomeCode(service.bulkPayouts.approve(stranger.second, id, 3)), 'not_found')
    assert.equal(await service.payouts.waitingOfBulk(stranger.partnerId, id), undefined)
    assert.deepEqual(await statusesOf(partnerId), { PendingApproval: 3 })
    const [item] = await service.bulkPayouts.items(partnerId, id, undefined)
    await service.payouts.cancel(partnerId, item?.payoutId ?? '')
    assert.deepEqual(await service.bulkPayouts.reject(second, id, 2, 'Sent twice.'), { decided: 2, refused: [] })
    assert.deepEqual(await statusesOf(partnerId), { Cancelled: 3 })
    assert.equal((await balanceOf(service, partnerId)).reserved, 0n)
  })

  test('if two people decide concurrently, each payout has one decision', async () => {
    const partner = await addHolding({ aboveAmount: 0n })
    const { partnerId, second, third } = partner
    const id = await made(partner, many(40))
    const outcomes = await Promise.all([
      service.bulkPayouts.approve(second, id, 40),
      // The whole decision is refused if the other one was first.
      other.bulkPayouts.reject(third, id, 40, 'No.').catch(() => ({ decided: 0, refused: [] })),
    ])
    const [approved, rejected] = outcomes.map(({ decided }) => decided)
    assert.equal((approved ?? 0) + (rejected ?? 0), 40)
    const { Pending = 0, Cancelled = 0 } = await statusesOf(partnerId)
    assert.deepEqual([Pending, Cancelled], [approved, rejected])
    await checkLedger(service.db, partnerId)
  })

  test('a payout that is concurrently approved individually is approved exactly once', async () => {
    const partner = await addHolding({ aboveAmount: 0n })
    const { partnerId, second, third } = partner
    const id = await made(partner, many(20))
    const waiting = await service.bulkPayouts.waiting(partnerId, id)
    const single = (waiting?.payouts ?? [])
      .slice(0, 5)
      .map((payout) => outcomeCode(other.payouts.approve(third, payout.id)))
    const [whole, ...alone] = await Promise.all([outcomeCode(service.bulkPayouts.approve(second, id, 20)), ...single])
    // The decision about the bulk is refused if the single approvals were first.
    if (whole !== 'done') assert.deepEqual([whole, ...new Set(alone)], ['payout_not_awaiting_approval', 'done'])
    const { Pending = 0, PendingApproval = 0 } = await statusesOf(partnerId)
    assert.deepEqual([Pending, PendingApproval], whole === 'done' ? [20, 0] : [5, 15])
  })

  test('a bulk whose sum exceeds the daily maximum of the person is not approved', async () => {
    const partner = await addHolding({ aboveAmount: 0n, perPersonAmount: 100_00n })
    const { partnerId, second, third } = partner
    const id = await made(partner, many(11))
    const { beyond } = await service.payouts.snapshotOfBulk(second, id, asked())
    assert.deepEqual([beyond?.most, beyond?.left], [100_00n, 100_00n])
    assert.equal(await outcomeCode(service.bulkPayouts.approve(second, id, 11)), 'approver_limit_exceeded')
    assert.deepEqual(await statusesOf(partnerId), { PendingApproval: 11 })
    const within = await made(partner, many(6))
    assert.equal((await service.bulkPayouts.approve(third, within, 6)).decided, 6)
    const next = await made(partner, many(5))
    assert.equal(await outcomeCode(service.bulkPayouts.approve(third, next, 5)), 'approver_limit_exceeded')
  })

  test('concurrent approvals of two bulks never exceed the maximum of a person, and the rest stays pending', async () => {
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

  test('one signature proves each payout, and no payout after the set has changed', async () => {
    const partner = await addHolding({ aboveAmount: 0n, needsPasskey: true })
    const { partnerId, second } = partner
    const id = await made(partner, ['1.00', '2.00', '3.00', '4.00', '5.00'])
    assert.equal(await outcomeCode(service.bulkPayouts.approve(second, id, 5)), 'permission_denied')
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
      await outcomeCode(service.bulkPayouts.approve({ ...second, confirmation }, id, 4)),
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
      assert.deepEqual(findApprovalFaults(proved, { partnerId, reference }), [])
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
      assert.deepEqual(findApprovalFaults(each, { partnerId, reference }), ['The approval is of another payout.'])
    const { inBulk: _none, ...bare } = one
    assert.deepEqual(findApprovalFaults(bare, { partnerId, reference }), ['The approval is of another payout.'])
  })

  test('pending payouts expire one by one, and a thousand can be approved together', async () => {
    const partner = await addHolding({ aboveAmount: 0n, expiresHours: 1 })
    const { partnerId, second } = partner
    const id = await made(partner, many(1000, '1.00'))
    assert.deepEqual(await service.bulkPayouts.approve(second, id, 1000), { decided: 1000, refused: [] })
    const late = await made(partner, many(2))
    service.clock.advance(2 * hourMs)
    assert.equal(await outcomeCode(service.bulkPayouts.approve(second, late, 2)), 'payout_not_awaiting_approval')
    assert.equal(await service.bulkPayouts.waiting(partnerId, late), undefined)
  })
})

suite('requests pending approval', async () => {
  let statements = 0
  const service = await useModules({
    wrapDatabase: (db) => ({
      ...db,
      rows: (statement) => {
        statements += 1
        return db.rows(statement)
      },
    }),
  })
  /** Creates a partner whose payouts all need an approval. */
  const addHolding = () => addApprovers(service, { aboveAmount: 0n, aboveBulkAmount: 0n }, 1_000_000_00n)
  const partner = await addHolding()

  async function bulkOf(caller: Caller, count: number, of: TestPartner = partner): Promise<string> {
    const payouts = Array.from({ length: count }, () => ({
      ...{ amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: of.beneficiary.id, idempotencyKey: newId() },
    }))
    const { bulk } = await service.bulkPayouts.create(
      caller,
      { mode: 'BestEffort', idempotencyKey: newId(), payouts },
      ip,
    )
    while ((await service.bulkPayouts.step()) > 0);
    return bulk.id
  }

  const all = { made: 'any', afterId: null, rowsMax: 100 } as const
  const shape = (row: WaitingApproval) =>
    row.kind === 'bulk'
      ? `bulk of ${row.payouts}, ${row.totals.map(({ amount }) => amount).join()}`
      : row.payout.reference
  const read = async (page: Parameters<Service['payouts']['waitingApprovals']>[1], of: TestPartner = partner) =>
    service.payouts.waitingApprovals(of.partnerId, page)

  test('the list has pending payouts and bulks, newest first, each bulk once, without decided ones', async () => {
    assert.deepEqual(await read(all), [])
    const first = await pay(service, partner, '1.00', { reference: 'First' })
    const bulk = await bulkOf(partner.caller, 3)
    await pay(service, partner, '2.00', { reference: 'Last' })
    const found = await read(all)
    assert.deepEqual(found.map(shape), ['Last', 'bulk of 3, 3000', 'First'])
    assert.deepEqual(found[1]?.requestedNames, ['Test account'])
    assert.ok(found.every(({ expiresAt }) => expiresAt > service.clock.now()))
    const second: Caller = { ...partner.caller, serviceAccountId: newId(), name: 'Second person' }
    await service.payouts.approve(second, first.payout.id)
    const [item] = await service.bulkPayouts.items(partner.partnerId, bulk, undefined)
    await service.payouts.cancel(partner.partnerId, item?.payoutId ?? '')
    assert.deepEqual((await read(all)).map(shape), ['Last', 'bulk of 2, 2000'])
  })

  test('a caller lists requests to decide or its own requests, and pages continue after any row', async () => {
    const own = await addHolding()
    const colleague: Caller = { ...own.caller, serviceAccountId: newId(), name: 'A colleague' }
    const expected: string[] = []
    for (let n = 0; n < 3; n += 1) {
      const { payout } = await pay(service, own, '1.00')
      const bulk = await bulkOf(n === 1 ? colleague : own.caller, 2, own)
      expected.unshift(bulk, payout.id)
    }
    const idsOf = async (
      made: (typeof all)['made'] | { readonly by: string } | { readonly notBy: readonly string[] },
    ) => (await read({ ...all, made }, own)).map(({ id }) => id)
    assert.deepEqual(await idsOf('any'), expected)
    const me = own.caller.serviceAccountId
    assert.deepEqual(await idsOf({ notBy: [me] }), [expected[2]])
    assert.deepEqual(await idsOf({ by: me }), expected.toSpliced(2, 1))
    const paged: string[] = []
    for (let page = await read({ ...all, rowsMax: 2 }, own); page.length > 0;) {
      paged.push(...page.map(({ id }) => id))
      page = await read({ ...all, rowsMax: 2, afterId: paged.at(-1) ?? null }, own)
    }
    assert.deepEqual(paged, expected)
    assert.deepEqual(await read(all, await addPartner(service)), [], 'another partner reads none of them')
  })

  test('a page of large bulks takes as many statements as one of small bulks', async () => {
    const [few, many] = [await addHolding(), await addHolding()]
    await bulkOf(few.caller, 1, few)
    for (let n = 0; n < 4; n += 1) await bulkOf(many.caller, 500, many)
    await pay(service, few, '1.00')
    await pay(service, many, '1.00')
    const counts: number[] = []
    for (const each of [few, many]) {
      const before = statements
      const found = await read(all, each)
      counts.push(statements - before)
      assert.equal(found.length, each === few ? 2 : 5)
    }
    assert.deepEqual(counts, [3, 3])
  })
})
