/** The headers and the transport of a mail, against a real SMTP server. */
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'
import { smtpTransport } from './smtp.ts'
import { type MailMessage, MailRefused } from './transport.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function serve(options: Parameters<typeof mailServer>[0] = {}) {
  const server = await mailServer(options)
  cleanUps.push(server.stop)
  return server
}

const now = new Date('2026-11-21T08:00:00.000Z')
const from = { name: 'Acme Payments', address: 'no-reply@acme.example' }
const message: MailMessage = {
  messageId: '<1@acme.example>',
  date: now,
  from,
  to: { name: 'Ada', address: 'ada@example.com' },
  subject: 'x',
  text: 'x',
  html: 'x',
  link: null,
}
test('a name or a subject cannot add a header or a recipient', async () => {
  const server = await serve()
  const names = [
    'Eve\r\nBcc: eve@example.com',
    'Eve\nBcc: eve@example.com\n\n<p>body',
    '"Eve" <eve@example.com>, x',
    'Zoë; <eve@example.com>:',
    '\u2028Bcc: eve@example.com',
    `${'Ä'.repeat(140)}`,
    '=?utf-8?Q?=0D=0ABcc:_eve@example.com?=',
  ]
  for (const name of names) {
    const to = { name, address: 'ada@example.com' }
    await smtpTransport(server.url).send({ ...message, from: { ...from, name }, to, subject: name })
    const mail = server.received.at(-1)
    assert(mail)
    assert.deepEqual([mail.from, mail.to], ['no-reply@acme.example', ['ada@example.com']])
    const { headers, all } = readMail(mail.source)
    assert.deepEqual(
      headers.map((line) => line.slice(0, line.indexOf(':'))).sort(),
      ['Auto-Submitted', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To'],
      mail.source,
    )
    assert.match(all('To')[0] ?? '', /<ada@example\.com>$/)
    assert.match(all('From')[0] ?? '', /<no-reply@acme\.example>$/)
  }
  assert.equal(server.received.length, names.length)
})

test('no mail is sent to an address that can be read as another address', async () => {
  const server = await serve()
  const { send } = smtpTransport(server.url)
  for (const address of [
    'a@b\r\nRCPT TO:<eve@example.com>',
    'a@b, eve@example.com',
    '<eve@example.com>',
    '"a@evil.example x"@b',
  ])
    await assert.rejects(send({ ...message, to: { name: '', address } }), MailRefused, address)
  assert.equal(server.received.length, 0)
  await send({ ...message, to: { name: 'Zoë', address: 'zoë@exämple.com' } })
  assert.deepEqual(server.received[0]?.to, ['zoë@exämple.com'])
})

test('TLS is required for a password, the certificate is checked, and the error for a bad URL does not repeat the URL', async () => {
  const plain = await serve()
  const secure = await serve({ secure: true })
  await assert.rejects(smtpTransport(`${plain.url}?requireTLS=true`).send(message), { code: 'ETLS' })
  await assert.rejects(smtpTransport(`smtps://127.0.0.1:${secure.port}`).send(message), /certificate/)
  assert.equal(plain.received.length + secure.received.length, 0)
  for (const bad of [
    'http://u:s3cret@a',
    's3cret',
    'smtp:',
    'smtp://u:s3cret@a?tls.rejectUnauthorized=false',
    'smtp://a?requireTLS=no',
  ])
    assert.throws(
      () => smtpTransport(bad),
      (error: Error) => !error.message.includes('s3cret'),
      bad,
    )
})
