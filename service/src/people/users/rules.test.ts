import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { emailKey, refuseBadEntries, refuseBadRedirect, statusAt, tokenFor, tokenHash } from './rules.ts'

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

test('one refusal names every bad field of every entry', () => {
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

test('a pending invitation is Expired from its `expiresAt` on; other statuses do not change', () => {
  const expiresAt = new Date('2026-11-28T00:00:00.000Z')
  const before = new Date(expiresAt.getTime() - 1)
  assert.equal(statusAt({ status: 'Pending', expiresAt }, before), 'Pending')
  assert.equal(statusAt({ status: 'Pending', expiresAt }, expiresAt), 'Expired')
  for (const status of ['Accepted', 'Revoked'] as const)
    assert.equal(statusAt({ status, expiresAt }, expiresAt), status)
})

test('a token begins with the id of its partner and continues with 32 random bytes', () => {
  const partnerId = '0193f2a8-0000-7000-8000-00000000abcd'
  const random = Buffer.alloc(32, 7)
  const token = tokenFor(partnerId, random)
  assert.match(token, /^[A-Za-z0-9_-]{64}$/)
  const bytes = Buffer.from(token, 'base64url')
  assert.equal(bytes.subarray(0, 16).toString('hex'), partnerId.replaceAll('-', ''))
  assert.deepEqual(bytes.subarray(16), random)
  assert.equal(tokenHash(token).length, 32)
  assert.throws(() => tokenFor(partnerId, random.subarray(1)), /256 random bits/)
})

test('a name has no link, no address and no sentence of marks', () => {
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
