import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/postgres.ts'
import { type Caller, createCursors, Refusal } from '../../api/index.ts'
import { createManualClock } from '../../../../test/support/clock.ts'
import { createLog, createSealer, dayMs, hourMs, minuteMs, newId } from '../../kernel/index.ts'
import { createDatabase, type Database, sql } from '../../postgres/index.ts'
import { createUsers, usersRoutes } from './index.ts'
import { tokenHash } from './rules.ts'

const log = createLog('silent')
const sealer = createSealer([Buffer.alloc(32, 1)])
const start = new Date('2026-11-21T08:00:00.000Z')
let testDatabase: TestDatabase
let db: Database

before(async () => {
  testDatabase = await createTestDatabase()
  db = createDatabase({ url: testDatabase.url, connectionsMax: 5, log })
})
after(async () => {
  await db.close()
  await testDatabase.drop()
})

/** A partner of its own for each test, and a clock that only the test moves. */
async function setUp() {
  const partnerId = newId()
  await db.run(sql`insert into access.partners (id, name, created_at) values (${partnerId}, 'Acme', ${start})`)
  const clock = createManualClock(start)
  const cursors = createCursors(Buffer.alloc(32, 2))
  const invitationBaseUrl = 'https://portal.example/join'
  const users = createUsers({ db, clock, sealer, cursors, sandbox: false, invitationBaseUrl })
  const caller: Caller = { partnerId, serviceAccountId: newId(), name: 'Grace Hopper', permissions: [] }
  const invite = async (...emails: readonly string[]) =>
    users.createInvitations(caller, { invitations: emails.map((email) => entry(email)) })
  const inviteOne = async (email: string) => {
    const [invitation] = await invite(email)
    assert(invitation)
    return invitation
  }
  return { partnerId, clock, users, caller, invite, inviteOne }
}

const entry = (email: string, redirectUrl?: string | null) => ({
  email,
  fullName: `Name of ${email}`,
  role: 'Developer' as const,
  ...(redirectUrl === undefined ? {} : { redirectUrl }),
})

const refusal = async (work: Promise<unknown>): Promise<Refusal> => {
  const error: unknown = await work.then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Refusal)) throw error
  return error
}
const code = async (work: Promise<unknown>) => (await refusal(work)).code

const mails = (partnerId: string) =>
  db.rows<{
    status: string
    kind: string
    linkUrl: string
    lastError: string | null
    sealed: boolean
    toAddress: string
  }>(
    sql`select status, kind, link_url, last_error, token_sealed is not null as sealed, to_address
      from users.mails where partner_id = ${partnerId} order by id`,
  )

