/** Payments that may repeat earlier ones: which count, which do not, for how long, and how many are read. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, balanceOf, ip, pay, type Service, type TestPartner } from '../../../test/support/composition.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { refusalOf, refused } from '../../../test/support/refusals.ts'
import { Refusal } from '../kernel/api/index.ts'
import { dayMs, newId, nilId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import type { PayoutCall } from './calls.ts'
import { payoutsRoutes } from './routes.ts'
import { erasePayouts } from './store.ts'
import {
  normaliseReference,
  createDuplicateFinder,
  type DuplicateCandidate,
  findDuplicatesInList,
} from './duplicates.ts'

const account = 'DE89370400440532013000'
const candidate = (fields: Partial<DuplicateCandidate> = {}): DuplicateCandidate => ({
  account,
  amount: 10_00n,
  currency: 'EUR',
  reference: null,
  ...fields,
})

test('references are compared without case, blanks and punctuation', () => {
  const table: readonly (readonly [string | null, string | null])[] = [
    ['INV-2026/7', 'inv20267'],
    ['  inv 2026.7 ', 'inv20267'],
    ['RECHNUNG Nr. 12 Müller', 'rechnungnr12müller'],
    ['Мюллер №5', 'мюллер5'],
    ['…/-', null],
    ['', null],
    [null, null],
  ]
  for (const [reference, expected] of table) assert.equal(normaliseReference(reference), expected, String(reference))
})

test('a list marks candidates that repeat earlier ones, and compares only references if no days are set', () => {
  const list = [
    candidate({ reference: 'INV-1' }),
    candidate({ reference: 'inv 1' }),
    candidate({ reference: 'INV-2' }),
    candidate({ reference: 'INV-2', amount: 11_00n }),
    candidate({ reference: 'INV-2', currency: 'GBP' }),
    candidate({ reference: 'INV-2', account: 'NL91ABNA0417164300' }),
    candidate({ account: account.toLowerCase() }),
  ]
  assert.deepEqual(findDuplicatesInList(list, 0), [[], [0], [], [], [], [], []])
  assert.deepEqual(findDuplicatesInList(list, 14), [[], [0], [0, 1], [], [], [], [0, 1, 2]])
})

suite('earlier payouts', async () => {
  const service = await useModules()
  const { db, clock } = service

  type Case = {
    readonly holds: string
    /** Fields of the earlier payout, which is paid with `INV-7` unless it says otherwise. */
    readonly earlier?: { readonly reference?: string | null; readonly status?: string; readonly amount?: string }
    readonly daysLater?: number
    readonly asked?: Partial<DuplicateCandidate>
    readonly days?: number
    readonly because?: 'reference' | 'days'
  }
  const cases: readonly Case[] = [
    { holds: 'the same reference', asked: { reference: 'inv 7' }, because: 'reference' },
    { holds: 'another reference within the days', asked: { reference: 'INV-8' }, because: 'days' },
    { holds: 'no reference within the days', because: 'days' },
    { holds: 'neither has a reference', earlier: { reference: null }, because: 'days' },
    { holds: 'the last day of the days', daysLater: 14, because: 'days' },
    { holds: 'after the days', daysLater: 15 },
    { holds: 'the same reference after the days', daysLater: 300, asked: { reference: 'INV7' }, because: 'reference' },
    { holds: 'the same reference after a year', daysLater: 366, asked: { reference: 'INV7' } },
    { holds: 'no days are set', days: 0, asked: { reference: 'INV-8' } },
    { holds: 'no days are set, the same reference', days: 0, asked: { reference: 'INV-7' }, because: 'reference' },
    { holds: 'another amount', asked: { amount: 10_01n, reference: 'INV-7' } },
    { holds: 'another currency', asked: { currency: 'GBP', reference: 'INV-7' } },
    { holds: 'another account', asked: { account: 'NL91ABNA0417164300', reference: 'INV-7' } },
    { holds: 'the account in lower case', asked: { account: account.toLowerCase() }, because: 'days' },
    ...['PendingApproval', 'Processing', 'Sent', 'Completed'].map((status): Case => ({
      holds: `it is ${status}`,
      earlier: { status },
      because: 'days',
    })),
    ...['Failed', 'Cancelled', 'Returned'].map((status): Case => ({
      holds: `it is ${status}`,
      earlier: { status },
      asked: { reference: 'INV-7' },
    })),
  ]

  const payOne = async (
    partner: TestPartner,
    { reference = 'INV-7', status, amount = '10.00' }: Case['earlier'] = {},
  ) => {
    const { payout } = await pay(service, partner, amount, reference === null ? {} : { reference })
    if (status !== undefined)
      await db.run(
        sql`update payouts.payouts set status = ${status}, due_at = null where partner_id = ${partner.partnerId} and id = ${payout.id}`,
      )
    return payout
  }

  test('possible duplicates are found by each rule of the table', async () => {
    for (const { holds, earlier, daysLater = 0, asked = {}, days = 14, because } of cases) {
      const partner = await addPartner(service, 100_00n)
      const payout = await payOne(partner, earlier)
      const later = new Date(clock.now().getTime() + daysLater * dayMs)
      const [found] = await createDuplicateFinder({ duplicateDays: days, scheduledPayouts: async () => [] })(
        db,
        partner.partnerId,
        [candidate(asked)],
        later,
      )
      const expected = because === undefined ? [] : [{ id: payout.id, because }]
      assert.deepEqual(
        found?.earlier.map(({ id, because: why }) => ({ id, because: why })),
        expected,
        holds,
      )
    }
  })

  test('another beneficiary with the account is found, but not a beneficiary of another partner', async () => {
    const [partner, other] = [await addPartner(service, 100_00n), await addPartner(service, 100_00n)]
    const again = await service.beneficiaries.create(partner.partnerId, {
      name: 'Ada B.V.',
      iban: account,
      currency: 'EUR',
    })
    const { payout } = await pay(service, partner, '10.00', { beneficiaryId: again.id })
    await pay(service, other, '10.00')
    const [found] = await service.payouts.duplicatesOf(db, partner.partnerId, [candidate()], clock.now())
    assert.deepEqual(
      found?.earlier.map(({ id }) => id),
      [payout.id],
    )
  })

  test('a payout does not repeat itself, and a date of an order does not repeat other dates of the order', async () => {
    const partner = await addPartner(service, 100_00n)
    const payout = await payOne(partner)
    const operation = 'createFiatPayout'
    const own = { operation, idempotencyKey: payout.idempotencyKey ?? '' } as const
    const asked = [candidate({ key: own }), candidate({ key: { operation, idempotencyKey: newId() } })]
    const ids = (await service.payouts.duplicatesOf(db, partner.partnerId, asked, clock.now())).map(({ earlier }) =>
      earlier.map(({ id }) => id),
    )
    assert.deepEqual(ids, [[], [payout.id]])
    await db.run(sql`update payouts.payouts set operation = 'createStandingOrder', idempotency_key = 'standing-order a 2026-01-01'
      where partner_id = ${partner.partnerId}`)
    const dates = ['standing-order a 2026-02-01', 'standing-order b 2026-02-01'].map((idempotencyKey) =>
      candidate({ key: { operation: 'createStandingOrder', idempotencyKey } }),
    )
    const ofOrders = await service.payouts.duplicatesOf(db, partner.partnerId, dates, clock.now())
    assert.deepEqual(
      ofOrders.map(({ earlier }) => earlier.length),
      [0, 1],
    )
  })

  test('an equal reference is found among many other recent payments', async () => {
    const partner = await addPartner(service, 1_000_00n)
    const payout = await payOne(partner)
    for (let count = 0; count < 12; count += 1) await payOne(partner, { reference: `OTHER-${count}` })
    const [found] = await service.payouts.duplicatesOf(
      db,
      partner.partnerId,
      [candidate({ reference: 'INV-7' })],
      clock.now(),
    )
    assert.equal(found?.earlier.length, 10)
    assert.deepEqual([found?.earlier[0]?.id, found?.earlier[0]?.because], [payout.id, 'reference'])
  })

  test('an empty list of candidates needs no statement', async () => {
    assert.deepEqual(await service.payouts.duplicatesOf(db, newId(), [], clock.now()), [])
  })
})

