/** Guest links, and saved views. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions, roleAllows, serviceAccounts } from '@partner-payments/wire'
import { addPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { outcomeCode } from '../../../../test/support/refusals.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { hourMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { SignedInUser } from './member-deps.ts'
const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })
const ip = '203.0.113.7'

const { examplePublicKey } = serviceAccounts

/** A partner with a service account that the operator issued. */
async function addMaker() {
  const { partnerId, caller } = await addPartner(service)
  const { db, access } = service
  const request = { partnerId, name: caller.name, publicKeyPem: examplePublicKey, permissions }
  const { serviceAccountId } = await db.transaction((tx) => access.createServiceAccount(tx, request))
  return { partnerId, caller: { ...caller, serviceAccountId } }
}

/** Reads the token of the newest mail to an address. Only the mail contains it. */
async function tokenFor({ partnerId }: Caller, email: string): Promise<string> {
  const { db, mailQueue } = service
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
  const mail = claimed.findLast(({ toAddress }) => toAddress === email)
  assert.ok(mail)
  return mailQueue.secretOf(mail) ?? ''
}

async function makeLink(caller: Caller, access: 'read' | 'manage' = 'read', expiresInHours: number | null = null) {
  const email = `${newId()}@example.com`
  const given = { email, fullName: 'Joan Clarke', access, expiresInHours }
  const { id } = await service.guestLinks.create(caller, given, { ip })
  return { id, email, token: await tokenFor(caller, email) }
}

const statusOf = async ({ partnerId }: Caller, id: string) =>
  (await service.guestLinks.list(partnerId, {})).data.find((link) => link.id === id)?.status

/** Lets an Admin join, and returns the caller of the session. */
async function addAdmin(caller: Caller): Promise<Caller> {
  const { users, members, clock } = service
  const email = `${newId()}@example.com`
  await users.createInvitations(caller, { invitations: [{ email, fullName: 'Ada Admin', role: 'Admin' }] })
  const token = await tokenFor(caller, email)
  const { totpSecret } = await members.openInvitation(token)
  const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  const signed = await members.signedIn((await members.join(token, given, { ip, userAgent: 'Test' })).token)
  assert.ok(signed)
  return signed.caller
}

test('a link opens exactly once even with ten concurrent clicks, and a preview does not open it', async () => {
  const { caller, partnerId } = await addMaker()
  const { guestLinks } = service
  const { id, token } = await makeLink(caller)
  for (let at = 0; at < 3; at++) assert.equal((await guestLinks.shown(token)).link.id, id)
  assert.equal(await statusOf(caller, id), 'Pending')
  const ends = await Promise.allSettled(Array.from({ length: 10 }, () => guestLinks.open(token, ip)))
  const opened = ends.filter((end) => end.status === 'fulfilled')
  assert.equal(opened.length, 1)
  const guest = await guestLinks.guest(opened[0]?.value ?? '')
  assert.deepEqual(guest?.caller, {
    partnerId,
    serviceAccountId: id,
    name: `Joan Clarke (guest of ${caller.name})`,
    permissions: ['webhooks:read'],
  })
  assert.equal(await outcomeCode(guestLinks.shown(token)), 'not_found')
  assert.equal(await outcomeCode(guestLinks.open(token, ip)), 'not_found')
  assert.equal(await guestLinks.guest(token), undefined, 'the token of the mail is no session')
  assert.equal(await service.members.signedIn(opened[0]?.value ?? ''), undefined, 'a guest is no member')
  assert.equal(await statusOf(caller, id), 'Open')
})

test('the row contains neither the mailed token nor the session token', async () => {
  const { caller } = await addMaker()
  const { token } = await makeLink(caller)
  const session = await service.guestLinks.open(token, ip)
  const rows = await service.db.rows<{ readonly row: string }>(sql`/* test.rows */
    select guest_links::text as row from users.guest_links where partner_id = ${caller.partnerId}`)
  assert.equal(rows.length, 1)
  for (const secret of [token, session])
    for (const form of [secret, Buffer.from(secret, 'base64url').toString('hex')])
      assert.ok(!rows[0]?.row.includes(form))
})

test('a link and its session end at the expiry, 24 hours by default and at most seven days', async () => {
  const { caller } = await addMaker()
  const { guestLinks, clock } = service
  const [unopened, opened, long] = [
    await makeLink(caller),
    await makeLink(caller, 'manage'),
    await makeLink(caller, 'read', 168),
  ]
  const [session, week] = [await guestLinks.open(opened.token, ip), await guestLinks.open(long.token, ip)]
  clock.advance(24 * hourMs - 1)
  assert.deepEqual((await guestLinks.guest(session))?.caller.permissions, ['webhooks:read', 'webhooks:write'])
  clock.advance(1)
  assert.equal(await guestLinks.guest(session), undefined)
  assert.equal(await outcomeCode(guestLinks.open(unopened.token, ip)), 'not_found')
  assert.equal(await statusOf(caller, opened.id), 'Expired')
  assert.equal(await outcomeCode(guestLinks.revoke(caller, opened.id, ip)), 'not_found')
  clock.advance(143 * hourMs)
  assert.ok(await guestLinks.guest(week))
  clock.advance(hourMs)
  assert.equal(await guestLinks.guest(week), undefined)
})

