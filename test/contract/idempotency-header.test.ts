/** Every operation but a GET takes effect once per `Idempotency-Key`. Contract page, idempotency elsewhere. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { storesAnswer, idempotencyKeyPlace, type Operation, usesKey } from '@partner-payments/wire'
import { sql } from '../../service/src/postgres/index.ts'
import { type Answer, type Client, firstText, type Json, listAt, success, textAt } from '../support/client.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { subjects, type ValidRequest } from '../support/requests.ts'
import { accountWith, otherPartner, startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import {
  createBeneficiary,
  createOrder,
  createWorld,
  finalTransaction,
  ibans,
  invitee,
  listAll,
  monthly,
  payoutText,
  uniqueEmail,
} from '../support/world.ts'

const service = await useService()
const second = await service.anotherProcess()
const receiver = await useReceiver()
const db = service.connect()
const { client } = service
const world = await createWorld(client, receiver.url, service)

/** Deletions come last, because what they delete has no more effects. */
const phases: Readonly<Record<Operation['method'], number>> = { GET: 0, POST: 1, PUT: 2, PATCH: 3, DELETE: 4 }
const writes = subjects
  .filter(({ operation }) => usesKey(operation))
  .toSorted((a, b) => phases[a.operation.method] - phases[b.operation.method])
const byHeader = writes.filter(({ operation }) => idempotencyKeyPlace(operation) === 'header')
const byBody = writes.filter(({ operation }) => idempotencyKeyPlace(operation) === 'body')
const pointer = '/headers/Idempotency-Key'
const isReplay = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'

const send = (method: string, request: { target: string; body?: Json }, key: string, as: Client = client) =>
  as.send({ method, ...request, headers: { 'Idempotency-Key': key } })
const post = (target: string, body: Json | undefined, key: string, as: Client = client) =>
  send('POST', body === undefined ? { target } : { target, body }, key, as)

/** The same operation with another body, or on another resource if it has no body. */
function otherRequest({ target, body }: ValidRequest): ValidRequest | undefined {
  const elsewhere = target.replace(/[0-9a-f-]{36}/, randomUUID())
  if (elsewhere !== target) return { target: elsewhere, ...(body !== undefined && { body }) }
  if (body === undefined) return undefined
  const fields = JSON.parse(body) as Record<string, Json>
  const [name = '', value] =
    Object.entries(fields).find(
      ([key, field]) =>
        (typeof field !== 'object' || key === 'kinds') &&
        !['iban', 'currency', 'publicKeyPem', 'base', 'id', 'logo', 'method'].includes(key),
    ) ?? []
  const others: Readonly<Record<string, Json>> = {
    email: uniqueEmail(),
    since: new Date(Date.now() - 60_000).toISOString(),
    redirectUrl: 'https://partner.example.com/other',
    url: 'https://partner.example.com/other',
    customerId: world.serviceId,
    debtorName: 'Someone else',
    name: 'Something else',
    kind: 'fees',
    alias: 'Another alias',
    reason: 'FRAD',
    eventType: 'partner.customer.deposit.created',
    kinds: ['Document'],
    quote: 'GBP',
    path: '/v1/other',
    issuer: 'https://other.example.com',
    displayName: 'Someone else',
    accentColour: '#000000',
  }
  const other = others[name] ?? (typeof value === 'number' ? value + 1 : undefined)
  assert.notEqual(other, undefined, `another value for ${name}`)
  return { target, body: JSON.stringify({ ...fields, [name]: other }) }
}

test('200 with one resource in the list after concurrent duplicates', async () => {
  const marker = randomUUID()
  const created = [
    ['/v1/customers', { partnerCustomerIdentifier: marker }],
    ['/v1/beneficiaries', { name: marker, iban: ibans.DE, currency: 'EUR' }],
    ['/v1/webhooks', { url: `https://partner.example.com/${marker}`, events: ['transaction.status.changed'] }],
    ['/v1/users/invitations', { invitations: [{ ...invitee(), email: `${marker}@example.com` }] }],
  ] as const
  for (const [path, body] of created) {
    const key = randomUUID()
    const answers = await Promise.all(
      [client, second.client, client, second.client].map((as) => post(path, body as Json, key, as)),
    )
    for (const answer of answers) success(answer)
    const items = await listAll(client, path)
    assert.equal(items.filter((item) => JSON.stringify(item).includes(marker)).length, 1, path)
  }
})

