import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { createTestDatabase } from '../../../../test/support/postgres.ts'
import { type Caller, createCursors, type Refusal } from '../../kernel/api/index.ts'
import { createLog, createSealer, dayMs, hourMs, minuteMs, newId, tokenHash } from '../../kernel/index.ts'
import { createAudit } from '../../audit/index.ts'
import { createAccess } from '../../access/index.ts'
import { createIdempotency } from '../../idempotency/index.ts'
import { createMailQueue } from '../../mail/index.ts'
import { createDatabase, sql } from '../../postgres/index.ts'
import { createUsers, usersRoutes } from './index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { untilEnd } from '../../../../test/support/fixture.ts'
import { outcomeCode, refusalOf } from '../../../../test/support/refusals.ts'

const log = createLog('silent')
const sealer = createSealer([Buffer.alloc(32, 1)])
const start = new Date('2026-11-21T08:00:00.000Z')

const testDatabase = await createTestDatabase()
const db = untilEnd(createDatabase({ url: testDatabase.url, connectionsMax: 5, log }))
after(() => testDatabase.drop())

/** A partner of its own for each test, and a manual clock. */
async function setUp() {
  const partnerId = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Acme', ${start})`)
  const clock = createManualClock(start)
  const cursors = createCursors(Buffer.alloc(32, 2))
  const invitationBaseUrl = 'https://portal.example/join'
  const queue = createMailQueue({ clock, sealer })
  const users = createUsers({
    ...{
      db,
      clock,
      access: createAccess({ db, clock, sealer }),
      mail: queue,
      cursors,
      sandbox: false,
      invitationBaseUrl,
    },
  })
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper', permissions }
  const invite = async (...emails: readonly string[]) =>
    users.createInvitations(caller, { invitations: emails.map((email) => entry(email)) })
  const inviteOne = async (email: string) => {
    const [invitation] = await invite(email)
    assert(invitation)
    return invitation
  }
  const idempotency = createIdempotency({ db, clock, sealer, audit: createAudit({ db, clock, cursors, sealer }) })
  return { partnerId, clock, queue, users, idempotency, caller, invite, inviteOne }
}

const entry = (email: string, redirectUrl?: string | null) => ({
  email,
  fullName: `Name of ${email.split('@', 1)[0]}`,
  role: 'Developer' as const,
  ...(redirectUrl === undefined ? {} : { redirectUrl }),
})

const mails = (partnerId: string) =>
  db.rows<{
    status: string
    kind: string
    linkUrl: string
    lastError: string | null
    hasToken: boolean
    toAddress: string
  }>(
    sql`select status, kind, data->>'linkUrl' as link_url, last_error, secret_sealed is not null as has_token, to_address
      from mail.messages where partner_id = ${partnerId} order by id`,
  )

test('200 with the invitations in the order of the request, and a queued mail for each', async () => {
  const { partnerId, users, idempotency, caller } = await setUp()
  const routes = usersRoutes(users, idempotency)
  const call = { caller, params: {}, query: undefined, requestId: 'r', ip: '127.0.0.1' } as const
  const { body } = await routes.createInvitations({
    ...call,
    body: { invitations: [entry('zoe@example.com', 'https://a.example/x'), entry('Ada@Example.com', null)] },
  })
  const [zoe, ada] = body.invitations
  assert(zoe && ada)
  assert.deepEqual(zoe, {
    inviteId: zoe.inviteId,
    email: 'zoe@example.com',
    roleName: 'Developer',
    status: 'Pending',
    invitedById: caller.serviceAccountId,
    invitedByFullName: 'Grace Hopper',
    createdAt: start.toISOString(),
    updatedAt: start.toISOString(),
  })
  assert.equal(ada.email, 'Ada@Example.com')
  const read = await routes.getInvitation({ ...call, params: { invitationId: ada.inviteId }, body: undefined })
  assert.deepEqual(read.body, ada)
  assert.deepEqual(
    (await mails(partnerId)).map((mail) => [mail.toAddress, mail.kind, mail.status, mail.linkUrl]),
    [
      ['zoe@example.com', 'invitation', 'pending', 'https://a.example/x'],
      ['Ada@Example.com', 'invitation', 'pending', 'https://portal.example/join'],
    ],
  )
})

test('one 200 and one 409 when two concurrent requests invite the same addresses in any order', async () => {
  const { partnerId, users, invite } = await setUp()
  for (let round = 0; round < 5; round += 1) {
    const emails = ['a', 'b', 'c', 'd'].map((name) => `${name}${round}@example.com`)
    const results = await Promise.allSettled([invite(...emails), invite(...emails.toReversed())])
    const refused = results.filter((result) => result.status === 'rejected').map((result) => result.reason as Refusal)
    assert.deepEqual(
      refused.map((error) => [error.code, error.errors.length]),
      [['invitation_exists', 4]],
    )
  }
  assert.equal((await users.listInvitations(partnerId, { limit: '100' })).data.length, 20)
})

