/** A team signs in at a real OpenID Connect provider, and a real name server proves its domain. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { permissions, serviceAccounts, type users as wire } from '@partner-payments/wire'
import { addPartner, type Service } from '../../../../test/support/composition.ts'
import { type Records, startDnsServer } from '../../../../test/support/dns-server.ts'
import {
  createProviderBrowser,
  providerClient,
  startIdentityProvider,
} from '../../../../test/support/identity-provider.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { setApprovalRule } from '../../../../test/support/approvals.ts'
import { createTxtResolver } from '../../webhooks/exchange/resolver.ts'
import { newId, randomBytes } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { inTurn } from '../../../../test/support/in-turn.ts'
import type { TeamPurpose } from './single-sign-on.ts'
const zone = new Map<string, Records>()
const provider = await startIdentityProvider()
const dns = await startDnsServer((name, type) => (type === 'TXT' ? (zone.get(name) ?? 'nxdomain') : []))
const resolveTxt = createTxtResolver({ servers: [dns.server] })
const service = await useModules({ now: new Date(), resolveTxt, settings: { WEBHOOK_HTTP: 'on' } })
after(async () => {
  dns?.close()
  await provider?.close()
})

const client = {
  ip: '203.0.113.7',
  userAgent: 'Test browser',
  device: Buffer.from(randomBytes(32)).toString('base64url'),
}
let count = 0
type Body = Parameters<Service['members']['singleSignOn']['set']>[1]

/** Creates a partner with the provider. `proved`: its DNS record exists. */
async function partnerWith(more: Partial<Body> = {}, proved = true) {
  count += 1
  const { partnerId } = await addPartner(service)
  const caller = { partnerId, serviceAccountId: newId(), name: 'Setup', permissions }
  const domain = `acme${count}.com`
  const { clientId, clientSecret } = providerClient
  const body = { issuer: provider.issuer, clientId, clientSecret, emailDomain: domain, ...more }
  const view = await service.members.singleSignOn.set(caller, body)
  provider.allow([view.redirectUri])
  if (proved) {
    zone.set(view.domainRecord.name, [view.domainRecord.value])
    await service.members.singleSignOn.proveDomain(caller)
  }
  return { partnerId, caller, domain, body }
}
type Partner = Awaited<ReturnType<typeof partnerWith>>

/** Adds a person at the provider. */
function personOf({ domain }: Partner, claims: object = {}) {
  count += 1
  const [login, email] = [`person-${count}`, `person${count}@${domain}`]
  provider.people.set(login, { email, email_verified: true, name: `Person ${count}`, ...claims })
  return { login, email, browser: createProviderBrowser() }
}
type Person = ReturnType<typeof personOf>

/** Creates an invitation, and reads the token of its mail. */
async function invite({ caller }: Partner, email: string, role: wire.Role, fullName = 'Invited Person') {
  const { users, db, mailQueue } = service
  const entry = { email, fullName, role }
  const [invitation] = await users.createInvitations(caller, { invitations: [entry] })
  assert.ok(invitation)
  const claimed = await db.transaction((tx) => mailQueue.claim(tx, caller.partnerId, 1000, 100))
  const mail = claimed.find(({ toAddress, kind }) => toAddress === email && kind === 'invitation')
  assert.ok(mail)
  return { id: invitation.id, token: mailQueue.secretOf(mail) ?? '' }
}

async function joinByPassword({ token }: { readonly token: string }) {
  const { members, clock } = service
  const { totpSecret } = await members.openInvitation(token)
  const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  return members.join(token, given, client)
}

/** Signs in at the provider and returns from it. */
async function come(
  { partnerId }: Partner,
  { browser, login }: Pick<Person, 'browser' | 'login'>,
  purpose: TeamPurpose,
) {
  const { singleSignOn } = service.members
  const { url, attempt } = await singleSignOn.begin(purpose)
  const back = await browser.follow(url, login)
  assert.ok(back.pathname.endsWith(`/console/sso/${partnerId}`), back.href)
  const signed = purpose.kind === 'connect' ? purpose.signed : undefined
  const given = { attempt, query: back.search.slice(1), signed }
  const finish = (more: object = {}, from = client) => singleSignOn.finish(partnerId, { ...given, ...more }, from)
  return { ...given, finish }
}
const signIn = async (partner: Partner, person: Pick<Person, 'browser' | 'login'>) => {
  const { partnerId } = partner
  const { token, next } = await (await come(partner, person, { kind: 'sign in', partnerId, next: 'payouts' })).finish()
  const signed = await service.members.signedIn(token ?? '')
  assert.ok(signed)
  return { ...signed, token, next }
}

