import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedFrom, readNetwork } from './addresses.ts'

test('reads addresses and networks, and nothing else', () => {
  for (const text of ['203.0.113.7', '203.0.113.0/24', '0.0.0.0/0', '2001:db8::/32', '::1', '2001:db8::1/128'])
    assert.ok(readNetwork(text), text)
  const others = ['', 'example.com', '203.0.113', '203.0.113.7/33', '203.0.113.7/', '203.0.113.7/-1', '203.0.113.7/08']
  for (const text of [
    ...others,
    '2001:db8::/129',
    '1.2.3.4/24/24',
    ' 1.2.3.4',
    'fe80::1%eth0',
    '1.2.3.4/1e1',
    '01.2.3.4',
  ])
    assert.equal(readNetwork(text), undefined, text)
})

test('allows what is in a network, in each family, and an IPv4 client of an IPv6 socket', () => {
  assert.equal(allowedFrom([]), undefined)
  const allows = allowedFrom(['203.0.113.0/24', '198.51.100.7', '2001:db8::/32']) ?? assert.fail()
  for (const ip of [
    '203.0.113.0',
    '203.0.113.255',
    '198.51.100.7',
    '::ffff:203.0.113.9',
    '::FFFF:198.51.100.7',
    '2001:db8:1::9',
  ])
    assert.equal(allows(ip), true, ip)
  for (const ip of ['203.0.114.0', '198.51.100.8', '::ffff:198.51.100.8', '2001:db9::1', '::1', '', 'unknown'])
    assert.equal(allows(ip), false, ip)
})
