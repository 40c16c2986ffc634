import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type InvitationMail, render, withToken } from './mailer.ts'
import { isAddress, oneLine, readMailbox } from './transport.ts'

const mail: InvitationMail = {
  id: '0193f2a8-0000-7000-8000-00000000abcd',
  kind: 'invitation',
  toAddress: 'ada@example.com',
  toName: 'Ada',
  role: 'Admin',
  invitedByName: 'Grace',
  partnerName: 'Acme',
  linkUrl: 'https://portal.example/join',
  token: 'TOKEN_-1',
  expiresAt: new Date('2026-11-28T09:05:00.000Z'),
}

test('the token joins the query as it is and leaves the rest of the URL alone', () => {
  const joined = [
    ['https://a.example', 'https://a.example/?token=T'],
    ['https://a.example/join', 'https://a.example/join?token=T'],
    ['https://a.example/join?', 'https://a.example/join?token=T'],
    ['https://a.example/join?a=%20b+c&d#part', 'https://a.example/join?a=%20b+c&d&token=T#part'],
    ['https://a.example/#token=x', 'https://a.example/?token=T#token=x'],
    ['https://a.example/?token=old&x=1', 'https://a.example/?x=1&token=T'],
    ['http://localhost:3000/?token=', 'http://localhost:3000/?token=T'],
    ['https://exämple.com/ü', 'https://xn--exmple-cua.com/%C3%BC?token=T'],
  ] as const
  for (const [given, expected] of joined) assert.equal(withToken(given, 'T'), expected)
})

test('an invitation says who invites, to what, as what, where and until when', () => {
  const { subject, text, html, link } = render(mail)
  assert.equal(subject, 'Grace invites you to Acme')
  assert.equal(link, 'https://portal.example/join?token=TOKEN_-1')
  for (const said of ['Hello Ada,', 'Grace invites you to join Acme as Admin.', '28 November 2026 at 09:05 UTC'])
    for (const form of [text, html]) assert(form.includes(said), `${said}: ${form}`)
  assert(text.split('\n').includes('https://portal.example/join?token=TOKEN_-1'), 'the link stands alone on its line')
  assert(html.includes('<a href="https://portal.example/join?token=TOKEN_-1">'))
})

test('a resent invitation says that the former mail is dead; without a link the token is a code', () => {
  const { subject, text, html, link } = render({ ...mail, kind: 'invitation_resent', linkUrl: null })
  assert.equal(subject, 'Reminder: Grace invites you to Acme')
  assert.equal(link, null)
  assert(text.includes('no longer works'))
  assert(text.split('\n').includes('TOKEN_-1'))
  assert(html.includes('<code>TOKEN_-1</code>'))
})

test('names cannot become markup, lines or reversed text', () => {
  const { subject, text, html } = render({
    ...mail,
    toName: '<img src=x onerror=alert(1)>',
    invitedByName: 'Grace\r\nBcc: eve@example.com',
    partnerName: '"Acme" & <b>Sons</b>\u202e\u2028',
    linkUrl: `https://a.example/?x='"><script>&y`,
  })
  assert.equal(subject, 'Grace Bcc: eve@example.com invites you to "Acme" & <b>Sons</b>')
  assert(!/\r|\nBcc/.test(text))
  assert(!/<img|<b>|<script/.test(html), html)
  assert(html.includes('&quot;Acme&quot; &amp; &lt;b&gt;Sons&lt;/b&gt;'))
})

test('addresses that could be read as two, or as another, are none', () => {
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

test('a sender is read from a line of configuration', () => {
  assert.deepEqual(readMailbox('Acme Pay <no-reply@acme.example>'), {
    name: 'Acme Pay',
    address: 'no-reply@acme.example',
  })
  assert.deepEqual(readMailbox('"Acme, Inc." <a@b.example>'), { name: 'Acme, Inc.', address: 'a@b.example' })
  assert.deepEqual(readMailbox('a@b.example'), { name: '', address: 'a@b.example' })
  for (const bad of ['', 'Acme', 'Acme <>', 'Acme <a>', 'a@b, c@d', '<a@b> <c@d>'])
    assert.equal(readMailbox(bad), undefined, bad)
})