test('the provider cannot sign people in before a DNS record proves the domain', async () => {
  const partner = await partnerWith({}, false)
  const { partnerId } = partner
  const { singleSignOn } = service.members
  const { domainRecord, domainProvedAt } = await singleSignOn.settings(partnerId)
  assert.deepEqual([domainRecord.name, domainProvedAt], [`_partner-payments.${partner.domain}`, null])
  const begin = () => singleSignOn.begin({ kind: 'sign in', partnerId, next: 'home' })
  await assert.rejects(begin(), { reason: 'off' })
  const prove = () => singleSignOn.proveDomain(partner.caller)
  for (const [records, message] of [
    ['nxdomain', /no TXT record/],
    [[], /no TXT record/],
    [['v=spf1 -all', 'partner-payments-domain=other'], /another value/],
    ['servfail', /did not answer/],
  ] as const) {
    zone.set(domainRecord.name, records)
    const refused = await prove().catch((error: unknown) => error)
    assert.match(String((refused as { errors?: readonly { message: string }[] }).errors?.[0]?.message), message)
  }
  await assert.rejects(begin(), { reason: 'off' })
  zone.set(domainRecord.name, ['v=spf1 -all', domainRecord.value])
  assert.ok((await prove()).domainProvedAt)
  assert.ok((await begin()).url)
  await singleSignOn.set(partner.caller, { ...partner.body, emailDomain: 'another.com' })
  await assert.rejects(begin(), { reason: 'off' })
  await singleSignOn.remove(partner.caller)
  await assert.rejects(singleSignOn.settings(partnerId), { code: 'not_found' })
})

test('wrong settings of a provider are refused with a pointer, and responses never contain its secret', async () => {
  const { caller, body, partnerId } = await partnerWith()
  const { set } = service.members.singleSignOn
  const refused: readonly (readonly [Partial<Body>, string])[] = [
    [{ issuer: 'http://id.example.com' }, '/issuer'],
    [{ issuer: 'https://id.example.com/?tenant=1' }, '/issuer'],
    [{ issuer: 'https://user:secret@id.example.com' }, '/issuer'],
    [{ issuer: 'id.example.com' }, '/issuer'],
    [{ emailDomain: 'localhost' }, '/emailDomain'],
    [{ emailDomain: 'ann@acme.com' }, '/emailDomain'],
    [{ emailDomain: '*.acme.com' }, '/emailDomain'],
    [{ roleClaim: 'groups' }, '/roles'],
    [{ roleClaim: 'groups', roles: { Admin: [] } }, '/roles'],
    [{ roles: { Admin: ['admins'] } }, '/roleClaim'],
  ]
  for (const [change, pointer] of refused) {
    const error = await set(caller, { ...body, ...change }).catch((failure: unknown) => failure)
    const { errors } = error as { errors?: readonly { pointer: string }[] }
    assert.deepEqual(
      errors?.map((each) => each.pointer),
      [pointer],
      JSON.stringify(change),
    )
  }
  const { clientSecret, ...without } = body
  assert.doesNotMatch(JSON.stringify(await set(caller, without)), new RegExp(clientSecret ?? 'none'))
  const { partnerId: other } = await addPartner(service)
  await assert.rejects(set({ ...caller, partnerId: other }, without), { code: 'validation_failed' })
  assert.equal((await service.members.singleSignOn.settings(partnerId)).domainProvedAt !== null, true)
})

test('a sign-in with the provider from a new device is mailed, and joining is not', async () => {
  const partner = await partnerWith()
  const { partnerId } = partner
  const person = personOf(partner)
  const { token } = await invite(partner, person.email, 'Operator')
  await (await come(partner, person, { kind: 'join', token })).finish()
  const mailed = async () => {
    const claimed = await service.db.transaction((tx) => service.mailQueue.claim(tx, partnerId, 1000, 100))
    return claimed.filter(({ kind, toAddress }) => kind === 'new_device' && toAddress === person.email).length
  }
  await signIn(partner, person)
  assert.equal(await mailed(), 0)
  const another = await come(partner, person, { kind: 'sign in', partnerId, next: 'home' })
  await another.finish({}, { ...client, device: Buffer.from(randomBytes(32)).toString('base64url') })
  assert.equal(await mailed(), 1)
})