test('200 with the signing secret in the replay, and the database does not contain it in plain text', async () => {
  const key = randomUUID()
  const body = { url: 'https://partner.example.com/hooks', events: ['transaction.status.changed'] }
  const secret = textAt(success(await post('/v1/webhooks', body, key)), 'secret')
  assert.equal(success(await post('/v1/webhooks', body, key)).secret, secret)
  const rows = await db.rows<{ answerSealed: Buffer }>(
    sql`select answer_sealed from idempotency.keys where idempotency_key = ${key}`,
  )
  assert.equal(rows.length, 1)
  assert.ok(rows[0]?.answerSealed.indexOf(secret.slice('whsec_'.length)) === -1)
})

test('200 without a replay for the same key in another operation or of another partner, and with a replay to another account', async () => {
  const key = randomUUID()
  const body = { email: uniqueEmail() }
  const first = await post('/v1/customers', body, key)
  success(first)
  const beneficiary = { name: 'Grace Hopper', iban: ibans.DE, currency: 'EUR' }
  const others = [
    await post('/v1/beneficiaries', beneficiary, key),
    await post('/v1/customers', body, key, await otherPartner(service)),
  ]
  for (const other of others) assert.ok(success(other) && !isReplay(other))
  const colleague = await post('/v1/customers', body, key, await accountWith(service, ['customers:write']))
  assert.ok(isReplay(colleague))
  assert.equal(colleague.text, first.text)
})

test('200 with a replay when only the order and the spacing of the fields differ', async () => {
  const key = randomUUID()
  const first = await post('/v1/customers', '{"email":"ada@example.com","kyc":{"city":"London","taxId":"1"}}', key)
  const again = await post('/v1/customers', '{ "kyc": {"taxId":"1","city":"London"}, "email":"ada@example.com"}', key)
  assert.ok(isReplay(again))
  assert.equal(again.text, success(first) && first.text)
})

test('200 to the corrected request with the same key after 400, 404 and 409', async () => {
  const key = randomUUID()
  const beneficiary = { name: 'Grace Hopper', iban: ibans.DE, currency: 'EUR' }
  const path = '/v1/beneficiaries'
  assertProblem(await post(path, { ...beneficiary, iban: 'DE00' }, key), { status: 400 })
  assertProblem(await post(path, { ...beneficiary, customerId: randomUUID() }, key), { status: 404 })
  const made = await post(path, beneficiary, key)
  assert.ok(success(made) && !isReplay(made))
  const invited = { invitations: [invitee()] }
  success(await client.post('/v1/users/invitations', invited))
  assertProblem(await post('/v1/users/invitations', invited, key), { status: 409, code: 'invitation_exists' })
  success(await post('/v1/users/invitations', { invitations: [invitee()] }, key))
})

test('400 with a pointer to the header when it is empty, too long or not printable ASCII', async () => {
  const keys = ['', 'k'.repeat(256), 'caf\u00e9', 'a\tb']
  for (const key of keys)
    assertProblem(await post('/v1/customers', { email: uniqueEmail() }, key), { status: 400, pointer })
  for (const key of ['k', 'k'.repeat(255), '"quoted", with a comma'])
    success(await post('/v1/customers', { email: uniqueEmail() }, key))
})

suite('a GET', () => {
  for (const subject of subjects.filter(({ operation }) => idempotencyKeyPlace(operation) === undefined))
    test(`400 when the header is given: ${subject.name}`, async () => {
      assertProblem(await send('GET', subject.request(world), randomUUID()), { status: 400, pointer })
    })
})

test('400 with a pointer to the header when it is given twice, also with one key', async () => {
  const target = '/v1/customers'
  const body = JSON.stringify({ email: uniqueEmail() })
  for (const keys of [
    ['twice', 'twice'],
    ['one', 'two', 'three'],
  ])
    assertProblem(await client.send({ method: 'POST', target, body, headers: { 'Idempotency-Key': keys } }), {
      status: 400,
      pointer,
    })
  success(await client.send({ method: 'POST', target, body, headers: { 'Idempotency-Key': 'one, two' } }))
})

test('422 to the repeated change of a customer after its erasure, which also erased the answer', async () => {
  const guid = textAt(success(await client.post('/v1/customers', { partnerCustomerIdentifier: randomUUID() })), 'guid')
  const key = randomUUID()
  const change = { target: `/v1/customers/${guid}`, body: { kyc: { city: 'London' } } }
  success(await send('PUT', change, key))
  success(await client.post(`/v1/customers/${guid}/erase`, {}))
  const refused = await until('the answer is erased', async () => {
    const answer = await send('PUT', change, key)
    return answer.status === 422 && answer
  })
  assert.match(textAt(assertProblem(refused, { status: 422, code: 'idempotency_key_reused' }), 'detail'), /erased/)
})

