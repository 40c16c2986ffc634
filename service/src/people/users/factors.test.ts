import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { minuteMs, newId, present, secondMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
before(async () => {
  service = await createTestService({ now: new Date('2026-11-24T08:00:00Z') })
})
after(() => service.close())

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
const other = 'granite-fern-17-harbour'
const refuses = (pointer: string) => (error: unknown) =>
  error instanceof Refusal && error.errors.some((refused) => refused.pointer === pointer)

/** A member of a new partner, who has joined with a password. */
async function addMember() {
  const { users, firstAdmin, members, clock } = service
  const { caller, partnerId } = await addPartner(service)
  const email = `${newId()}@example.com`
  await users.createInvitations(caller, { invitations: [{ email, fullName: 'Joan Clarke', role: 'Admin' }] })
  const token = await firstAdmin.invitationOf((await firstAdmin.tokenOf(partnerId)) ?? '', email)
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

test('a new password has a new app and new recovery codes, ends those before, and is mailed and audited', async () => {
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
  const { passkeys, passwordSince, recoveryCodesLeft } = await factors.of(signed)
  assert.deepEqual([passkeys, passwordSince === null, recoveryCodesLeft], [[], false, 9])
})

test('the page of a new factor ends after ten minutes', async () => {
  const { factors, clock } = service
  const { signed } = await addMember()
  const { nonce, totpSecret } = await factors.enrolment(signed)
  clock.advance(10 * minuteMs)
  assert.equal(await factors.enrolmentAgain(signed, nonce), undefined)
  const given = { kind: 'password', password: other, code: codeOf(totpSecret, clock.now().getTime()) } as const
  await assert.rejects(factors.add(signed, nonce, given, client), refuses('/nonce'))
})

test('the last passkey of a person without a password stays, also when two are removed at once', async () => {
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
  assert.equal((await factors.of(signed)).passkeys.length, 1)
  assert.deepEqual(await changesMailed(partnerId), ['passkey removed'])
})

test('the fifth failure in a row is mailed to the person, once', async () => {
  const { members } = service
  const { partnerId, email } = await addMember()
  for (let attempts = 0; attempts < 7; attempts++)
    await members.signInByPassword(partnerId, { email, password: 'wrong', code: '000000' }, client)
  assert.deepEqual(await changesMailed(partnerId), ['password blocked'])
})