test("a person joins with the invitation's link and the provider, and returns to the requested page", async () => {
  const partner = await partnerWith()
  const person = personOf(partner)
  const { id, token } = await invite(partner, person.email, 'Operator')
  const stranger = personOf(partner)
  await assert.rejects((await come(partner, stranger, { kind: 'join', token })).finish(), { reason: 'address' })
  const joined = await (await come(partner, person, { kind: 'join', token })).finish()
  assert.equal((await service.members.signedIn(joined.token ?? ''))?.user.id, id)
  await assert.rejects(come(partner, person, { kind: 'join', token }), { code: 'not_found' })
  const { user, session, next } = await signIn(partner, person)
  assert.deepEqual([user.id, user.role, session.factor, next], [id, 'Operator', 'sso', 'payouts'])
  assert.deepEqual((await service.members.getUser(partner.partnerId, id)).factors, ['sso'])
  const { data } = await service.audit.list(partner.partnerId, {})
  assert.deepEqual(
    data.slice(0, 2).map(({ action, details }) => [action, details?.['factor']]),
    [
      ['signIn', 'sso'],
      ['acceptInvitation', 'sso'],
    ],
  )
})

test('without a claim for roles only invitations add people', async () => {
  const partner = await partnerWith()
  await assert.rejects(signIn(partner, personOf(partner)), { reason: 'unknown' })
})

test('with a claim for roles people of the domain join without an invitation, and each sign-in sets the role', async () => {
  const roles = { Admin: ['admins'], Operator: ['ops', 'finance'], Developer: ['devs'] }
  const partner = await partnerWith({ roleClaim: 'groups', roles })
  const { partnerId, domain } = partner
  const claims = { email: `ann@${domain.toUpperCase()}`, email_verified: true, groups: ['staff', 'devs', 'ops'] }
  const person = personOf(partner, claims)
  const first = await signIn(partner, person)
  assert.deepEqual([first.user.role, first.user.email], ['Operator', claims.email])
  const { invitedByName, status } = await service.users.getInvitation(partnerId, first.user.id)
  assert.deepEqual([invitedByName, status], ['Single sign-on', 'Accepted'])
  const found = await service.users.membersByAddress(service.db, partnerId, [claims.email])
  assert.equal(found.size, 1)
  provider.people.set(person.login, { ...claims, groups: ['devs'] })
  assert.equal((await signIn(partner, person)).user.id, first.user.id)
  assert.equal((await service.members.getUser(partnerId, first.user.id)).role, 'Developer')
  provider.people.set(person.login, { ...claims, groups: [] })
  await assert.rejects(signIn(partner, person), { reason: 'role' })
  const refused: readonly (readonly [object, string])[] = [
    [{ groups: ['ops'], email: 'eve@other.com' }, 'unknown'],
    [{ groups: ['ops'], email: `eve@sub.${domain}` }, 'unknown'],
    [{ groups: ['ops'], email: `eve@evil${domain}` }, 'unknown'],
    [{ groups: ['ops'], email_verified: false }, 'unknown'],
    [{ groups: ['ops'], email_verified: undefined }, 'unknown'],
    [{ groups: ['ops'], email: claims.email }, 'unknown'],
    [{}, 'role'],
  ]
  for (const [given, reason] of refused)
    await assert.rejects(signIn(partner, personOf(partner, given)), { reason }, JSON.stringify(given))
  const invited = personOf(partner, { groups: ['ops'] })
  await invite(partner, invited.email, 'Admin')
  await assert.rejects(signIn(partner, invited), { reason: 'invited' })
})

