import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { users as wire } from '@partner-payments/wire'
import { addPartner, type TestPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { dayMs, hourMs, minuteMs, newId, present, secondMs } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { inTurn } from '../../../../test/support/in-turn.ts'
const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })

const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
const other = 'granite-fern-17-harbour'

type Mail = { readonly kind: string; readonly to: string; readonly event: string | null; readonly token: string | null }

/** Claims waiting mails like the worker. */
async function mailsOf(partnerId: string): Promise<readonly Mail[]> {
  const { db, mailQueue } = service
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000 * dayMs, 100))
  return claimed.map((mail) => ({
    kind: mail.kind,
    to: mail.toAddress,
    event: (JSON.parse(mail.data) as { readonly event?: string }).event ?? null,
    token: mailQueue.secretOf(mail),
  }))
}
const tokenTo = (mails: readonly Mail[], kind: string, to: string) =>
  present(mails.find((mail) => mail.kind === kind && mail.to === to)?.token, `${kind} to ${to}`)

async function addMember({ caller, partnerId }: TestPartner, role: wire.Role = 'Admin', fullName = 'Joan Clarke') {
  const { users, members, clock } = service
  const email = `${newId()}@example.com`
  await users.createInvitations(caller, { invitations: [{ email, fullName, role }] })
  const token = tokenTo(await mailsOf(partnerId), 'invitation', email)
  const { totpSecret: secret } = await members.openInvitation(token)
  const code = codeOf(secret, clock.now().getTime())
  const joined = await members.join(token, { kind: 'password', password, code }, client)
  clock.advance(30 * secondMs)
  const signed = present(await members.signedIn(joined.token), 'the member is signed in')
  const signIn = (given = { password, secret }) =>
    members.signInByPassword(
      partnerId,
      { email, password: given.password, code: codeOf(given.secret, clock.now().getTime()) },
      client,
    )
  return { id: signed.user.id, email, secret, signed, session: joined.token, signIn }
}

const begin = ({ partnerId }: TestPartner, email: string) =>
  service.db.transaction((tx) =>
    service.members.recoveries.begin(tx, partnerId, { email, staff: 'Ada Admin', reason: 'Lost phone' }),
  )
const stop = ({ partnerId }: TestPartner, id: string) =>
  service.db.transaction((tx) => service.members.recoveries.stop(tx, partnerId, id, { staff: 'Sam Support' }))
const statuses = async ({ partnerId }: TestPartner) =>
  (await service.members.recoveries.list(service.db, partnerId)).map(({ status }) => status)
const actions = async ({ partnerId }: TestPartner) =>
  (await service.audit.list(partnerId, {})).data.map(({ action }) => action)

/** The form of a link in a mail. */
async function complete(token: string) {
  const { members, clock } = service
  const { totpSecret: secret } = await members.recoveries.opened(token)
  const given = { kind: 'password', password: other, code: codeOf(secret, clock.now().getTime()) } as const
  return { secret, work: () => members.recoveries.complete(token, given, client) }
}

test('an Admin resets a colleague: factors and sessions end, and the link sets new factors exactly once', async () => {
  const partner = await addPartner(service)
  const { members, clock } = service
  const [joan, alan] = [await addMember(partner), await addMember(partner, 'Operator')]
  const third = await addMember(partner)
  await members.recoveries.reset(joan.signed, alan.id, client)
  assert.equal(await members.signedIn(alan.session), undefined)
  assert.equal(await alan.signIn(), undefined)
  assert.deepEqual((await members.getUser(partner.partnerId, alan.id)).factors, [])
  const mails = await mailsOf(partner.partnerId)
  const told = mails.filter(({ event }) => event === 'reset').map(({ to }) => to)
  assert.deepEqual(told.toSorted(), [joan.email, third.email].toSorted())
  const token = tokenTo(mails, 'recovery_link', alan.email)
  const { fullName, begunByName } = await members.recoveries.opened(token)
  assert.deepEqual([fullName, begunByName], ['Joan Clarke', 'Joan Clarke'])
  const { secret, work } = await complete(token)
  const ends = await Promise.allSettled(Array.from({ length: 5 }, work))
  const won = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  assert.equal(won.length, 1)
  assert.equal(won[0]?.recoveryCodes.length, 10)
  assert.equal((await members.signedIn(won[0]?.token ?? ''))?.user.id, alan.id)
  clock.advance(minuteMs)
  assert.ok(await alan.signIn({ password: other, secret }))
  assert.equal(await alan.signIn(), undefined)
  await assert.rejects(members.recoveries.opened(token), refused('not_found'))
  assert.deepEqual(await statuses(partner), ['Used'])
  const done = await actions(partner)
  for (const action of ['resetSignIn', 'recoverSignIn']) assert.ok(done.includes(action), action)
})

