/** Screening of partners and their people, blocks by confirmed hits, and the view of a hit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, ip, pay, type TestPartner } from '../../../test/support/composition.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { decideAll, listedName, sampleList, screenAll } from '../../../test/support/screening/held.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { Refusal } from '../kernel/api/index.ts'
import { minuteMs, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { submitDuePayouts } from '../banks/settlement/index.ts'
import { createPayoutRightCheck } from '../people/users/index.ts'
const service = await useModules()
await service.screening.lists.load(await sampleList(), 'Sam Staff')

const hitsOf = async ({ partnerId }: Pick<TestPartner, 'partnerId'>) =>
  (await service.screening.openHits(undefined, 1000)).filter((hit) => hit.partnerId === partnerId)
const changesOf = async ({ partnerId }: TestPartner) =>
  (await service.accounts.stateChanges(partnerId, {})).data.map(({ customerId, currency, toState, reason }) => [
    ...[customerId ?? currency, toState, reason],
  ])
const reasonsOf = async ({ partnerId, customer }: TestPartner) =>
  Object.fromEntries(
    (await service.customers.capabilities(partnerId, customer.id)).capabilities.map(({ name, reasons }) => [
      name,
      reasons.join(' '),
    ]),
  )
const open = { OpenAccount: '', Receive: '', Pay: '', Convert: '' }
const blocked = { ...open, Receive: 'account_blocked', Pay: 'account_blocked', Convert: 'account_blocked' }

async function addMember({ partnerId }: TestPartner, fullName: string): Promise<string> {
  const id = newId()
  await service.db
    .run(sql`insert into users.members (partner_id, id, email, email_key, full_name, role, created_at, updated_at)
    values (${partnerId}, ${id}, ${`${id}@example.com`}, ${`${id}@example.com`}, ${fullName}, 'Admin', now(), now())`)
  await service.db.transaction((tx) => service.screening.request(tx, { partnerId, kind: 'person', id }))
  return id
}

test('the provider of a wallet is screened like its payee, even when the payee is renamed', async () => {
  const partner = await addPartner(service)
  const payee = { name: 'Grace Hopper', currency: 'EURC', vasp: listedName } as const
  const { id } = await service.beneficiaries.create(partner.partnerId, {
    ...payee,
    walletAddress: `0x${'52'.repeat(20)}`,
  })
  await screenAll(service)
  const [hit] = await hitsOf(partner)
  assert.deepEqual([hit?.subjectKind, hit?.subjectId, hit?.role], ['beneficiary', id, 'vasp'])
  await service.beneficiaries.update(partner.partnerId, { id, name: 'Joan Clarke' })
  await screenAll(service)
  assert.equal((await hitsOf(partner)).length, 1)
})

test('a partner is screened at its creation and at each change of its legal name and owners, including earlier names', async () => {
  const partnerId = await service.db.transaction((tx) => service.access.createPartner(tx, listedName))
  await screenAll(service)
  const [hit, ...more] = await hitsOf({ partnerId })
  assert.equal(more.length, 0)
  assert.deepEqual([hit?.subjectKind, hit?.subjectId, hit?.role], ['partner', partnerId, 'name'])
  const other = await addPartner(service)
  const name = (owners: readonly string[], legalName: string | null = null) =>
    service.db.transaction((tx) => service.access.setOwners(tx, other.partnerId, { legalName, owners }))
  await name(['Grace Hopper', listedName], listedName)
  await screenAll(service)
  assert.deepEqual((await hitsOf(other)).map(({ role }) => role).toSorted(), ['legalName', 'owner2'])
  await name(['Grace Hopper'])
  await screenAll(service)
  assert.equal((await hitsOf(other)).length, 2, 'another name ends no hit')
  await assert.rejects(
    service.db.transaction((tx) => service.access.setOwners(tx, newId(), { legalName: null, owners: [] })),
    (error) => error instanceof Refusal && error.code === 'not_found',
  )
})

test('a sweep finds partners and people for which there was no request', async () => {
  const partner = await addPartner(service)
  const id = await addMember(partner, listedName)
  await service.db.run(sql`delete from screening.subjects where partner_id = ${partner.partnerId}`)
  await service.db.run(sql`delete from screening.sweeps where partner_id = ${partner.partnerId}`)
  const list = await sampleList()
  const publishedAt = new Date(list.publishedAt.getTime() + minuteMs)
  await service.screening.lists.load({ ...list, hash: newId(), publishedAt, entries: list.entries }, 'Sam Staff')
  await screenAll(service)
  const kinds = await service.db.rows<{ kind: string }>(sql`
    select distinct kind from screening.subjects where partner_id = ${partner.partnerId} order by kind`)
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['beneficiary', 'customer', 'partner', 'person'],
  )
  assert.deepEqual(
    (await hitsOf(partner)).map(({ subjectId }) => subjectId),
    [id],
  )
})

test('an open hit on a person has no effect, a confirmed hit bars the person, and clearing it lifts the bar', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId } = partner
  const id = await addMember(partner, listedName)
  const mayPay = createPayoutRightCheck(service.access, service.screening)
  await screenAll(service)
  assert.equal((await hitsOf(partner)).length, 1)
  assert.equal(await mayPay(service.db, partnerId, id), true)
  const { payout } = await pay(service, partner, '1.00', { beneficiaryId: partner.ownBeneficiary.id })
  await screenAll(service)
  service.clock.advance(minuteMs)
  await submitDuePayouts(service.settlement)
  assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Sent')
  const session = () =>
    service.db.transaction((tx) =>
      service.signIn.open(tx, partnerId, id, { ip: '127.0.0.1', userAgent: 'test', factor: 'passkey' }),
    )
  const { token } = await session()
  assert.equal((await service.members.signedIn(token))?.user.id, id)
  const [hit] = await hitsOf(partner)
  await decideAll(service, partnerId, 'confirm')
  assert.equal(await service.members.signedIn(token), undefined)
  assert.equal(await service.members.signedIn((await session()).token), undefined)
  assert.equal(await mayPay(service.db, partnerId, id), false)
  for (const staff of ['Sam Staff', 'Kim Staff'])
    await service.db.transaction((tx) =>
      service.screening.decide(tx, {
        partnerId,
        id: hit?.id ?? '',
        outcome: 'clear',
        disposition: 'birth_differs',
        staff,
        note: 'Another person.',
      }),
    )
  assert.equal((await service.members.signedIn(token))?.user.id, id)
  assert.equal(await mayPay(service.db, partnerId, id), true)
})

test('an open hit refuses transfers and conversions with the same text as a block', async () => {
  const answersIn = async (state: 'held' | 'blocked') => {
    const partner = await addTrader(service, ['EUR', 'USD'])
    const { partnerId, customer, caller } = partner
    const transfer = (parties: { fromCustomerId?: string; toCustomerId?: string }, amount = '1.00') =>
      service.accounts.transfer(
        partnerId,
        { amount: rawNumber(amount), currency: 'EUR', ...parties },
        { caller, ip, requestId: newId() },
      )
    const id = customer.id
    await screenAll(service)
    for (const amount of ['600.00', '100.00'])
      await service.accounts.transfer(
        partnerId,
        { amount: rawNumber(amount), currency: 'EUR', toCustomerId: id },
        undefined,
      )
    await service.rates.prepare()
    const quoteId = (await quote(service, partner, { customerId: id })).row.id
    if (state === 'held') await service.customers.update(partnerId, id, { kyc: { fullName: listedName } })
    else
      await service.db.transaction((tx) =>
        service.accounts.changeState(tx, {
          ...{ partnerId, account: { customerRef: id }, state: 'Blocked', reason: 'Compliance' },
          ...{ note: 'A note', staff: 'Ada' },
        }),
      )
    await screenAll(service)
    const asked = [
      transfer({ fromCustomerId: id }),
      transfer({ fromCustomerId: id }, '900000.00'),
      transfer({ toCustomerId: id }),
      convert(service, partner, quoteId),
    ]
    return (await Promise.allSettled(asked)).map((answer) => {
      assert.ok(answer.status === 'rejected' && answer.reason instanceof Refusal)
      const { code, message, errors } = answer.reason
      return [code, message, errors]
    })
  }
  const held = await answersIn('held')
  assert.deepEqual(held, await answersIn('blocked'))
  assert.equal(held[0]?.[0], 'account_blocked')
})

test('a customer with a confirmed hit appears blocked until the last confirmed hit is cleared', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: listedName, legalName: listedName } })
  await screenAll(service)
  const hits = await hitsOf(partner)
  assert.deepEqual([hits.length, await reasonsOf(partner), await changesOf(partner)], [2, open, []])
  await decideAll(service, partnerId, 'confirm')
  assert.deepEqual(await reasonsOf(partner), blocked)
  assert.deepEqual(await changesOf(partner), [[customer.id, 'Blocked', 'Compliance']])
  const notActive = async () =>
    (await service.accounts.notActive(service.db, partnerId)).map(({ customerId, toState }) => [customerId, toState])
  assert.deepEqual(await notActive(), [[customer.id, 'Blocked']])
  const clear = async (id: string) => {
    for (const staff of ['Sam Staff', 'Kim Staff'])
      await service.db.transaction((tx) =>
        service.screening.decide(tx, {
          partnerId,
          id,
          outcome: 'clear',
          disposition: 'birth_differs',
          staff,
          note: 'Another person.',
        }),
      )
  }
  const [first, second] = hits
  await clear(first?.id ?? '')
  assert.deepEqual([await reasonsOf(partner), await notActive()], [blocked, [[customer.id, 'Blocked']]])
  await clear(second?.id ?? '')
  assert.deepEqual([await reasonsOf(partner), await notActive()], [open, []])
  assert.deepEqual(await changesOf(partner), [
    [customer.id, 'Active', 'Compliance'],
    [customer.id, 'Blocked', 'Compliance'],
  ])
})

test('all balances of a partner with a confirmed hit and its customers appear blocked', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId } = partner
  await service.db.transaction((tx) => service.access.setOwners(tx, partnerId, { legalName: listedName, owners: [] }))
  await screenAll(service)
  assert.deepEqual(await reasonsOf(partner), open)
  await decideAll(service, partnerId, 'confirm')
  assert.deepEqual([await reasonsOf(partner), await changesOf(partner)], [blocked, [['EUR', 'Blocked', 'Compliance']]])
})

test('a hit shows both sides, waiting payments with their sum, and earlier decisions about the pair', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  const kyc = { fullName: listedName, dateOfBirth: '1990-05-01' }
  await service.customers.update(partnerId, customer.id, { kyc })
  const another = await service.customers.create(partnerId, { kyc: { ...kyc, fullName: listedName.toUpperCase() } })
  await pay(service, partner, '3.00')
  await pay(service, partner, '4.00')
  await screenAll(service)
  service.clock.advance(minuteMs)
  await submitDuePayouts(service.settlement)
  const [hit, earlier] = [customer.id, another.id].map((id) => async () => {
    const found = (await hitsOf(partner)).find(({ subjectId }) => subjectId === id)
    assert.ok(found)
    return found
  })
  assert.ok(hit && earlier)
  const before = await earlier()
  await decideAll(
    { ...service, screening: { ...service.screening, openHits: async () => [before] } },
    partnerId,
    'clear',
  )
  const shown = await service.screener.viewOf(service.db, await hit())
  assert.deepEqual(
    [shown.payments.map(({ kind, amount }) => [kind, amount]), shown.sums, shown.morePayments, shown.endsBy],
    [
      [
        ['payout', 300n],
        ['payout', 400n],
      ],
      [{ currency: 'EUR', amount: 700n }],
      false,
      'persons',
    ],
  )
  const fieldOf = (wanted: string) => shown.fields.find(({ field }) => field === wanted)
  assert.ok((fieldOf('names')?.listed.length ?? 0) > 1, 'every name of the entry')
  assert.deepEqual([fieldOf('births')?.party, fieldOf('births')?.verdict], [['1990-05-01'], 'differs'])
  assert.deepEqual(
    shown.earlier.map(({ kind, outcome, name, sameSubject }) => [kind, outcome, name, sameSubject]),
    [
      ['proposed', 'clear', listedName.toUpperCase(), false],
      ['decided', 'clear', listedName.toUpperCase(), false],
    ],
  )
  assert.deepEqual(
    shown.words.map(({ how }) => how),
    ['equal', 'equal'],
  )
})

test('a cleared pair remains cleared until the entry or the name changes', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId, customer } = partner
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: listedName } })
  await screenAll(service)
  const [hit] = await hitsOf(partner)
  assert.ok(hit)
  await decideAll(service, partnerId, 'clear')
  let days = 1
  const load = async (change: (list: Awaited<ReturnType<typeof sampleList>>) => object = () => ({})) => {
    const list = await sampleList()
    const publishedAt = new Date(list.publishedAt.getTime() + (days += 1) * 24 * 60 * minuteMs)
    await service.screening.lists.load({ ...list, hash: newId(), publishedAt, ...change(list) }, 'Sam Staff')
    await screenAll(service)
    return (await hitsOf(partner)).length
  }
  const cleared = { ...hit, ...(await service.screening.hit(partnerId, hit.id)) }
  assert.equal((await service.screener.viewOf(service.db, cleared)).endsBy, 'change')
  assert.equal(await load(), 0, 'another version of the list says the same')
  assert.equal(await load((list) => ({ entries: list.entries.toReversed() })), 0, 'in another order')
  await service.customers.update(partnerId, customer.id, { kyc: { fullName: listedName.toUpperCase() } })
  await screenAll(service)
  assert.equal((await hitsOf(partner)).length, 0, 'the same words in other letters')
  const changed = await load((list) => ({
    entries: list.entries.map((entry) => ({ ...entry, programmes: [...entry.programmes, 'another'] })),
  }))
  assert.equal(changed, 1, 'the entry has changed')
})

test('a payout whose text names a listed person is held until the hit is cleared, and later payouts are not held', async () => {
  const partner = await addPartner(service, 100_00n)
  const { partnerId } = partner
  const paid = async (reference: string) => {
    const { payout } = await pay(service, partner, '1.00', { reference })
    for (let round = 0; round < 3; round += 1) {
      await screenAll(service)
      service.clock.advance(minuteMs)
      await submitDuePayouts(service.settlement)
    }
    return (await service.payouts.get(partnerId, payout.id)).status
  }
  assert.equal(await paid('Invoice 17 of March'), 'Sent')
  assert.equal(await paid(`Invoice 18 for ${listedName}`), 'Pending')
  const [hit] = await hitsOf(partner)
  assert.deepEqual([hit?.subjectKind, hit?.role], ['payout', 'text'])
  await decideAll(service, partnerId, 'clear')
  assert.equal(await paid(`Invoice 18 for ${listedName}`), 'Sent', 'the same text was cleared')
  assert.equal((await hitsOf(partner)).length, 0)
  assert.equal(await paid(`Invoice 19 for ${listedName}`), 'Pending', 'another text is another pair')
})