test('422 to the repeated note and pause after the erasure of their customer, which also erased their answers', async () => {
  const guid = textAt(success(await client.post('/v1/customers', { partnerCustomerIdentifier: randomUUID() })), 'guid')
  const payee = textAt(await createBeneficiary(client, { customerId: guid }), 'id')
  const order = await createOrder(client, payee, monthly())
  const { reference } = success(await client.post('/v1/payouts/fiat', payoutText(payee, '1.00')))
  const note = { target: `/v1/payouts/${String(reference)}/note`, body: { note: 'Ask Ada Lovelace' } }
  const pause = { target: `/v1/payouts/standing-orders/${order}/pause` }
  const writes = [
    ['PUT', note, randomUUID()],
    ['POST', pause, randomUUID()],
  ] as const
  for (const [method, request, key] of writes) success(await send(method, request, key))
  await finalTransaction(client, String(reference))
  success(await client.post(`/v1/customers/${guid}/erase`, {}))
  for (const [method, request, key] of writes)
    await until(`the answer of ${request.target} is erased`, async () => {
      const answer = await send(method, request, key)
      return answer.status === 422 && /erased/.test(answer.text)
    })
})

/** The body of a request with a key in its body, or without one. */
function withKey({ body = '{}' }: ValidRequest, key: string | undefined): string {
  const rest = body.replace(/"idempotencyKey":"[^"]*",?/, '').replace(',}', '}')
  return key === undefined ? rest : rest.replace('{', `{"idempotencyKey":"${key}",`)
}

/** The body with another value of one field. */
function withOtherField(body: string): string {
  const others: readonly (readonly [RegExp, string])[] = [
    [/"mode":"\w+"/, '"mode":"AllOrNothing"'],
    [/"reference":"[^"]*"/, '"reference":"another"'],
    [/"websiteReference":"[^"]*"/, '"websiteReference":"another"'],
    [/"from":"[^"]*"/, '"from":"2025-12-01T00:00:00Z"'],
    [/"amount":[\d.]+/, '"amount":1.23'],
  ]
  const changed = others.map(([field, other]) => body.replace(field, other)).find((each) => each !== body)
  assert.ok(changed, body)
  return changed
}

for (const subject of byBody)
  test(`200 with one effect to a key in the header, in the body and in both, and 400 naming both when they differ: ${subject.name}`, async () => {
    const request = subject.request(world)
    const key = randomUUID()
    const as = (inBody: string | undefined) => ({ target: request.target, body: withKey(request, inBody) })
    const first = await send('POST', as(undefined), key)
    assert.ok(success(first) && !isReplay(first))
    const again = [
      await send('POST', as(undefined), key),
      await send('POST', as(key), key),
      await client.post(request.target, as(key).body),
    ]
    for (const answer of again) {
      assert.ok(success(answer) && isReplay(answer))
      assert.equal(answer.text, first.text)
    }
    const differ = assertProblem(await send('POST', as(randomUUID()), key), { status: 400, pointer })
    assert.deepEqual(
      listAt(differ, 'errors').map((error) => error.pointer),
      [pointer, '/idempotencyKey'],
    )
    const other = { target: request.target, body: withOtherField(withKey(request, undefined)) }
    assertProblem(await send('POST', other, key), { status: 422, code: 'idempotency_key_reused', pointer })
  })

test('200 to a preview with the key of a later payout, and the preview does not use the key', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const key = randomUUID()
  const body = payoutText(beneficiary, '1.00').replace(/,"idempotencyKey":"[^"]*"/, '')
  for (const path of ['/v1/payouts/fiat/preview', '/v1/payouts/fiat/preview', '/v1/payouts/fiat']) {
    const answer = await post(path, body, key)
    assert.ok(success(answer) && !isReplay(answer))
  }
  const other = body.replace('"amount":1.00', '"amount":2.00')
  const [verdict] = listAt(success(await post('/v1/payouts/fiat/preview', other, key)), 'rules')
  assert.equal(verdict?.rule, 'idempotencyKey')
  assert.equal(verdict?.verdict, 'failed')
})

test('400 that names both places when a payout has no key', async () => {
  const body = payoutText(textAt(await createBeneficiary(client), 'id'), '1.00').replace(
    /,"idempotencyKey":"[^"]*"/,
    '',
  )
  const refused = assertProblem(await client.post('/v1/payouts/fiat', body), {
    status: 400,
    pointer: '/idempotencyKey',
  })
  assert.match(textAt(refused, 'detail'), /Idempotency-Key/)
})