test('200 when another partner invites the same address', async () => {
  const [one, other] = [await setUp(), await setUp()]
  const invitation = await one.inviteOne('ada@example.com')
  await other.inviteOne('ada@example.com')
  assert.equal(await outcomeCode(other.users.getInvitation(other.partnerId, invitation.id)), 'not_found')
  assert.equal(await outcomeCode(other.users.resendInvitation(other.caller, invitation.id, null)), 'not_found')
  assert.equal(await outcomeCode(other.users.revokeInvitation(other.caller, invitation.id)), 'not_found')
})

test('an expired invitation is shown and filtered as Expired, and its address can be invited again', async () => {
  const { partnerId, clock, users, caller, invite } = await setUp()
  const [short] = await users.createInvitations(caller, { invitations: [entry('ada@example.com')], expiryInDays: 1 })
  const [usual] = await users.createInvitations(caller, { invitations: [entry('bob@example.com')], expiryInDays: null })
  assert(short && usual)
  const statuses = async (status: 'Pending' | 'Expired') =>
    (await users.listInvitations(partnerId, { status })).data.map(({ email }) => email)
  clock.advance(dayMs - 1)
  assert.equal((await users.getInvitation(partnerId, short.id)).status, 'Pending')
  clock.advance(1)
  const expired = await users.getInvitation(partnerId, short.id)
  assert.deepEqual([expired.status, expired.updatedAt], ['Expired', clock.now()])
  assert.deepEqual(await statuses('Pending'), ['bob@example.com'])
  assert.deepEqual(await statuses('Expired'), ['ada@example.com'])
  assert.equal(await outcomeCode(users.revokeInvitation(caller, short.id)), 'invitation_not_pending')

  clock.advance(hourMs)
  const [again] = await invite('ada@example.com')
  assert.notEqual(again?.id, short.id)
  assert.deepEqual(await users.getInvitation(partnerId, short.id), expired)
  assert.deepEqual(await statuses('Expired'), ['ada@example.com'])
  clock.advance(6 * dayMs)
  assert.equal((await users.getInvitation(partnerId, usual.id)).status, 'Expired')
})

test('a resend replaces the token and its queued mail, renews the expiry and keeps the redirect', async () => {
  const { partnerId, clock, queue, users, caller } = await setUp()
  const [invitation] = await users.createInvitations(caller, {
    invitations: [entry('ada@example.com', 'https://a.example/first')],
    expiryInDays: 2,
  })
  assert(invitation)
  const hash = async () =>
    (await db.row<{ tokenHash: Buffer }>(sql`select token_hash from users.invitations where partner_id = ${partnerId}`))
      ?.tokenHash
  const firstHash = await hash()
  clock.advance(dayMs)
  const resent = await users.resendInvitation(caller, invitation.id, undefined)
  assert.deepEqual(resent, { ...invitation, updatedAt: clock.now() })
  assert.notDeepEqual(await hash(), firstHash)
  clock.advance(dayMs + hourMs)
  assert.equal((await users.getInvitation(partnerId, invitation.id)).status, 'Pending')
  await users.resendInvitation(caller, invitation.id, 'https://a.example/second')
  assert.equal(
    await outcomeCode(users.resendInvitation(caller, invitation.id, 'http://a.example/')),
    'validation_failed',
  )
  assert.deepEqual(
    (await mails(partnerId)).map((mail) => [mail.kind, mail.status, mail.hasToken, mail.linkUrl, mail.lastError]),
    [
      ['invitation', 'failed', false, 'https://a.example/first', 'superseded by a resend'],
      ['invitation_resent', 'failed', false, 'https://a.example/first', 'superseded by a resend'],
      ['invitation_resent', 'pending', true, 'https://a.example/second', null],
    ],
  )
  const [mail] = await queue.claim(db, partnerId, minuteMs, 10)
  assert(mail)
  assert.deepEqual(tokenHash(queue.secretOf(mail) ?? ''), await hash())
})

