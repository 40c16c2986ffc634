/** Staff sign in at a real OpenID Connect provider, also with attacks and wrong settings. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createTestService, type Service } from '../../../../test/support/composition.ts'
import {
  createProviderBrowser,
  providerClient,
  startIdentityProvider,
} from '../../../../test/support/identity-provider.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import type { StaffRole } from './rules.ts'
import type { StaffPurpose } from './entrances.ts'

after(async () => {
  await provider?.close()
  rmSync(folder, { recursive: true })
})

const settingsOf = (more: object) => ({
  DESK_URL: 'https://desk.example.com',
  STAFF_SSO: JSON.stringify({
    issuer: provider.issuer,
    clientId: providerClient.clientId,
    clientSecretFile: join(folder, 'secret'),
    ...more,
  }),
})
const folder = mkdtempSync(join(tmpdir(), 'staff-sso-'))
writeFileSync(join(folder, 'secret'), `${providerClient.clientSecret}\n`)
const provider = await startIdentityProvider(['https://desk.example.com/desk/sso'])
const service = await useModules({ now: new Date(), settings: settingsOf({}) })
const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
let count = 0
/** Creates a person with an account at the provider and an invitation. */
async function invited(role: StaffRole, claims: object = {}, from: Service = service) {
  count += 1
  const email = `sso${count}@example.com`
  const login = `person-${count}`
  provider.people.set(login, { email, email_verified: true, ...claims })
  const fullName = `Person of Staff ${count}`
  const { id, token } = await from.db.transaction((tx) => from.staff.invite(tx, { email, fullName, role }))
  return { id, email, login, token, browser: createProviderBrowser() }
}
type InvitedPerson = Awaited<ReturnType<typeof invited>>

/** Signs in at the provider and returns from it. */
async function come(
  { browser, login }: Pick<InvitedPerson, 'browser' | 'login'>,
  purpose: StaffPurpose,
  from: Service = service,
) {
  const { url, attempt } = await from.staff.singleSignOn.begin(purpose)
  const back = await browser.follow(url, login)
  assert.equal(back.origin + back.pathname, 'https://desk.example.com/desk/sso')
  const query = back.search.slice(1)
  const signed = purpose.kind === 'connect' ? purpose.signed : undefined
  const finish = (given: object = {}) => from.staff.singleSignOn.finish({ attempt, query, signed, ...given }, client)
  return { query, attempt, finish }
}
const joinBy = async (person: InvitedPerson, from: Service = service) =>
  (await come(person, { kind: 'join', token: person.token }, from)).finish()

test("a person can join and sign in with the provider, and the operator's log records it", async () => {
  const person = await invited('finance')
  const { token } = await joinBy(person)
  const signed = await service.staff.signedIn(token ?? '')
  assert.deepEqual([signed?.account.email, signed?.session.factor], [person.email, 'sso'])
  const again = await (await come(person, { kind: 'sign in', next: 'home' })).finish()
  assert.equal((await service.staff.signedIn(again.token ?? ''))?.account.id, person.id)
  const { data } = await service.audit.list(operatorPartnerId, {})
  const acts = data.filter(({ subject }) => subject['staffId'] === person.id)
  assert.deepEqual(
    acts.map(({ action, details }) => [action, details?.['factor']]),
    [
      ['staff sign in', 'sso'],
      ['staff join', 'sso'],
    ],
  )
  assert.deepEqual(await service.staff.factorsOf(service.db, [person.id]), [{ memberId: person.id, factor: 'sso' }])
})

test('an account is found by the subject, so that a changed address at the provider does not open another account', async () => {
  const [one, two] = [await invited('support'), await invited('admin')]
  await joinBy(one)
  provider.people.set(one.login, { email: two.email, email_verified: true })
  const { token } = await (await come(one, { kind: 'sign in', next: 'home' })).finish()
  assert.equal((await service.staff.signedIn(token ?? ''))?.account.id, one.id)
})

test('a person without an account is refused, and an invitation works only for its address', async () => {
  provider.people.set('stranger', { email: 'stranger@example.com', email_verified: true })
  const stranger = { login: 'stranger', browser: createProviderBrowser() }
  await assert.rejects((await come(stranger, { kind: 'sign in', next: 'home' })).finish(), { reason: 'unknown' })
  const person = await invited('admin')
  const stolen = await come(stranger, { kind: 'join', token: person.token })
  await assert.rejects(stolen.finish(), { reason: 'address' })
  provider.people.set(person.login, { email: person.email, email_verified: false })
  await assert.rejects(joinBy(person), { reason: 'address' })
  provider.people.set(person.login, {})
  await assert.rejects(joinBy(person), { reason: 'address' })
  provider.people.set(person.login, { email: person.email.toUpperCase() })
  assert.ok((await joinBy(person)).token)
  await assert.rejects(joinBy(person), { code: 'not_found' })
})

test('an answer of the provider can be used once, in the browser of the request, within ten minutes', async () => {
  const person = await invited('finance')
  await joinBy(person)
  const done = await come(person, { kind: 'sign in', next: 'home' })
  await done.finish()
  await assert.rejects(done.finish(), { reason: 'refused' })
  const [mine, other] = [
    await come(person, { kind: 'sign in', next: 'home' }),
    await come(person, { kind: 'sign in', next: 'home' }),
  ]
  for (const attempt of ['', 'x', other.attempt, mine.attempt.slice(2), Buffer.from('{}').toString('base64url')])
    await assert.rejects(mine.finish({ attempt }), { reason: 'expired' }, attempt)
  const states = new URLSearchParams(mine.query)
  states.append('state', 'x')
  for (const query of ['', mine.query.replace(/state=[^&]*/, ''), mine.query.replace(/state=/, 'state=x')])
    await assert.rejects(mine.finish({ query }), { reason: 'expired' }, query)
  for (const query of [
    mine.query.replace(/code=[^&]*/, 'code=x'),
    states.toString(),
    mine.query.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example.com'),
  ])
    await assert.rejects(mine.finish({ query }), { reason: 'refused' }, query)
  service.clock.advance(10 * minuteMs)
  await assert.rejects(other.finish(), { reason: 'expired' })
})

