import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { permissions, roleAllows } from '@partner-payments/wire'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Signed } from './member-deps.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const ip = '203.0.113.7'
const filters = { page: 'transactions', query: 'status=Pending&currency=EUR', isShared: false }

async function addPerson(caller: Caller, role: 'Admin' | 'Operator'): Promise<Signed> {
  const { users, members, clock, db, mailQueue } = service
  const email = `${newId()}@example.com`
  await users.createInvitations(caller, { invitations: [{ email, fullName: 'Ada Person', role }] })
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, caller.partnerId, 1000, 100))
  const mail = claimed.find(({ toAddress }) => toAddress === email)
  assert.ok(mail)
  const token = mailQueue.secretOf(mail) ?? ''
  const { totpSecret } = await members.openInvitation(token)
  const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  const signed = await members.signedIn((await members.join(token, given, { ip, userAgent: 'Test' })).token)
  assert.ok(signed)
  return signed
}

/** Code of a refusal and of its field. */
const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof Refusal, String(error))
  return [error.code, ...error.errors.map(({ pointer, code }) => `${pointer} ${code}`)].join(' ')
}
const namesOf = async (person: Signed, page = 'transactions') =>
  (await service.savedViews.of(person, page)).map(({ name }) => name)

test('a view is seen by its maker, or by the team of its partner if it is shared', async () => {
  const [{ caller }, other] = [await addPartner(service), await addPartner(service)]
  const [ada, bob, stranger] = [
    await addPerson(caller, 'Operator'),
    await addPerson(caller, 'Operator'),
    await addPerson(other.caller, 'Admin'),
  ]
  const { savedViews } = service
  assert.deepEqual(await namesOf(ada), [])
  await savedViews.save(ada, { ...filters, name: ' Mine ' }, ip)
  await savedViews.save(ada, { ...filters, name: 'Ours', isShared: true }, ip)
  assert.deepEqual(await namesOf(ada), ['Mine', 'Ours'])
  assert.deepEqual(await namesOf(bob), ['Ours'])
  assert.deepEqual(await namesOf(stranger), [])
  assert.deepEqual(await namesOf(ada, 'payouts'), [])
})

test('a shared view is changed by its maker and by an Admin of the team, a private one by its maker', async () => {
  const [{ caller, partnerId }, other] = [await addPartner(service), await addPartner(service)]
  const [ada, bob, admin, stranger] = [
    await addPerson(caller, 'Operator'),
    await addPerson(caller, 'Operator'),
    await addPerson(caller, 'Admin'),
    await addPerson(other.caller, 'Admin'),
  ]
  const { savedViews } = service
  await savedViews.save(ada, { ...filters, name: 'Mine' }, ip)
  await savedViews.save(ada, { ...filters, name: 'Ours', isShared: true }, ip)
  const [mine, ours] = await savedViews.of(ada, 'transactions')
  assert.ok(mine && ours)
  assert.equal((await savedViews.of(bob, 'transactions'))[0]?.isOwn, false)
  for (const person of [bob, stranger]) assert.equal(await refusal(savedViews.remove(person, ours.id, ip)), 'not_found')
  for (const person of [bob, admin, stranger])
    assert.equal(await refusal(savedViews.rename(person, mine.id, 'Taken', ip)), 'not_found')
  await savedViews.rename(admin, ours.id, 'Team', ip)
  await savedViews.remove(admin, ours.id, ip)
  assert.deepEqual(await namesOf(ada), ['Mine'])
  const { data } = await service.audit.list(partnerId, {})
  assert.deepEqual(
    data.filter(({ action }) => action.startsWith('savedView.')).map(({ action, actor }) => [action, actor.id]),
    [
      ['savedView.deleted', admin.user.id],
      ['savedView.renamed', admin.user.id],
      ['savedView.saved', ada.user.id],
      ['savedView.saved', ada.user.id],
    ],
  )
})

test('a bad name, a taken one, no filter and a view beyond fifty are refused', async () => {
  const { caller } = await addPartner(service)
  const ada = await addPerson(caller, 'Operator')
  const { savedViews } = service
  const save = (name: string, query = filters.query) => savedViews.save(ada, { ...filters, name, query }, ip)
  assert.equal(await refusal(save('  ')), 'validation_failed /name empty')
  assert.equal(await refusal(save('x'.repeat(61))), 'validation_failed /name too_long')
  assert.equal(await refusal(save('a\nb')), 'validation_failed /name invalid_character')
  assert.equal(await refusal(save('None', '')), 'validation_failed /query invalid_value')
  assert.equal(await refusal(save('Long', 'a='.padEnd(1001, 'x'))), 'validation_failed /query invalid_value')
  const twice = await Promise.allSettled([save('View 0'), save('View 0')])
  assert.deepEqual(twice.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  for (let at = 1; at < 48; at++) await save(`View ${at}`)
  const last = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => save(name)))
  assert.equal(last.filter(({ status }) => status === 'fulfilled').length, 2, 'two places are left')
  assert.equal(await refusal(save('One more')), 'validation_failed /name out_of_range')
  assert.equal((await namesOf(ada)).length, 50)
})

test('the private views of a removed member are deleted, and the team keeps the shared ones', async () => {
  const { caller } = await addPartner(service)
  const [ada, bob] = [await addPerson(caller, 'Operator'), await addPerson(caller, 'Operator')]
  const { savedViews, members } = service
  await savedViews.save(ada, { ...filters, name: 'Mine' }, ip)
  await savedViews.save(ada, { ...filters, name: 'Ours', isShared: true }, ip)
  const admin = { ...caller, permissions: permissions.filter((each) => roleAllows('Admin', each)) }
  await members.removeUser(admin, ada.user.id)
  assert.deepEqual(await namesOf(ada), ['Ours'])
  assert.deepEqual(await namesOf(bob), ['Ours'])
})