test('200 when people are invited: in the order of the request, each with a mail', async () => {
  const { partnerId, users, caller } = await setUp()
  const routes = usersRoutes(users)
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

test('400 when an entry is bad, and 409 when an address is taken: nobody is invited', async () => {
  const { partnerId, users, caller, invite } = await setUp()
  await invite('ada@example.com')
  const bad = { invitations: [entry('bob@example.com'), entry('eve@example.com', 'http://localhost/')] }
  const invalid = await refusal(users.createInvitations(caller, bad))
  assert.deepEqual([invalid.code, invalid.errors[0]?.pointer], ['validation_failed', '/invitations/1/redirectUrl'])
  const taken = await refusal(invite('carl@example.com', 'ADA@example.com', 'dora@example.com'))
  assert.equal(taken.code, 'invitation_exists')
  assert.deepEqual(
    taken.errors.map((error) => [error.pointer, error.code]),
    [['/invitations/1/email', 'exists']],
  )
  const { data } = await users.listInvitations(partnerId, {})
  assert.deepEqual(
    data.map(({ email }) => email),
    ['ada@example.com'],
  )
  assert.equal((await mails(partnerId)).length, 1)
})

test('one 200 and one 409 when the same request comes twice at once, in whatever order the addresses stand', async () => {
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
  assert.equal(await code(other.users.getInvitation(other.partnerId, invitation.id)), 'not_found')
  assert.equal(await code(other.users.resendInvitation(other.partnerId, invitation.id, null)), 'not_found')
  assert.equal(await code(other.users.revokeInvitation(other.partnerId, invitation.id)), 'not_found')
})

test('an invitation expires by the clock: shown, filtered, and the address is free again', async () => {
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
  assert.equal(await code(users.revokeInvitation(partnerId, short.id)), 'invitation_not_pending')

  clock.advance(hourMs)
  const [again] = await invite('ada@example.com')
  assert.notEqual(again?.id, short.id)
  assert.deepEqual(await users.getInvitation(partnerId, short.id), expired)
  assert.deepEqual(await statuses('Expired'), ['ada@example.com'])
  clock.advance(6 * dayMs)
  assert.equal((await users.getInvitation(partnerId, usual.id)).status, 'Expired')
})

test("pages of a list, newest first, and 400 when the cursor is another partner's", async () => {
  const { partnerId, users, invite } = await setUp()
  assert.deepEqual(await users.listInvitations(partnerId, {}), { data: [], nextCursor: null, hasMore: false })
  await invite('a@example.com', 'b@example.com', 'c@example.com')
  const first = await users.listInvitations(partnerId, { limit: '2' })
  assert.deepEqual([first.data.map(({ email }) => email), first.hasMore], [['c@example.com', 'b@example.com'], true])
  assert(first.nextCursor)
  const second = await users.listInvitations(partnerId, { limit: '2', cursor: first.nextCursor })
  assert.deepEqual([second.data.map(({ email }) => email), second.nextCursor], [['a@example.com'], null])
  assert.equal(await code(users.listInvitations(newId(), { cursor: first.nextCursor })), 'validation_failed')
})

test('a resend: a new token, the old one dead, the same invitation, the expiry renewed, the redirect kept', async () => {
  const { partnerId, clock, users, caller } = await setUp()
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
  const resent = await users.resendInvitation(partnerId, invitation.id, undefined)
  assert.deepEqual(resent, { ...invitation, updatedAt: clock.now() })
  assert.notDeepEqual(await hash(), firstHash)
  clock.advance(dayMs + hourMs)
  assert.equal((await users.getInvitation(partnerId, invitation.id)).status, 'Pending')
  await users.resendInvitation(partnerId, invitation.id, 'https://a.example/second')
  assert.equal(await code(users.resendInvitation(partnerId, invitation.id, 'http://a.example/')), 'validation_failed')
  assert.deepEqual(
    (await mails(partnerId)).map((mail) => [mail.kind, mail.status, mail.sealed, mail.linkUrl, mail.lastError]),
    [
      ['invitation', 'failed', false, 'https://a.example/first', 'superseded by a resend'],
      ['invitation_resent', 'failed', false, 'https://a.example/first', 'superseded by a resend'],
      ['invitation_resent', 'pending', true, 'https://a.example/second', null],
    ],
  )
  const [mail] = await users.claimMails(db, partnerId, clock.now(), minuteMs, 10)
  assert(mail)
  assert.deepEqual(tokenHash(users.tokenOf(mail)), await hash())
})

test('429 when resends follow each other within 60 s, with Retry-After; 429 after five', async () => {
  const { partnerId, clock, users, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  await users.resendInvitation(partnerId, id, undefined)
  clock.advance(1)
  const soon = await refusal(users.resendInvitation(partnerId, id, undefined))
  assert.deepEqual([soon.code, soon.headers], ['resend_too_soon', { 'Retry-After': '60' }])
  clock.advance(minuteMs - 2)
  const last = await refusal(users.resendInvitation(partnerId, id, undefined))
  assert.deepEqual(last.headers, { 'Retry-After': '1' })
  clock.advance(1)
  for (let resend = 2; resend <= 5; resend += 1) {
    await users.resendInvitation(partnerId, id, undefined)
    clock.advance(minuteMs)
  }
  assert.equal(await code(users.resendInvitation(partnerId, id, undefined)), 'resend_limit_reached')
})

test('one 200 and one 429 when two resends come at once', async () => {
  const { partnerId, users, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  const results = await Promise.allSettled([
    users.resendInvitation(partnerId, id, undefined),
    users.resendInvitation(partnerId, id, undefined),
    users.resendInvitation(partnerId, id, undefined),
  ])
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [(result.reason as Refusal).code] : []))
  assert.deepEqual(refused, ['resend_too_soon', 'resend_too_soon'])
  assert.equal((await mails(partnerId)).length, 2)
})

test('an expired invitation is pending again when resent, and 409 when a newer one is live', async () => {
  const { partnerId, clock, users, inviteOne } = await setUp()
  const old = await inviteOne('ada@example.com')
  clock.advance(8 * dayMs)
  assert.equal((await users.resendInvitation(partnerId, old.id, undefined)).status, 'Pending')
  clock.advance(8 * dayMs)
  const newer = await inviteOne('Ada@example.com')
  assert.equal(await code(users.resendInvitation(partnerId, old.id, undefined)), 'invitation_not_pending')
  assert.equal((await users.getInvitation(partnerId, old.id)).status, 'Expired')
  // The newer one has run out as well, though its row still says Pending.
  clock.advance(8 * dayMs)
  assert.equal((await users.resendInvitation(partnerId, old.id, undefined)).status, 'Pending')
  assert.equal((await users.getInvitation(partnerId, newer.id)).status, 'Expired')
})

test('204 when revoked, once; then neither resend nor mail, and the address is free', async () => {
  const { partnerId, clock, users, inviteOne } = await setUp()
  const { id } = await inviteOne('ada@example.com')
  clock.advance(1000)
  await users.revokeInvitation(partnerId, id)
  const revoked = await users.getInvitation(partnerId, id)
  assert.deepEqual([revoked.status, revoked.updatedAt], ['Revoked', clock.now()])
  assert.equal(await code(users.revokeInvitation(partnerId, id)), 'invitation_not_pending')
  assert.equal(await code(users.resendInvitation(partnerId, id, undefined)), 'invitation_not_pending')
  assert.deepEqual(await users.claimMails(db, partnerId, clock.now(), minuteMs, 10), [])
  assert.deepEqual((await mails(partnerId))[0]?.lastError, 'the invitation was revoked')
  await inviteOne('ada@example.com')
})

test('404 when there is no such invitation', async () => {
  const { partnerId, users } = await setUp()
  assert.equal(await code(users.getInvitation(partnerId, newId())), 'not_found')
  assert.equal(await code(users.resendInvitation(partnerId, newId(), undefined)), 'not_found')
  assert.equal(await code(users.revokeInvitation(partnerId, newId())), 'not_found')
})

test('the token is nowhere in the clear, and gone from the row once its mail is sent', async () => {
  const { partnerId, clock, users, invite } = await setUp()
  await invite('ada@example.com', 'bob@example.com')
  const claimed = await users.claimMails(db, partnerId, clock.now(), minuteMs, 10)
  assert.equal(claimed.length, 2)
  const everything = async () =>
    (
      await db.rows<{ row: string }>(sql`
        select invitations::text as row from users.invitations where partner_id = ${partnerId}
        union all select mails::text from users.mails where partner_id = ${partnerId}`)
    )
      .map(({ row }) => row)
      .join('\n')
  for (const mail of claimed) {
    const token = users.tokenOf(mail)
    const text = await everything()
    assert(text.includes(mail.toAddress), 'the search sees the rows')
    assert(text.includes(tokenHash(token).toString('hex')), 'the hash is there')
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token, 'base64url').toString('hex')])
      assert(!text.includes(form))
    assert.equal(await users.recordSent(db, mail), true)
    assert(!(await everything()).includes(Buffer.from(mail.tokenSealed).toString('hex')))
  }
  assert.deepEqual(
    (await mails(partnerId)).map((mail) => [mail.status, mail.sealed]),
    [
      ['sent', false],
      ['sent', false],
    ],
  )
})

