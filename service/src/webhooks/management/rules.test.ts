import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../kernel/api/index.ts'
import { isAllowedAddress } from '../exchange/resolver.ts'
import { readUrl, storedStatuses, warningsFor } from './rules.ts'

const production = { allowHttpLoopback: false }
const sandbox = { allowHttpLoopback: true }

function refusedAtUrl(text: string, rules = production) {
  assert.throws(
    () => readUrl(text, rules),
    (error) => error instanceof Refusal && error.code === 'validation_failed' && error.errors[0]?.pointer === '/url',
    text,
  )
}

test('a public https URL is normalised', () => {
  assert.equal(readUrl('https://example.com/hooks?a=1', production), 'https://example.com/hooks?a=1')
  assert.equal(readUrl('HTTPS://EXAMPLE.com:443', production), 'https://example.com/')
  assert.equal(readUrl('https://93.184.216.34/x', production), 'https://93.184.216.34/x')
  assert.equal(readUrl('https://[2606:2800:220:1::1]:8443/', production), 'https://[2606:2800:220:1::1]:8443/')
  assert.equal(readUrl('https://bücher.example/ä', production), 'https://xn--bcher-kva.example/%C3%A4')
})

test('400 at /url for a URL that is not absolute https', () => {
  for (const text of [
    'http://example.com/',
    'ftp://example.com/',
    'example.com/hook',
    '/hook',
    'https:example.com',
    'https:///example.com',
    'https:\\\\example.com',
    ' https://example.com',
    'https://exa mple.com',
    'https://exam\nple.com',
    'https://',
    'https://user:secret@example.com/',
    'https://user@example.com/',
    'https://example.com/#part',
    'https://example.com/#',
    `https://example.com/${'ä'.repeat(1000)}`,
  ])
    refusedAtUrl(text)
})

test('400 at /url for an address that is not public, in any spelling', () => {
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '0',
    '224.0.0.1',
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::ffff:10.0.0.1]',
    '[::ffff:7f00:1]',
    '[::10.0.0.1]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[64:ff9b::a00:1]',
    '[64:ff9b:1::a00:1]',
    '[2002:a00:1::]',
    '[2001:0:a00:1::]',
    'localhost',
    'localhost.',
    'a.localhost',
  ])
    refusedAtUrl(`https://${host}/`)
})

test('with loopback allowed: http and https to loopback, no other http, no private address', () => {
  for (const url of ['http://127.0.0.1:9/', 'http://[::1]:9/', 'http://localhost:9/', 'https://127.8.8.8/'])
    assert.equal(readUrl(url, sandbox), url)
  for (const url of ['http://example.com/', 'https://10.0.0.1/', 'http://169.254.169.254/', 'https://[fe80::1]/'])
    refusedAtUrl(url, sandbox)
})

test('a text that is not an address is not allowed', () => {
  for (const text of ['', 'example.com', '999.1.1.1', '::g'])
    assert.equal(isAllowedAddress(text, { allowLoopback: true }), false)
  assert.equal(isAllowedAddress('fe80::1%eth0', { allowLoopback: true }), false)
  assert.equal(isAllowedAddress('::ffff:93.184.216.34', { allowLoopback: false }), true)
})

test('each name that yields no deliveries in its field adds a warning, with the field that delivers it', () => {
  const [documented, extension] = ['transaction.status.changed', 'standing.order.failed']
  assert.deepEqual(warningsFor({ events: [documented, '*'], extensionEvents: [extension, '*'] }), [])
  assert.deepEqual(
    warningsFor({ events: ['invoice.paid', documented, 'toString', extension], extensionEvents: [documented] }),
    [
      'invoice.paid in events is not emitted: it yields no deliveries',
      'toString in events is not emitted: it yields no deliveries',
      `${extension} in events is not emitted: it yields no deliveries. List it in extensionEvents`,
      `${documented} in extensionEvents is not emitted: it yields no deliveries. List it in events`,
    ],
  )
})

test('the pending deliveries of a disabled subscription appear as held', () => {
  assert.deepEqual(storedStatuses('Held', 'Disabled'), ['Pending', 'Held'])
  assert.deepEqual(storedStatuses('Pending', 'Disabled'), [])
  assert.deepEqual(storedStatuses('Pending', 'Enabled'), ['Pending'])
})