test('a person who cancels at the provider sees a message, and nothing changes', async () => {
  const person = await invited('finance')
  const { url, attempt } = await service.staff.singleSignOn.begin({ kind: 'join', token: person.token })
  const back = await person.browser.follow(url, person.login, { cancel: true })
  assert.equal(back.searchParams.get('error'), 'access_denied')
  const given = { attempt, query: back.search.slice(1), signed: undefined }
  await assert.rejects(service.staff.singleSignOn.finish(given, client), { reason: 'refused' })
  assert.ok((await joinBy(person)).token)
})

test('an existing account can be connected only in its own session, and an identity belongs to one account', async () => {
  const person = await invited('finance')
  const { totpSecret } = await service.staff.openInvitation(person.token)
  const factor = { kind: 'password', password, code: codeOf(totpSecret, service.clock.now().getTime()) } as const
  const opened = await service.staff.join(person.token, factor, client)
  const signed = await service.staff.signedIn(opened.token)
  assert.ok(signed)
  await assert.rejects((await come(person, { kind: 'sign in', next: 'home' })).finish(), { reason: 'unknown' })
  const connect = await come(person, { kind: 'connect', signed })
  await assert.rejects(connect.finish({ signed: undefined }), { reason: 'expired' })
  assert.equal(await service.staff.singleSignOn.connectedSince(person.id), null)
  const late = await come(person, {
    kind: 'connect',
    signed: { ...signed, session: { ...signed.session, id: newId() } },
  })
  await assert.rejects(late.finish(), { reason: 'expired' }, 'the session has ended meanwhile')
  assert.equal(await service.staff.singleSignOn.connectedSince(person.id), null)
  await (await come(person, { kind: 'connect', signed })).finish()
  assert.ok(await service.staff.singleSignOn.connectedSince(person.id))
  assert.ok((await (await come(person, { kind: 'sign in', next: 'home' })).finish()).token)
  const other = await invited('support')
  const { token } = await joinBy(other)
  const taker = await service.staff.signedIn(token ?? '')
  assert.ok(taker)
  await assert.rejects((await come(person, { kind: 'connect', signed: taker })).finish(), { reason: 'taken' })
})

test('a removed person cannot return with the provider, but can with a new invitation', async () => {
  const person = await invited('support')
  await joinBy(person)
  await service.db.transaction((tx) => service.staff.remove(tx, person.id))
  await assert.rejects((await come(person, { kind: 'sign in', next: 'home' })).finish(), { reason: 'unknown' })
  const again = { email: person.email, fullName: 'A New Name', role: 'support' } as const
  const { id, token } = await service.db.transaction((tx) => service.staff.invite(tx, again))
  await (await come(person, { kind: 'join', token })).finish()
  const signedIn = await (await come(person, { kind: 'sign in', next: 'home' })).finish()
  assert.equal((await service.staff.signedIn(signedIn.token ?? ''))?.account.id, id)
})

test('a claim for roles can only withhold a role, and if the provider is required, only admins can sign in without it', async () => {
  const roles = { finance: ['payments-finance', 'treasury'], admin: ['payments-admins'] }
  const settings = settingsOf({ roleClaim: 'groups', roles, required: true })
  const strict = await createTestService({ now: new Date(), url: service.url, settings })
  try {
    const person = await invited('finance', { groups: ['staff', 'treasury'] }, strict)
    const { totpSecret } = await strict.staff.openInvitation(person.token)
    const factor = { kind: 'password', password, code: codeOf(totpSecret, strict.clock.now().getTime()) } as const
    await assert.rejects(strict.staff.join(person.token, factor, client), { reason: 'required' })
    assert.ok((await joinBy(person, strict)).token)
    for (const groups of [['payments-admins'], [], undefined, 'other', { treasury: true }]) {
      provider.people.set(person.login, { email: person.email, ...(groups === undefined ? {} : { groups }) })
      await assert.rejects((await come(person, { kind: 'sign in', next: 'home' }, strict)).finish(), { reason: 'role' })
    }
    provider.people.set(person.login, { email: person.email, groups: 'treasury' })
    assert.ok((await (await come(person, { kind: 'sign in', next: 'home' }, strict)).finish()).token)
    const reader = await invited('support', { groups: ['payments-admins'] }, strict)
    await assert.rejects(joinBy(reader, strict), { reason: 'role' })
    const admin = await invited('admin', {}, strict)
    const { totpSecret: secret } = await strict.staff.openInvitation(admin.token)
    const code = codeOf(secret, strict.clock.now().getTime())
    assert.ok((await strict.staff.join(admin.token, { kind: 'password', password, code }, client)).token)
  } finally {
    await strict.close()
  }
})

test('the person sees a message if there is no provider, or if it does not answer', async () => {
  const off = await createTestService({ url: service.url })
  await assert.rejects(off.staff.singleSignOn.begin({ kind: 'sign in', next: 'home' }), { reason: 'off' })
  await off.close()
  const closed = await createTestService({ url: service.url, settings: settingsOf({ issuer: 'http://127.0.0.1:1' }) })
  await assert.rejects(closed.staff.singleSignOn.begin({ kind: 'sign in', next: 'home' }), { reason: 'unreachable' })
  await closed.close()
})
