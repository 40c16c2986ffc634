/** Members: roles, second factors, the first Admin. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Permission, permissions, roleAllows, type users as wire } from '@partner-payments/wire'
import { addPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { outcomeCode } from '../../../../test/support/refusals.ts'
import { type Caller, createLinkToken, Refusal } from '../../kernel/api/index.ts'
import { dayMs, minuteMs, newId, present, randomBytes, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }

suite('members', async () => {
  const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })
  const allowed = (role: wire.Role): readonly Permission[] => permissions.filter((each) => roleAllows(role, each))

  /** Creates an invitation, and reads its token, which only the mail contains. */
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

  test('an invitation is accepted exactly once, even by ten concurrent forms, and signs its member in', async () => {
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
    assert.equal(await outcomeCode(members.openInvitation(token)), 'not_found')
    assert.equal(await outcomeCode(service.users.revokeInvitation(caller, id)), 'invitation_not_pending')
    const { data } = await service.audit.list(partnerId, {})
    assert.ok(data.some(({ action, actor }) => action === 'acceptInvitation' && actor.id === id))
  })

  test('a revoked, expired, resent or unknown invitation is not accepted', async () => {
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
      assert.equal(await outcomeCode(members.openInvitation(token)), 'not_found')
      assert.equal(await outcomeCode(members.join(token, given, client)), 'not_found')
    }
    assert.deepEqual((await members.listUsers(partnerId, {})).data, [])
  })

  test('a refused password leaves the invitation pending, and the page shows the same secret again', async () => {
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
      assert.equal(await outcomeCode(members.join(token, given, client)), 'validation_failed')
    assert.equal(await statusOf(partnerId, id), 'Pending')
    assert.equal((await members.openInvitation(token)).totpSecret, totpSecret)
  })

  test('409 when the address has a member; a removed member can be invited again', async () => {
    const { caller } = await addPartner(service)
    const { id, email } = await addMember(caller, 'Operator')
    const again = { invitations: [{ email: email.toUpperCase(), fullName: 'Joan Clarke', role: 'Operator' as const }] }
    assert.equal(await outcomeCode(service.users.createInvitations(caller, again)), 'invitation_exists')
    await service.members.removeUser(caller, id)
    await service.users.createInvitations(caller, again)
  })

  test('if two Admins remove or demote each other at the same time, one remains an Admin', async () => {
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
        assert.equal(await outcomeCode(members.removeUser(caller, data[0]?.id ?? '')), 'last_admin')
        assert.equal(
          await outcomeCode(members.updateUser(caller, data[0]?.id ?? '', { role: 'Developer' })),
          'last_admin',
        )
        assert.equal((await members.updateUser(caller, data[0]?.id ?? '', { role: 'Admin' })).role, 'Admin')
      }
  })

  test('a member cannot invite to, assign or revoke a role above their own', async () => {
    const { caller } = await addPartner(service)
    const admin = await addMember(caller, 'Admin')
    const operator = await addMember(caller, 'Operator')
    const { members, users } = service
    const held = [...allowed('Operator'), 'users:read', 'users:write'] as const
    const lesser: Caller = { ...caller, permissions: held }
    const entry = { email: 'eve@example.com', fullName: 'Eve', role: 'Admin' as const }
    assert.equal(await outcomeCode(users.createInvitations(lesser, { invitations: [entry] })), 'permission_denied')
    assert.equal(await outcomeCode(members.updateUser(lesser, operator.id, { role: 'Admin' })), 'permission_denied')
    assert.equal(await outcomeCode(members.updateUser(lesser, admin.id, { role: 'Operator' })), 'permission_denied')
    assert.equal(await outcomeCode(members.removeUser(lesser, admin.id)), 'permission_denied')
    await users.createInvitations(lesser, { invitations: [{ ...entry, role: 'Operator' }] })
    await members.removeUser(lesser, operator.id)
  })

  test('a new role applies from the next request of an open session, and a removed member cannot sign in again', async () => {
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
    assert.equal(await outcomeCode(members.getUser(partnerId, id)), 'not_found')
    assert.equal(await outcomeCode(members.removeUser(caller, id)), 'not_found')
  })

  test("a member signs in with an address in any case, password and code, and only at the member's partner", async () => {
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
    assert.equal(await outcomeCode(members.getUser(other, id)), 'not_found')
  })

  test('mails go to members and invited people by their current role, and not to removed people', async () => {
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

  test('sign-in links are mailed at most six times a day, and the answer does not reveal whether any exist', async () => {
    const { partnerId, caller } = await addPartner(service)
    const { email } = await addMember(caller, 'Operator')
    const { members, db } = service
    for (let asked = 0; asked < 8; asked += 1)
      assert.equal(await members.mailSignInLinks(email.toUpperCase()), undefined)
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

  test('while the partner is moved to another database, its members cannot act or sign in, and invited people cannot join', async () => {
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
    assert.equal(await outcomeCode(members.openInvitation(invited.token)), 'not_found')
    await db.transaction((tx) => access.openCredentials(tx, partnerId))
    assert.ok(await members.signedIn(token))
    clock.advance(60 * secondMs)
    assert.ok(await signIn())
    assert.ok(await members.openInvitation(invited.token))
  })
})

suite('second factors', async () => {
  const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })
  const other = 'granite-fern-17-harbour'
  const refuses = (pointer: string) => (error: unknown) =>
    error instanceof Refusal && error.errors.some((refused) => refused.pointer === pointer)

  /** Creates a partner whose member joined with a password. */
  async function addMember() {
    const { users, firstAdmin, members, clock } = service
    const { caller, partnerId } = await addPartner(service)
    const email = `${newId()}@example.com`
    await users.createInvitations(caller, { invitations: [{ email, fullName: 'Joan Clarke', role: 'Admin' }] })
    const token = await firstAdmin.invitationOf((await firstAdmin.linkToken(partnerId)) ?? '', email)
    const { totpSecret: secret } = await members.openInvitation(token)
    const code = codeOf(secret, clock.now().getTime())
    const joined = await members.join(token, { kind: 'password', password, code }, client)
    clock.advance(30 * secondMs)
    const signed = present(await members.signedIn(joined.token), 'the member is signed in')
    return { partnerId, email, secret, signed, recoveryCodes: joined.recoveryCodes }
  }

  const changesMailed = async (partnerId: string) => {
    const rows = await service.db.rows<{ change: string }>(sql`
    select data->>'change' as change from mail.messages
    where partner_id = ${partnerId} and kind = 'sign_in_changed' order by id`)
    return rows.map(({ change }) => change)
  }

  test('a new password replaces the app and the recovery codes, and is mailed and audited', async () => {
    const { factors, members, clock, audit } = service
    const { partnerId, email, secret, signed, recoveryCodes } = await addMember()
    const signIn = (given: { password: string; code: string }) =>
      members.signInByPassword(partnerId, { email, ...given }, client)
    const page = await factors.enrolment(signed)
    assert.notEqual(page.totpSecret, secret)
    assert.deepEqual(await factors.enrolmentAgain(signed, page.nonce), page, 'the page is shown again')
    const code = () => codeOf(page.totpSecret, clock.now().getTime())
    const add = (given: { password: string; code: string }, nonce = page.nonce) =>
      factors.add(signed, nonce, { kind: 'password', ...given }, client)
    await assert.rejects(add({ password: 'password1234', code: code() }), refuses('/password'))
    await assert.rejects(add({ password: other, code: '000000' }), refuses('/code'))
    await assert.rejects(add({ password: other, code: code() }, 'AAAA'), refuses('/nonce'))
    const stranger = await addMember()
    await assert.rejects(
      factors.add(stranger.signed, page.nonce, { kind: 'password', password: other, code: code() }, client),
      refuses('/nonce'),
    )
    const codes = await add({ password: other, code: code() })
    assert.equal(codes.length, 10)
    await assert.rejects(add({ password: other, code: code() }), refuses('/nonce'), 'answered before')
    clock.advance(30 * secondMs)
    assert.equal(await signIn({ password, code: codeOf(secret, clock.now().getTime()) }), undefined)
    assert.equal(await signIn({ password: other, code: recoveryCodes[0] ?? '' }), undefined)
    assert.ok(await signIn({ password: other, code: code() }))
    assert.ok(await signIn({ password: other, code: codes[0] ?? '' }))
    assert.deepEqual(await changesMailed(partnerId), ['password set', 'recovery code used'])
    const { data } = await audit.list(partnerId, {})
    assert.deepEqual(data.find(({ action }) => action === 'changeSignIn')?.details, { change: 'password set' })
    const { passkeys, passwordSince, recoveryCodesLeft } = await factors.list(signed)
    assert.deepEqual([passkeys, passwordSince === null, recoveryCodesLeft], [[], false, 9])
  })

  test('the page that adds a factor expires after ten minutes', async () => {
    const { factors, clock } = service
    const { signed } = await addMember()
    const { nonce, totpSecret } = await factors.enrolment(signed)
    clock.advance(10 * minuteMs)
    assert.equal(await factors.enrolmentAgain(signed, nonce), undefined)
    const given = { kind: 'password', password: other, code: codeOf(totpSecret, clock.now().getTime()) } as const
    await assert.rejects(factors.add(signed, nonce, given, client), refuses('/nonce'))
  })

  test('the last passkey of a person without a password cannot be removed, even if two are removed at the same time', async () => {
    const { factors, db, clock } = service
    const { partnerId, signed } = await addMember()
    const memberId = signed.user.id
    const ids = [newId(), newId()]
    for (const id of ids)
      await db.run(sql`
      insert into sign_in.passkeys (partner_id, id, member_id, credential_id, public_key, counter, transports, backed_up, created_at)
      values (${partnerId}, ${id}, ${memberId}, ${Buffer.from(id)}, ${Buffer.from('key')}, 0, '{}'::text[], false, ${clock.now()})`)
    await db.run(sql`delete from sign_in.passwords where partner_id = ${partnerId} and member_id = ${memberId}`)
    const stranger = await addMember()
    await assert.rejects(factors.removePasskey(stranger.signed, ids[0] ?? '', client), refuses('/id'))
    const ends = await Promise.allSettled(ids.map((id) => factors.removePasskey(signed, id, client)))
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.equal((await factors.list(signed)).passkeys.length, 1)
    assert.deepEqual(await changesMailed(partnerId), ['passkey removed'])
  })

  test('the fifth consecutive failure is mailed to the person exactly once', async () => {
    const { members } = service
    const { partnerId, email } = await addMember()
    for (let attempts = 0; attempts < 7; attempts++)
      await members.signInByPassword(partnerId, { email, password: 'wrong', code: '000000' }, client)
    assert.deepEqual(await changesMailed(partnerId), ['password blocked'])
  })
})