test('the last Admin keeps the role, and a provider is kept if it is the only way for Admins to sign in', async () => {
  const partner = await partnerWith({ roleClaim: 'groups', roles: { Admin: ['admins'], Developer: ['devs'] } })
  const person = personOf(partner, { groups: ['admins'] })
  const { user } = await signIn(partner, person)
  provider.people.set(person.login, { email: person.email, groups: ['devs'] })
  await signIn(partner, person)
  assert.equal((await service.members.getUser(partner.partnerId, user.id)).role, 'Admin')
  const { remove, set } = service.members.singleSignOn
  await assert.rejects(remove(partner.caller), { code: 'last_admin' })
  const moved = { ...partner.body, issuer: 'https://other.example.com' }
  await assert.rejects(set(partner.caller, moved), { code: 'last_admin' })
  const renamed = { ...partner.body, emailDomain: `other-${partner.domain}` }
  await assert.rejects(set(partner.caller, renamed), { code: 'last_admin' })
  assert.equal((await signIn(partner, person)).user.id, user.id)
  const { id, ...second } = await invite(partner, `admin@${partner.domain}`, 'Admin')
  await joinByPassword(second)
  await set(partner.caller, renamed)
  await remove(partner.caller)
  assert.equal((await service.members.getUser(partner.partnerId, id)).role, 'Admin')
  const { db, mailQueue } = service
  const mails = await db.transaction((tx) => mailQueue.claim(tx, partner.partnerId, 1000, 100))
  const told = mails.filter(({ kind }) => kind === 'sign_in_changed').map(({ toAddress }) => toAddress)
  const admins = [`admin@${partner.domain}`, person.email]
  assert.deepEqual(told.toSorted(), [...admins, ...admins].toSorted(), 'after each of both changes')
})

test('a removed person cannot return with the provider, even with another address, but can with an invitation', async () => {
  const partner = await partnerWith({ roleClaim: 'groups', roles: { Operator: ['ops'] } })
  const person = personOf(partner, { groups: ['ops'] })
  const { user, token } = await signIn(partner, person)
  await service.members.removeUser(partner.caller, user.id)
  assert.equal(await service.members.signedIn(token ?? ''), undefined)
  await assert.rejects(signIn(partner, person), { reason: 'unknown' })
  provider.people.set(person.login, { email: `renamed@${partner.domain}`, email_verified: true, groups: ['ops'] })
  await assert.rejects(signIn(partner, person), { reason: 'unknown' })
  const copy = personOf(partner, { email: person.email, groups: ['ops'] })
  await assert.rejects(signIn(partner, copy), { reason: 'unknown' })
  provider.people.set(person.login, { email: person.email, email_verified: true, groups: ['ops'] })
  const again = await invite(partner, person.email, 'Operator')
  await (await come(partner, person, { kind: 'join', token: again.token })).finish()
  assert.equal((await signIn(partner, person)).user.id, again.id)
})

test("a provider's answer for one partner is refused for another, without a request to the other's provider", async () => {
  const [mine, theirs] = [await partnerWith(), await partnerWith()]
  const person = personOf(mine)
  const { token } = await invite(mine, person.email, 'Operator')
  const coming = await come(mine, person, { kind: 'join', token })
  const { attempt, query } = coming
  const asked = provider.asked.length
  const given = { attempt, query, signed: undefined }
  await assert.rejects(service.members.singleSignOn.finish(theirs.partnerId, given, client), { reason: 'expired' })
  assert.equal(provider.asked.length, asked)
  await coming.finish()
})

test('an existing account is connected in its own session with a mail, and only then can sign in with the provider', async () => {
  const partner = await partnerWith({ required: true })
  const person = personOf(partner)
  const admin = await invite(partner, person.email, 'Admin')
  const { token } = await joinByPassword(admin)
  const signed = await service.members.signedIn(token)
  assert.ok(signed)
  await assert.rejects(signIn(partner, person), { reason: 'unknown' })
  const other = await invite(partner, `other@${partner.domain}`, 'Admin')
  const taker = await service.members.signedIn((await joinByPassword(other)).token)
  for (const wrong of [undefined, taker]) {
    const connect = await come(partner, person, { kind: 'connect', signed })
    await assert.rejects(connect.finish({ signed: wrong }), { reason: 'expired' })
  }
  await (await come(partner, person, { kind: 'connect', signed })).finish()
  assert.equal((await signIn(partner, person)).user.id, admin.id)
  assert.ok(taker)
  await assert.rejects((await come(partner, person, { kind: 'connect', signed: taker })).finish(), { reason: 'taken' })
  const { db, mailQueue } = service
  const mails = await db.transaction((tx) => mailQueue.claim(tx, partner.partnerId, 1000, 100))
  assert.deepEqual(
    mails
      .filter(({ kind }) => kind === 'sign_in_changed')
      .map(({ toAddress, data }) => [toAddress, JSON.parse(data).change]),
    [[person.email, 'single sign-on connected']],
  )
})