test('429 with Retry-After when a resend follows another within 60 s, and 429 after five resends', async () => {
  const { clock, users, caller, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  await users.resendInvitation(caller, id, undefined)
  clock.advance(1)
  const soon = await refusalOf(users.resendInvitation(caller, id, undefined))
  assert.deepEqual([soon.code, soon.headers], ['resend_too_soon', { 'Retry-After': '60' }])
  clock.advance(minuteMs - 2)
  const last = await refusalOf(users.resendInvitation(caller, id, undefined))
  assert.deepEqual(last.headers, { 'Retry-After': '1' })
  clock.advance(1)
  for (let resend = 2; resend <= 5; resend += 1) {
    await users.resendInvitation(caller, id, undefined)
    clock.advance(minuteMs)
  }
  assert.equal(await outcomeCode(users.resendInvitation(caller, id, undefined)), 'resend_limit_reached')
})

test('one 200 and 429 to the others when three resends are concurrent', async () => {
  const { partnerId, users, caller, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  const results = await Promise.allSettled([
    users.resendInvitation(caller, id, undefined),
    users.resendInvitation(caller, id, undefined),
    users.resendInvitation(caller, id, undefined),
  ])
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Refusal).code] : []))
  assert.deepEqual(refused, ['resend_too_soon', 'resend_too_soon'])
  assert.equal((await mails(partnerId)).length, 2)
})

test('a resend makes an expired invitation pending again, and 409 when the address has a newer live one', async () => {
  const { partnerId, clock, users, caller, inviteOne } = await setUp()
  const old = await inviteOne('ada@example.com')
  clock.advance(8 * dayMs)
  assert.equal((await users.resendInvitation(caller, old.id, undefined)).status, 'Pending')
  clock.advance(8 * dayMs)
  const newer = await inviteOne('Ada@example.com')
  assert.equal(await outcomeCode(users.resendInvitation(caller, old.id, undefined)), 'invitation_not_pending')
  assert.equal((await users.getInvitation(partnerId, old.id)).status, 'Expired')
  // The newer invitation has expired too, but its row still says Pending.
  clock.advance(8 * dayMs)
  assert.equal((await users.resendInvitation(caller, old.id, undefined)).status, 'Pending')
  assert.equal((await users.getInvitation(partnerId, newer.id)).status, 'Expired')
})

test('a revoked invitation cannot be resent or revoked, its mail is not sent, and its address can be invited again', async () => {
  const { partnerId, clock, queue, users, caller, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  clock.advance(1000)
  await users.revokeInvitation(caller, id)
  const revoked = await users.getInvitation(partnerId, id)
  assert.deepEqual([revoked.status, revoked.updatedAt], ['Revoked', clock.now()])
  assert.equal(await outcomeCode(users.revokeInvitation(caller, id)), 'invitation_not_pending')
  assert.equal(await outcomeCode(users.resendInvitation(caller, id, undefined)), 'invitation_not_pending')
  assert.deepEqual(await queue.claim(db, partnerId, minuteMs, 10), [])
  assert.deepEqual((await mails(partnerId))[0]?.lastError, 'the invitation was revoked')
  await inviteOne('ada@example.com')
})

test('the database holds a token only as its hash and sealed in the queued mail', async () => {
  const { partnerId, queue, invite } = await setUp()
  await invite('ada@example.com', 'bob@example.com')
  const claimed = await queue.claim(db, partnerId, minuteMs, 10)
  assert.equal(claimed.length, 2)
  const rows = await db.rows<{ row: string }>(sql`
    select invitations::text as row from users.invitations where partner_id = ${partnerId}
    union all select messages::text from mail.messages where partner_id = ${partnerId}`)
  const text = rows.map(({ row }) => row).join('\n')
  for (const mail of claimed) {
    const token = queue.secretOf(mail) ?? ''
    assert(text.includes(mail.toAddress), 'the search sees the mails')
    assert(text.includes(tokenHash(token).toString('hex')), 'the search sees the hash')
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token, 'base64url').toString('hex')])
      assert(!text.includes(form))
  }
})

test('429 to the 7th mail of an address on a day, by a resend or a new invitation, until the next day', async () => {
  const { clock, users, caller, invite, inviteOne } = await setUp()
  for (let count = 0; count < 5; count += 1) {
    const { id } = await inviteOne(count % 2 === 0 ? 'stranger@example.com' : 'Stranger@Example.com')
    await users.revokeInvitation(caller, id)
  }
  const { id } = await inviteOne('stranger@example.com')
  clock.advance(2 * minuteMs)
  const refused = await refusalOf(users.resendInvitation(caller, id, undefined))
  assert.deepEqual([refused.code, refused.headers['Retry-After']], ['rate_limited', String(16 * 3600 - 120)])
  await users.revokeInvitation(caller, id)
  assert.equal((await refusalOf(invite('other@example.com', 'stranger@example.com'))).code, 'rate_limited')
  await inviteOne('other@example.com')
  clock.advance(16 * hourMs)
  await inviteOne('stranger@example.com')
})

test('429 beyond 200 mails of a partner on a day, even with concurrent requests', async () => {
  const { invite } = await setUp()
  const requests = Array.from({ length: 6 }, (_, request) =>
    invite(...Array.from({ length: 50 }, (_each, index) => `p${request}-${index}@example.com`)),
  )
  const outcomes = await Promise.allSettled(requests)
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 4)
  await (await setUp()).invite('p0-0@example.com')
})
