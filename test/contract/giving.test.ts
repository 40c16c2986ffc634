/** A key that manages the team becomes no Admin: the way from its first request to a payment of two invented persons, over real sockets. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { type Client, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { createProviderBrowser, providerClient, startIdentityProvider } from '../support/identity-provider.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem } from '../support/problem.ts'

const provider = untilEnd(await startIdentityProvider())
const service = await useService({ env: { WEBHOOK_HTTP: 'on', TRUSTED_PROXIES: '127.0.0.1' } })
const { partnerId } = service.credentials
await service.operator('approval', 'set', '--partner', partnerId, '--currency', 'EUR', '--above', '10.00')
/** A key with `users:read` and `users:write`, as the operator issues it. */
const narrow = service.clientOf(
  await service.operator(
    ...['service-account', 'create', '--partner', partnerId, '--name', 'Directory'],
    ...['--permissions', 'users:read,users:write'],
  ),
)

const refused = { status: 403, code: 'permission_denied' }
const send = (client: Client, method: string, target: string, body?: JsonObject) =>
  client.send({ method, target, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
const signOnPath = '/v1/users/single-sign-on'
const own = (roles: JsonObject | null = { Admin: ['admins'] }) => ({
  ...{ issuer: provider.issuer, ...providerClient, emailDomain: 'attacker.example' },
  ...(roles === null ? {} : { roleClaim: 'groups', roles }),
})

/** Comes from the page of the sign-in to the provider and back. Returns the answer of the last page. */
async function comeAs(login: string) {
  const { partnerId } = service.credentials
  const page = (path: string, cookie = '') =>
    fetch(new URL(path, service.baseUrl), { redirect: 'manual', headers: { cookie } })
  const begun = await page(`/console/sign-in/sso?partner=${partnerId}`)
  const to = begun.headers.get('location')
  if (to === null || !to.startsWith(provider.issuer)) return begun
  const back = await createProviderBrowser().follow(to, login)
  const [cookie = ''] = begun.headers.getSetCookie().map((each) => each.split(';', 1)[0] ?? '')
  return page(back.pathname + back.search, cookie)
}
const team = async () => listAt(success(await service.client.get('/v1/users')))

test("a key with users:read and users:write cannot set a provider, and people of an attacker's provider cannot join", async () => {
  for (const [index, person] of ['mallory', 'mallet'].entries())
    provider.people.set(person, {
      ...{ email: `${person}@attacker.example`, email_verified: true, name: `Invented ${'AB'[index]}` },
      groups: ['admins'],
    })
  for (const roles of [{ Admin: ['admins'] }, { Operator: ['admins'] }, { Developer: ['admins'] }, null])
    assertProblem(await send(narrow, 'PUT', signOnPath, own(roles)), refused)
  assertProblem(await send(narrow, 'POST', `${signOnPath}/domain`), refused)
  assertProblem(await send(narrow, 'DELETE', signOnPath), refused)
  assert.equal((await comeAs('mallory')).status, 403)
  assert.deepEqual([provider.asked, await team()], [[], []])
})

test('the key cannot resend or revoke an invitation of an Admin, nor change an Admin', async () => {
  const invitation = { email: 'boss@example.com', fullName: 'Ann Admin', role: 'Admin' }
  const made = success(await service.client.post('/v1/users/invitations', { invitations: [invitation] }))
  const [{ inviteId } = {}] = listAt(made, 'invitations')
  const path = `/v1/users/invitations/${String(inviteId)}`
  const before = success(await service.client.get(path))
  assertProblem(await send(narrow, 'POST', `${path}/resend`, { redirectUrl: 'https://attacker.example/join' }), refused)
  assertProblem(await send(narrow, 'POST', `${path}/resend`), refused)
  assertProblem(await send(narrow, 'DELETE', path), refused)
  assertProblem(await send(narrow, 'POST', '/v1/users/invitations', { invitations: [invitation] }), refused)
  assert.deepEqual(success(await service.client.get(path)), before)
})

test('with every permission the same requests succeed, which proves that missing permissions caused the refusals above', async () => {
  const set = success(await send(service.client, 'PUT', signOnPath, own()))
  provider.allow([textAt(set, 'redirectUri')])
  success(await send(service.client, 'POST', `${signOnPath}/domain`))
  for (const login of ['mallory', 'mallet']) assert.equal((await comeAs(login)).status, 303)
  const members = await team()
  assert.deepEqual(pluck(members, 'roleName'), ['Admin', 'Admin'])
  // Neither the provider that is set nor its Admins are the narrow key's to change.
  assertProblem(await send(narrow, 'PUT', signOnPath, own(null)), refused)
  assertProblem(await send(narrow, 'DELETE', signOnPath), refused)
  for (const { userId } of members) {
    const path = `/v1/users/${String(userId)}`
    assertProblem(await send(narrow, 'PATCH', path, { role: 'Developer' }), refused)
    assertProblem(await send(narrow, 'DELETE', path), refused)
  }
})

test('a key with an expiry and allowed addresses cannot remove them, grant more, or rotate beyond them', async () => {
  const keys = () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    return {
      publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }
  const path = '/v1/service-accounts'
  const permissions = ['users:read', 'users:write', 'payouts:read', 'payouts:write']
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const clientOf = (made: JsonObject, privateKeyPem: string) =>
    service.clientOf({ partnerId: service.credentials.partnerId, ...made, privateKeyPem })
  const pair = keys()
  const given = { permissions, expiresAt, allowedAddresses: ['127.0.0.1'] }
  const made = success(await service.client.post(path, { name: 'Bound', publicKeyPem: pair.publicKeyPem, ...given }))
  const bound = clientOf(made, pair.privateKeyPem)
  const id = textAt(made, 'serviceAccountId')
  for (const change of [
    { expiresAt: null },
    { expiresAt: new Date(Date.now() + 7_200_000).toISOString() },
    { allowedAddresses: [] },
    { allowedAddresses: ['0.0.0.0/0'] },
    { allowedAddresses: ['127.0.0.1', '203.0.113.7'] },
    { permissions: [...permissions, 'accounts:read'] },
  ]) {
    assertProblem(await send(bound, 'PATCH', `${path}/${id}`, change), refused)
    const child = { name: 'Child', publicKeyPem: keys().publicKeyPem, ...given, ...change }
    assertProblem(await send(bound, 'POST', path, child), refused)
  }
  success(await send(bound, 'POST', path, { name: 'Child', publicKeyPem: keys().publicKeyPem, ...given }))
  let [holder, held] = [bound, id]
  for (let turn = 0; turn < 3; turn += 1) {
    const next = keys()
    const rotated = success(await send(holder, 'POST', `${path}/${held}/rotate`, { publicKeyPem: next.publicKeyPem }))
    assert.equal(new Date(textAt(rotated, 'expiresAt')).getTime(), new Date(textAt(made, 'expiresAt')).getTime())
    assert.deepEqual(rotated.allowedAddresses, ['127.0.0.1'])
    ;[holder, held] = [clientOf(rotated, next.privateKeyPem), textAt(rotated, 'serviceAccountId')]
  }
  // The key of the operator, which has no end, is not the bound key's to take over or to end.
  const [first] = listAt(success(await service.client.get(path))).filter((each) => each.issuedById === null)
  const other = textAt(first ?? assert.fail('the sandbox has a key'), 'serviceAccountId')
  assertProblem(await send(holder, 'POST', `${path}/${other}/rotate`, { publicKeyPem: keys().publicKeyPem }), refused)
  assertProblem(await send(holder, 'DELETE', `${path}/${other}`), refused)
  assert.equal((await send(holder, 'DELETE', `${path}/${held}`)).status, 204)
})