test("a reset is refused for the Admin's own account, to other roles and partners, and to an Admin who was reset meanwhile", async () => {
  const partner = await addPartner(service)
  const { recoveries } = service.members
  const [joan, grace] = [await addMember(partner), await addMember(partner)]
  const alan = await addMember(partner, 'Operator')
  const stranger = await addMember(await addPartner(service))
  await assert.rejects(recoveries.reset(joan.signed, joan.id, client), refused('validation_failed'))
  await assert.rejects(recoveries.reset(alan.signed, joan.id, client), refused('permission_denied'))
  await assert.rejects(recoveries.reset(stranger.signed, alan.id, client), refused('not_found'))
  await assert.rejects(recoveries.reset(joan.signed, newId(), client), refused('not_found'))
  const both = await Promise.allSettled([
    recoveries.reset(joan.signed, grace.id, client),
    recoveries.reset(grace.signed, joan.id, client),
  ])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.deepEqual(await statuses(partner), ['Open'])
})

test('neither a new factor nor a sign-in outlives a concurrent reset', async () => {
  const partner = await addPartner(service)
  const { members, factors, clock, db } = service
  const joan = await addMember(partner)
  for (const order of [
    ['reset', 'sign in', 'add'],
    ['add', 'reset'],
  ] as const) {
    const alan = await addMember(partner, 'Operator')
    const { nonce, totpSecret } = await factors.enrolment(alan.signed)
    const caller = { ...joan.signed.caller, signedInAt: clock.now() }
    const acts = {
      reset: () => members.recoveries.reset({ ...joan.signed, caller }, alan.id, client),
      'sign in': () => alan.signIn(),
      add: () => {
        const given = { kind: 'password', password: other, code: codeOf(totpSecret, clock.now().getTime()) } as const
        return factors.add(alan.signed, nonce, given, client)
      },
    }
    const lock = async (tx: Tx) => {
      await tx.rows(sql`select id from users.members where id = ${alan.id} for update`)
      await tx.rows(sql`select id from sign_in.sessions where member_id = ${alan.id} for update`)
    }
    const calls = order.map((act): (() => Promise<unknown>) => acts[act])
    const ends = await inTurn(db, lock, calls)
    assert.equal(ends[order.indexOf('reset')]?.status, 'fulfilled')
    assert.deepEqual((await members.getUser(partner.partnerId, alan.id)).factors, [], order.join())
    const left = await db.rows(sql`select id from sign_in.sessions where member_id = ${alan.id}`)
    assert.deepEqual(left, [], order.join())
    await assert.rejects(acts.add(), refused('validation_failed', '/nonce'))
  }
})

test('a second reset revokes the first link, and a link expires after a day or when its member is removed', async () => {
  const partner = await addPartner(service)
  const { members, clock } = service
  const [joan, alan] = [await addMember(partner), await addMember(partner, 'Developer')]
  const linkOf = async () => {
    const caller = { ...joan.signed.caller, signedInAt: clock.now() }
    await members.recoveries.reset({ ...joan.signed, caller }, alan.id, client)
    return tokenTo(await mailsOf(partner.partnerId), 'recovery_link', alan.email)
  }
  const [first, second] = [await linkOf(), await linkOf()]
  await assert.rejects(members.recoveries.opened(first), refused('not_found'))
  await members.recoveries.opened(second)
  assert.deepEqual(await statuses(partner), ['Open', 'Cancelled'])
  clock.advance(dayMs)
  await assert.rejects(members.recoveries.opened(second), refused('not_found'))
  const stale = members.recoveries.reset(joan.signed, alan.id, client)
  await assert.rejects(stale, refused('permission_denied'))
  const third = await linkOf()
  await members.removeUser(partner.caller, alan.id)
  await assert.rejects(members.recoveries.opened(third), refused('not_found'))
  for (const token of ['', 'x', `${third.slice(0, -2)}AA`])
    await assert.rejects(members.recoveries.opened(token), refused('not_found'))
})

test('if single sign-on is required, only Admins can be reset, because the provider recovers other members', async () => {
  const partner = await addPartner(service)
  const { recoveries } = service.members
  const [joan, alan] = [await addMember(partner), await addMember(partner, 'Operator')]
  const grace = await addMember(partner)
  const now = service.clock.now()
  await service.db.run(sql`insert into users.single_sign_on (partner_id, issuer, client_id, client_secret_sealed,
      email_domain, domain_token, domain_proved_at, role_values, required, created_at, updated_at)
    values (${partner.partnerId}, 'https://id.example', 'client', ${Buffer.from('x')}, 'example.com', 'token', ${now},
      '{}'::jsonb, true, ${now}, ${now})`)
  await assert.rejects(recoveries.reset(joan.signed, alan.id, client), refused('validation_failed'))
  await recoveries.reset(joan.signed, grace.id, client)
})

