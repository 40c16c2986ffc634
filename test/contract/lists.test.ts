/** The form of every list. Contract page, lists: `{data, nextCursor, hasMore}`, limit 1-100, opaque signed cursor. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { OperationId } from '@partner-payments/wire'
import { type Client, firstText, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem } from '../support/problem.ts'
import { type Subject, subjects } from '../support/requests.ts'
import { otherPartner } from '../support/service.ts'
import {
  createBeneficiary,
  createCustomer,
  createWorld,
  finalTransaction,
  invitee,
  listAll,
  payoutText,
} from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service
const world = await createWorld(client, receiver.url, service)
const stranger = await otherPartner(service)
const blocked = textAt(await createCustomer(client), 'guid')
const ofPartner = ['--partner', service.credentials.partnerId]
const by = ['--reason', 'Other', '--staff', 'Ada']
const limited = ['--scope', 'partner', '--period', 'day', '--currency', 'GBP', '--amount', '1000000.00']
await service.operator('limit', 'set', ...ofPartner, ...limited)
await service.operator('account', 'block', ...ofPartner, '--customer', blocked, '--yes', ...by)

type Properties = { readonly properties?: Readonly<Record<string, unknown>> }
const lists = subjects.filter((each) =>
  Object.hasOwn((each.operation.query as Properties | undefined)?.properties ?? {}, 'cursor'),
)
const read = (subject: Subject, query = '', as: Client = client) => as.get(`${subject.request(world).target}${query}`)

/** Creates one more item of each list. */
const more: Readonly<Partial<Record<OperationId, () => Promise<unknown>>>> = {
  listInvitations: async () => success(await client.post('/v1/users/invitations', { invitations: [invitee()] })),
  listPayouts: async () => success(await client.post('/v1/payouts/fiat', payoutText(world.beneficiary, '1.00'))),
  listBeneficiaries: () => createBeneficiary(client, { name: randomUUID() }),
  listCustomers: () => createCustomer(client),
  listTransactions: async () => success(await client.post('/v1/payouts/fiat', payoutText(world.beneficiary, '1.00'))),
  listSubscriptions: async () =>
    success(await client.post('/v1/webhooks', { url: receiver.url, events: ['partner.customer.deposit.created'] })),
}

/** The identifier of an item, which does not change while its payment proceeds. */
const identityOf = (item: JsonObject) => firstText(item, identityFields) ?? assert.fail(JSON.stringify(item))
const identityFields = 'guid id inviteId serviceAccountId guestLinkId reference eventId signature linkId userId'.split(
  ' ',
)
const identities = (page: JsonObject) => listAt(page).map(identityOf)

for (const subject of lists)
  test(`200 with exactly data, nextCursor and hasMore: ${subject.name}`, async () => {
    const page = success(await read(subject))
    assert.deepEqual(Object.keys(page).sort(), ['data', 'hasMore', 'nextCursor'])
    assert.equal(typeof page.hasMore, 'boolean')
    assert.equal(page.nextCursor === null, page.hasMore === false, 'a cursor if and only if there are more items')
    assert.ok(listAt(page).length <= 25)
  })

for (const subject of lists)
  test(`400 with /query/limit when the limit is not 1 to 100: ${subject.name}`, async () => {
    const out = ['0', '101', '-1', '1.5', '99999999999999999999']
    for (const limit of [...out, 'abc', '+5', '%205', '05', '1e1', '0x10', 'null'])
      assertProblem(await read(subject, `?limit=${limit}`), { status: 400, pointer: '/query/limit' })
    assertProblem(await read(subject, '?limit=1&limit=2'), { status: 400 })
    for (const limit of ['1', '100']) success(await read(subject, `?limit=${limit}`))
  })

for (const subject of lists)
  test(`400 with a pointer when a parameter is empty: ${subject.name}`, async () => {
    for (const name of Object.keys((subject.operation.query as Properties).properties ?? {}))
      for (const query of [`?${name}=`, `?${name}`])
        assertProblem(await read(subject, query), { status: 400, pointer: `/query/${name}` })
  })

