import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAddress, oneLine, readMailbox } from './transport.ts'

test('an address that can be read as two addresses, or as another address, is refused', () => {
  for (const good of ['a@b', 'a.b+c@example.com', "o'hara@example.com", 'zoë@exämple.com'])
    assert(isAddress(good), good)
  const bad = [
    'a',
    '@b',
    'a@',
    'a@b@c',
    'a b@c',
    'a,b@c',
    '"a b"@c',
    'a@b>',
    'a@b\r\nX: y',
    'a@b\u0000',
    'a;b@c',
    '\ud800@c',
  ]
  for (const address of bad) assert(!isAddress(address), JSON.stringify(address))
  assert.equal(oneLine(' a\r\n\tb\u2066c\u0000 '), 'a b c')
})

test('the sender is read from one line of the configuration', () => {
  assert.deepEqual(readMailbox('Acme Pay <no-reply@acme.example>'), {
    name: 'Acme Pay',
    address: 'no-reply@acme.example',
  })
  assert.deepEqual(readMailbox('"Acme, Inc." <a@b.example>'), { name: 'Acme, Inc.', address: 'a@b.example' })
  assert.deepEqual(readMailbox('a@b.example'), { name: '', address: 'a@b.example' })
  for (const bad of ['', 'Acme', 'Acme <>', 'Acme <a>', 'a@b, c@d', '<a@b> <c@d>'])
    assert.equal(readMailbox(bad), undefined, bad)
})
