/** Every operation that makes something says in the audit log what it made, and by whom; the log is filtered by person, act and thing. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { idempotencyKeyPlace, createdIds } from '@partner-payments/wire'
import { type Answer, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { useReceiver, useService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem } from '../support/problem.ts'
import { subjects } from '../support/requests.ts'
import { accountWith, otherPartner } from '../support/service.ts'
import { createBeneficiary, createCustomer, createWorld } from '../support/world.ts'

const service = await useService()
const receiver = await useReceiver()
const { client } = service
const world = await createWorld(client, receiver.url, service)

/** The part of a record that these tests read. */
type AuditEntry = {
  readonly id: string
  readonly action: string
  readonly subject: Readonly<Record<string, string>>
  readonly details?: { readonly made?: boolean }
  readonly actor: { readonly id: string; readonly name: string }
  readonly requestId?: string
}
const records = async (query: string, as = client): Promise<readonly AuditEntry[]> =>
  listAt(success(await as.get(`/v1/audit?${query}`))) as readonly JsonObject[] as unknown as readonly AuditEntry[]
const idsOf = (found: readonly AuditEntry[]) => found.map(({ id }) => id)
const isReplay = (answer: Answer) => answer.headers['idempotent-replayed'] === 'true'

const makers = subjects.filter(({ operation }) => typeof operation.makes === 'object')

suite('audit records of created resources', () => {
  const recorded = new Set<string>()

  test('every operation that creates a resource declares the id of the resource', () => {
    assert.ok(makers.length >= 20)
    for (const { id, operation } of subjects) {
      if (operation.method !== 'POST' || !id.startsWith('create') || operation.idempotency === 'kept') continue
      // A quote is kept for seconds. An account is one for each customer, whom the path names.
      if (id === 'createFxQuote' || id === 'createCustomerAccount') continue
      assert.notEqual(operation.makes, 'nothing', id)
    }
    for (const { id, operation } of makers) {
      const { makes, response } = operation
      assert.ok(typeof makes === 'object')
      const answer = response as unknown as {
        readonly properties: { readonly [name: string]: { readonly items?: typeof answer } }
      }
      const thing = makes.each === undefined ? answer : answer.properties[makes.each]?.items
      assert.ok(thing?.properties[makes.id], `${id} answers ${makes.id}`)
    }
  })

  for (const { id, operation, request } of makers)
    // An owner has one wallet of a token: a second request gets the first one.
    for (const key of idempotencyKeyPlace(operation) === 'header' && id !== 'createWallet'
      ? [undefined, randomUUID()]
      : [undefined])
      test(`the log records the creation exactly once, with its author: ${operation.method} ${operation.path}${key ? ' with a key' : ''}`, async () => {
        const sent = { method: 'POST', ...request(world), headers: key ? { 'Idempotency-Key': key } : {} }
        const answer = await client.send(sent)
        if (answer.status === 409 || answer.status === 422) return
        recorded.add(id)
        const made = createdIds(operation, success(answer))
        assert.ok(made.length > 0)
        assert.ok(
          isReplay(await client.send(sent)) === (key !== undefined || idempotencyKeyPlace(operation) === 'body'),
        )
        for (const thing of made) {
          const found = (await records(`subject=${encodeURIComponent(thing)}&action=${id}`)).filter(
            ({ details }) => details?.made === true,
          )
          assert.equal(found.length, 1, thing)
          assert.deepEqual(found[0]?.subject, { id: thing })
          const [maker] = await records('action=createBeneficiary&limit=1')
          assert.deepEqual([found[0]?.actor.id, found[0]?.actor.name], [maker?.actor.id, maker?.actor.name])
          assert.equal(found[0]?.requestId, answer.headers['x-request-id'])
        }
      })

  test('all but at most three of these operations were tested', () => {
    assert.ok(recorded.size >= makers.length - 3, [...recorded].join())
  })

  test('a refused request creates nothing', async () => {
    const before = idsOf(await records('kind=Act&action=createBeneficiary'))
    assertProblem(await client.post('/v1/beneficiaries', { name: 'Grace', iban: 'DE00', currency: 'EUR' }), {
      status: 400,
    })
    assertProblem(
      await client.post('/v1/beneficiaries', {
        ...{ name: 'Grace', iban: 'NL91ABNA0417164300', currency: 'EUR' },
        customerId: randomUUID(),
      }),
      { status: 404 },
    )
    assert.deepEqual(idsOf(await records('kind=Act&action=createBeneficiary')), before)
    assert.ok((await records('kind=Request&action=createBeneficiary')).length > before.length)
  })
})

