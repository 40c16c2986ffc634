/** Rules of teams: roles, and who may give what. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { operations, type Permission, permissions, roleAllows, users as wire } from '@partner-payments/wire'
import { type Caller, type KeyBounds, Refusal } from '../../kernel/api/index.ts'
import { emailKey, refuseBadEntries, refuseBadRedirect, invitationStatus, encodeToken } from './rules.ts'
import { after, hourMs, minuteMs, tokenHash } from '../../kernel/index.ts'
import { type Act, acts, type Actor, allRoleGrants, type Grant, roleGrant, denialReason } from './giving.ts'

const refusedRedirect = (url: string, sandbox: boolean) => {
  try {
    refuseBadRedirect(url, sandbox)
    return undefined
  } catch (error) {
    assert(error instanceof Refusal)
    assert.equal(error.code, 'validation_failed')
    assert.equal(error.errors[0]?.pointer, '/redirectUrl')
    return error.errors[0]?.code
  }
}

test('a redirect must be an absolute https URL; the sandbox also accepts http to localhost', () => {
  for (const sandbox of [true, false])
    for (const good of ['https://a.example', 'https://a.example/x?y=1&z=%20#f', 'HTTPS://A.example:8443/'])
      assert.equal(refusedRedirect(good, sandbox), undefined, good)
  for (const local of ['http://localhost', 'http://localhost:3000/join', 'http://127.0.0.1:1/']) {
    assert.equal(refusedRedirect(local, true), undefined, local)
    assert.equal(refusedRedirect(local, false), 'invalid_value', local)
  }
  const bad = [
    'http://a.example',
    'http://localhost.evil.example/',
    'http://127.0.0.2/',
    '//a.example',
    '/join',
    'join',
    'https:a.example',
    'https:///',
    'https://',
    'https://user@a.example/',
    'https://user:secret@a.example/',
    'https://a.example\\@evil.example/',
    'https://a.example/\r\nBcc: x@y.example',
    'https://a.example/a b',
    ' https://a.example/',
    'https://a.example/\u0000',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a.example/',
    '',
  ]
  for (const url of bad) assert.notEqual(refusedRedirect(url, true), undefined, JSON.stringify(url))
})

test('one refusal lists every invalid field of every entry', () => {
  const entries = [
    { email: 'ada@example.com', fullName: 'Ada', role: 'Admin' },
    { email: 'a"b@example.com', fullName: 'Eve\r\nBcc: x@y.example', role: 'Admin' },
    { email: 'ADA@Example.com', fullName: 'Ada again', role: 'Admin', redirectUrl: 'http://a.example' },
    { email: 'x\u0000@example.com', fullName: '\ud800', role: 'Admin', redirectUrl: null },
    { email: 'ok@example.com', fullName: '  ', role: 'Admin' },
  ] as const
  assert.throws(
    () => refuseBadEntries(entries, false),
    (error) => {
      assert(error instanceof Refusal)
      assert.deepEqual(
        error.errors.map(({ pointer, code }) => [pointer, code]),
        [
          ['/invitations/1/email', 'invalid_character'],
          ['/invitations/1/fullName', 'invalid_character'],
          ['/invitations/2/email', 'invalid_value'],
          ['/invitations/2/redirectUrl', 'invalid_value'],
          ['/invitations/3/email', 'invalid_character'],
          ['/invitations/3/fullName', 'invalid_character'],
          ['/invitations/4/fullName', 'empty'],
        ],
      )
      return true
    },
  )
  refuseBadEntries([{ email: "o'hara+x@exämple.com", fullName: 'Zoë O’Hara "Z"', role: 'Operator' }], false)
})

test('addresses that differ only in case or Unicode composition are the same', () => {
  assert.equal(emailKey('Zoe\u0308@Example.COM'), emailKey('zo\u00eb@example.com'))
  assert.notEqual(emailKey('a.b@example.com'), emailKey('ab@example.com'))
})

test('a pending invitation is Expired from its `expiresAt`, and other statuses do not change', () => {
  const expiresAt = new Date('2026-11-28T00:00:00.000Z')
  const before = new Date(expiresAt.getTime() - 1)
  assert.equal(invitationStatus({ status: 'Pending', expiresAt }, before), 'Pending')
  assert.equal(invitationStatus({ status: 'Pending', expiresAt }, expiresAt), 'Expired')
  for (const status of ['Accepted', 'Revoked'] as const)
    assert.equal(invitationStatus({ status, expiresAt }, expiresAt), status)
})

test('a token begins with the id of its partner and continues with 32 random bytes', () => {
  const partnerId = '0193f2a8-0000-7000-8000-00000000abcd'
  const random = Buffer.alloc(32, 7)
  const token = encodeToken(partnerId, random)
  assert.match(token, /^[A-Za-z0-9_-]{64}$/)
  const bytes = Buffer.from(token, 'base64url')
  assert.equal(bytes.subarray(0, 16).toString('hex'), partnerId.replaceAll('-', ''))
  assert.deepEqual(bytes.subarray(16), random)
  assert.equal(tokenHash(token).length, 32)
  assert.throws(() => encodeToken(partnerId, random.subarray(1)), /256 random bits/)
})

test('a name cannot contain a link, an address or unusual punctuation', () => {
  const named = (fullName: string) => () =>
    refuseBadEntries([{ email: 'a@example.com', fullName, role: 'Operator' }], false)
  for (const name of [
    'Your account is blocked: open evil.example',
    'https://evil.example',
    'www.evil.com',
    'ada@evil.com',
    'evil。example/x',
    'Ada\u202elivE',
    'Pay now!',
    'a\u2028b',
  ])
    assert.throws(named(name), Refusal, name)
  for (const name of ['J. R. R. Tolkien', 'Dr. Zoë O’Hara-Smith, PhD', 'Иван Иванов', '山田 太郎', 'Jr. 3', 'محمد علي'])
    named(name)()
})

const now = new Date('2026-11-24T08:00:00Z')
const allowed = (role: wire.Role) => permissions.filter((each) => roleAllows(role, each))
const bounds: KeyBounds = { expiresAt: after(now, hourMs), allowedAddresses: ['203.0.113.0/24'] }
const person = (role: wire.Role, minutes: number) => ({
  permissions: allowed(role),
  signedInAt: after(now, -minutes * minuteMs),
})
const callers = {
  'Admin just signed in': person('Admin', 1),
  Admin: person('Admin', 5),
  Developer: person('Developer', 1),
  Operator: person('Operator', 1),
  'key users:*': { permissions: ['users:read', 'users:write'] },
  'key users:write': { permissions: ['users:write'] },
  'key of an Operator, users:write': { permissions: [...allowed('Operator'), 'users:write'] },
  'key all': { permissions },
  'key all, bound': { permissions, bounds },
  support: { permissions, impersonatedBy: 'Ann' },
  guest: { permissions: ['webhooks:read', 'webhooks:write'] },
} as const satisfies Readonly<Record<string, Pick<Caller, 'permissions' | 'bounds' | 'signedInAt' | 'impersonatedBy'>>>
type CallerName = keyof typeof callers
const callerNames = Object.keys(callers) as CallerName[]

const mayGive = (by: Actor, act: Act, grants: readonly Grant[]) => denialReason(by, act, grants) === undefined
const whoMay = (act: Act, grants: readonly Grant[], keysSetSingleSignOn = false) =>
  callerNames.filter((name) =>
    mayGive({ kind: 'caller', caller: callers[name], now, keysSetSingleSignOn }, act, grants),
  )

const admins: readonly CallerName[] = ['Admin just signed in', 'Admin']
const whole: readonly CallerName[] = [...admins, 'key all', 'key all, bound']
const keyOf = (given: readonly Permission[], of: Partial<KeyBounds> = {}): Grant => ({
  ...{ name: 'The service account Payroll', permissions: given, isKey: true },
  bounds: { expiresAt: null, allowedAddresses: [], ...of },
})
const within = { expiresAt: after(now, minuteMs), allowedAddresses: ['203.0.113.7'] }
const webhooks: Grant = { name: 'The access of the guest', permissions: ['users:write', 'webhooks:read'] }
const ofUsers: readonly CallerName[] = ['key users:*', 'key users:write', 'key of an Operator, users:write']

type Row = readonly [what: string, grants: readonly Grant[], may: readonly CallerName[]]
/** Roles that are given and taken: not more than the caller has. */
const ofRoles: readonly Row[] = [
  ['Admin', [roleGrant('Admin')], whole],
  ['Developer', [roleGrant('Developer')], whole],
  [
    'Operator',
    [roleGrant('Operator')],
    callerNames.filter((name) => whole.includes(name) || name === 'key of an Operator, users:write'),
  ],
  ['Operator who was Admin', [roleGrant('Operator'), roleGrant('Admin')], whole],
]
const unbound = whole.filter((name) => name !== 'key all, bound')
const ofKeys: readonly Row[] = [
  ['without an end', [keyOf(['payouts:write'])], [...unbound, 'key of an Operator, users:write']],
  ['that ends later', [keyOf(permissions, { ...within, expiresAt: after(now, 2 * hourMs) })], unbound],
  ['from any address', [keyOf(permissions, { ...within, allowedAddresses: [] })], unbound],
  ['from a wider network', [keyOf(permissions, { ...within, allowedAddresses: ['203.0.0.0/16'] })], unbound],
  [
    'from another address too',
    [keyOf(permissions, { ...within, allowedAddresses: ['203.0.113.7', '198.51.100.1'] })],
    unbound,
  ],
  ['within the bounds', [keyOf(permissions, within)], whole],
  [
    'of the team only',
    [keyOf(['users:read'], within)],
    callerNames.filter((name) => whole.includes(name) || name === 'key users:*'),
  ],
  ['that is lifted', [keyOf(['users:write'], within), keyOf(['users:write'])], [...unbound, ...ofUsers]],
  ['the own one, to end it', [], [...whole, ...ofUsers]],
]
const ofGuests: readonly Row[] = [['webhooks', [webhooks], whole]]
const inConsole: readonly Row[] = [['every role', allRoleGrants, ['Admin just signed in']]]
const none: readonly Row[] = [['anything', [roleGrant('Admin')], []]]