const periods = subjects.flatMap((subject) => {
  const names = Object.keys((subject.operation.query as Properties | undefined)?.properties ?? {})
  const begins = names.filter((name) => /^from$|From$/.test(name))
  return begins.map((from) => ({ subject, from, to: from.replace('from', 'to').replace('From', 'To') }))
})

test('the contract has at least six operations with a period', () => assert.ok(periods.length >= 6))

for (const { subject, from, to } of periods)
  test(`400 with a pointer when a period ends before it begins: ${subject.name}`, async () => {
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z']
    const refused = await read(subject, `?${from}=${late}&${to}=${early}`)
    assertProblem(refused, { status: 400, code: 'validation_failed', pointer: `/query/${to}` })
    for (const query of [`?${from}=${early}&${to}=${early}`, `?${from}=${early}&${to}=${late}`, `?${from}=${late}`])
      success(await read(subject, query))
  })

for (const subject of lists)
  test(`400 unknown_field with a pointer when a parameter is unknown: ${subject.name}`, async () => {
    for (const name of ['nope', 'Limit', 'offset', 'partnerId', '__proto__', 'constructor']) {
      const expected = { status: 400, code: 'unknown_field', pointer: `/query/${name}` }
      assertProblem(await read(subject, `?${name}=1`), expected)
    }
  })

for (const subject of lists.filter((each) => more[each.id] !== undefined))
  test(`200 to each page: every item once, newest first, while items are added: ${subject.name}`, async () => {
    for (let at = 0; at < 5; at += 1) await more[subject.id]?.()
    const path = subject.operation.path
    const expected = (await listAll(client, path)).map(identityOf)
    assert.ok(expected.length >= 5)
    const seen: string[] = []
    let query = '?limit=2'
    for (;;) {
      const page = success(await read(subject, query))
      assert.ok(listAt(page).length === 2 || page.hasMore === false, 'a page is full unless it is the last')
      seen.push(...identities(page))
      if (page.hasMore === false) break
      await more[subject.id]?.()
      query = `?limit=2&cursor=${encodeURIComponent(textAt(page, 'nextCursor'))}`
    }
    assert.deepEqual(seen, expected)
    const newest = identities(success(await read(subject, '?limit=1')))
    assert.ok(!expected.includes(newest[0] ?? ''), 'the newest item is first')
  })

for (const subject of lists.filter((each) => more[each.id] !== undefined))
  test(`400 with /query/cursor when the cursor is forged or of another list or partner: ${subject.name}`, async () => {
    await more[subject.id]?.()
    await more[subject.id]?.()
    const cursor = textAt(success(await read(subject, '?limit=1')), 'nextCursor')
    const flipped = cursor.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const forged = [
      'x',
      flipped,
      cursor.slice(0, -1),
      `${cursor}AAAA`,
      'AAAA'.repeat(20),
      Buffer.from(world.customer).toString('base64'),
    ]
    assertProblem(await read(subject, '?cursor=%00'), { status: 400 })
    for (const value of [...forged, 'c'.repeat(600)])
      assertProblem(await read(subject, `?cursor=${value}`), { status: 400, pointer: '/query/cursor' })
    const query = `?cursor=${encodeURIComponent(cursor)}`
    assertProblem(await read(subject, query, stranger), { status: 400, pointer: '/query/cursor' })
    for (const other of lists.filter((each) => each.id !== subject.id))
      assertProblem(await read(other, query), { status: 400, pointer: '/query/cursor' })
  })

for (const subject of lists.filter((each) => each.operation.params === undefined))
  test(`200 without items of another partner: ${subject.name}`, async () => {
    const theirs = (await listAll(stranger, subject.operation.path)).map(identityOf)
    const mine = (await listAll(client, subject.operation.path)).map(identityOf)
    assert.ok(mine.length > 0)
    assert.deepEqual(
      theirs.filter((identity) => mine.includes(identity)),
      [],
    )
  })

