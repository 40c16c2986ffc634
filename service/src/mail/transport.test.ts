/** Transports of mail: a folder and SMTP. */
import assert from 'node:assert/strict'
import { after, afterEach, suite, test } from 'node:test'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  folderTransport,
  isAddress,
  type MailMessage,
  MailRefused,
  oneLine,
  parseMailbox,
  smtpTransport,
} from './transport.ts'
import { mailServer, readMail } from '../../../test/support/mail-server.ts'

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

test('the sender is read from the configuration', () => {
  assert.deepEqual(parseMailbox('Acme Pay <no-reply@acme.example>'), {
    name: 'Acme Pay',
    address: 'no-reply@acme.example',
  })
  assert.deepEqual(parseMailbox('"Acme, Inc." <a@b.example>'), { name: 'Acme, Inc.', address: 'a@b.example' })
  assert.deepEqual(parseMailbox('a@b.example'), { name: '', address: 'a@b.example' })
  for (const bad of ['', 'Acme', 'Acme <>', 'Acme <a>', 'a@b, c@d', '<a@b> <c@d>'])
    assert.equal(parseMailbox(bad), undefined, bad)
})

suite('folder', async () => {
  const root = await mkdtemp(join(tmpdir(), 'partner-payments-mail-'))
  after(() => rm(root, { recursive: true, force: true }))

  const link = `https://portal.example/join?next=${'x'.repeat(100)}&token=${'T'.repeat(64)}`
  const message: MailMessage = {
    messageId: '<0193f2a8-0000-7000-8000-00000000abcd@acme.example>',
    date: new Date('2026-11-21T08:00:00.123Z'),
    from: { name: 'Acme', address: 'no-reply@acme.example' },
    to: { name: 'Ada', address: 'ada@example.com' },
    subject: 'Grace invites you to Zoë & Söhne',
    text: `Zoë invites you.\n\n${link}\n`,
    html: `<p>Zoë invites you</p>`,
    link,
  }

  test('a mail is written as a text file with an unbroken link, and only its owner may read it', async () => {
    const folder = join(root, 'new', 'mailbox')
    await folderTransport(folder).send(message)
    assert.deepEqual(await readdir(folder), ['2026-11-21T08-00-00.123Z-ada@example.com.eml'])
    const text = await readFile(join(folder, '2026-11-21T08-00-00.123Z-ada@example.com.eml'), 'utf8')
    const head = text.slice(0, text.indexOf('\n\n')).split('\n')
    for (const line of [
      'From: Acme <no-reply@acme.example>',
      'To: Ada <ada@example.com>',
      'Message-ID: <0193f2a8-0000-7000-8000-00000000abcd@acme.example>',
      'Date: Sat, 21 Nov 2026 08:00:00 +0000',
      `X-Invitation-Link: ${link}`,
    ])
      assert(head.includes(line), `${line}\n${text}`)
    assert(!text.includes('base64'), text)
    if (process.platform === 'win32') return
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    assert.equal((await stat(join(folder, '2026-11-21T08-00-00.123Z-ada@example.com.eml'))).mode & 0o777, 0o600)
  })

  test('an address cannot lead outside the folder, and mails of the same millisecond do not replace each other', async () => {
    const folder = join(root, 'mailbox')
    const { send } = folderTransport(folder)
    const hostile = { ...message, to: { name: '', address: '../../../../tmp/x/../evil@a.example' } }
    await Promise.all([send(hostile), send(message), send(message), send(message)])
    assert.deepEqual((await readdir(folder)).sort(), [
      '2026-11-21T08-00-00.123Z-.._.._.._.._tmp_x_.._evil@a.example.eml',
      '2026-11-21T08-00-00.123Z-ada@example.com-2.eml',
      '2026-11-21T08-00-00.123Z-ada@example.com-3.eml',
      '2026-11-21T08-00-00.123Z-ada@example.com.eml',
    ])
    await send({ ...message, to: { name: '', address: `${'a'.repeat(300)}@b.example` } })
    await assert.rejects(send({ ...message, to: { name: '', address: 'a@b\r\nBcc: x@y' } }), MailRefused)
    assert.equal((await readdir(folder)).length, 5)
  })

  test('sending fails if the folder cannot be written, and works again when it can', async () => {
    const { send } = folderTransport(join(root, 'file'))
    await folderTransport(root).send(message)
    const [file] = (await readdir(root)).filter((name) => name.endsWith('.eml'))
    assert(file)
    await assert.rejects(folderTransport(join(root, file)).send(message), { code: 'EEXIST' })
    await send(message)
  })
})

suite('SMTP', () => {
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
})