suite('payouts that refuse duplicates', async () => {
  const service = await useModules()
  type Fields = { readonly amount?: string; readonly reference?: string; readonly idempotencyKey?: string }
  const bodyOf = (
    partner: TestPartner,
    { amount = '10.00', reference = 'INV-7', idempotencyKey = newId() }: Fields = {},
  ) => ({
    amount: rawNumber(amount),
    currency: 'EUR',
    beneficiaryId: partner.beneficiary.id,
    idempotencyKey,
    reference,
    onDuplicate: 'Refuse' as const,
  })
  const create = (partner: TestPartner, fields: Fields = {}, on: Service = service) =>
    on.payouts.create(partner.caller, bodyOf(partner, fields), ip)
  const payoutsOf = async ({ partnerId }: TestPartner) => (await service.payouts.list(partnerId, { limit: '100' })).data
  const outcomesOf = async (calls: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(calls)).map((outcome) => {
      if (outcome.status === 'fulfilled') return 'made'
      return outcome.reason instanceof Refusal ? outcome.reason.code : String(outcome.reason)
    })

  test('the second payout is refused with the id of the first, reserves nothing and leaves its key unused', async () => {
    const partner = await addPartner(service, 100_00n)
    const { payout } = await create(partner)
    const before = await balanceOf(service, partner.partnerId)
    const idempotencyKey = newId()
    const refusal = await refusalOf(create(partner, { reference: 'inv 7', idempotencyKey }))
    assert.equal(refusal.code, 'possible_duplicate')
    assert.match(refusal.detail, new RegExp(payout.id))
    assert.deepEqual(await balanceOf(service, partner.partnerId), before)
    assert.equal((await payoutsOf(partner)).length, 1)
    const { onDuplicate: _refuse, ...allowed } = bodyOf(partner, { reference: 'inv 7', idempotencyKey })
    const again = await service.payouts.create(partner.caller, { ...allowed, onDuplicate: 'Allow' }, ip)
    assert.equal(again.replayed, false)
    assert.equal((await service.payouts.create(partner.caller, allowed, ip)).replayed, true)
  })

  test('without the field a duplicate is accepted as before', async () => {
    const partner = await addPartner(service, 100_00n)
    for (const reference of ['INV-7', 'INV-7']) await pay(service, partner, '10.00', { reference })
    assert.equal((await payoutsOf(partner)).length, 2)
  })

  test('a repeated key returns its payout, also concurrently', async () => {
    const partner = await addPartner(service, 100_00n)
    const idempotencyKey = newId()
    const made = await Promise.all([1, 2, 3, 4].map(() => create(partner, { idempotencyKey })))
    assert.equal(new Set(made.map(({ payout }) => payout.id)).size, 1)
    assert.equal((await create(partner, { idempotencyKey })).replayed, true)
  })

  test('of many concurrent duplicates, in one process or two, exactly one is accepted', async () => {
    const other = await service.anotherProcess()
    for (let round = 0; round < 5; round += 1) {
      const partner = await addPartner(service, 1_000_00n)
      const calls = Array.from({ length: 12 }, (_, index) =>
        create(partner, { reference: `INV${'-'.repeat(index + 1)}7` }, index % 2 === 0 ? service : other),
      )
      const outcomes = await outcomesOf(calls)
      assert.deepEqual(outcomes.toSorted(), ['made', ...Array.from({ length: 11 }, () => 'possible_duplicate')])
      assert.equal((await payoutsOf(partner)).length, 1)
    }
  })

  test('a duplicate waits for the transaction that creates the first payout', async () => {
    const partner = await addPartner(service, 100_00n)
    const { caller, beneficiary } = partner
    const callOf = (reference: string): PayoutCall => ({
      ...{ caller, nonce: undefined, operation: 'createFiatPayout', idempotencyKey: newId(), requestFingerprint: '' },
      ...{ amount: 10_00n, currency: 'EUR', reference, ip, refusesDuplicates: true },
      payee: { beneficiaryId: beneficiary.id },
    })
    const accept = (reference: string, before: () => Promise<unknown>) => {
      const { read, work } = service.payouts.acceptance()
      const call = callOf(reference)
      return service.db.transaction(async (tx) => {
        const [outcome] = await work(tx, [call], await read(tx, [call]), undefined)
        await before()
        return outcome instanceof Refusal ? outcome.code : 'made'
      })
    }
    const [accepted, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = accept('INV-7', async () => {
      accepted.resolve()
      await released.promise
    })
    await accepted.promise
    // In another spelling: two transactions of one reference exclude each other anyway.
    const second = accept('INV 7', () => Promise.resolve())
    // Nothing shows that it waits, but that it does not end.
    assert.equal(await Promise.race([second, sleep(300, 'waits')]), 'waits')
    released.resolve()
    assert.deepEqual(await Promise.all([first, second]), ['made', 'possible_duplicate'])
  })

  test('if the first payout of a batch cannot be paid, its duplicate is checked again', async () => {
    const partner = await addPartner(service, 5_00n)
    assert.deepEqual(await outcomesOf([create(partner), create(partner)]), ['insufficient_funds', 'insufficient_funds'])
  })

  test('the preview warns and names the payout, and fails only if the request refuses duplicates', async () => {
    const partner = await addPartner(service, 100_00n)
    const { payout } = await create(partner)
    const ofRule = async (onDuplicate: 'Allow' | 'Refuse') => {
      const { verdicts } = await service.payouts.preview(partner.caller, { ...bodyOf(partner), onDuplicate }, ip)
      return verdicts.find(({ rule }) => rule === 'duplicate')
    }
    const warned = await ofRule('Allow')
    assert.deepEqual([warned?.verdict, warned?.repeated?.earlier.map(({ id }) => id)], ['warning', [payout.id]])
    assert.equal((await ofRule('Refuse'))?.verdict, 'failed')
    const routes = payoutsRoutes(service.payouts)
    const call = { caller: partner.caller, body: { ...bodyOf(partner), onDuplicate: 'Allow' }, ip } as never
    const { body } = await routes.previewFiatPayout(call)
    assert.equal(body.accepted, true)
  })

  test('a payout shows only earlier payouts as possible duplicates', async () => {
    const partner = await addPartner(service, 100_00n)
    const made: string[] = []
    for (const reference of ['A', 'B', 'C']) made.push((await pay(service, partner, '10.00', { reference })).payout.id)
    const shown = await Promise.all(made.map((id) => service.payouts.possibleDuplicates(partner.partnerId, id)))
    assert.deepEqual(
      shown.map(({ earlier }) => earlier.map(({ id }) => made.indexOf(id))),
      [[], [0], [1, 0]],
    )
  })

  test('a note is written, changed, deleted, and erased with its customer', async () => {
    const partner = await addPartner(service, 100_00n)
    const { payout } = await create(partner)
    const { partnerId, caller } = partner
    const noted = async () => (await service.payouts.note(partnerId, payout.id)).row?.note
    assert.equal(await noted(), undefined)
    await Promise.all(['one', 'one'].map((note) => service.payouts.setNote(caller, payout.reference, note)))
    assert.equal(await noted(), 'one')
    await service.payouts.setNote(caller, payout.id, undefined)
    assert.equal(await noted(), null)
    await service.payouts.setNote(caller, payout.id, 'two')
    await assert.rejects(
      service.payouts.setNote((await addPartner(service)).caller, payout.id, 'x'),
      refused('not_found'),
    )
    await service.db.transaction((tx) =>
      erasePayouts(tx, { partnerId, customerId: payout.customerId ?? '', afterId: nilId }, 10),
    )
    assert.equal(await noted(), null)
  })
})