test('200 to each filter of the transactions, and 400 to invalid values', async () => {
  await finalTransaction(client, world.reference)
  const all = await listAll(client, '/v1/transactions')
  const mine = all.find((item) => item.reference === world.reference) ?? {}
  const account = textAt(mine.creditorDetails as JsonObject, 'iban')
  const hits = [
    `customerId=${world.customer}`,
    `customerId=${world.serviceId}`,
    `beneficiaryId=${world.beneficiary}`,
    `idempotencyKey=${textAt(mine, 'idempotencyKey')}`,
    `status=${textAt(mine, 'status')}`,
    'category=Withdrawal',
    `createdFrom=${textAt(mine, 'createdAt')}`,
    `type=${textAt(mine, 'type')}`,
    `rail=${textAt(mine, 'rail')}`,
    `currency=EUR&amountMin=${String(mine.amount)}&amountMax=${String(mine.amount)}`,
    `endToEndId=${textAt(mine, 'endToEndId')}`,
    `referencePrefix=${encodeURIComponent(world.reference.slice(0, 8))}`,
    `userReference=${encodeURIComponent(world.reference)}`,
    `amount=${String(mine.amount)}`,
    `amount=${String(mine.amount)}.00&currency=EUR&status=${textAt(mine, 'status')}`,
    `account=${encodeURIComponent(` ${account.toLowerCase().replaceAll(/(.{4})/g, '$1 ')}`)}`,
    `account=${account}&category=Withdrawal&createdFrom=${textAt(mine, 'createdAt')}`,
  ]
  const found = async (query: string) => (await listAll(client, '/v1/transactions', `&${query}`)).map(identityOf)
  for (const query of hits) assert.ok((await found(query)).includes(world.reference), query)
  const unknown = ['customerId', 'beneficiaryId', 'idempotencyKey', 'referencePrefix', 'userReference']
  const misses = [
    ...[...unknown, 'websiteReference', 'payerName'].map((name) => `${name}=${randomUUID()}`),
    `endToEndId=${randomUUID().slice(0, 30)}`,
    ...['category=Conversion', 'status=Expired&category=Withdrawal', 'type=Conversion', 'rail=Swift&type=Conversion'],
    ...['currency=JPY', 'currency=EUR&amountMin=9999999', 'amount=1.239999', 'amount=1&currency=JPY'],
    `amount=${String(mine.amount)}&currency=GBP`,
    ...['account=FR7630006000011234567890189', 'createdTo=2001-01-01T00:00:00.000Z'],
    'createdFrom=2999-01-01T00:00:00.000Z',
  ]
  for (const query of misses) assert.deepEqual(await found(query), [], query)
  const charsMax = { account: 64, endToEndId: 35, referencePrefix: 140, payerName: 140, userReference: 140 }
  for (const query of [
    ...['status=Nope', 'category=deposit', 'customerId=x', 'beneficiaryId=x', 'createdFrom=yesterday', 'type=Gift'],
    ...['rail=sepa', 'currency=euro', 'amountMin=1e3&currency=EUR', 'amountMax=-1&currency=EUR', 'updatedSince=now'],
    ...['amountMin=1.005&currency=EUR', 'amount=1.005&currency=EUR', 'amount=1,5'],
    ...Object.entries(charsMax).map(([name, max]) => `${name}=${'1'.repeat(max + 1)}`),
  ])
    assertProblem(await client.get(`/v1/transactions?${query}`), {
      status: 400,
      pointer: `/query/${query.split('=')[0]}`,
    })
})