suite('filters', () => {
  test('a filter separates changes, reads and requests', async () => {
    const guid = textAt(await createCustomer(client), 'guid')
    success(await client.get(`/v1/customers/${guid}`))
    success(await client.put(`/v1/customers/${guid}`, { kyc: { city: 'London' } }))
    const [last = {} as AuditEntry, before = {} as AuditEntry] = await records('kind=Act&limit=2')
    assert.deepEqual([last.action, before.action], ['updateCustomer', 'createCustomer'])
    assert.deepEqual(before.subject, { id: guid })
    const [read = {} as AuditEntry] = await records('kind=Read&limit=1')
    assert.deepEqual([read.action, read.subject], ['getCustomer', { id: guid }])
    assert.ok((await records('kind=Act&limit=100')).every(({ action }) => !/^(get|list|export)/.test(action)))
    assert.ok((await records('kind=Read&limit=100')).every(({ action }) => /^(get|list|export)/.test(action)))
    assert.deepEqual(pluck(await records(`subject=${guid}`), 'action'), ['updateCustomer', 'createCustomer'])
    assert.deepEqual(pluck(await records(`kind=Read&subject=${guid}`), 'action'), ['getCustomer'])
  })

  test('records can be filtered by person and action, and paging returns each record exactly once', async () => {
    const colleague = await accountWith(service, ['beneficiaries:write', 'customers:read', 'users:read'])
    const made: string[] = []
    for (let count = 0; count < 5; count += 1) made.push(textAt(await createBeneficiary(colleague), 'id'))
    success(await colleague.get('/v1/customers'))
    const [{ actor } = {} as AuditEntry] = await records(`subject=${made[0] ?? ''}`)
    const by = `actorId=${actor.id}`
    const all = await records(`${by}&limit=100`)
    assert.equal(all.length, 11, 'five requests, what they made, and a list')
    const things = (found: readonly AuditEntry[]) => found.map(({ subject }) => subject['id'])
    assert.deepEqual(things(await records(`${by}&kind=Act`)), made.toReversed())
    assert.deepEqual(things(await records(`${by}&kind=Act&action=createBeneficiary`)), made.toReversed())
    assert.deepEqual(await records(`${by}&action=createCustomer`), [])
    assert.deepEqual(await records(`${by}&kind=Act&subject=${world.beneficiary}`), [])
    for (const query of [by, `${by}&kind=Act`, `${by}&action=createBeneficiary`, `kind=Act&action=createBeneficiary`]) {
      const whole = idsOf(await records(`${query}&limit=100`))
      const seen: string[] = []
      for (let cursor = ''; seen.length < 12;) {
        const page = success(await client.get(`/v1/audit?${query}&limit=3${cursor}`))
        seen.push(...listAt(page).map((each) => textAt(each, 'id')))
        if (typeof page.nextCursor !== 'string') break
        cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`
      }
      assert.deepEqual(seen, whole.slice(0, seen.length))
      assert.ok(seen.length >= Math.min(12, whole.length))
    }
  })

  test('an invalid filter is refused with a pointer, and another partner gets no records', async () => {
    assertProblem(await client.get('/v1/audit?kind=Deed'), { status: 400, pointer: '/query/kind' })
    assertProblem(await client.get('/v1/audit?actorId=Ann'), { status: 400, pointer: '/query/actorId' })
    const foreign = await otherPartner(service)
    assert.deepEqual(await records(`subject=${world.beneficiary}`, foreign), [])
    assert.deepEqual(await records('action=createBeneficiary', foreign), [])
    assert.deepEqual(await records('action=nothing'), [])
  })
})