test('a reset and a recovery disconnect the account at the provider, even if it is just signing in', async () => {
  const partner = await partnerWith()
  const { partnerId } = partner
  const { members, db, mailQueue, clock } = service
  const { recoveries } = members
  const boss = await adminOf(partner)
  const resetBy = (id: string) => recoveries.reset(signedNow(boss), id, client)
  const person = personOf(partner)
  const { id, token } = await invite(partner, person.email, 'Operator')
  await (await come(partner, person, { kind: 'join', token })).finish()
  const coming = await come(partner, person, { kind: 'sign in', partnerId, next: 'home' })
  const lock = (tx: Tx) => tx.rows(sql`select id from users.members where id = ${id} for update`)
  const [reset, signedIn] = await inTurn(db, lock, [() => resetBy(id), () => coming.finish()])
  assert.equal(reset?.status, 'fulfilled')
  assert.ok(signedIn?.status === 'rejected', 'the sign-in waited for the reset')
  assert.equal((signedIn.reason as { readonly reason?: string }).reason, 'unknown')
  assert.deepEqual((await members.getUser(partnerId, id)).factors, [])
  await assert.rejects(signIn(partner, person), { reason: 'unknown' })

  // A colleague has connected an own account with the Admin's, from a copied session.
  const thief = personOf(partner)
  await (await come(partner, thief, { kind: 'connect', signed: boss })).finish()
  await signIn(partner, thief)
  await db.transaction((tx) =>
    recoveries.begin(tx, partnerId, { email: boss.user.email, staff: 'Ada', reason: 'Lost' }),
  )
  clock.advance(24 * 60 * 60_000)
  assert.equal(await recoveries.step(), 1)
  const mails = await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
  const mail = mails.find(({ kind, toAddress }) => kind === 'recovery_link' && toAddress === boss.user.email)
  const link = mailQueue.secretOf(mail ?? assert.fail('it is mailed')) ?? ''
  const { totpSecret } = await recoveries.opened(link)
  await recoveries.complete(
    link,
    { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) },
    client,
  )
  assert.deepEqual((await members.getUser(partnerId, boss.id)).factors, ['password'])
  await assert.rejects(signIn(partner, thief), { reason: 'unknown' })
})

test('an account is not connected if a reset has ended the session while the person was at the provider', async () => {
  const partner = await partnerWith()
  const { members } = service
  const [boss, other] = [await adminOf(partner), await adminOf(partner)]
  const thief = personOf(partner)
  const connect = await come(partner, thief, { kind: 'connect', signed: other })
  await members.recoveries.reset(signedNow(boss), other.id, client)
  await assert.rejects(connect.finish(), { reason: 'expired' })
  assert.deepEqual((await members.getUser(partner.partnerId, other.id)).factors, [])
})

test('if the provider is required, members can sign in only with it, and Admins in any way', async () => {
  const partner = await partnerWith({ required: true }, false)
  const person = personOf(partner)
  const { token } = await invite(partner, person.email, 'Operator')
  const late = await invite(partner, `late@${partner.domain}`, 'Operator')
  const { members, clock } = service
  const { totpSecret } = await members.openInvitation(token)
  await joinByPassword({ token })
  const { name, value } = (await members.singleSignOn.settings(partner.partnerId)).domainRecord
  zone.set(name, [value])
  await members.singleSignOn.proveDomain(partner.caller)
  service.clock.advance(30_000)
  const given = { email: person.email, password, code: codeOf(totpSecret, clock.now().getTime()) }
  await assert.rejects(members.signInByPassword(partner.partnerId, given, client), { reason: 'required' })
  const wrong = { ...given, password: 'wrong' }
  assert.equal(await members.signInByPassword(partner.partnerId, wrong, client), undefined)
  await assert.rejects(joinByPassword(late), { reason: 'required' })
  const admin = await invite(partner, `boss@${partner.domain}`, 'Admin')
  assert.ok((await joinByPassword(admin)).token)
})