/** One row for each act. The compiler refuses a new act without a row. */
const table: Readonly<Record<Act, readonly Row[]>> = {
  createInvitations: ofRoles,
  resendInvitation: ofRoles,
  revokeInvitation: ofRoles,
  updateUser: ofRoles,
  removeUser: ofRoles,
  resetSignIn: inConsole,
  setSingleSignOn: inConsole,
  proveSingleSignOnDomain: inConsole,
  removeSingleSignOn: inConsole,
  decideSingleSignOn: inConsole,
  createGuestLink: ofGuests,
  revokeGuestLink: ofGuests,
  createServiceAccount: ofKeys,
  updateServiceAccount: ofKeys,
  rotateServiceAccount: ofKeys,
  revokeServiceAccount: ofKeys,
  acceptInvitation: none,
  openFirstInvitation: none,
  recoverAdmin: none,
  giveRoleByProvider: none,
  letGuestIn: none,
}

suite('permissions in production', () => {
  for (const [act, rows] of Object.entries(table) as [Act, readonly Row[]][])
    for (const [what, grants, may] of rows)
      test(`${act}: ${what}`, () =>
        assert.deepEqual(
          whoMay(act, grants),
          callerNames.filter((name) => may.includes(name)),
        ))
})

test('`permit` checks every operation that manages the team', () => {
  const managing = Object.entries(operations).filter(([, { permission }]) => permission === 'users:write')
  assert.ok(managing.length > 10)
  for (const [id] of managing) assert.ok(id in acts, `${id} has no row in giving.ts`)
})