test('a revocation ends an unopened link and an open session at once, but not for another partner', async () => {
  const { caller } = await addMaker()
  const other = await addMaker()
  const { guestLinks } = service
  const [unopened, opened] = [await makeLink(caller), await makeLink(caller)]
  const session = await guestLinks.open(opened.token, ip)
  assert.equal(await outcomeCode(guestLinks.revoke(other.caller, opened.id, ip)), 'not_found')
  assert.deepEqual((await guestLinks.list(other.partnerId, {})).data, [])
  assert.ok(await guestLinks.guest(session))
  await guestLinks.revoke(caller, opened.id, ip)
  await guestLinks.revoke(caller, unopened.id, ip)
  assert.equal(await guestLinks.guest(session), undefined)
  assert.equal(await outcomeCode(guestLinks.open(unopened.token, ip)), 'not_found')
  assert.equal(await statusOf(caller, opened.id), 'Revoked')
})

test('a guest loses access when the maker loses the role or is removed, and does not regain it with the role', async () => {
  const { caller } = await addMaker()
  const { guestLinks, members } = service
  await addAdmin(caller)
  for (const lose of ['role', 'membership'] as const) {
    const maker = await addAdmin(caller)
    const [open, pending] = [await makeLink(maker), await makeLink(maker)]
    const session = await guestLinks.open(open.token, ip)
    assert.ok(await guestLinks.guest(session))
    const { serviceAccountId: id } = maker
    if (lose === 'role') await members.updateUser(caller, id, { role: 'Developer' })
    else await members.removeUser(caller, id)
    assert.equal(await guestLinks.guest(session), undefined)
    assert.equal(await outcomeCode(guestLinks.open(pending.token, ip)), 'not_found')
    if (lose === 'role') await members.updateUser(caller, id, { role: 'Admin' })
    assert.equal(await guestLinks.guest(session), undefined)
  }
})

test('a guest loses access when the service account that made the link is revoked', async () => {
  const { caller, partnerId } = await addMaker()
  const { guestLinks, access, db } = service
  const { id, token } = await makeLink(caller)
  const session = await guestLinks.open(token, ip)
  assert.ok(await guestLinks.guest(session))
  await db.transaction((tx) => access.revoke(tx, partnerId, caller.serviceAccountId))
  assert.equal(await guestLinks.guest(session), undefined)
  assert.equal(await statusOf(caller, id), 'Ended')
})

test('a caller cannot grant more permissions than it has, and an invalid address or name is refused with a pointer', async () => {
  const { caller } = await addMaker()
  const { guestLinks } = service
  const given = { email: 'joan@example.com', fullName: 'Joan Clarke', access: 'manage' } as const
  for (const missing of ['webhooks:read', 'webhooks:write'] as const) {
    const less = { ...caller, permissions: permissions.filter((each) => each !== missing) }
    assert.equal(await outcomeCode(guestLinks.create(less, given, { ip })), 'permission_denied')
  }
  const bad = { ...given, email: 'a"b@example.com', fullName: 'see evil.example.com' }
  const error = await guestLinks.create(caller, bad, { ip }).catch((failure: unknown) => failure)
  assert.ok(error instanceof Refusal)
  assert.deepEqual(
    error.errors.map(({ pointer }) => pointer),
    ['/email', '/fullName'],
  )
  assert.deepEqual((await guestLinks.list(caller.partnerId, {})).data, [])
})

test('the records of creating, opening and revoking a link name the maker and the guest', async () => {
  const { caller, partnerId } = await addMaker()
  const { guestLinks, audit } = service
  const { id, email, token } = await makeLink(caller)
  await guestLinks.open(token, ip)
  await guestLinks.revoke(caller, id, ip)
  const { data } = await audit.list(partnerId, {})
  const about = data.filter(({ subject }) => subject['guestLinkId'] === id).toReversed()
  assert.deepEqual(
    about.map(({ action, actor }) => [action, actor.name]),
    [
      ['guestLink.created', caller.name],
      ['guestLink.opened', `Joan Clarke (guest of ${caller.name})`],
      ['guestLink.revoked', caller.name],
    ],
  )
  for (const { details } of about) {
    assert.equal(details?.['guest'], 'Joan Clarke')
    assert.equal(details?.['email'], email)
    assert.equal(details?.['madeBy'], caller.name)
  }
})

const filters = { page: 'transactions', query: 'status=Pending&currency=EUR', isShared: false }

async function addPerson(caller: Caller, role: 'Admin' | 'Operator'): Promise<SignedInUser> {
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

/** Returns the code of a refusal and of its field. */
const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof Refusal, String(error))
  return [error.code, ...error.errors.map(({ pointer, code }) => `${pointer} ${code}`)].join(' ')
}
const namesOf = async (person: SignedInUser, page = 'transactions') =>
  (await service.savedViews.list(person, page)).map(({ name }) => name)

test('a view is visible only to its maker, or to the whole team if it is shared', async () => {
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

test('the maker and Admins can change a shared view, and only the maker can change a private view', async () => {
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
  const [mine, ours] = await savedViews.list(ada, 'transactions')
  assert.ok(mine && ours)
  assert.equal((await savedViews.list(bob, 'transactions'))[0]?.isOwn, false)
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

test('an invalid or taken name, a missing filter and a fifty-first view are refused', async () => {
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

test('the private views of a removed member are deleted, and the team keeps the shared views', async () => {
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