test('200 to sums that agree with the rows of the filter, by direction and currency', async () => {
  const keyOf = ({ direction = 'Outward', currency }: JsonObject) => `${String(direction)} ${String(currency)}`
  const plain = (sums: readonly JsonObject[]) =>
    Object.fromEntries(sums.map((sum) => [keyOf(sum), [Number(sum.count), Number(sum.amount).toFixed(2)]]))
  const added = (rows: readonly JsonObject[]) =>
    Object.fromEntries(
      [...Map.groupBy(rows, keyOf)].map(([key, same]) => [
        key,
        [same.length, same.reduce((sum, { amount }) => sum + Number(amount), 0).toFixed(2)],
      ]),
    )
  const ofTransactions = [
    ...['createdFrom=2020-01-01T00:00:00.000Z', `customerId=${world.customer}`, 'category=Deposit', 'amount=25'],
    `referencePrefix=${world.reference.slice(0, 4)}`,
  ]
  const ofPayouts = [
    'createdFrom=2020-01-01T00:00:00.000Z',
    `beneficiaryId=${world.beneficiary}`,
    'currency=EUR',
    'status=Completed',
  ]
  const ofSessions = [
    ...['createdFrom=2020-01-01T00:00:00.000Z', `customerId=${world.customer}`, 'status=Completed', 'status=Expired'],
    ...['hasLatePayments=true', 'hasLatePayments=false&status=Open'],
  ]
  for (const [list, sums, queries] of [
    ['/v1/transactions', '/v1/sums/transactions', ofTransactions],
    ['/v1/payouts', '/v1/sums/payouts', ofPayouts],
    ['/v1/checkout/sessions', '/v1/sums/checkout/sessions', ofSessions],
    ['/v1/payouts/standing-orders', '/v1/sums/standing-orders', ['status=Active', 'status=Ended']],
  ] as const)
    for (const query of queries) {
      const answer = success(await client.get(`${sums}?${query}`))
      assert.equal(answer.capped, false)
      assert.deepEqual(plain(listAt(answer)), added(await listAll(client, list, `&${query}`)), `${sums}?${query}`)
    }
  for (const path of ['transactions', 'payouts', 'checkout/sessions', 'standing-orders'].map(
    (each) => `/v1/sums/${each}`,
  )) {
    const query = path.includes('orders') ? 'status=Paused' : 'createdFrom=2999-01-01T00:00:00.000Z'
    assert.deepEqual(success(await stranger.get(`${path}?${query}`)).data, [])
    assertProblem(await client.get(`${path}?status=Nope`), { status: 400, pointer: '/query/status' })
    assertProblem(await client.get(`${path}?limit=5`), { status: 400, pointer: '/query/limit' })
  }
})

test('200 to the payees of an alias, whatever its case, in pages with the other filters', async () => {
  const alias = `Rent ${randomUUID()}`
  const made = [
    await createBeneficiary(client, { alias }),
    await createBeneficiary(client, { alias: alias.toUpperCase() }),
  ]
  const ids = made.map((each) => textAt(each, 'id')).toReversed()
  const found = async (query: string) =>
    (await listAll(client, '/v1/beneficiaries', `&${query}`)).map(({ id }) => String(id))
  const by = `alias=${encodeURIComponent(alias.toLowerCase())}`
  assert.deepEqual(await found(by), ids)
  assert.deepEqual(await found(`${by}&currency=EUR`), ids)
  assert.deepEqual(await found(`${by}&currency=GBP`), [])
  assert.deepEqual(await found(`alias=${encodeURIComponent(alias.slice(0, 8))}`), [])
  const first = success(await client.get(`/v1/beneficiaries?${by}&limit=1`))
  const cursor = encodeURIComponent(textAt(first, 'nextCursor'))
  const next = success(await client.get(`/v1/beneficiaries?${by}&limit=1&cursor=${cursor}`))
  assert.deepEqual(pluck([...listAt(first), ...listAt(next)], 'id'), ids)
  assert.equal((await client.delete(`/v1/beneficiaries/${ids[0] ?? ''}`)).status, 204)
  assert.deepEqual(await found(by), ids.slice(1))
})

test('400 with /query/currency when an amount has no currency', async () => {
  for (const query of ['amountMin=1', 'amountMax=1'])
    assertProblem(await client.get(`/v1/transactions?${query}`), { status: 400, pointer: '/query/currency' })
})

test('200 to a list of changes: a cursor on every page, and 400 when the cursor is of another list', async () => {
  const page = success(await client.get('/v1/transactions?updatedSince=2999-01-01T00:00:00.000Z'))
  assert.deepEqual([page.data, page.hasMore], [[], false])
  const cursor = encodeURIComponent(textAt(page, 'nextCursor'))
  success(await client.get(`/v1/transactions?updatedSince=2999-01-01T00:00:00.000Z&cursor=${cursor}`))
  assertProblem(await client.get(`/v1/transactions?cursor=${cursor}`), { status: 400, pointer: '/query/cursor' })
})