test('a lease: nobody else gets the mail until it ends, and then its former holder records nothing', async () => {
  const { partnerId, clock, users, invite } = await setUp()
  await invite('a@example.com', 'b@example.com', 'c@example.com')
  const claim = () => users.claimMails(db, partnerId, clock.now(), minuteMs, 2)
  // The second claim comes while the first has not committed: it neither waits for it nor takes what it takes.
  const claims = await db.transaction(async (tx) => [
    await users.claimMails(tx, partnerId, clock.now(), minuteMs, 2),
    await claim(),
  ])
  const ids = claims.flat().map(({ id }) => id)
  assert.deepEqual([ids.length, new Set(ids).size], [3, 3])
  assert.deepEqual(await claim(), [])
  const due = async () => (await users.partnersWithDueMail(db, clock.now(), 1000)).includes(partnerId)
  assert.equal(await due(), false)
  clock.advance(minuteMs)
  assert.equal(await due(), true)
  const [held] = await users.claimMails(db, partnerId, clock.now(), minuteMs, 3)
  const former = claims.flat().find(({ id }) => id === held?.id)
  assert(held && former)
  assert.equal(held.attempts, 2)
  assert.equal(await users.recordSent(db, former), false)
  assert.equal(await users.recordFailure(db, former, 'late', null), false)
  const next = new Date(clock.now().getTime() + hourMs)
  assert.equal(await users.recordFailure(db, held, 'not now', next), true)
  assert.equal(await users.recordSent(db, held), false)
})