/** Creates a partner whose payouts and changes of single sign-on need a second person. */
const decideByTwo = ({ partnerId }: Partner) => setApprovalRule(service, partnerId, { aboveAmount: 0n })
async function adminOf(partner: Partner) {
  count += 1
  const { id, ...invited } = await invite(partner, `admin${count}@${partner.domain}`, 'Admin', `Admin ${count}`)
  const signed = await service.members.signedIn((await joinByPassword(invited)).token)
  assert.ok(signed)
  return { ...signed, id }
}
const signedNow = <T extends { readonly caller: object }>(signed: T): T => ({
  ...signed,
  caller: { ...signed.caller, signedInAt: service.clock.now() },
})

const refusedWith = (detail: RegExp) => (error: unknown) => {
  assert.match(String((error as { detail?: string }).detail), detail)
  return true
}

test('if payouts need a second person, a change waits for a second Admin, with a record and mails', async () => {
  const partner = await partnerWith()
  const { partnerId, body } = partner
  const { singleSignOn } = service.members
  const [ann, ben] = [await adminOf(partner), await adminOf(partner)]
  await decideByTwo(partner)
  const { db, mailQueue, clock } = service
  await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100))
  const wanted = { ...body, clientSecret: 'a new secret', roleClaim: 'groups', roles: { Admin: ['admins'] } }
  await singleSignOn.set(ann.caller, wanted, client.ip)
  assert.equal((await singleSignOn.settings(partnerId)).roleClaim, null, 'it has no effect yet')
  const waiting = await singleSignOn.waiting(partnerId)
  assert.deepEqual([waiting?.proposedBy, waiting?.roles, waiting?.hasNewSecret], [ann.id, { Admin: ['admins'] }, true])
  const id = waiting?.id ?? assert.fail('it waits')
  const mailed = async () =>
    (await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100)))
      .filter(({ kind }) => kind === 'sign_in_changed')
      .map(({ data }) => JSON.parse(data).change)
  assert.deepEqual(await mailed(), ['single sign-on waits', 'single sign-on waits'])
  await assert.rejects(singleSignOn.confirm(ann, id, client.ip), refusedWith(/another person must approve/))
  await assert.rejects(singleSignOn.confirm(ben, newId(), client.ip), { code: 'not_found' })
  clock.advance(6 * 60_000)
  await assert.rejects(singleSignOn.confirm(ben, id, client.ip), refusedWith(/sign in again/))
  const both = await Promise.allSettled([1, 2].map(() => singleSignOn.confirm(signedNow(ben), id, client.ip)))
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  assert.equal((await singleSignOn.settings(partnerId)).roleClaim, 'groups')
  // The lease of the earlier mails has ended.
  assert.deepEqual((await mailed()).slice(-2), ['single sign-on changed', 'single sign-on changed'])
  const { data } = await service.audit.list(partnerId, {})
  const acts = data
    .filter(({ action }) => action.endsWith('SingleSignOn'))
    .map(({ action, actor }) => [action, actor.id])
  assert.deepEqual(acts, [
    ['confirmSingleSignOn', ben.id],
    ['proposeSingleSignOn', ann.id],
  ])
})

test('a former Admin can neither propose nor confirm a change, and another Admin proposes it again or rejects it', async () => {
  const partner = await partnerWith()
  const { partnerId, body } = partner
  const { members, clock } = service
  const { singleSignOn } = members
  const [ann, ben, cem] = [await adminOf(partner), await adminOf(partner), await adminOf(partner)]
  await decideByTwo(partner)
  const propose = async (by: typeof ann) => {
    await singleSignOn.set(signedNow(by).caller, { ...body, required: true }, client.ip)
    return (await singleSignOn.waiting(partnerId))?.id ?? assert.fail('it waits')
  }
  const first = await propose(ann)
  await members.updateUser(partner.caller, ann.id, { role: 'Developer' })
  await assert.rejects(singleSignOn.confirm(signedNow(ben), first, client.ip), refusedWith(/may no longer do so/))
  const second = await propose(ben)
  await assert.rejects(singleSignOn.confirm(signedNow(cem), first, client.ip), { code: 'not_found' })
  await members.removeUser(partner.caller, cem.id)
  await assert.rejects(singleSignOn.confirm(signedNow(cem), second, client.ip), refusedWith(/may not approve/))
  const dan = await adminOf(partner)
  await singleSignOn.reject(signedNow(dan), second, client.ip)
  await assert.rejects(singleSignOn.confirm(signedNow(dan), second, client.ip), { code: 'not_found' })
  const late = await propose(ben)
  clock.advance(72 * 60 * 60_000)
  await assert.rejects(singleSignOn.confirm(signedNow(dan), late, client.ip), { code: 'not_found' })
  assert.equal(await singleSignOn.waiting(partnerId), undefined)
  assert.equal((await singleSignOn.settings(partnerId)).required, false)
})