test('staff recover the only Admin: all Admins are notified, and the link is mailed after 24 hours and sets a new factor', async () => {
  const partner = await addPartner(service)
  const { members, clock } = service
  const joan = await addMember(partner)
  const { status } = await begin(partner, joan.email.toUpperCase())
  assert.equal(status, 'Waiting')
  const told = await mailsOf(partner.partnerId)
  assert.deepEqual(
    told.map(({ kind, to, event }) => ({ kind, to, event })),
    [{ kind: 'recovery_report', to: joan.email, event: 'waiting' }],
  )
  await assert.rejects(begin(partner, joan.email), refused('validation_failed'))
  clock.advance(24 * hourMs - secondMs)
  assert.equal(await members.recoveries.step(), 0)
  assert.ok(await joan.signIn(), 'the earlier factor works until the link is used')
  clock.advance(secondMs)
  // Two concurrent processes, one of them restarted.
  const moved = await Promise.all([members.recoveries.step(), members.recoveries.step()])
  assert.equal(
    moved.reduce((sum, count) => sum + count),
    1,
  )
  const mails = await mailsOf(partner.partnerId)
  assert.equal(mails.filter(({ kind }) => kind === 'recovery_link').length, 1)
  const { work } = await complete(tokenTo(mails, 'recovery_link', joan.email))
  const { token } = await work()
  assert.equal((await members.signedIn(token))?.user.role, 'Admin')
  assert.equal(await members.signedIn(joan.session), undefined)
  const done = await actions(partner)
  for (const action of ['openRecovery', 'recoverSignIn']) assert.ok(done.includes(action), action)
})

test('an Admin cancels with the link in the mail, even in the last second and after the recovery link was mailed', async () => {
  const partner = await addPartner(service)
  const { members, clock } = service
  const joan = await addMember(partner)
  await begin(partner, joan.email)
  const first = tokenTo(await mailsOf(partner.partnerId), 'recovery_report', joan.email)
  const { reason, begunByName } = await members.recoveries.cancellable(first)
  assert.deepEqual([reason, begunByName], ['Lost phone', 'Ada Admin'])
  clock.advance(24 * hourMs)
  // The job and the Admin act at the same time. Afterwards no link works.
  await Promise.all([members.recoveries.step(), members.recoveries.cancel(first, client)])
  assert.deepEqual(await statuses(partner), ['Cancelled'])
  await assert.rejects(members.recoveries.cancel(first, client), refused('not_found'))
  const mails = await mailsOf(partner.partnerId)
  assert.ok(!mails.some(({ kind }) => kind === 'recovery_link'), 'a link that was not sent yet is not sent')
  assert.ok(mails.some(({ event }) => event === 'cancelled'))
  await begin(partner, joan.email)
  const second = tokenTo(await mailsOf(partner.partnerId), 'recovery_report', joan.email)
  clock.advance(24 * hourMs)
  await members.recoveries.step()
  const link = tokenTo(await mailsOf(partner.partnerId), 'recovery_link', joan.email)
  await members.recoveries.cancel(second, client)
  await assert.rejects(members.recoveries.opened(link), refused('not_found'))
  assert.equal((await actions(partner)).filter((action) => action === 'cancelRecovery').length, 2)
  assert.ok(await joan.signIn(), 'nothing changed for the person')
})

test('a recovery is cancelled by staff, a change of role or a removal, but not by other members or strangers', async () => {
  const partner = await addPartner(service)
  const { members, clock } = service
  const [joan, grace, ruth] = [await addMember(partner), await addMember(partner), await addMember(partner)]
  const alan = await addMember(partner, 'Operator')
  await assert.rejects(begin(partner, alan.email), refused('validation_failed'))
  await assert.rejects(begin(partner, 'stranger@example.com'), refused('validation_failed'))
  await assert.rejects(begin(await addPartner(service), joan.email), refused('validation_failed'))
  const { id } = await begin(partner, joan.email)
  await assert.rejects(stop(await addPartner(service), id), refused('not_found'))
  await stop(partner, id)
  await assert.rejects(stop(partner, id), refused('not_found'))
  await begin(partner, grace.email)
  await begin(partner, ruth.email)
  await members.updateUser(partner.caller, grace.id, { role: 'Developer' })
  await members.removeUser(partner.caller, ruth.id)
  clock.advance(24 * hourMs)
  assert.equal(await members.recoveries.step(), 2)
  const ended = (await members.recoveries.list(service.db, partner.partnerId)).map((row) => row.endedBecause)
  assert.deepEqual(ended, [
    'the person was removed',
    'the person is no longer an Admin',
    'Sam Support, who works for the operator, cancelled it',
  ])
  assert.ok(!(await mailsOf(partner.partnerId)).some(({ kind }) => kind === 'recovery_link'))
  assert.ok(await joan.signIn())
})