test('if the setting allows it, only a key with every permission sets single sign-on, and a person must sign in again', () => {
  for (const act of ['setSingleSignOn', 'proveSingleSignOnDomain', 'removeSingleSignOn'] as const)
    assert.deepEqual(whoMay(act, allRoleGrants, true), ['Admin just signed in', 'key all', 'key all, bound'])
  for (const act of ['decideSingleSignOn', 'resetSignIn'] as const)
    assert.deepEqual(whoMay(act, allRoleGrants, true), ['Admin just signed in'])
})

test('an invitation or a link is checked against the current permissions of its maker when it is used', () => {
  const maker = (held: readonly string[]): Actor => ({ kind: 'maker', permissions: held })
  for (const role of wire.roles) {
    assert.equal(mayGive(maker(permissions), 'acceptInvitation', [roleGrant(role)]), true)
    assert.equal(mayGive(maker([]), 'acceptInvitation', [roleGrant(role)]), false)
    assert.equal(mayGive(maker(allowed('Operator')), 'acceptInvitation', [roleGrant(role)]), false)
  }
  assert.equal(mayGive(maker(['users:write', 'webhooks:read']), 'letGuestIn', [webhooks]), true)
  assert.equal(mayGive(maker(['webhooks:read']), 'letGuestIn', [webhooks]), false)
})

test('the provider assigns only mapped roles, and the operator may only open invitations and recover Admins', () => {
  const provider: Actor = { kind: 'provider', roles: ['Operator'] }
  assert.equal(mayGive(provider, 'giveRoleByProvider', [roleGrant('Operator')]), true)
  assert.equal(mayGive(provider, 'giveRoleByProvider', [roleGrant('Admin')]), false)
  const byKind = (by: Actor) => (Object.keys(acts) as Act[]).filter((act) => mayGive(by, act, [roleGrant('Operator')]))
  assert.deepEqual(byKind(provider), ['giveRoleByProvider'])
  assert.deepEqual(byKind({ kind: 'operator' }).toSorted(), ['openFirstInvitation', 'recoverAdmin'])
  assert.deepEqual(byKind({ kind: 'maker', permissions }).toSorted(), ['acceptInvitation', 'letGuestIn'])
})