test('a role raised by the provider is recorded and mailed to the person and every Admin, and so is joining', async () => {
  const roles = { Admin: ['admins'], Operator: ['ops'] }
  const partner = await partnerWith({ roleClaim: 'groups', roles })
  const { partnerId } = partner
  const boss = await adminOf(partner)
  const { db, mailQueue } = service
  const mailed = async () =>
    (await db.transaction((tx) => mailQueue.claim(tx, partnerId, 1000, 100)))
      .filter(({ kind }) => kind === 'role_changed')
      .map(({ toAddress, data }) => `${toAddress} ${JSON.parse(data).from} ${JSON.parse(data).to}`)
      .toSorted()
  const recorded = async () =>
    (await service.audit.list(partnerId, {})).data
      .filter(({ action }) => action === 'changeRole')
      .map(({ actor, subject, details }) => [actor.id, subject['userId'], details?.['from'], details?.['to']])
  const person = personOf(partner, { groups: ['ops'] })
  const { user } = await signIn(partner, person)
  assert.deepEqual(await mailed(), [`${boss.user.email} null Operator`])
  provider.people.set(person.login, { email: person.email, email_verified: true, groups: ['admins'] })
  await signIn(partner, person)
  assert.deepEqual(await mailed(), [`${boss.user.email} Operator Admin`, `${person.email} Operator Admin`].toSorted())
  assert.deepEqual(await recorded(), [[user.id, user.id, 'Operator', 'Admin']])
  await signIn(partner, person)
  assert.deepEqual([await mailed(), (await recorded()).length], [[], 1], 'the role stays')
  const invited = personOf(partner, { groups: ['admins'] })
  const { id, token } = await invite(partner, invited.email, 'Operator')
  await (await come(partner, invited, { kind: 'join', token })).finish()
  assert.deepEqual((await recorded())[0], [id, id, 'Operator', 'Admin'])
  assert.equal((await mailed()).length, 3, 'to both Admins and to the person')
})

test('an invitation works only while its sender may assign the role, and a resend makes the caller its sender', async () => {
  const partner = await partnerWith()
  const { access, users, db, members } = service
  const { partnerId } = partner
  const request = { partnerId, name: 'Leaked', permissions, publicKeyPem: serviceAccounts.examplePublicKey }
  const { serviceAccountId } = await db.transaction((tx) => access.createServiceAccount(tx, request))
  const leaked = { ...partner, caller: { ...partner.caller, serviceAccountId, name: 'Leaked' } }
  const { id, token } = await invite(leaked, `eve@${partner.domain}`, 'Admin')
  await members.openInvitation(token)
  await db.transaction((tx) => access.revoke(tx, partnerId, serviceAccountId))
  await assert.rejects(members.openInvitation(token), { code: 'not_found' })
  await users.resendInvitation(partner.caller, id, undefined)
  const mails = await db.transaction((tx) => service.mailQueue.claim(tx, partnerId, 1000, 100))
  const again = mails.find(({ kind }) => kind === 'invitation_resent') ?? assert.fail('it is mailed again')
  const boss = await adminOf(partner)
  await joinByPassword({ token: service.mailQueue.secretOf(again) ?? '' })
  const by = { ...partner, caller: boss.caller }
  const other = await invite(by, `tim@${partner.domain}`, 'Operator')
  await members.updateUser(partner.caller, boss.id, { role: 'Operator' })
  await assert.rejects(joinByPassword(other), { code: 'not_found' })
})