test('200 to each filter of the payouts, and 400 to invalid values', async () => {
  const mine = success(await client.get(`/v1/payouts/${world.payout}`))
  const createdAt = textAt(mine, 'createdAt')
  const nextMs = new Date(Date.parse(createdAt) + 1).toISOString()
  const found = async (query: string) => (await listAll(client, '/v1/payouts', `&${query}`)).map(identityOf)
  const hits = [
    `reference=${encodeURIComponent(world.reference)}`,
    `customerId=${world.customer}`,
    `customerId=${world.serviceId}`,
    `beneficiaryId=${world.beneficiary}`,
    'currency=EUR',
    `idempotencyKey=${textAt(mine, 'idempotencyKey')}`,
    `createdFrom=${createdAt}`,
    `createdTo=${nextMs}`,
    `currency=EUR&customerId=${world.customer}&createdFrom=${createdAt}&createdTo=${nextMs}`,
  ]
  for (const query of hits) assert.ok((await found(query)).includes(world.payout), query)
  assert.deepEqual(await found(`reference=${encodeURIComponent(world.reference)}`), [world.payout])
  const misses = [
    `reference=${randomUUID()}`,
    `customerId=${randomUUID()}`,
    'currency=JPY',
    `reference=${encodeURIComponent(world.reference)}&currency=GBP`,
    'createdTo=2001-01-01T00:00:00.000Z',
    'createdFrom=2999-01-01T00:00:00.000Z',
  ]
  for (const query of misses) assert.deepEqual(await found(query), [], query)
  assert.ok(!(await found(`createdTo=${createdAt}`)).includes(world.payout), 'createdTo is excluded')
  assert.ok(!(await found(`createdFrom=${nextMs}`)).includes(world.payout), 'createdFrom is a lower bound')
  const theirs = await stranger.get(`/v1/payouts?reference=${encodeURIComponent(world.reference)}`)
  assert.deepEqual(listAt(success(theirs)), [])
  for (const query of [
    'currency=euro',
    'customerId=x',
    'createdFrom=yesterday',
    'status=Nope',
    `reference=${'r'.repeat(141)}`,
  ])
    assertProblem(await client.get(`/v1/payouts?${query}`), { status: 400, pointer: `/query/${query.split('=')[0]}` })
})

test('200 to pages of payouts by time: every item once while payouts are added', async () => {
  for (let at = 0; at < 5; at += 1) await more.listPayouts?.()
  const query = `currency=EUR&createdFrom=2001-01-01T00:00:00.000Z`
  const expected = (await listAll(client, '/v1/payouts', `&${query}`)).map(identityOf)
  const seen: string[] = []
  for (let cursor = ''; ;) {
    const page = success(await client.get(`/v1/payouts?limit=2&${query}${cursor}`))
    seen.push(...identities(page))
    if (page.hasMore === false) break
    await more.listPayouts?.()
    cursor = `&cursor=${encodeURIComponent(textAt(page, 'nextCursor'))}`
  }
  assert.deepEqual(seen, expected)
})

/** DELETE last: if a request is accepted by mistake, it removes what the other requests need. */
const byHarm = subjects.toSorted(
  (a, b) => Number(a.operation.method === 'DELETE') - Number(b.operation.method === 'DELETE'),
)
for (const subject of byHarm.filter((each) => !lists.includes(each)))
  test(`400 unknown_field with a pointer when an operation without parameters receives one: ${subject.name}`, async () => {
    const { target, ...request } = subject.request(world)
    const answer = await client.send({
      method: subject.operation.method,
      target: `${target}${target.includes('?') ? '&' : '?'}nope=1`,
      ...request,
    })
    assertProblem(answer, { status: 400, code: 'unknown_field', pointer: '/query/nope' })
  })
