import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Permission, permissions, roleAllows, type users as wire } from '@partner-payments/wire'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { type Caller, Refusal } from '../../kernel/api/index.ts'
import { dayMs, newId, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
const code = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error.code
}
const allowed = (role: wire.Role): readonly Permission[] => permissions.filter((each) => roleAllows(role, each))

/** An invitation and the token of its mail, which the mail alone has. */
async function invite(caller: Caller, role: wire.Role, name = newId()) {
  const { users, db, mailQueue } = service
  const entry = { email: `${name}@example.com`, fullName: 'Joan Clarke', role }
  const [invitation] = await users.createInvitations(caller, { invitations: [entry] })
  assert.ok(invitation)
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, caller.partnerId, 1000, 100))
  const mail = claimed.find(({ toAddress }) => toAddress === entry.email)
  assert.ok(mail)
  return { ...entry, id: invitation.id, token: mailQueue.secretOf(mail) ?? '' }
}

async function join(token: string) {
  const { members, clock } = service
  const { totpSecret: secret } = await members.openInvitation(token)
  const given = { kind: 'password', password, code: codeOf(secret, clock.now().getTime()) } as const
  return { secret, given, ...(await members.join(token, given, client)) }
}

async function addMember(caller: Caller, role: wire.Role) {
  const invitation = await invite(caller, role)
  return { ...invitation, ...(await join(invitation.token)) }
}

const statusOf = async (partnerId: string, id: string) => (await service.users.getInvitation(partnerId, id)).status

test('an invitation is accepted once, also by ten forms at once, and signs its member in', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { token, id, email } = await invite(caller, 'Operator')
  const { members, clock } = service
  const { totpSecret, partnerName, role } = await members.openInvitation(token)
  assert.deepEqual([partnerName, role], ['Test Partner', 'Operator'])
  const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  const ends = await Promise.allSettled(Array.from({ length: 10 }, () => members.join(token, given, client)))
  const joined = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  assert.equal(joined.length, 1)
  assert.equal(joined[0]?.recoveryCodes.length, 10)
  assert.equal(await statusOf(partnerId, id), 'Accepted')
  const signed = await members.signedIn(joined[0]?.token ?? '')
  assert.deepEqual(
    [signed?.user.email, signed?.user.role, signed?.caller.partnerId, signed?.caller.name],
    [email, 'Operator', partnerId, 'Joan Clarke'],
  )
  assert.deepEqual(signed?.caller.permissions, allowed('Operator'))
  assert.equal(await code(members.openInvitation(token)), 'not_found')
  assert.equal(await code(service.users.revokeInvitation(caller, id)), 'invitation_not_pending')
  const { data } = await service.audit.list(partnerId, {})
  assert.ok(data.some(({ action, actor }) => action === 'acceptInvitation' && actor.id === id))
})

test('a revoked, an expired, a resent and an invented invitation is not accepted', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { members, users, clock } = service
  const revoked = await invite(caller, 'Admin')
  await users.revokeInvitation(caller, revoked.id)
  const resent = await invite(caller, 'Admin')
  clock.advance(61 * secondMs)
  await users.resendInvitation(caller, resent.id, null)
  const expired = await invite(caller, 'Admin')
  clock.advance(8 * dayMs)
  const given = { kind: 'password', password, code: '000000' } as const
  for (const token of [revoked.token, resent.token, expired.token, '', 'x', `${expired.token.slice(0, -2)}AA`]) {
    assert.equal(await code(members.openInvitation(token)), 'not_found')
    assert.equal(await code(members.join(token, given, client)), 'not_found')
  }
  assert.deepEqual((await members.listUsers(partnerId, {})).data, [])
})

