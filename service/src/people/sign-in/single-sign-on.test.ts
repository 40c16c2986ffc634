/** Tests single sign-on with providers whose responses are invalid, slow or endless. */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { createChosenHosts } from '../../webhooks/index.ts'
import { createSealer, newId, randomBytes, systemClock } from '../../kernel/index.ts'
import { createSingleSignOn, type SignOnProvider, SignOnFailed } from './single-sign-on.ts'

const realm = newId()
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const { privateKey: otherKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const clientSecret = 'the secret of the client'

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
type TokenSignature = { readonly alg?: string; readonly key?: KeyObject }
function tokenOf(claims: object, { alg = 'RS256', key = privateKey }: TokenSignature = {}): string {
  const text = `${base64({ alg, kid: 'one' })}.${base64(claims)}`
  if (alg === 'none') return `${text}.`
  const signature =
    alg === 'HS256' ? createHmac('sha256', clientSecret).update(text).digest() : sign('sha256', Buffer.from(text), key)
  return `${text}.${signature.toString('base64url')}`
}

/** Responses of the provider by path, which replace the correct ones. */
let answers: Readonly<Record<string, (response: ServerResponse) => unknown>> = {}
let idToken = ''
const server = createServer((request, response) => {
  const path = request.url?.split('?')[0] ?? ''
  const json = (value: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
  const answer = answers[path]
  if (answer !== undefined) return void answer(response)
  if (path === '/.well-known/openid-configuration')
    return void json({
      issuer: provider.issuer,
      authorization_endpoint: `${provider.issuer}/authorize`,
      token_endpoint: `${provider.issuer}/token`,
      jwks_uri: `${provider.issuer}/jwks`,
    })
  if (path === '/jwks')
    return void json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] })
  return void json({ access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: idToken })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const provider: SignOnProvider = { issuer, clientId: 'us', clientSecret, roleClaim: null }
after(() => server.closeAllConnections())
after(() => server.close())

const hosts = createChosenHosts({ clock: systemClock, allowLoopback: true })
const createOne = () =>
  createSingleSignOn({
    clock: systemClock,
    sealer: createSealer([randomBytes(32)]),
    redirectUri: (realmId) => `https://pay.example.com/console/sso/${realmId}`,
    fetch: hosts.fetch,
    atProvider: (realmId, host, work) => hosts.call('signOn', realmId, host, work),
    allowHttp: true,
  })

const seconds = () => Math.floor(systemClock.now().getTime() / 1000)
/** Completes a sign-in with a token with these claims. */
async function comeBack(changes: Readonly<Record<string, unknown>>, signed: TokenSignature = {}, at = provider) {
  const one = createOne()
  const { url, attempt } = await one.begin(realm, at, { kind: 'sign in', next: 'home' })
  const asked = new URL(url).searchParams
  const now = seconds()
  const times = { iat: now, exp: now + 60, auth_time: now - 10 }
  idToken = tokenOf(
    { iss: provider.issuer, aud: 'us', sub: '1', nonce: asked.get('nonce'), ...times, ...changes },
    signed,
  )
  return one.finish(realm, at, { attempt, query: `code=x&state=${asked.get('state')}` })
}

test('a claim with a wrong type counts as absent, and a subject with a wrong type is refused', async () => {
  const roleClaim = 'groups'
  const withRoles = { ...provider, roleClaim }
  const provedOf = async (claims: object) => (await comeBack({ ...claims }, {}, withRoles)).proved
  for (const wrong of ['', 'a\0b', '\ud800', 5, null, {}, { length: 6e7 }, ['ada@example.com'], 'a'.repeat(1001)]) {
    const { email, name, emailVerified, roles } = await provedOf({ email: wrong, name: wrong, email_verified: wrong })
    assert.deepEqual([email, name, emailVerified, roles], [null, null, null, []], JSON.stringify(wrong))
  }
  // Mails use the address, and approvers see the name.
  for (const email of [
    'a\r\nBcc: x@acme.com',
    'a b@acme.com',
    '@acme.com',
    'a@b@acme.com',
    `${'a'.repeat(250)}@acme.com`,
  ])
    assert.equal((await provedOf({ email })).email, null, email)
  for (const name of ['Ada\r\nX: 1', '\u0007', '\u202eecalevoL adA', ' '])
    assert.equal((await provedOf({ name })).name, null, name)
  const groups = ['ops', 'a\0', '', 5, { length: 6e7 }, '\udc00', 'dev', ...Array.from({ length: 2000 }, () => 'x')]
  const { roles } = await provedOf({ groups })
  assert.deepEqual(roles.slice(0, 3), ['ops', 'dev', 'x'])
  assert.ok(roles.length <= 1000)
  assert.deepEqual((await provedOf({ groups: 'ops' })).roles, ['ops'])
  for (const sub of ['a\0', 'a'.repeat(256), '\ud800'])
    await assert.rejects(provedOf({ sub }), (error) => error instanceof SignOnFailed && error.reason === 'refused')
})

test('a sign-in sends a state, a nonce, a PKCE challenge and a maximum age, and accepts a valid token', async () => {
  const { url } = await createOne().begin(realm, provider, { kind: 'sign in', next: 'home' })
  const asked = Object.fromEntries(new URL(url).searchParams)
  assert.deepEqual(
    [asked['response_type'], asked['code_challenge_method'], asked['max_age'], asked['redirect_uri']],
    ['code', 'S256', '300', `https://pay.example.com/console/sso/${realm}`],
  )
  assert.equal(new Set([asked['state'], asked['nonce'], asked['code_challenge']]).size, 3)
  const { proved, purpose } = await comeBack({ email: 'ada@example.com' })
  assert.deepEqual(
    [proved.subject, proved.email, proved.emailVerified, purpose.kind],
    ['1', 'ada@example.com', null, 'sign in'],
  )
})

test('a token with another nonce, audience, issuer, time or key is refused', async () => {
  const wrong: readonly (readonly [Readonly<Record<string, unknown>>, TokenSignature?])[] = [
    [{ nonce: 'other' }],
    [{ nonce: undefined }],
    [{ aud: 'another client' }],
    [{ aud: ['us', 'another client'] }],
    [{ iss: 'https://evil.example.com' }],
    [{ exp: seconds() - 60 }],
    [{ iat: seconds() + 45 }],
    [{ iat: seconds() + 86_400, exp: seconds() + 90_000 }],
    [{ iat: undefined }],
    [{ auth_time: seconds() + 86_400 }],
    [{ auth_time: seconds() - 3600 }],
    [{ auth_time: undefined }],
    [{ sub: undefined }],
    [{}, { alg: 'none' }],
    [{}, { alg: 'HS256' }],
    [{}, { key: otherKey }],
  ]
  for (const [changes, signed] of wrong)
    await assert.rejects(comeBack(changes, signed), { reason: 'refused' }, JSON.stringify([changes, signed?.alg]))
})

test('a token of a provider whose clock is slightly ahead is accepted', async () => {
  const { proved } = await comeBack({ iat: seconds() + 10, auth_time: seconds() + 10 })
  assert.equal(proved.subject, '1')
})

test('an attempt cannot be finished for another realm, provider or client id', async () => {
  const one = createOne()
  const { url, attempt } = await one.begin(realm, provider, { kind: 'sign in', next: 'home' })
  const query = `code=x&state=${new URL(url).searchParams.get('state')}`
  const others: readonly (readonly [string, SignOnProvider])[] = [
    [newId(), provider],
    [realm, { ...provider, issuer: 'https://evil.example.com' }],
    [realm, { ...provider, clientId: 'them' }],
  ]
  for (const [realmId, other] of others)
    await assert.rejects(one.finish(realmId, other, { attempt, query }), { reason: 'expired' })
})

test('a provider that redirects, sends an endless response or an invalid one counts as unreachable', async () => {
  const metadata = '/.well-known/openid-configuration'
  const endless = (response: ServerResponse) => {
    const write = () => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', write)
    }
    write()
  }
  const wrong: readonly ((response: ServerResponse) => unknown)[] = [
    (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
    (response) => response.writeHead(500).end(),
    (response) => response.end('<html>'),
    (response) => response.setHeader('content-type', 'application/json').end('{"issuer":"https://evil.example.com"}'),
    (response) => response.destroy(),
    endless,
  ]
  for (const answer of wrong) {
    answers = { [metadata]: answer }
    await assert.rejects(createOne().begin(realm, provider, { kind: 'sign in', next: 'home' }), {
      reason: 'unreachable',
    })
  }
  answers = {}
})

test('the next sign-in retries a provider that did not answer', async () => {
  const one = createOne()
  const begin = () => one.begin(realm, provider, { kind: 'sign in', next: 'home' })
  answers = { '/.well-known/openid-configuration': (response) => response.destroy() }
  await assert.rejects(begin(), { reason: 'unreachable' })
  answers = {}
  assert.ok((await begin()).url)
})