suite('the first Admin', async () => {
  const service = await useModules()

  const isNotFound = (error: unknown) => error instanceof Refusal && error.code === 'not_found'
  const email = 'grace@example.com'

  async function invite() {
    const { caller, partnerId } = await addPartner(service)
    const invitations = [{ email, fullName: 'Grace Hopper', role: 'Admin' as const }]
    await service.users.createInvitations(caller, { invitations })
    return { partnerId, token: (await service.firstAdmin.linkToken(partnerId)) ?? '' }
  }

  test('the link of the first Admin works only for its partner, and until the partner has a member', async () => {
    const { firstAdmin, members, clock } = service
    const { partnerId, token } = await invite()
    assert.equal((await firstAdmin.partnerOf(token)).partnerId, partnerId)
    const other = (await addPartner(service)).partnerId
    const forged = createLinkToken(other, Buffer.from(token, 'base64url').subarray(16))
    for (const wrong of ['', 'x', `${token}A`, forged, createLinkToken(partnerId, randomBytes(32))])
      await assert.rejects(firstAdmin.partnerOf(wrong), isNotFound, wrong)
    await assert.rejects(firstAdmin.invitationOf(token, 'stranger@example.com'), isNotFound)
    const earlier = await firstAdmin.invitationOf(token, email)
    const invitation = await firstAdmin.invitationOf(token, 'GRACE@example.com')
    await assert.rejects(members.openInvitation(earlier), isNotFound, 'the page was sent again')
    const { totpSecret } = await members.openInvitation(invitation)
    const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
    const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
    const { token: session } = await members.join(invitation, given, client)
    assert.equal((await members.signedIn(session))?.user.role, 'Admin')
    await assert.rejects(firstAdmin.partnerOf(token), isNotFound)
    await assert.rejects(firstAdmin.invitationOf(token, email), isNotFound)
    assert.equal(await firstAdmin.linkToken(partnerId), undefined)
  })

  test('the mail of an invitation is not sent after the page of the first Admin opened it', async () => {
    const { partnerId, token } = await invite()
    await service.firstAdmin.invitationOf(token, email)
    const mails = await service.db.rows<{ status: string }>(
      sql`select status from mail.messages where partner_id = ${partnerId}`,
    )
    assert.deepEqual(
      mails.map(({ status }) => status === 'pending'),
      [false],
    )
  })

  test('the link of a partner that is being moved does not work', async () => {
    const { partnerId, token } = await invite()
    const account = { partnerId, name: 'Test account', permissions }
    await service.db.transaction((tx) => service.access.createServiceAccount(tx, account))
    await service.db.transaction((tx) => service.access.closeCredentials(tx, partnerId))
    await assert.rejects(service.firstAdmin.partnerOf(token), isNotFound)
    await assert.rejects(service.firstAdmin.invitationOf(token, email), isNotFound)
    await service.db.transaction((tx) => service.access.openCredentials(tx, partnerId))
    assert.equal((await service.firstAdmin.partnerOf(token)).partnerId, partnerId)
  })
})