test('a password that is refused leaves the invitation pending, and the page shows the same secret again', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { token, id } = await invite(caller, 'Developer')
  const { members, clock } = service
  const { totpSecret } = await members.openInvitation(token)
  const right = codeOf(totpSecret, clock.now().getTime())
  for (const given of [
    { kind: 'password', password: 'password1234', code: right },
    { kind: 'password', password, code: '000000' },
    { kind: 'passkey', credential: '{}' },
    { kind: 'passkey', credential: 'no JSON' },
  ] as const)
    assert.equal(await code(members.join(token, given, client)), 'validation_failed')
  assert.equal(await statusOf(partnerId, id), 'Pending')
  assert.equal((await members.openInvitation(token)).totpSecret, totpSecret)
})

test('409 when the address has a member; a removed member can be invited again', async () => {
  const { caller } = await addPartner(service)
  const { id, email } = await addMember(caller, 'Operator')
  const again = { invitations: [{ email: email.toUpperCase(), fullName: 'Joan Clarke', role: 'Operator' as const }] }
  assert.equal(await code(service.users.createInvitations(caller, again)), 'invitation_exists')
  await service.members.removeUser(caller, id)
  await service.users.createInvitations(caller, again)
})

test('of two Admins who remove or demote each other at once, one stays', async () => {
  for (const demote of [false, true])
    for (let round = 0; round < 5; round += 1) {
      const { partnerId, caller } = await addPartner(service)
      const admins = [await addMember(caller, 'Admin'), await addMember(caller, 'Admin')]
      const { members } = service
      const ends = await Promise.allSettled(
        admins.map(({ id }) =>
          demote ? members.updateUser(caller, id, { role: 'Operator' }) : members.removeUser(caller, id),
        ),
      )
      assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
      const { data } = await members.listUsers(partnerId, { role: 'Admin' })
      assert.equal(data.length, 1)
      assert.equal(await code(members.removeUser(caller, data[0]?.id ?? '')), 'last_admin')
      assert.equal(await code(members.updateUser(caller, data[0]?.id ?? '', { role: 'Developer' })), 'last_admin')
      assert.equal((await members.updateUser(caller, data[0]?.id ?? '', { role: 'Admin' })).role, 'Admin')
    }
})

test('nobody invites to a role above the own, gives it, or takes it away', async () => {
  const { caller } = await addPartner(service)
  const admin = await addMember(caller, 'Admin')
  const operator = await addMember(caller, 'Operator')
  const { members, users } = service
  const held = [...allowed('Operator'), 'users:read', 'users:write'] as const
  const lesser: Caller = { ...caller, permissions: held }
  const entry = { email: 'eve@example.com', fullName: 'Eve', role: 'Admin' as const }
  assert.equal(await code(users.createInvitations(lesser, { invitations: [entry] })), 'permission_denied')
  assert.equal(await code(members.updateUser(lesser, operator.id, { role: 'Admin' })), 'permission_denied')
  assert.equal(await code(members.updateUser(lesser, admin.id, { role: 'Operator' })), 'permission_denied')
  assert.equal(await code(members.removeUser(lesser, admin.id)), 'permission_denied')
  await users.createInvitations(lesser, { invitations: [{ ...entry, role: 'Operator' }] })
  await members.removeUser(lesser, operator.id)
})

test('a new role counts for the next request of an open session; a removal ends it, and nothing signs in again', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { id, token, secret, email, recoveryCodes } = await addMember(caller, 'Operator')
  const { members, clock } = service
  await members.updateUser(caller, id, { role: 'Developer' })
  assert.deepEqual((await members.signedIn(token))?.caller.permissions, allowed('Developer'))
  await members.removeUser(caller, id)
  assert.equal(await members.signedIn(token), undefined)
  clock.advance(60 * secondMs)
  for (const given of [codeOf(secret, clock.now().getTime()), recoveryCodes[0] ?? ''])
    assert.equal(await members.signInByPassword(partnerId, { email, password, code: given }, client), undefined)
  assert.equal(await code(members.getUser(partnerId, id)), 'not_found')
  assert.equal(await code(members.removeUser(caller, id)), 'not_found')
})