test('200 to the repeated change when the process ended before it stored the answer, and 409 until then', async () => {
  const key = randomUUID()
  const { partnerId } = service.credentials
  const url = 'https://partner.example.com/hooks'
  const created = success(await client.post('/v1/webhooks', { url, events: ['transaction.status.changed'] }))
  const enable = `/v1/webhooks/${textAt(created, 'id')}/enable`
  const claim = (createdAt: Date) => sql`
    insert into idempotency.keys (partner_id, operation, idempotency_key, created_at)
    values (${partnerId}, 'enableSubscription', ${key}, ${createdAt})
    on conflict (partner_id, operation, idempotency_key) do update set created_at = excluded.created_at`
  await db.run(claim(new Date()))
  assertProblem(await post(enable, undefined, key), { status: 409, code: 'request_in_progress' })
  await db.run(claim(new Date(Date.now() - 120_000)))
  const first = await post(enable, undefined, key)
  const again = await post(enable, undefined, key)
  assert.ok(success(first) && !isReplay(first) && isReplay(again))
  assert.equal(again.text, first.text)
})

test('409 request_in_progress with Retry-After when the first request does not end in time', async () => {
  const key = randomUUID()
  const { partnerId } = service.credentials
  const answer = await db.transaction(async (tx) => {
    await tx.run(sql`
      insert into idempotency.keys (partner_id, operation, idempotency_key, created_at)
      values (${partnerId}, 'createCustomer', ${key}, ${new Date()})`)
    const given = await post('/v1/customers', { email: uniqueEmail() }, key)
    await tx.run(sql`delete from idempotency.keys where partner_id = ${partnerId} and idempotency_key = ${key}`)
    return given
  })
  assertProblem(answer, { status: 409, code: 'request_in_progress' })
  assert.equal(answer.headers['retry-after'], '1')
})

test('200 with one customer when the process is killed between the claim of the key and the commit', async (t) => {
  const key = randomUUID()
  const marker = randomUUID()
  const body = { partnerCustomerIdentifier: marker }
  const doomed = await startTestService({ dataDir: service.dataDir, env: { DATABASE_URL: service.databaseUrl } })
  t.after(() => doomed.kill())
  await db.transaction(async (tx) => {
    await tx.run(sql`lock table customers.customers in share mode`)
    const lost = post('/v1/customers', body, key, doomed.client).catch((error: unknown) => error)
    await until('the insert of the customer waits for the lock', async () => {
      // An insert asks for this mode, an analyse for another.
      const waiting = sql`
        select 1 from pg_locks
        where relation = 'customers.customers'::regclass and mode = 'RowExclusiveLock' and not granted`
      return (await db.rows(waiting)).length === 1
    })
    await doomed.kill()
    assert.ok((await lost) instanceof Error)
  })
  const made = await until('the server has ended the transaction of the killed process', async () => {
    const answer = await post('/v1/customers', body, key)
    return answer.status === 200 && answer
  })
  assert.ok(!isReplay(made))
  assert.equal((await listAll(client, '/v1/customers', `&partnerCustomerIdentifier=${marker}`)).length, 1)
})

/** The fields with the id of what an operation has made, in the order in which a refusal names them. */
const createdFields = [
  ...['guid', 'id', 'inviteId', 'serviceAccountId', 'guestLinkId', 'eventId', 'creditId', 'sessionId', 'latePaymentId'],
  ...['linkId', 'transactionHash', 'reference', 'outwardReference'],
]
// Last, because they delete what the others use.
for (const subject of byHeader)
  test(`200 with one effect to concurrent duplicates at two processes, and 422 to another request: ${subject.name}`, async () => {
    const key = randomUUID()
    const { method } = subject.operation
    const request = subject.request(world)
    const duplicates = Array.from({ length: storesAnswer(subject.operation) ? 4 : 8 }, (_, at) =>
      send(method, request, key, at % 2 === 0 ? client : second.client),
    )
    const answers = await Promise.all(duplicates)
    answers.push(await send(method, request, key))
    for (const { status, text } of answers) assert.ok(status === 200 || status === 204, text)
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1, 'the responses are equal')
    assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1, 'exactly one is not a replay')
    const other = otherRequest(request)
    if (other === undefined) return
    const expected = { status: 422, code: 'idempotency_key_reused', pointer } as const
    const refused = assertProblem(await send(method, other, key), expected)
    if (storesAnswer(subject.operation)) {
      const [path = ''] = request.target.split('?')
      assert.ok(textAt(refused, 'detail').includes(`the answer of ${method} ${path}`))
      return
    }
    const json = answers[0]?.json ?? {}
    const invited = listAt({ data: json.invitations ?? [{}] })[0]
    const created = firstText(json, createdFields) ?? firstText(invited ?? {}, ['inviteId']) ?? world.customer
    assert.ok(textAt(refused, 'detail').includes(created))
  })