test('a member signs in by address in any case, password and code, at the own partner alone', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { id, secret, email } = await addMember(caller, 'Operator')
  const { members, clock } = service
  clock.advance(60 * secondMs)
  const now = () => codeOf(secret, clock.now().getTime())
  const other = (await addPartner(service)).partnerId
  assert.equal(await members.signInByPassword(other, { email, password, code: now() }, client), undefined)
  const signed = await members.signInByPassword(
    partnerId,
    { email: ` ${email.toUpperCase()}`, password, code: now() },
    client,
  )
  assert.equal((await members.signedIn(signed?.token ?? ''))?.user.id, id)
  const { lastSignInAt } = await members.getUser(partnerId, id)
  assert.deepEqual(lastSignInAt, clock.now())
  assert.equal(await code(members.getUser(other, id)), 'not_found')
})

test('mails of a partner go to who joined or is invited, by the role of today, and not to who was removed', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { users, members, db } = service
  const [stays, changes, leaves] = [
    await addMember(caller, 'Admin'),
    await addMember(caller, 'Admin'),
    await addMember(caller, 'Admin'),
  ]
  const invited = await invite(caller, 'Admin')
  await members.updateUser(caller, changes.id, { role: 'Operator' })
  await members.removeUser(caller, leaves.id)
  const admins = await users.membersWithRoles(db, partnerId, ['Admin'], 10)
  assert.deepEqual(admins.map(({ email }) => email).toSorted(), [stays.email, invited.email].toSorted())
  const found = await users.membersByAddress(db, partnerId, [leaves.email, changes.email])
  assert.deepEqual([...found.keys()], [changes.email])
})

test('the links to sign in are mailed to an address, at most six a day, and nothing tells whether there are any', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { email } = await addMember(caller, 'Operator')
  const { members, db } = service
  for (let asked = 0; asked < 8; asked += 1) assert.equal(await members.mailSignInLinks(email.toUpperCase()), undefined)
  assert.equal(await members.mailSignInLinks('nobody@example.com'), undefined)
  const mails = await db.rows<{ readonly toAddress: string; readonly linkUrl: string }>(sql`
    select to_address, data->>'linkUrl' as link_url from mail.messages
    where partner_id = ${partnerId} and kind = 'sign_in_link'`)
  assert.equal(mails.length, 5, 'the invitation was the first of six')
  assert.ok(mails.every(({ toAddress, linkUrl }) => toAddress === email && linkUrl.endsWith(`?partner=${partnerId}`)))
})

test('users are listed newest first, in pages, by role', async () => {
  const { partnerId, caller } = await addPartner(service)
  const ids = []
  for (const role of ['Admin', 'Operator', 'Operator'] as const) ids.push((await addMember(caller, role)).id)
  const { members } = service
  const first = await members.listUsers(partnerId, { limit: '2' })
  const second = await members.listUsers(partnerId, { limit: '2', cursor: first.nextCursor ?? '' })
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => id),
    ids.toReversed(),
  )
  assert.equal(second.nextCursor, null)
  assert.deepEqual(first.data[0]?.factors, ['password'])
  assert.equal((await members.listUsers(partnerId, { role: 'Admin' })).data.length, 1)
})

test('while the partner is moved to another database, its people do not act, sign in or join', async () => {
  const { partnerId, caller } = await addPartner(service)
  const { members, access, db, clock } = service
  await db.transaction((tx) => access.createServiceAccount(tx, { partnerId, name: 'Test account', permissions }))
  const { token, secret, email } = await addMember(caller, 'Operator')
  const invited = await invite(caller, 'Operator')
  clock.advance(60 * secondMs)
  const signIn = () =>
    members.signInByPassword(partnerId, { email, password, code: codeOf(secret, clock.now().getTime()) }, client)
  await db.transaction((tx) => access.closeCredentials(tx, partnerId))
  assert.equal(await members.signedIn(token), undefined)
  assert.equal(await signIn(), undefined)
  assert.equal(await code(members.openInvitation(invited.token)), 'not_found')
  await db.transaction((tx) => access.openCredentials(tx, partnerId))
  assert.ok(await members.signedIn(token))
  clock.advance(60 * secondMs)
  assert.ok(await signIn())
  assert.ok(await members.openInvitation(invited.token))
})
